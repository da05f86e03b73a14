#!/usr/bin/env python3
"""Where an attention step is faster than its peers: heads × sequence lengths, few and short to many and long.

    bench/attention_sweep.py --json FILE    needs a GPU, PyTorch, and the steps built: cmake --build --preset cuda

At each shape the step's last variant and its peers become one JSON line each.
"""
import sys

import peers
import sweep

SDPA = "PyTorch SDPA fp16, {}".format
# The number of a step -> heads, lengths, head dimensions, and the peers it is held against.
SWEPT = {
    "31": ((1, 2, 4, 8, 16, 32, 64), (128, 256, 512, 1024, 2048, 4096, 8192), (64, 128), [SDPA("flash"), SDPA("cuDNN")]),
    "35": ((1, 2, 4, 8, 16, 48), (128, 256, 512, 1024, 2048, 4096), (512,), [SDPA("its own choice"), peers.UNFUSED]),
}


def shapes(step):
    """None for a step that has no sweep."""
    if step["number"] not in SWEPT:
        return None
    heads, lengths, head_dims, _ = SWEPT[step["number"]]
    return [f"1x{h}x{n}x{d}" for d in head_dims for h in heads for n in lengths]


def contenders(torch, step, shape):
    return peers.contenders_of([step], peers.Attention, shape, 1, ["fp16"], torch, only=[step["variants"][-1], *SWEPT[step["number"]][-1]])


def show(shape, lines):
    ours, *others = lines
    timed = ours["time"] and f"{1e3 * ours['time']['median_ms']:.1f} µs, {ours['tflops']:.1f} TFLOPS"
    ratios = [f"{line['time']['median_ms'] / ours['time']['median_ms']:.2f} × {line['peer']}" for line in others
              if line["time"] and ours["time"]]
    print(f"{peers.text_of(shape):16}", ours["variant"], timed or "WRONG", *ratios, sep="  ")


def main():
    return sweep.main(__doc__, "31", peers.Attention, shapes, contenders, show)


if __name__ == "__main__":
    sys.exit(main())
