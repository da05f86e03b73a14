#!/usr/bin/env python3
"""A step of matmul or of attention beside others, as the step before it, and its peers, on a GPU that has rested and on one that is hot.

    bench/heat.py --step 40 --beside 39 --json heat.jsonl
    bench/heat.py --step 45 --beside 31 --json heat.jsonl
    bench/heat.py --step 48 --beside 33 --causal --json heat.jsonl
    bench/heat.py --step 44 --beside 43 --variants --dtype bf16 --json chain.jsonl
    bench/heat.py --step 44 --beside 43 --layers --dtype bf16 --json layers.jsonl

Launches are timed in bursts of 20 ms or 512 launches, each a CUDA graph, that take turns: with a pause of 0.12 s before each burst, in which the GPU
cools down and its power falls, and then again with no pause, and behind 0.1 s of the same launches: else a burst would be as fast as the
power of the contender before it lets it be. Of each step the default variant is timed, with --variants all of --step's, at the shapes that
it can do. Each line says which of both it is: "heat" is "rested" or "hot". The shapes of --layers are those of a language model's layers.
"""
import itertools
import math
import sys
import time
from typing import NamedTuple

import peers
import sweep

PAUSES = {"rested": 0.12, "hot": 0}  # seconds before each burst
BEHIND_MS = {"rested": 0, "hot": 100}  # of its own launches, which are not timed
AT_ONCE = 4  # programs that say what they know of a shape


class Kind(NamedTuple):
    """What is timed of an operation."""
    operation: type  # with its peers
    shapes: list
    dtypes: list
    masked: list = ()  # shapes with a causal mask
    layers: list = ()  # of a language model


LAYERS = [f"{m}x{n}x{k}" for m in (1, 16, 64, 128, 256, 512, 1024, 8192) for n, k in ((4096, 4096), (11008, 4096), (28672, 4096), (4096, 14336))]


OPERATIONS = {"matmul": Kind(peers.Matmul, ["1024", "2048", "4096", "8192", "16384"], ["bf16", "fp16"], layers=LAYERS),
              "attention": Kind(peers.Fused, [*peers.of_16384((64, 128, 256)), "1x8x8192x64"], ["fp16"],
                                  [*peers.of_16384((64, 128, 256), mask=peers.CAUSAL),
                                   *peers.of_16384((64, 128), (4096,), ("/1", "/4"), peers.CAUSAL), f"1x8x8192x64{peers.CAUSAL}"])}


class Burst(peers.Graph):
    """Launches without a gap, behind a pause or others of their own."""

    graph_ms, pause, behind_ms, before = 20, 0, 0, 0  # before: bursts

    def prepare(self, torch, iters):
        self.before = 0
        ms = super().prepare(torch, iters)
        self.before = math.ceil(self.behind_ms / (ms * self.batch))
        return ms

    def queue_before(self):
        for _ in range(self.before):
            self.graph.replay()

    def sample(self, torch):
        if self.pause:
            time.sleep(self.pause)
        return super().sample(torch)


def is_timed(contender, steps):
    """A peer, or a step's default variant; of a step that is not among these any variant."""
    of = {step["name"]: step["variants"][-1] for step in steps if step["variants"]}
    return contender.line["step"] is None or of.get(contender.line["step"]) in (None, contender.line["variant"])


def timed(torch, contenders, iters):
    """The lines of all, rested, and then of all, hot."""
    lines = []
    for heat, pause in PAUSES.items():
        for contender in contenders:
            contender.pause, contender.behind_ms, contender.ms = pause, BEHIND_MS[heat], []
        peers.measure(torch, contenders, iters)
        lines += [contender.line | {"heat": heat, "behind_ms": BEHIND_MS[heat]} for contender in contenders]
    return lines


def show(dtype, shape, lines):
    for heat in PAUSES:
        print(f"\n{peers.text_of(shape)} {lines[0]['operation']}, {dtype}, {heat}, {lines[0]['device']}")
        peers.table([line for line in lines if line["heat"] == heat])


def main():
    parser = sweep.options(__doc__, "40", " or ".join(kind.operation.LADDER[0] for kind in OPERATIONS.values()))
    parser.add_argument("--beside", nargs="+", metavar="STEP", help="other steps of its operation (default: the one that it comes from)")
    parser.add_argument("--dtype", nargs="+", choices=["fp16", "bf16"], help="(default: bf16 and fp16 of matmul, fp16 of attention)")
    parser.add_argument("--causal", action="store_true", help="of attention the default shapes have a causal mask")
    parser.add_argument("--layers", action="store_true", help="of matmul the default shapes are those of a language model's layers")
    parser.add_argument("--variants", action="store_true", help="all variants of --step, not the default one alone")
    asked = sweep.understood(parser)
    step = peers.find_step(asked.step)
    beside = asked.beside or step["from"][:1]
    steps = [*map(peers.find_step, beside), step]
    kind = OPERATIONS.get(step["operation"], OPERATIONS["matmul"])
    dtypes = asked.dtype or kind.dtypes
    if any(OPERATIONS.get(step["operation"]) != kind or not set(dtypes) <= set(step["dtypes"]) for step in steps):
        parser.error(f"--step {asked.step} --beside {' '.join(beside)}: all have to be steps of matmul, or all of attention, that have "
                     f"{' and '.join(dtypes)}")
    if asked.causal and not kind.masked:
        parser.error(f"--causal: steps of {step['operation']} have no mask; those of attention have")
    if asked.layers and not kind.layers:
        parser.error(f"--layers: steps of {step['operation']} have no such shapes; those of matmul have")
    usual = kind.masked if asked.causal else kind.layers if asked.layers else kind.shapes
    shapes, torch = sweep.shapes_of(parser, asked, kind.operation, usual), peers.pytorch(step)

    def lines(dtype, shape):
        found = peers.contenders_of(steps, kind.operation, shape, 1, [dtype], torch, timed_as=Burst, at_once=AT_ONCE, beside=steps[:-1])
        return timed(torch, [contender for contender in found if is_timed(contender, steps[:-1] if asked.variants else steps)], asked.iters)

    return sweep.run(asked, itertools.product(dtypes, shapes), lines, show)


if __name__ == "__main__":
    sys.exit(main())
