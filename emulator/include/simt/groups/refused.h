/* What is not offered: refused where it is used. */
#pragma simt_refuse <cooperative_groups.h> groups of a cluster: cluster_group* this_cluster*
