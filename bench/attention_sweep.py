#!/usr/bin/env python3
"""Where an attention step is faster than FlashAttention-2 and cuDNN: heads × sequence lengths, few and short to many and long.

    bench/attention_sweep.py --json FILE    needs a GPU, PyTorch, and the steps built: cmake --build --preset cuda

At each shape the step's last variant and both peers become one JSON line each.
"""
import sys

import peers
import sweep

HEADS, LENGTHS, HEAD_DIMS = (1, 2, 4, 8, 16, 32, 64), (128, 256, 512, 1024, 2048, 4096, 8192), (64, 128)
SHAPES = [f"1x{h}x{n}x{d}" for d in HEAD_DIMS for h in HEADS for n in LENGTHS]
PEERS = ["PyTorch SDPA fp16, flash", "PyTorch SDPA fp16, cuDNN"]


def contenders(torch, step, shape):
    return peers.contenders_of([step], peers.Attention, shape, 1, ["fp16"], torch, only=[step["variants"][-1], *PEERS])


def show(shape, lines):
    ours, *others = lines
    timed = ours["time"] and f"{1e3 * ours['time']['median_ms']:.1f} µs, {ours['tflops']:.1f} TFLOPS"
    ratios = [f"{line['time']['median_ms'] / ours['time']['median_ms']:.2f} × {line['peer']}" for line in others
              if line["time"] and ours["time"]]
    print(f"{'x'.join(map(str, shape)):16}", ours["variant"], timed or "WRONG", *ratios, sep="  ")


def main():
    return sweep.main(__doc__, "28", peers.Attention, SHAPES, contenders, show)


if __name__ == "__main__":
    sys.exit(main())
