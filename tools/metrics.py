"""What ncu calls what we count. It needs nothing but Python, as bench/ does."""

# The emulator's counter -> the ncu metric that it claims to equal. {} is ld or st.
SHARED = {
    "requests": "smsp__inst_executed_op_shared_{}.sum",
    "wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{}.sum",
    "conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{}.sum",
}
GLOBAL = {
    "requests": "l1tex__t_requests_pipe_lsu_mem_global_op_{}.sum",
    "sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_{}.sum",
    "bytes": "smsp__sass_data_bytes_mem_global_op_{}.sum",
}
# Of cp.async, which ncu calls ldgsts: our name -> ncu's metrics, the first that this GPU has.
COPY = {
    "copy_ld_requests": ("smsp__inst_executed_op_ldgsts.sum",),
    "copy_ld_sectors": ("sm__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ldgsts.sum",
                        "smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ldgsts.sum"),
    "copy_ld_bytes": ("sm__sass_data_bytes_mem_global_op_ldgsts.sum", "smsp__sass_data_bytes_mem_global_op_ldgsts.sum"),
    "copy_st_requests": ("smsp__inst_executed_op_ldgsts.sum",),
    "copy_st_wavefronts": ("smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldgsts.sum",
                           "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ldgsts.sum"),
    "copy_st_conflicts": ("smsp__sass_l1tex_data_bank_conflicts_pipe_lsu_mem_shared_op_ldgsts.sum",
                          "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ldgsts.sum"),
}
# Of bulk copies and copies of tensors, which ncu calls tma: likewise.
TMA = {
    "tma_requests": ("l1tex__tmain_requests.sum",),
    "tma_ld_requests": ("smsp__sass_inst_executed_op_tma_ld.sum",),
    "tma_ld_sectors": ("l1tex__m_xbar2l1tex_read_sectors_mem_global_op_tma_ld.sum",),
    "tma_ld_bytes": ("l1tex__m_xbar2l1tex_read_bytes_mem_global_op_tma_ld.sum",),
    "tma_st_requests": ("smsp__sass_inst_executed_op_tma_st.sum",),
    "tma_st_sectors": ("l1tex__m_l1tex2xbar_write_sectors_mem_global_op_tma_st.sum",),
    "tma_st_bytes": ("l1tex__m_l1tex2xbar_write_bytes_mem_global_op_tma_st.sum",),
    "tma_red_requests": ("smsp__sass_inst_executed_op_tma_red.sum",),
    "tma_red_sectors": ("l1tex__m_l1tex2xbar_write_sectors_mem_global_op_tma_red.sum",),
    "tma_red_bytes": ("l1tex__m_l1tex2xbar_write_bytes_mem_global_op_tma_red.sum",),
}
# What bulk loads ask of L2, a multicast once for all its receivers: so says this metric where nothing else is loaded, and no two
# blocks ask for the same at once, which the request coalescer in front of L2 would merge.
MULTICAST = {"tma_ld_l2_sectors": ("lts__t_sectors_srcunit_tex_op_read.sum",)}
# Of shared memory of other blocks of a cluster, which ncu calls dshared: likewise. None of it counts as shared memory's. A bulk copy
# within shared memory, st.async and red.async count here also where they stay in their block.
DSHARED = {
    "dshared_ld_requests": ("l1tex__t_requests_pipe_lsu_mem_dshared_op_ld.sum",),
    "dshared_ld_sectors": ("l1tex__t_sectors_pipe_lsu_mem_dshared_op_ld.sum",),
    "dshared_st_requests": ("l1tex__t_requests_pipe_lsu_mem_dshared_op_st.sum",),
    "dshared_st_sectors": ("l1tex__t_sectors_pipe_lsu_mem_dshared_op_st.sum",),
    "dshared_atom_requests": ("sm__sass_inst_executed_op_dshared_atom.sum",),
    "dshared_atom_sectors": ("l1tex__t_sectors_pipe_lsu_mem_dshared_op_atom.sum",),
    "dshared_red_requests": ("sm__sass_inst_executed_op_dshared_redas.sum",),
    "dshared_red_sectors": ("l1tex__t_sectors_pipe_lsu_mem_dshared_op_redas.sum",),
    "dshared_tma_st_requests": ("sm__sass_inst_executed_op_dshared_tma_st.sum",),
    "dshared_tma_st_sectors": ("l1tex__m_l1tex2xbar_write_sectors_mem_dshared_op_tma_st.sum",),
    "dshared_tma_red_requests": ("sm__sass_inst_executed_op_dshared_tma_red.sum",),
    "dshared_tma_red_sectors": ("l1tex__m_l1tex2xbar_write_sectors_mem_dshared_op_tma_red.sum",),
}
# Of products of a warpgroup, which ncu calls gmma: likewise. Each of the four warps counts one.
WGMMA = {
    "wgmma": ("sm__inst_executed_pipe_tensor_op_gmma.sum",),
    "wgmma_ld_requests": ("sm__sass_inst_executed_op_shared_gmma.sum",),
    "wgmma_ld_wavefronts": ("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_gmma.sum",),
    "wgmma_ld_conflicts": ("l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_gmma.sum",),
}

# Beyond those, of a step's kernels: our name -> ncu's metrics, the first that a GPU has. They are called otherwise before compute
# capability 9.0, where "local and global" had no distributed shared memory beside it.
TRAFFIC = {
    "global_ld_wavefronts": ("l1tex__data_pipe_lsu_wavefronts_mem_lgds_cmd_read.sum",  # of the data stage; local ones, too
                             "l1tex__data_pipe_lsu_wavefronts_mem_lg_cmd_read.sum"),
    "global_st_wavefronts": ("l1tex__data_pipe_lsu_wavefronts_mem_lgds_cmd_write.sum",
                             "l1tex__data_pipe_lsu_wavefronts_mem_lg_cmd_write.sum"),
    "global_ld_conflicts": ("l1tex__data_bank_conflicts_pipe_lsu_mem_gds_op_ld.sum",
                            "l1tex__data_bank_conflicts_pipe_lsu_mem_global_op_ld.sum"),
    "global_st_conflicts": ("l1tex__data_bank_conflicts_pipe_lsu_mem_gds_op_st.sum",
                            "l1tex__data_bank_conflicts_pipe_lsu_mem_global_op_st.sum"),
    "global_ld_tag_wavefronts": ("l1tex__t_output_wavefronts_pipe_lsu_mem_global_op_ld.sum",),
    "global_st_tag_wavefronts": ("l1tex__t_output_wavefronts_pipe_lsu_mem_global_op_st.sum",),
    "global_ld_l1_hit_sectors": ("l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum",),
    "global_red_requests": ("l1tex__t_requests_pipe_lsu_mem_global_op_red.sum",),
    "shared_conflicts": ("l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",),  # all, not only of ld and st
    "data_wavefronts": ("l1tex__data_pipe_lsu_wavefronts.sum",),  # of L1's data stage, shared memory's and global
    "lsu_requests": ("l1tex__lsuin_requests.sum",),
    "writeback_cycles": ("l1tex__lsu_writeback_active.sum",),  # 128 bytes of loaded registers a clock
    "l2_ld_sectors": ("lts__t_sectors_srcunit_tex_op_read.sum",),
    "l2_ld_hit_sectors": ("lts__t_sectors_srcunit_tex_op_read_lookup_hit.sum",),
    "l2_st_sectors": ("lts__t_sectors_srcunit_tex_op_write.sum",),
    "dram_ld_bytes": ("dram__bytes_read.sum",),
    "dram_st_bytes": ("dram__bytes_write.sum",),
    "instructions": ("sm__inst_executed.sum",),
    "fma_instructions": ("sm__inst_executed_pipe_fma.sum",),
    "shared_wavefronts": ("l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",),  # as shared_conflicts
    "mma": ("sm__inst_executed_pipe_tensor_op_hmma.sum", "sm__inst_executed_pipe_tensor.sum"),  # those of warpgroups, too
    "hfma2": ("sm__inst_executed_pipe_tensor_op_hmma_type_hfma2.sum",),  # of those; ptxas sets a register to a constant by one
}
# ldmatrix and stmatrix, by ncu's names for them.
MATRIX = {
    "requests": ("smsp__inst_executed_op_{}.sum", "smsp__sass_inst_executed_op_{}.sum"),
    "wavefronts": ("sm__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_{}.sum",
                   "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_{}.sum"),
    "conflicts": ("sm__sass_l1tex_data_bank_conflicts_pipe_lsu_mem_shared_op_{}.sum",
                  "smsp__sass_l1tex_data_bank_conflicts_pipe_lsu_mem_shared_op_{}.sum"),
}
TRAFFIC |= COPY | TMA | WGMMA | {f"{ours}_{name}": tuple(metric.format(theirs) for metric in metrics)
                   for ours, theirs in (("ldmatrix", "ldsm"), ("stmatrix", "stsm")) for name, metrics in MATRIX.items()}
# Warps that wait, for each instruction issued, by what they wait for.
STALLS = {name: (f"smsp__average_warps_issue_stalled_{name}_per_issue_active.ratio",)
          for name in ("long_scoreboard", "short_scoreboard", "mio_throttle", "lg_throttle", "barrier", "math_pipe_throttle",
                       "dispatch_stall", "not_selected", "selected", "wait", "no_instruction", "branch_resolving", "imc_miss", "drain",
                       "membar", "sleeping", "misc", "tex_throttle", "gmma")}
PERCENT = {
    "sm_throughput": ("sm__throughput.avg.pct_of_peak_sustained_elapsed",),
    "l1_throughput": ("l1tex__throughput.avg.pct_of_peak_sustained_active",),
    "l2_throughput": ("lts__throughput.avg.pct_of_peak_sustained_elapsed",),
    "dram_throughput": ("gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",),
    "memory_throughput": ("gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",),
    "data_stage": ("l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_active",),
    "writeback": ("l1tex__lsu_writeback_active.avg.pct_of_peak_sustained_active",),
    "fma": ("sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_active",),
    "tensor": ("sm__pipe_tensor_op_hmma_cycles_active.avg.pct_of_peak_sustained_active",
               "sm__inst_executed_pipe_tensor_op_hmma.avg.pct_of_peak_sustained_active"),
    "issue_active": ("smsp__issue_active.avg.pct_of_peak_sustained_active",),
    "no_eligible": ("smsp__issue_inst0.avg.pct_of_peak_sustained_active",),
    "occupancy": ("sm__warps_active.avg.pct_of_peak_sustained_active",),
    "occupancy_limit": ("sm__maximum_warps_per_active_cycle_pct",),
}
LAUNCH = {
    "registers": ("launch__registers_per_thread",),
    "duration_ns": ("gpu__time_duration.sum",),
    "grid": ("launch__grid_size",),    # blocks
    "block": ("launch__block_size",),  # threads
    "waves": ("launch__waves_per_multiprocessor",),
    "shared_static": ("launch__shared_mem_per_block_static",),
    "shared_dynamic": ("launch__shared_mem_per_block_dynamic",),
    "shared_reserved": ("launch__shared_mem_per_block_driver",),
    "shared_configured": ("launch__shared_mem_config_size",),  # of the memory that an SM shares out between L1 and shared memory
    "limit_sm": ("launch__occupancy_limit_blocks",),           # blocks that an SM holds at most, by each of its limits
    "limit_registers": ("launch__occupancy_limit_registers",),
    "limit_shared": ("launch__occupancy_limit_shared_mem",),
    "limit_warps": ("launch__occupancy_limit_warps",),
}
# Clocks of an SM: of the whole launch, and those in which it had a warp, of the SM that had the fewest, of all, and of the one that had most.
CYCLES = {"elapsed": ("sm__cycles_elapsed.max",)} | {f"active_{which}": (f"sm__cycles_active.{which}",) for which in ("min", "avg", "max")}
# Of each scheduler, in a clock; the first of the whole SM, which has four.
WARPS = {
    "active_per_sm": ("sm__warps_active.avg.per_cycle_active",),
    "active": ("smsp__warps_active.avg.per_cycle_active",),
    "eligible": ("smsp__warps_eligible.avg.per_cycle_active",),
    "issued": ("smsp__issue_active.avg.per_cycle_active",),
    "cycles_per_issue": ("smsp__average_warp_latency_per_inst_issued.ratio",),  # of a warp, from an instruction to its next
}
# What is summed over a launch's kernels.
SUMMED = {f"{space}_{op}_{name}": (metric.format(op),) for space, names in (("shared", SHARED), ("global", GLOBAL))
          for op in ("ld", "st") for name, metric in names.items()} | TRAFFIC
