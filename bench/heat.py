#!/usr/bin/env python3
"""A step of matmul beside others, as the step before it, and cuBLAS, on a GPU that has rested and on one that is hot.

    bench/heat.py --step 40 --beside 39 --json heat.jsonl

Launches are timed in bursts of 20 ms or 512 launches, each a CUDA graph, that take turns: with a pause of 0.12 s before each burst, in which the GPU
cools down and its power falls, and then again with no pause at all. Of each step the default variant is timed. Each line says which of
both it is: "heat" is "rested" or "hot".
"""
import itertools
import sys
import time

import peers
import sweep

PAUSES = {"rested": 0.12, "hot": 0}  # seconds before each burst
SIZES = ["1024", "2048", "4096", "8192", "16384"]


class Burst(peers.Graph):
    """Launches without a gap, behind a pause."""

    graph_ms, pause = 20, 0

    def sample(self, torch):
        if self.pause:
            time.sleep(self.pause)
        return super().sample(torch)


def is_timed(contender, steps):
    """A peer, or a step's default variant."""
    of = {step["name"]: step["variants"][-1] for step in steps if step["variants"]}
    return contender.line["step"] is None or of.get(contender.line["step"]) in (None, contender.line["variant"])


def timed(torch, contenders, iters):
    """The lines of all, rested, and then of all, hot."""
    lines = []
    for heat, pause in PAUSES.items():
        for contender in contenders:
            contender.pause, contender.ms = pause, []
        peers.measure(torch, contenders, iters)
        lines += [contender.line | {"heat": heat} for contender in contenders]
    return lines


def show(dtype, shape, lines):
    for heat in PAUSES:
        print(f"\n{peers.text_of(shape)} matmul, {dtype}, {heat}, {lines[0]['device']}")
        peers.table([line for line in lines if line["heat"] == heat])


def main():
    parser = sweep.options(__doc__, "40", peers.Matmul)
    parser.add_argument("--beside", nargs="+", default=["39"], metavar="STEP", help="other steps of matmul")
    parser.add_argument("--dtype", nargs="+", choices=["fp16", "bf16"], default=["bf16", "fp16"])
    asked = sweep.understood(parser)
    steps = [peers.find_step(name) for name in (*asked.beside, asked.step)]
    if any(step["operation"] != "matmul" or not set(asked.dtype) <= set(step["dtypes"]) for step in steps):
        parser.error(f"--step {asked.step} --beside {' '.join(asked.beside)}: all have to be steps of matmul that have {' and '.join(asked.dtype)}")
    shapes, torch = sweep.shapes_of(parser, asked, peers.Matmul, SIZES), peers.pytorch(steps[-1])

    def lines(dtype, shape):
        found = peers.contenders_of(steps, peers.Matmul, shape, 1, [dtype], torch, timed_as=Burst)
        return timed(torch, [contender for contender in found if is_timed(contender, steps)], asked.iters)

    return sweep.run(asked, itertools.product(asked.dtype, shapes), lines, show)


if __name__ == "__main__":
    sys.exit(main())
