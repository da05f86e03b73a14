/* What is not offered: refused where it is used. */
#pragma simt_refuse <cooperative_groups.h> groups of several warps or of a cluster: block_tile_memory* cluster_group* this_cluster*
