/* Stands in front of a CUDA toolkit that may be on this machine: its headers would not fit here. */
#error "<mma.h>: the emulator does not offer WMMA"
