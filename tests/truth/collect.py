#!/usr/bin/env python3
"""Writes the truth table: what a real GPU's counters say of every launch of banks.cu.

    python3 collect.py h200.jsonl            needs nvcc, ncu and a GPU whose counters ncu may read

Builds banks.cu, runs it under ncu, and writes one JSON object a line: first where the numbers come from, then for
each launch its parameters and its counters, named as the emulator names them. Standard library only.
"""

import argparse
import csv
import json
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


def output(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout


def ncu(program, metrics, limit=None):
    """The CSV rows (column -> text) of a run of the program, a list of words, under ncu, one a launch; none where ncu failed."""
    with tempfile.TemporaryDirectory() as folder:
        log = pathlib.Path(folder, "log.csv")
        command = ["ncu", "--clock-control", "none", "--csv", "--page", "raw", "--log-file", str(log)]
        if limit:
            command += ["--launch-count", str(limit)]
        done = subprocess.run([*command, "--metrics", ",".join(metrics), *program], stdout=subprocess.DEVNULL)
        lines = log.read_text().splitlines() if log.exists() else []
    table = [line for line in lines if line.startswith('"')]
    rows = list(csv.DictReader(table))[1:]  # the first row holds the units
    if done.returncode or not rows:
        print(f"ncu: status {done.returncode}, {len(rows)} launches", *lines[:5], sep="\n  ", file=sys.stderr)
        return []
    return rows


def number(text):
    try:
        value = float(text.replace(",", ""))
    except (AttributeError, ValueError):
        return None
    return int(value) if value == int(value) else value


def known_metrics(program, wanted):
    """Those that this GPU and this ncu count; the others are named."""

    def counted(metrics):
        rows = ncu([program], metrics, limit=1)
        return [m for m in metrics if rows and number(rows[0].get(m)) is not None]

    known = counted(wanted) or [metric for metric in wanted if counted([metric])]
    for metric in wanted:
        if metric not in known:
            print(f"not counted here: {metric}", file=sys.stderr)
    return known


def counters(kernel, row):
    space, op = kernel.split("_")
    names = SHARED if space == "shared" else GLOBAL
    return {f"{kernel}_{name}": number(row.get(metric.format(op))) for name, metric in names.items()}


def parameters(launch):
    """A line that banks.cu printed, as a dict; what is 0 is left out."""
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
    parser.add_argument("--arch", default="90a", help="compute capability to build for (default: 90a)")
    parser.add_argument("--limit", type=int, help="only the first LIMIT launches")
    parser.add_argument("--raw", type=pathlib.Path, help="also write every metric read, as CSV")
    options = parser.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        program = str(pathlib.Path(folder, "banks"))
        code = f"-gencode=arch=compute_{options.arch},code=sm_{options.arch}"
        subprocess.run(["nvcc", "-std=c++20", code, str(HERE / "banks.cu"), "-o", program], check=True)
        launches = output(program, "--list").splitlines()[: options.limit]
        metrics = known_metrics(program, METRICS + both(WITNESSES) if options.raw else METRICS)
        rows = ncu([program], metrics, options.limit)

    if len(rows) != len(launches):
        sys.exit(f"collect: {len(launches)} launches listed, {len(rows)} counted")
    with options.output.open("w") as table:
        print(json.dumps(provenance()), file=table)
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
