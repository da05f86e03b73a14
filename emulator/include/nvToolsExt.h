/* Stands in front of a CUDA toolkit that may be on this machine: its headers would not fit here. */
#error "<nvToolsExt.h>: the emulator does not offer NVTX"
