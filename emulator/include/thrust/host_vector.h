/* Stands in front of a CUDA toolkit that may be on this machine: its headers would not fit here. What it
 * would declare is refused where it is used. */
#pragma simt_refuse <thrust/host_vector.h> thrust: thrust
