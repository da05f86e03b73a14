/* Stands in front of a CUDA toolkit that may be on this machine: its headers would not fit here. */
#error "<cuda_fp8.h>: the emulator does not offer fp8 types"
