/* Stands in front of a CUDA toolkit that may be on this machine: its headers would not fit here. */
#error "<cuda_fp16.h>: the emulator does not offer half-precision types"
