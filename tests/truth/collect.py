#!/usr/bin/env python3
"""Writes a truth table: what a real GPU's counters say of every launch of banks.cu, or of copies.cu.

    python3 collect.py h200.jsonl            needs nvcc, ncu and a GPU whose counters ncu may read
    python3 collect.py --program copies h200_copies.jsonl

Builds the program, runs it under ncu, and writes one JSON object a line: first where the numbers come from, then for
each launch its parameters and its counters, named as the emulator names them. Standard library only.
"""

import argparse
import csv
import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent

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
# Read beside them for --raw only: how the two kinds, through L1 and past it, are counted apart.
COPY_WITNESSES = [
    f"{unit}{part}_op_ldgsts{kind}.sum"
    for unit, part in (("sm__sass_l1tex_t_sectors", "_pipe_lsu_mem_global"), ("l1tex__t_sectors", "_pipe_lsu_mem_global"),
                       ("l1tex__t_requests", "_pipe_lsu_mem_global"), ("sm__sass_data_bytes", "_mem_shared"),
                       ("sm__sass_l1tex_data_pipe_lsu_wavefronts", "_mem_shared"),
                       ("sm__sass_l1tex_data_bank_conflicts_pipe_lsu", "_mem_shared"))
    for kind in ("", "_cache_access", "_cache_bypass")
]
# Read beside them for --raw only: other counts of the same things, to understand a difference by.
WITNESSES = [
    "smsp__inst_executed_op_global_{}.sum",
    "smsp__sass_inst_executed_op_shared_{}.sum",
    "smsp__sass_inst_executed_op_global_{}.sum",
    "smsp__sass_data_bytes_mem_shared_op_{}.sum",
]


def both(templates):
    return [template.format(op) for template in templates for op in ("ld", "st")]


METRICS = both([*SHARED.values(), *GLOBAL.values()])
# A program -> the metrics of its table, and those for --raw.
PROGRAMS = {
    "banks": (METRICS, both(WITNESSES)),
    "copies": ([metric for metrics in COPY.values() for metric in metrics], COPY_WITNESSES),
}

# What bench/verify.py asks of a step's kernels beyond those: our name -> ncu's metrics, the first that this GPU has. They
# are called otherwise before compute capability 9.0, where "local and global" had no distributed shared memory beside it.
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
    "mma": ("sm__inst_executed_pipe_tensor_op_hmma.sum", "sm__inst_executed_pipe_tensor.sum"),
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
TRAFFIC |= COPY | {f"{ours}_{name}": tuple(metric.format(theirs) for metric in metrics)
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


def output(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout


def attempt(program, metrics, limit=None):
    """Of a run of the program, a list of words, under ncu: the CSV rows (column -> text), one a launch, none where ncu
    failed; its exit status; the lines that it wrote."""
    with tempfile.TemporaryDirectory() as folder:
        log = pathlib.Path(folder, "log.csv")
        command = ["ncu", "--clock-control", "none", "--csv", "--page", "raw", "--log-file", str(log)]
        if limit:
            command += ["--launch-count", str(limit)]
        done = subprocess.run([*command, "--metrics", ",".join(metrics), *program], stdout=subprocess.DEVNULL)
        lines = log.read_text().splitlines() if log.exists() else []
    table = [line for line in lines if line.startswith('"')]
    rows = list(csv.DictReader(table))[1:]  # the first row holds the units
    return [] if done.returncode else rows, done.returncode, lines


def ncu(program, metrics, limit=None):
    """The rows of attempt(); where there are none, what ncu said."""
    rows, status, lines = attempt(program, metrics, limit)
    if not rows:
        print(f"ncu: status {status}, {' '.join(map(str, program))}", *lines[:5], sep="\n  ", file=sys.stderr)
    return rows


def number(text):
    try:
        value = float(text.replace(",", ""))
    except (AttributeError, ValueError):
        return None
    if not math.isfinite(value):
        return None
    return int(value) if value == int(value) else value


def countable(program, metrics):
    """Those that one launch of the program gave a number for. ncu refuses a run that asks for a metric that it lacks: what
    it names is left out, and where it names nothing, each half is asked for by itself."""
    rows, _, lines = attempt(program, metrics, limit=1)
    if rows:
        return [metric for metric in metrics if number(rows[0].get(metric)) is not None]
    named = set(re.findall(r"[\w.]+", "\n".join(line for line in lines if "metric" in line))) & set(metrics)
    if named and len(named) < len(metrics):
        return countable(program, [metric for metric in metrics if metric not in named])
    middle = len(metrics) // 2
    return countable(program, metrics[:middle]) + countable(program, metrics[middle:]) if middle else []


def known_metrics(program, wanted):
    """Those that this GPU and this ncu count, of a program that is a list of words; the others are named."""
    known = countable(program, wanted) if ncu(program, wanted[:1], limit=1) else []
    for metric in wanted:
        if metric not in known:
            print(f"not counted here: {metric}", file=sys.stderr)
    return known


def counters(kernel, row):
    if kernel == "copy":
        return {name: next((n for metric in metrics if (n := number(row.get(metric))) is not None), None)
                for name, metrics in COPY.items()}
    space, op = kernel.split("_")
    names = SHARED if space == "shared" else GLOBAL
    return {f"{kernel}_{name}": number(row.get(metric.format(op))) for name, metric in names.items()}


def parameters(launch):
    """A line that a program printed, as a dict; what is 0 is left out."""
    kernel, *pairs = launch.split()
    values = dict(pair.split("=") for pair in pairs)
    return {"kernel": kernel, **{k: v if k == "mask" else int(v) for k, v in values.items() if v != "0"}}


def provenance():
    machine = output("nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader")
    gpu, driver = machine.splitlines()[0].split(", ")
    release = re.search(r"release ([\d.]+)", output("nvcc", "--version")).group(1)
    profiler = re.search(r"Version ([\d.]+)", output("ncu", "--version")).group(1)
    return {"gpu": gpu, "driver": driver, "cuda": release, "ncu": profiler, "date": output("date", "-I").strip()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output", type=pathlib.Path)
    parser.add_argument("--program", choices=PROGRAMS, default="banks", help="which to run (default: banks)")
    parser.add_argument("--arch", default="90a", help="compute capability to build for (default: 90a)")
    parser.add_argument("--limit", type=int, help="only the first LIMIT launches")
    parser.add_argument("--raw", type=pathlib.Path, help="also write every metric read, as CSV")
    options = parser.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        program = str(pathlib.Path(folder, options.program))
        code = f"-gencode=arch=compute_{options.arch},code=sm_{options.arch}"
        subprocess.run(["nvcc", "-std=c++20", code, str(HERE / f"{options.program}.cu"), "-o", program], check=True)
        launches = output(program, "--list").splitlines()[: options.limit]
        wanted, witnesses = PROGRAMS[options.program]
        metrics = known_metrics([program], list(dict.fromkeys(wanted + witnesses if options.raw else wanted)))
        rows = ncu([program], metrics, options.limit)

    if len(rows) != len(launches):
        sys.exit(f"collect: {len(launches)} launches listed, {len(rows)} counted")
    with options.output.open("w") as table:
        print(json.dumps({"program": options.program, **provenance()}), file=table)
        for launch, row in zip(launches, rows):
            line = parameters(launch)
            kernel = line["kernel"]
            if not row["Kernel Name"].startswith((kernel, f"void {kernel}")):
                sys.exit(f"collect: {launch} listed, {row['Kernel Name']} counted")
            print(json.dumps({**line, **counters(kernel, row)}), file=table)
    if options.raw:
        with options.raw.open("w", newline="") as raw:
            out = csv.writer(raw)
            out.writerow(["launch", *metrics])
            out.writerows([launch, *(number(row[m]) for m in metrics)] for launch, row in zip(launches, rows))
    print(f"{options.output}: {len(rows)} launches")


if __name__ == "__main__":
    main()
