#!/usr/bin/env python3
"""An attention step against the matrix of cases that FlashAttention's own tests have for the forward pass, by their rule.

    bench/attention_matrix.py --step 33 34 --record    needs a GPU, PyTorch, and the steps built: cmake --build --preset cuda

The rule: the largest error of O, against attention computed in fp32, is at most twice that of attention computed in its type throughout.
Beyond it: the log-sum-exp is right, a row that sees no key is 0 and its log-sum-exp −∞, and a second launch gives the same bits. Cases
are those of tests/test_flash_attn.py in Dao-AILab/flash-attention, as far as a step has what they ask for (no dropout, ALiBi, local
window, cap of scores, or padding within a batch), and lengths of ours; in each of the step's types of 16 bits. Exit status 1 if a case
misses.
"""
import argparse
import itertools
import math
import sys
from typing import NamedTuple

import peers

HEAD_DIMS = 32, 64, 96, 128
FACTOR, LSE_BOUND = 2, 2**-16

PAIRS = ((113, 203), (128, 217), (113, 211), (108, 256), (256, 512))  # queries and keys, in several of the tests
OURS = 1, 2, 15, 16, 17, 31, 63, 64, 65, 97, 127, 128, 129, 200, 255, 256, 257, 383, 512, 799, 1023, 1024, 1025, 2047, 2048


def both_ways(*pairs):
    return [*pairs, *((n_kv, n) for n, n_kv in pairs if n != n_kv)]


def alike(*lengths):
    return [(n, n) for n in lengths]


class Group(NamedTuple):
    """Cases that one test goes through."""
    test: str
    batch: int
    heads: int
    kv_heads: tuple
    causal: tuple
    lengths: list         # of queries and of keys
    allowed: float = 0.0  # beside the factor


GROUPS = [
    Group("test_flash_attn_output", 4, 6, (6, 1, 2), (False, True),
          [*PAIRS, (512, 256), (1024, 1024), (1023, 1024), (1024, 1023), (2048, 2048)]),
    Group("test_flash_attn_qkvpacked", 4, 9, (9,), (False, True), alike(97, 128, 200, 384, 768, 1024, 1025, 2048)),
    Group("test_flash_attn_causal", 8, 9, (9,), (True,),
          both_ways((1, 239), (3, 799), (127, 512), (127, 513), *PAIRS, (1023, 1024)), 1e-5),
    Group("test_flash_attn_splitkv", 1, 12, (12,), (False, True),
          both_ways((3, 1024), (1, 339), (64, 800), (3, 799), (64, 2048), (16, 20000), (16, 100000), (128, 128), (256, 256)), 1e-5),
    Group("test_flash_attn_race_condition", 60, 4, (4,), (False, True),
          [*both_ways((1, 239), (3, 799)), (1024, 128), *alike(97, 128, 200, 256, 257, 384, 512, 768, 1024)], 1e-5),
    Group("lengths of ours", 2, 4, (4, 2, 1), (False, True), alike(*OURS), 1e-5),
]


def cases(head_dims):
    """(its group, its shape) of each."""
    return [(group, peers.AttentionShape(group.batch, group.heads, kv_heads, n, n_kv, d, causal))
            for group in GROUPS
            for (n, n_kv), kv_heads, causal, d in itertools.product(group.lengths, group.kv_heads, group.causal, head_dims)]


def attention(torch, Q, K, V, causal, in_fp32):
    """(O, log-sum-exp of the scores, which queries see no key) by its definition. In fp32: all of it, up to O, which is rounded. Else in
    the tensors' type throughout, K scaled where in fp32 Q is."""
    type_, root = Q.dtype, math.sqrt(Q.shape[3])
    shared = Q.shape[1] // K.shape[1]
    K, V = (tensor.repeat_interleave(shared, dim=1) for tensor in (K, V))
    if in_fp32:
        Q, K, V = Q.float() / root, K.float(), V.float()
    else:
        K = K / root
    scores, n, n_kv = Q @ K.transpose(2, 3), Q.shape[2], K.shape[2]
    last = torch.arange(n, device=Q.device) + (n_kv - n if causal else n_kv)  # that a query sees
    scores = scores.masked_fill(torch.arange(n_kv, device=Q.device) > last[:, None], -math.inf)
    weights = torch.softmax(scores, dim=3).masked_fill((last < 0)[:, None], 0)  # with no key there is nothing to divide by
    return (weights @ V).to(type_), torch.logsumexp(scores.float(), dim=3), last < 0


def verdict(check):
    """Whether a case is right. A comparison with NaN is not."""
    return bool(check["error"] <= check["bound"] and check["lse_error"] <= check["lse_bound"] and check["empty_rows"] == 0
                and check["same_bits"])


def compare(torch, tensors, outputs, again, causal, allowed):
    """What the two launches on these tensors gave, as the check of a line."""
    (O, lse), reference = outputs, attention(torch, *tensors, causal, in_fp32=True)
    in_16_bits, exact, empty = attention(torch, *tensors, causal, in_fp32=False)[0], reference[1], reference[2]
    furthest = lambda O: (O.float() - reference[0].float()).abs().max().item()
    difference = ((lse - exact).abs() / exact.abs().clamp(min=1)).masked_fill(lse == exact, 0)  # −∞ is −∞
    error_16_bits = furthest(in_16_bits)
    check = {"error": furthest(O), "bound": FACTOR * error_16_bits + allowed, "error_16_bits": error_16_bits,
             "lse_error": difference.max().item(), "lse_bound": LSE_BOUND,
             "empty_rows": O[:, :, empty].float().abs().sum().item(),
             "same_bits": all(torch.equal(one, other) for one, other in zip(outputs, again))}
    return {"right": verdict(check), **check}


def tried(torch, launch, shape, dtype, seed, allowed, device="cuda"):
    """The check of one case. launch(Q, K, V, O, lse, causal) queues it."""
    b, h, h_kv, n, n_kv, d, causal = shape
    generator = torch.Generator(device).manual_seed(seed)
    tensors = [torch.randn(*size, device=device, generator=generator).to(peers.torch_type(torch, dtype))
               for size in ((b, h, n, d), *((b, h_kv, n_kv, d),) * 2)]
    given = []
    for _ in range(2):
        O, lse = torch.full_like(tensors[0], math.nan), torch.full((b, h, n), math.nan, device=device)
        launch(*tensors, O, lse, causal)
        given.append((O, lse))
    return compare(torch, tensors, *given, causal, allowed)


def launcher_of(torch, library, variant, dtype):
    def launch(Q, K, V, O, lse, causal):
        call = peers.Attention.arguments(Q, K, V, O, lse=lse.data_ptr(), causal=causal, dtype=peers.ENUM_DTYPE[dtype], variant=variant)
        workspace = torch.full((peers.workspace_bytes(library, call),), 0xff, dtype=torch.uint8, device=Q.device)  # each float is NaN
        call.workspace = workspace.data_ptr()
        peers.launcher(torch, library, [call])(0)
    return launch


def of_bound(check):
    """The error as a share of its bound."""
    error, bound = check["error"], check["bound"]
    return error / bound if bound and not math.isnan(error) else math.inf if error else 0.0


def summary(lines):
    right = sum(line["check"]["right"] for line in lines)
    worst = max(of_bound(line["check"]) for line in lines)
    return f"{right} of {len(lines)} cases are right; the largest error is {worst:.2f} of what is allowed"


def chosen(parser, asked, text):
    """(the step, its types, its variants) of those asked for that it is to be tried with."""
    step = peers.find_step(text)
    has = [dtype for dtype in step["dtypes"] if dtype in peers.ROW_BOUND]
    if step["operation"] != "attention" or not has:
        parser.error(f"--step {text}: it is not attention in {' or '.join(peers.ROW_BOUND)}")
    dtypes = list(dict.fromkeys(asked.dtype or has))
    if not set(dtypes) <= set(has):
        parser.error(f"--dtype {' '.join(dtypes)}: {step['name']} has {', '.join(has)}")
    if asked.variant not in (None, *step["variants"]):
        parser.error(f"--variant {asked.variant}: {step['name']} has {', '.join(step['variants'])}")
    return step, dtypes, [asked.variant] if asked.variant else step["variants"]


def command_line():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--step", nargs="+", default=["33"])
    parser.add_argument("--variant", help="default: each of the step's")
    parser.add_argument("--dtype", nargs="+", choices=peers.ROW_BOUND, help="default: each of the step's that has 16 bits")
    parser.add_argument("--head-dim", type=int, nargs="+", default=HEAD_DIMS)
    parser.add_argument("--json", type=argparse.FileType("a"), metavar="FILE", help="append one line per case and variant")
    parser.add_argument("--record", action="store_true", help="make these lines each step's matrix.jsonl, from which its page is generated")
    asked = parser.parse_args()
    return asked, [chosen(parser, asked, text) for text in asked.step]


def described(step, dtype, variants):
    """The lines of these variants, still without a result."""
    flags = ["--heads", "1", "--seqlen", "1", "--causal", *peers.dtype_flags(step, dtype)]
    return [line for line in peers.describe(step, flags, seed=1) if line["variant"] in variants]


def lines_of(torch, step, dtypes, variants, head_dims):
    """A line for each case, as soon as it was tried."""
    library = peers.load(step)
    of_types = [line for dtype in dtypes for line in described(step, dtype, variants)]
    for line, (seed, (group, shape)) in itertools.product(of_types, enumerate(cases(head_dims))):
        dtype = line["dtype"]
        launch = launcher_of(torch, library, step["variants"].index(line["variant"]), dtype)
        check = tried(torch, launch, shape, dtype, seed, group.allowed)
        if not check["right"]:
            print(f"{line['variant']} {dtype} {group.test} {shape}: {check}")
        env = {name: line["env"][name] for name in ("gpu_driver", "cuda", "date")} | {"torch": torch.__version__}
        yield {**{name: line[name] for name in ("step", "variant", "operation", "dtype", "device")}, "shape": shape._asdict(),
               "test": group.test, "check": check, "time": None, "env": env}


def main():
    asked, every = command_line()
    torch, right = peers.pytorch(every[0][0]), True
    torch.backends.cuda.matmul.allow_tf32 = False
    for step, dtypes, variants in every:
        lines = []
        for line in lines_of(torch, step, dtypes, variants, asked.head_dim):
            lines.append(line)
            if asked.json:
                asked.json.write(peers.json_line(line))
        if asked.record:
            (peers.ROOT / step["dir"] / "matrix.jsonl").write_text("".join(map(peers.json_line, lines)))
        print(f"{step['name']}: {summary(lines)}")
        right &= all(line["check"]["right"] for line in lines)
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
