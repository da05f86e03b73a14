#!/usr/bin/env python3
"""Writes a truth table: what a real GPU's counters say of every launch of banks.cu or another program.

    python3 collect.py h200.jsonl            needs nvcc, ncu and a GPU whose counters ncu may read
    python3 collect.py --program copies h200_copies.jsonl
    python3 collect.py --program bulk h200_bulk.jsonl
    python3 collect.py --program tiles h200_tiles.jsonl
    python3 collect.py --program wgmma h200_wgmma.jsonl
    python3 collect.py --program cluster h200_cluster.jsonl

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
sys.path.insert(0, str(HERE.parents[1]))
from tools.metrics import COPY, DSHARED, GLOBAL, MULTICAST, SHARED, TMA, WGMMA  # noqa: E402

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
# Read beside them for --raw only: how prefetches are counted.
TMA_WITNESSES = ["smsp__inst_executed_pipe_tma.sum", "smsp__sass_inst_executed_op_tma.sum", "lts__t_sectors_srcunit_tex.sum"]
# Read beside them for --raw only: the bytes, and how long the tensor cores of an SM's four parts were busy, together.
WGMMA_WITNESSES = ["smsp__sass_data_bytes_mem_shared_op_gmma.sum", "sm__pipe_tensor_op_hmma_type_hmma_hgmma_qgmma_cycles_active.sum",
                   "sm__inst_executed_pipe_tensor_op_hmma.sum", "sm__inst_executed_pipe_tensor_op_imma.sum"]


def both(templates):
    return [template.format(op) for template in templates for op in ("ld", "st")]


# Of cluster.cu: by an address of the cluster's, accesses to the block's own shared memory are requests of this metric alone.
CLUSTER = DSHARED | MULTICAST | {name: TMA[name] for name in ("tma_requests", "tma_ld_requests", "tma_ld_sectors", "tma_ld_bytes")} | {
    f"shared_{op}_{name}": ((metric if name != "requests" else "smsp__sass_inst_executed_op_shared_{}.sum").format(op),)
    for op in ("ld", "st") for name, metric in SHARED.items()}
# Read beside them for --raw only: what the request coalescer in front of L2 does.
CLUSTER_WITNESSES = [
    "l1tex__m_l1tex2xbar_read_requests_mem_global_op_tma_ld_dest_multicast.sum", "l1tex__m_xbar2l1tex_read_sectors_mem_dshared_op_ld.sum",
    "l1tex__m_xbar2l1tex_read_sectors_mem_dshared_op_st.sum", "l1tex__m_l1tex2xbar_write_sectors_mem_dshared_op_atom.sum",
    "lrc__xbar2lrc_requests_op_read.sum", "lrc__request_sectors_op_read_coalescing_achieved_type_hardware.sum"]

METRICS = both([*SHARED.values(), *GLOBAL.values()])
# A program -> the metrics of its table, and those for --raw.
PROGRAMS = {
    "banks": (METRICS, both(WITNESSES)),
    "copies": ([metric for metrics in COPY.values() for metric in metrics], COPY_WITNESSES),
    "bulk": ([metric for metrics in TMA.values() for metric in metrics], TMA_WITNESSES),
    "tiles": ([metric for metrics in TMA.values() for metric in metrics], TMA_WITNESSES),
    "wgmma": ([metric for metrics in WGMMA.values() for metric in metrics], WGMMA_WITNESSES),
    "cluster": ([metric for metrics in CLUSTER.values() for metric in metrics], CLUSTER_WITNESSES),
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


# How the names of kernels begin -> their counters.
NAMED = {"copy": COPY, "bulk_": TMA, "tile_": TMA, "wgmma_": WGMMA, "cluster_": CLUSTER}


def counters(kernel, row):
    named = next((names for begins, names in NAMED.items() if kernel.startswith(begins)), None)
    if named:
        return {name: next((n for metric in metrics if (n := number(row.get(metric))) is not None), None)
                for name, metrics in named.items()}
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
