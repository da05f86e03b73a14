/* Stands in front of a CUDA toolkit that may be on this machine: its headers would not fit here. */
#error "<thrust/reduce.h>: the emulator does not offer thrust"
