#!/usr/bin/env python3
"""Writes the truth table of matrix.cu, as collect.py does that of banks.cu: what a real GPU's counters say of every launch.

    python3 collect_matrix.py matrix_h200.jsonl     needs nvcc, ncu and a GPU whose counters ncu may read

A metric that this GPU or this ncu does not have is left out, and named on stderr.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

from collect import known_metrics, ncu, number, output, provenance

from tools.metrics import GLOBAL, SHARED  # collect.py says where tools is

HERE = pathlib.Path(__file__).resolve().parent

# The emulator's counter -> the ncu metric that it claims to equal.
METRICS = {f"{space}_{op}_{name}": metric.format(op)
           for space, names in (("shared", SHARED), ("global", GLOBAL)) for op in ("ld", "st") for name, metric in names.items()}
METRICS |= {
    "ldmatrix_requests": "smsp__inst_executed_op_ldsm.sum",
    "ldmatrix_wavefronts": "sm__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldsm.sum",
    "ldmatrix_conflicts": "sm__sass_l1tex_data_bank_conflicts_pipe_lsu_mem_shared_op_ldsm.sum",
    "stmatrix_requests": "smsp__inst_executed_op_shared_stsm.sum",
    "stmatrix_wavefronts": "sm__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_stsm.sum",
    "stmatrix_conflicts": "sm__sass_l1tex_data_bank_conflicts_pipe_lsu_mem_shared_op_stsm.sum",
    "hmma": "sm__inst_executed_pipe_tensor_op_hmma.sum",  # the emulator's "mma" is the sum of the two
    "imma": "sm__inst_executed_pipe_tensor_op_imma.sum",
}
# Read beside them, to understand a difference by: what generic loads and all of shared memory did.
WITNESSES = ["smsp__inst_executed_op_ld.sum", "smsp__inst_executed_op_generic_ld.sum", "smsp__inst_executed_pipe_lsu.sum",
             "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum", "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",
             "sm__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared.sum"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output", type=pathlib.Path)
    parser.add_argument("--arch", default="90a", help="compute capability to build for (default: 90a)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        program = str(pathlib.Path(folder, "matrix"))
        code = f"-gencode=arch=compute_{options.arch},code=sm_{options.arch}"
        subprocess.run(["nvcc", "-std=c++20", code, str(HERE / "matrix.cu"), "-o", program], check=True)
        launches = output(program, "--list").splitlines()
        known = known_metrics([program], [*METRICS.values(), *WITNESSES])
        rows = ncu([program], known)
    if len(rows) != len(launches):
        sys.exit(f"collect_matrix: {len(launches)} launches listed, {len(rows)} counted")
    names = {metric: name for name, metric in METRICS.items()}
    with options.output.open("w") as table:
        print(json.dumps(provenance()), file=table)
        for launch, row in zip(launches, rows):
            counted = {names.get(metric, metric): number(row[metric]) for metric in known}
            print(json.dumps({"launch": launch, **counted}), file=table)
    print(f"{options.output}: {len(rows)} launches")


if __name__ == "__main__":
    main()
