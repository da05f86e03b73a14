#!/usr/bin/env python3
"""The coarsening sweep of a softmax step: threads for a row × rows for a thread, at short rows and long, beside the copy.

    bench/softmax_sweep.py --json FILE      needs a GPU, PyTorch, and the steps built: cmake --build --preset cuda

Every cell that the step accepts becomes one JSON line, its shape with threads_per_row and rows_per_thread.
"""
import argparse
import sys

import peers

SHAPES = ["2097152x64", "524288x256", "131072x1024", "8192x8192", "4096x65536"]
THREADS, ROWS = [8, 16, 32, 64, 128, 256, 512, 1024], [1, 2, 4]


def accepted(queue):
    try:
        queue(0)
    except RuntimeError:
        return False
    return True


def cells(step, library, operation, line):
    """One contender for each combination that the step's last variant accepts."""
    for threads in THREADS:
        for rows in ROWS:
            queue = operation.launch(library, len(step["variants"]) - 1, threads, rows, step["row_bytes"])
            if accepted(queue):
                shape = line["shape"] | {"threads_per_row": threads, "rows_per_thread": rows}
                yield peers.Contender(line | {"shape": shape}, queue, operation)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--step", default="11")
    parser.add_argument("--shape", nargs="+", default=SHAPES, help="rows x columns, such as 8192x1024")
    parser.add_argument("--iters", type=int, default=20)
    parser.add_argument("--json", type=argparse.FileType("a"), metavar="FILE", help="append one line per cell")
    asked = parser.parse_args()
    import torch

    step, wrong = peers.find_step(asked.step), False
    library = peers.load(step)
    for text in asked.shape:
        shape = peers.Softmax.shape(text)
        operation = peers.Softmax(torch, shape, seed=1)
        line = peers.describe(step, operation.flags(shape), seed=1)[-1]
        line["env"]["torch"] = torch.__version__
        none = line["shape"] | {"threads_per_row": 0, "rows_per_thread": 0}  # as the sweep's lines, and no other's
        copy = peers.Contender(dict(line, step=None, variant=None, shape=none, peer=peers.COPY),
                               operation.peers()[peers.COPY], operation)
        swept = list(cells(step, library, operation, line))
        peers.measure(torch, [*swept, copy], asked.iters)
        print(f"\n{text}: share of the copy's {copy.line['gbps']:.0f} GB/s; threads for a row down, rows for a thread across")
        print(f"{'':6}" + "".join(f"{rows:>8}" for rows in ROWS))
        share = {tuple(cell.line["shape"].values())[2:]: copy.line["time"]["median_ms"] / cell.line["time"]["median_ms"]
                 for cell in swept if cell.line["time"]}
        for threads in THREADS:
            print(f"{threads:6}" + "".join(f"{share[threads, rows]:8.2f}" if (threads, rows) in share else f"{'–':>8}"
                                           for rows in ROWS))
        lines = [contender.line for contender in [*swept, copy]]
        wrong |= not all(line["check"]["right"] for line in lines)
        if asked.json:
            asked.json.writelines(peers.json_line(line) for line in lines)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
