#!/usr/bin/env python3
"""A step of attention in FlashAttention-3's own setting, beside FlashAttention-3 and cuDNN: 36 cells, rested and hot.

    bench/attention_table.py --step 49 --flash-attention ../flash-attention --json table.jsonl

16384 queries in all, in sequences of 512 to 16384, and 2048 columns in all, in heads of 64, 128 and 256, with a causal mask and without, in fp16.
FlashAttention-3 is built from a checkout of its sources, where one is named; cuDNN comes from PyTorch. All take turns in one process, on the
same tensors, in bursts of 20 ms as of bench/heat.py.
"""
import math
import sys

import fa3
import heat
import peers
import sweep

DTYPE = "fp16"
FLASH_3, CUDNN = "FlashAttention-3", f"PyTorch SDPA {DTYPE}, cuDNN"
CELLS = [text for mask in ("", peers.CAUSAL) for text in peers.of_16384((64, 128, 256), mask=mask)]


class Rivals(peers.Attention):
    """Attention beside cuDNN and, where it was built, FlashAttention-3."""

    flash = None  # what was built of it

    def peers(self):
        found = {name: queue for name, queue in super().peers().items() if name == CUDNN}
        if self.flash and not fa3.why_not(self.sizes, self.dtype):
            found[FLASH_3] = fa3.queue_of(self.flash, self)
        return found


def milliseconds(lines, heat_of):
    """{a variant's name, or a peer's: its median}"""
    return {line.get("peer") or line["variant"]: line["time"]["median_ms"] for line in lines if line["heat"] == heat_of and line["time"]}


def ratios(lines, variant, heat_of):
    """How many times as fast the variant is as each rival of the cell, and as the better of them."""
    ms = milliseconds(lines, heat_of)
    over = {rival: ms[rival] / ms[variant] for rival in (FLASH_3, CUDNN) if rival in ms and variant in ms}
    return over | ({"the better": min(over.values())} if over else {})


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def summary(cells, variants):
    """Lines of text: the geometric means over all cells, and the least of each."""
    for heat_of in heat.PAUSES:
        for variant in variants:
            found = [of for of in (ratios(lines, variant, heat_of) for lines in cells.values()) if of]
            for rival in (FLASH_3, CUDNN, "the better"):
                values = [of[rival] for of in found if rival in of]
                if values:
                    yield (f"{heat_of:6s}  {variant:12s}  over {rival:26s}  {geometric_mean(values):.3f} ×, in the geometric mean of {len(values)} cells; "
                           f"at least {min(values):.3f} ×")


def show_cell(text, lines, variants):
    for heat_of in heat.PAUSES:
        ms = milliseconds(lines, heat_of)
        rates = "  ".join(f"{name.split(',')[-1].strip()} {lines[0]['flops'] / time * 1e-9:.0f}" for name, time in ms.items())
        better = "  ".join(f"{variant} {of['the better']:.3f} ×" for variant in variants if (of := ratios(lines, variant, heat_of)))
        print(f"{text:24s} {heat_of:6s}  TFLOPS: {rates}   over the better: {better or 'nothing to compare with'}", flush=True)


def main():
    parser = sweep.options(__doc__, "49", peers.Attention.LADDER[0])
    parser.add_argument("--flash-attention", metavar="FOLDER", help="a checkout of FlashAttention, of which its third version is built")
    parser.add_argument("--cutlass", metavar="FOLDER", help="a checkout of CUTLASS (default: FlashAttention's submodule csrc/cutlass)")
    parser.add_argument("--variants", nargs="+", metavar="NAME", help="(default: the last two of the step)")
    parser.set_defaults(iters=6)
    asked = sweep.understood(parser)
    step = peers.find_step(asked.step)
    variants = asked.variants or step["variants"][-2:]
    if step["operation"] != "attention" or DTYPE not in step["dtypes"] or not set(variants) <= set(step["variants"]):
        parser.error(f"--step {asked.step}: a step of attention in {DTYPE} is accepted, and of --variants its own: {', '.join(step['variants']) or 'none'}")
    shapes = sweep.shapes_of(parser, asked, peers.Attention, CELLS)
    if asked.flash_attention:
        Rivals.flash = fa3.build(asked.flash_attention, asked.cutlass)
        print(f"Beside {Rivals.flash}, and cuDNN of PyTorch.")
    else:
        print("Beside cuDNN of PyTorch alone: FlashAttention-3 is built where --flash-attention names a checkout of its sources.")
    torch, cells, missing = peers.pytorch(step), {}, []

    def lines(shape):
        found = peers.contenders_of([step], Rivals, shape, 1, [DTYPE], torch, timed_as=heat.Burst, at_once=heat.AT_ONCE)
        wanted = [contender for contender in found if contender.line["step"] is None or contender.line["variant"] in variants]
        for contender in wanted:
            if contender.line.get("peer") == FLASH_3:
                contender.line["flash_attention"] = Rivals.flash.commit
        return heat.timed(torch, wanted, asked.iters)

    def show(shape, found):
        cells[shape] = found
        missing.extend(f"{peers.text_of(shape)}: {rival}" + (f", {why}" if rival == FLASH_3 and (why := fa3.why_not(shape, DTYPE)) else "")
                       for rival in (FLASH_3, CUDNN) if not any(line.get("peer") == rival and line["time"] for line in found))
        show_cell(peers.text_of(shape), found, variants)

    status = sweep.run(asked, [(shape,) for shape in shapes], lines, show)
    print(*summary(cells, variants), sep="\n")
    print("Could not be compared: " + ("; ".join(missing) if missing else "nothing, all were.") if Rivals.flash or missing else "")
    return status


if __name__ == "__main__":
    sys.exit(main())
