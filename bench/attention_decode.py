#!/usr/bin/env python3
"""An attention step where there is one query a head, as where a model generates, and where there are many: its rate of loading K and V.

    bench/attention_decode.py --json FILE    needs a GPU, PyTorch, and the steps built: cmake --build --preset cuda

At each shape and in each of the step's types its variants, step 33, two of PyTorch's backends and a copy become one JSON line each.
Every launch is part of a CUDA graph, ours and theirs: many of these launches are as short as what a stream takes from one to the next.
"""
import sys

import peers
import sweep

STEP, BEFORE = "34", "33"
AT_ONCE = 4  # programs; a table of many shapes should not wait for the host
ONE_QUERY = ["1x32/8x1/2048x128", "1x32/8x1/32768x128", "1x32/8x1/131072x128", "8x32/8x1/8192x128", "32x32/8x1/2048x128",
             "32x32/8x1/8192x128", "1x32x1/8192x64", "8x32x1/8192x64", "32x32x1/4096x64"]
PARTIAL_TILE = ["1x32/8x1/8191x128", "8x32/8x1/8191x128", "1x32x1/8191x64"]  # the last tile of keys is not whole
FEW_ROWS = ["1x32/8x4/32768x128-causal", "1x32/8x512/8192x128-causal", "1x2x512x64", "1x2x512x128"]
FULL = [f"{sizes}{mask}" for sizes in ("8x32x2048x64", "8x32x2048x128", "1x32x8192x128") for mask in ("", peers.CAUSAL)]
SHAPES = ONE_QUERY + PARTIAL_TILE + FEW_ROWS + FULL


def kv_bytes(shape, dtype):
    """Of K and V together."""
    return 2 * shape.batch * shape.kv_heads * shape.kv_seqlen * shape.head_dim * peers.ELEMENT_BYTES[dtype]


class Decode(peers.Fused):
    """Attention beside two backends and a copy, which reads K and writes as many bytes: together those of K and V."""

    BEYOND_L2 = 4  # one copy more than L2 holds would leave much of it there

    def __init__(self, torch, shape, seed, dtype, values=None):
        super().__init__(torch, shape, seed, dtype, values)
        self.to = [torch.full_like(K, torch.nan) for _, K, _ in self.inputs]
        self.peer_checks = {peers.COPY: self.check_copy}

    def peers(self):
        return super().peers() | {peers.COPY: self.copy}

    def copy(self, i):
        self.result = self.to[i].copy_(self.inputs[i][1])

    def poison(self):
        super().poison()
        self.to[0].fill_(self.torch.nan)

    def check_copy(self):
        difference = (self.result.double() - self.inputs[0][1].double()).abs().nan_to_num(self.torch.inf)
        error = difference.max().item()
        return {"right": error == 0, "error": error, "bound": 0.0, "worst_row": error, "worst_row_bound": 0.0, "max_abs": error,
                "rows": difference[..., 0].numel()}


def contenders(torch, step, shape):
    steps = [step] + [peers.find_step(BEFORE)] * (step["number"] != BEFORE)
    dtypes = [dtype for dtype in Decode.DTYPES if dtype in step["dtypes"]]
    backends = [f"PyTorch SDPA {dtype}, {name}" for dtype in dtypes for name in Decode.BACKENDS]
    only = {*step["variants"], steps[-1]["variants"][-1], *backends, peers.COPY}
    found = peers.contenders_of(steps, Decode, shape, 1, dtypes, torch, only, peers.Graph, AT_ONCE)
    for contender in found:
        size = kv_bytes(shape, contender.line["dtype"])
        contender.line["kv_bytes"] = size
        if contender.line.get("peer") == peers.COPY:
            contender.line |= {"bytes": size, "flops": 0, "floor_ms": None, "device_bytes": size, "workspace_bytes": 0}
    return found


def described(shape, line):
    name = line.get("peer") or f"{line['step']} {line['variant']}"
    if not line["time"]:
        return f"  {name}, {line['dtype']}: WRONG, error {line['check']['error']:.1e}"
    ms = line["time"]["median_ms"]
    rate = f"{1e-6 * line['kv_bytes'] / ms:7,.0f} GB/s of K and V" if shape.seqlen == 1 else f"{line['tflops']:7.1f} TFLOPS"
    return f"  {1e3 * ms:9.2f} µs (p10 {1e3 * line['time']['p10_ms']:.2f}, p90 {1e3 * line['time']['p90_ms']:.2f}) {rate}  {name}, {line['dtype']}"


def show(shape, lines):
    print(shape, *(described(shape, line) for line in lines), sep="\n", flush=True)


def main():
    return sweep.main(__doc__, STEP, Decode, lambda step: SHAPES if step["operation"] == "attention" else None, contenders, show)


if __name__ == "__main__":
    sys.exit(main())
