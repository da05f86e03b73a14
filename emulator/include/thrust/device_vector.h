/* Stands in front of a CUDA toolkit that may be on this machine: its headers would not fit here. */
#error "<thrust/device_vector.h>: the emulator does not offer thrust"
