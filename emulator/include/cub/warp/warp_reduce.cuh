/* Stands in front of a CUDA toolkit that may be on this machine: its headers would not fit here. */
#error "<cub/warp/warp_reduce.cuh>: the emulator does not offer cub"
