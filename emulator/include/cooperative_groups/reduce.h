/* Stands in front of a CUDA toolkit that may be on this machine: its headers would not fit here. */
#error "<cooperative_groups/reduce.h>: the emulator does not offer cooperative groups"
