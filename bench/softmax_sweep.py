#!/usr/bin/env python3
"""The coarsening sweep of a softmax step: threads for a row × rows for a thread, at short rows and long, beside the copy.

    bench/softmax_sweep.py --json FILE      needs a GPU, PyTorch, and the steps built: cmake --build --preset cuda

Every cell that the step accepts becomes one JSON line, its shape with threads_per_row and rows_per_thread.
"""
import sys

import peers
import sweep

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


def contenders(torch, step, shape):
    """The cells, then the copy."""
    operation = peers.Softmax(torch, shape, seed=1)
    line = peers.describe(step, operation.flags(shape), seed=1)[-1]
    line["env"]["torch"] = torch.__version__
    none = line["shape"] | {"threads_per_row": 0, "rows_per_thread": 0}  # as the sweep's lines, and no other's
    copy = peers.Contender(dict(line, step=None, variant=None, shape=none, peer=peers.COPY),
                           operation.peers()[peers.COPY], operation)
    return [*cells(step, peers.load(step), operation, line), copy]


def show(shape, lines):
    *swept, copy = lines
    print(f"\n{'x'.join(map(str, shape))}: share of the copy's {copy['gbps']:.0f} GB/s; threads for a row down, rows for a thread "
          f"across\n{'':6}" + "".join(f"{rows:>8}" for rows in ROWS))
    share = {tuple(line["shape"].values())[2:]: copy["time"]["median_ms"] / line["time"]["median_ms"]
             for line in swept if line["time"]}
    for threads in THREADS:
        print(f"{threads:6}" + "".join(f"{share[threads, rows]:8.2f}" if (threads, rows) in share else f"{'–':>8}"
                                       for rows in ROWS))


def main():
    return sweep.main(__doc__, "11", peers.Softmax, lambda step: SHAPES, contenders, show)


if __name__ == "__main__":
    sys.exit(main())
