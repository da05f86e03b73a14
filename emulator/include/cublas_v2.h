/* Stands in front of a CUDA toolkit that may be on this machine: its headers would not fit here. */
#error "<cublas_v2.h>: the emulator does not offer cuBLAS"
