#!/usr/bin/env python3
"""Steps beside their peers in one process: same tensors, same GPU, taking turns, each checked and timed.

A step comes as its shared object, build/cuda/libNN_name.so; a peer comes from PyTorch. What the step's program knows of
the case (shape, flops, floor, device, versions) is asked of the program itself, by its --json line. Steps of attention on
different types take turns, too: fp32's tensors hold the numbers of one of 16 bits.
"""
import argparse
import ctypes
import json
import math
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
CUDA = ROOT / "build" / "cuda"
USAGE, CANNOT_RUN = 2, 77

WARMUP = 3
LONG_MS, LONG_BUDGET_MS, LEAST_ITERS = 100, 2000, 5  # a launch above LONG_MS is repeated only as long as that
SHORT_MS, BATCH_MS, MAX_BATCH = 0.05, 0.2, 100       # one below SHORT_MS is timed in batches of that length
MAX_COPIES = 256
GRAPH_MS, MAX_GRAPH = 1, 512                         # as a graph so many launches that it takes that long
SPIN_CYCLES, LONGEST_SPIN = 4_000_000, 64_000_000    # about 2 ms: longer than Python takes to queue one sample; if not, more
SAMPLED_ROWS = 256
COPY = "cudaMemcpyAsync, device to device (Tensor.copy_)"  # the peer of what moves bytes and computes little
UNFUSED = "PyTorch unfused fp16 (baddbmm, softmax, bmm)"   # the peer of attention that moves all N² scores through memory
MOST_OF_FLASH = 256  # the largest head dimension of PyTorch's FlashAttention-2


def stop(status, message):
    print(f"peers.py: {message}", file=sys.stderr)
    raise SystemExit(status)


# ---- launching a step from its shared object ----

ENUM_DTYPE = {"fp32": 1, "fp16": 2, "bf16": 3}  # enum dtype in common/dtype.h
ELEMENT_BYTES = {"fp32": 4, "fp16": 2, "bf16": 2}
PREPARED_BYTES, PREPARED_ALIGN = 1024, 128      # common/step.h


def launcher(torch, library, calls):
    """A function that queues one launch with calls[i], for each of which the step has prepared what it needs."""
    memory = ctypes.create_string_buffer(len(calls) * PREPARED_BYTES + PREPARED_ALIGN)
    first = -(-ctypes.addressof(memory) // PREPARED_ALIGN) * PREPARED_ALIGN
    for i, call in enumerate(calls):
        call.prepared = first + i * PREPARED_BYTES
        if hasattr(library, "prepare") and (status := library.prepare(ctypes.byref(call))):
            raise RuntimeError(f"what prepares the launch was refused: CUDA error {status}")

    def queue(i):
        stream = torch.cuda.current_stream().cuda_stream  # another one while a graph is captured
        if status := library.launch(ctypes.byref(calls[i]), stream):
            raise RuntimeError(f"the launch was refused: CUDA error {status}")
    queue.keeps = memory  # as long as the function lives
    return queue


# ---- operations: their tensors, their reference, their peers ----

class List:
    """What the operations on lists of n elements in fp32 have in common. Their rate is held against a copy."""

    DTYPES = ["fp32"]
    SHAPE, LADDER = "268435456 elements", ["268435456"]

    def __init__(self, torch, shape, floats):
        """floats: how many of n elements each a launch reads and writes. The copy moves as many bytes in all."""
        self.torch, (self.n,) = torch, shape
        self.copies = min(MAX_COPIES, 2 + torch.cuda.get_device_properties(0).L2_cache_size // (4 * floats * self.n))
        self.from_, self.to = ([torch.full((max(1, floats * self.n // 2),), fill, device="cuda") for _ in range(self.copies)]
                               for fill in (1.0, math.nan))
        self.peer_checks = {COPY: lambda: self.verdict(self.to[0].double(), self.from_[0].double(), 1.0, 0.0)}

    @staticmethod
    def shape(text):
        if int(text) < 1:
            raise ValueError
        return [int(text)]

    @staticmethod
    def flags(shape):
        return ["-n", str(shape[0])]

    def copy(self, i):
        self.to[i].copy_(self.from_[i])

    def verdict(self, got, reference, scale, bound):
        difference = (got - reference).abs()
        error = (difference.norm() / scale).item()
        return {"right": error <= bound, "error": error, "bound": bound, "worst_row": error, "worst_row_bound": bound,
                "max_abs": difference.max().item(), "rows": got.numel()}


class Axpy(List):
    """y = a x + y, in place: each launch begins where the one before it on the same copy ended."""

    class Args(ctypes.Structure):  # struct axpy_args in common/axpy.h
        _fields_ = [("a", ctypes.c_float), ("x", ctypes.c_void_p), ("y", ctypes.c_void_p),
                    *((name, ctypes.c_int) for name in ("n", "dtype", "variant"))]

    FACTOR = 2.0

    def __init__(self, torch, shape, seed):
        super().__init__(torch, shape, 3)
        generator = torch.Generator("cuda").manual_seed(seed)
        x, self.first = (1 + torch.randn(self.n, device="cuda", generator=generator) for _ in range(2))
        self.x, self.y = ([list_.clone() for _ in range(self.copies)] for list_ in (x, self.first))
        self.sample = torch.linspace(0, self.n - 1, min(self.n, 1 << 20), device="cuda", dtype=torch.float64).long()
        self.reference = self.FACTOR * x[self.sample].double() + self.first[self.sample].double()

    def launch(self, library, variant):
        """A function that queues one launch of a step's variant on copy i."""
        return launcher(self.torch, library, [self.Args(a=self.FACTOR, x=x.data_ptr(), y=y.data_ptr(), n=self.n, dtype=ENUM_DTYPE["fp32"],
                                                        variant=variant) for x, y in zip(self.x, self.y)])

    def peers(self):
        return {COPY: self.copy,
                "torch.add": lambda i: self.torch.add(self.y[i], self.x[i], alpha=self.FACTOR, out=self.y[i])}

    def poison(self):
        self.y[0].copy_(self.first)

    def check(self):
        complete = self.y[0].isfinite().all().item()
        check = self.verdict(self.y[0][self.sample].double(), self.reference, self.reference.norm(), 2**-20)
        return check | {"right": complete and check["right"]}


class Sum(List):
    """The sum of whole numbers from -8 to 8, never 0: exact in fp32 in any order."""

    class Args(ctypes.Structure):  # struct sum_args in common/sum.h
        _fields_ = [("x", ctypes.c_void_p), ("total", ctypes.c_void_p),
                    *((name, ctypes.c_int) for name in ("n", "dtype", "variant"))]

    def __init__(self, torch, shape, seed):
        super().__init__(torch, shape, 1)
        generator = torch.Generator("cuda").manual_seed(seed)
        x = torch.randint(1, 9, (self.n,), device="cuda", generator=generator, dtype=torch.float32)
        x *= 1 - 2 * torch.randint(0, 2, (self.n,), device="cuda", generator=generator, dtype=torch.float32)
        self.x = [x.clone() for _ in range(self.copies)]
        self.total = [torch.full((), math.nan, device="cuda") for _ in range(self.copies)]
        self.reference = x.double().sum()

    def launch(self, library, variant):
        """A function that queues one launch of a step's variant on copy i."""
        return launcher(self.torch, library, [self.Args(x=x.data_ptr(), total=total.data_ptr(), n=self.n, dtype=ENUM_DTYPE["fp32"],
                                                        variant=variant) for x, total in zip(self.x, self.total)])

    def peers(self):
        return {COPY: self.copy, "torch.sum": lambda i: self.torch.sum(self.x[i], dim=0, out=self.total[i])}

    def poison(self):
        self.total[0].fill_(math.nan)

    def check(self):
        return self.verdict(self.total[0].double(), self.reference, self.reference.abs().clamp(min=1), 2**-20)


class Rows:
    """What the operations on matrices have in common: in as many copies as together exceed L2 the tensors, the output last, laid
    out as each step wants its rows; and the check of whatever output was written last."""

    def __init__(self, torch, tensors):
        self.torch, self.result = torch, None
        size = sum(tensor.nbytes for tensor in tensors)
        self.copies = min(MAX_COPIES, 2 + torch.cuda.get_device_properties(0).L2_cache_size // size)
        self.layouts = {0: [tuple(tensor.clone() for tensor in tensors) for _ in range(self.copies)]}  # row_bytes -> the copies

    def padded(self, tensor, row_bytes):
        """The same numbers in rows that begin at multiples of so many bytes, with NaN between them."""
        (rows, cols), size = tensor.shape, tensor.element_size()
        pitch = -(-size * cols // row_bytes) * row_bytes // size
        if pitch == cols:
            return tensor
        return self.torch.full((rows, pitch), math.nan, device=tensor.device, dtype=tensor.dtype)[:, :cols].copy_(tensor)

    def lay_out(self, row_bytes):
        """The copies as a step wants them whose rows begin at multiples of so many bytes; 0: with no gaps."""
        if row_bytes not in self.layouts:
            self.layouts[row_bytes] = [tuple(self.padded(tensor, row_bytes) for tensor in copy) for copy in self.layouts[0]]
        return self.layouts[row_bytes]

    def writing(self, start, row_bytes=0):
        """start(i), which queues a launch on copy i of a layout, and thereafter that copy's output is the one to check."""
        copies = self.lay_out(row_bytes)

        def queue(i):
            start(i)
            self.result = copies[i][-1]
        return queue

    def peer(self, compute):
        """compute(*tensors) as a function that queues it on copy i."""
        return self.writing(lambda i: compute(*self.layouts[0][i]))

    def poison(self):
        for copies in self.layouts.values():
            copies[0][-1].fill_(math.nan)
        self.result = None

    def check(self):
        return self.compare(self.reference, *self.bounds)

    def compare(self, reference, bound, row_bound):
        """The last output: every element a number, sampled rows right, together and each."""
        difference = self.result[self.sample].double() - reference
        error = (difference.norm() / reference.norm()).item()
        worst_row = (difference.norm(dim=1) / reference.norm(dim=1)).max().item()
        complete = self.result.isfinite().all().item()
        return {"right": complete and error <= bound and worst_row <= row_bound, "error": error, "bound": bound,
                "worst_row": worst_row, "worst_row_bound": row_bound, "max_abs": difference.abs().max().item(),
                "rows": len(self.sample)}


ROW_BOUND = {"fp16": 2**-9, "bf16": 2**-7}


def bounds(torch, dtype, terms, reference):
    """The largest errors that are right, over all and in a row, of sums of so many products: dtype_bound() in common/dtype.c."""
    if dtype == "fp32":
        bound = max(2 * math.sqrt(terms) * 2**-24, 2**-20)
        return bound, bound
    rounded = reference.to(torch_type(torch, dtype)).double()
    return max(2 * ((rounded - reference).norm() / reference.norm()).item(), 2**-12), ROW_BOUND[dtype]


def torch_type(torch, dtype):
    return {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}[dtype]


def sampled_rows(torch, rows):
    return torch.linspace(0, rows - 1, min(rows, SAMPLED_ROWS), device="cuda", dtype=torch.float64).long()


FEW_ROWS = 64  # of A and C, so that B's bytes take longer than the products
COPIED = {"error": 0.0, "bound": 0.0, "worst_row": 0.0, "worst_row_bound": 0.0, "max_abs": 0.0, "rows": 1}


class Matmul(Rows):
    """C[m,n] = A[m,k] B[k,n], all of one type; sums in fp32. Where A has few rows, the rate is held against a copy, too."""

    DTYPES = list(ENUM_DTYPE)
    SHAPE, LADDER = "4096, or 1000x2000x500 for m, n, k", ["4096"]

    class Args(ctypes.Structure):  # struct matmul_args in common/matmul.h
        _fields_ = [*((name, ctypes.c_void_p) for name in ("A", "B", "C", "workspace", "prepared")),
                    *((name, ctypes.c_int) for name in ("m", "n", "k", "A_pitch", "B_pitch", "C_pitch", "B_transposed",
                                                        "dtype", "C_dtype", "variant"))]

    def __init__(self, torch, shape, seed, dtype):
        self.dtype, (self.m, self.n, self.k) = dtype, shape
        generator, mean = torch.Generator("cuda").manual_seed(seed), 0.5 if dtype == "fp16" else 1  # mean_of() in common/matmul.c
        A, B = ((mean + torch.randn(*size, device="cuda", generator=generator)).to(torch_type(torch, dtype))
                for size in ((self.m, self.k), (self.k, self.n)))
        super().__init__(torch, (A, B, torch.full((self.m, self.n), math.nan, device="cuda", dtype=A.dtype)))
        self.sample = sampled_rows(torch, self.m)
        self.reference = A[self.sample].double() @ B.double()
        self.bounds = bounds(torch, dtype, self.k, self.reference)
        if self.m <= FEW_ROWS:
            # Some 16-bit numbers more, up to a multiple of 4096: a copy of an odd number of 512 bytes took half as long again.
            moved = torch.ones(4096 * math.ceil(sum(tensor.numel() for tensor in self.layouts[0][0]) / 8192), device="cuda", dtype=A.dtype)
            self.moved = [(moved.clone(), torch.zeros_like(moved)) for _ in range(self.copies)]
            self.peer_checks = {COPY: lambda: COPIED | {"right": bool((self.result == 1).all())}}

    @staticmethod
    def shape(text):
        sizes = [int(size) for size in text.split("x")]
        if len(sizes) not in (1, 3) or min(sizes) < 1:
            raise ValueError
        return sizes * 3 if len(sizes) == 1 else sizes

    @staticmethod
    def flags(shape):
        return [word for flag, size in zip(("-m", "-n", "-k"), shape) for word in (flag, str(size))]

    def launch(self, library, variant, row_bytes=0):
        """A function that queues one launch of a step's variant on copy i."""
        calls = [self.Args(A=a.data_ptr(), B=b.data_ptr(), C=c.data_ptr(), m=self.m, n=self.n, k=self.k, A_pitch=a.stride(0),
                           B_pitch=b.stride(0), C_pitch=c.stride(0), dtype=ENUM_DTYPE[self.dtype], C_dtype=ENUM_DTYPE[self.dtype],
                           variant=variant)
                 for a, b, c in self.lay_out(row_bytes)]
        return self.writing(launcher(self.torch, library, calls), row_bytes)

    def peers(self):
        """{name: function that queues it on copy i}"""
        settings = self.torch.backends.cuda.matmul
        settings.allow_tf32 = settings.allow_fp16_reduced_precision_reduction = False
        settings.allow_bf16_reduced_precision_reduction = False
        how = "TF32 off" if self.dtype == "fp32" else "sums in fp32"
        found = {f"cuBLAS {self.dtype} (torch.matmul, {how})": self.peer(lambda A, B, C: self.torch.matmul(A, B, out=C))}
        return found | ({COPY: self.copy} if self.m <= FEW_ROWS else {})

    def copy(self, i):
        """As many bytes, read and written, as A, B and C have."""
        from_, self.result = self.moved[i]
        self.result.copy_(from_)


class Matrix(Rows):
    """What the operations have in common that make Y of X, both [rows, cols] in fp32. Their rate is held against a copy, which moves the
    same bytes and computes nothing."""

    DTYPES = ["fp32"]

    def __init__(self, torch, shape, seed, terms, compute):
        """compute: Y of some rows of X. Each element of Y is a sum of so many terms."""
        self.rows, self.cols = shape
        X = 1 + torch.randn(self.rows, self.cols, device="cuda", generator=torch.Generator("cuda").manual_seed(seed))
        super().__init__(torch, (X, torch.full_like(X, math.nan)))
        self.sample = sampled_rows(torch, self.rows)
        self.reference = compute(X[self.sample].double())
        self.bounds = bounds(torch, "fp32", terms, self.reference)
        self.peer_checks = {COPY: lambda: self.compare(self.layouts[0][0][0][self.sample].double(), 0.0, 0.0)}

    @staticmethod
    def shape(text):
        rows, cols = (int(size) for size in text.split("x"))
        if min(rows, cols) < 1:
            raise ValueError
        return rows, cols

    @staticmethod
    def flags(shape):
        return ["--rows", str(shape[0]), "--cols", str(shape[1])]

    def calls(self, row_bytes, variant, **more):
        """The arguments of a launch on each copy."""
        return [self.Args(X=x.data_ptr(), Y=y.data_ptr(), rows=self.rows, cols=self.cols, X_pitch=x.stride(0), Y_pitch=y.stride(0),
                          dtype=ENUM_DTYPE["fp32"], variant=variant, **more) for x, y in self.lay_out(row_bytes)]

    def peers(self):
        return {COPY: self.peer(lambda X, Y: Y.copy_(X))}


class Scale(Matrix):
    """Y = a X."""

    SHAPE, LADDER = "16384x16384 for rows, columns", ["16384x16384"]

    class Args(ctypes.Structure):  # struct scale_args in common/scale.h
        _fields_ = [("a", ctypes.c_float), *((name, ctypes.c_void_p) for name in ("X", "Y", "prepared")),
                    *((name, ctypes.c_int) for name in ("rows", "cols", "X_pitch", "Y_pitch", "dtype", "variant"))]

    FACTOR = 2.0

    def __init__(self, torch, shape, seed):
        super().__init__(torch, shape, seed, 1, lambda X: self.FACTOR * X)

    def launch(self, library, variant, row_bytes=0):
        """A function that queues one launch of a step's variant on copy i."""
        return self.writing(launcher(self.torch, library, self.calls(row_bytes, variant, a=self.FACTOR)), row_bytes)

    def peers(self):
        return super().peers() | {"torch.mul": self.peer(lambda X, Y: self.torch.mul(X, self.FACTOR, out=Y))}


class Softmax(Matrix):
    """Y = softmax of each row of X."""

    SHAPE, LADDER = "8192x1024 for rows, columns", ["8192x8192"]

    class Args(ctypes.Structure):  # struct softmax_args in common/softmax.h
        _fields_ = [("X", ctypes.c_void_p), ("Y", ctypes.c_void_p),
                    *((name, ctypes.c_int) for name in ("rows", "cols", "X_pitch", "Y_pitch", "dtype", "variant",
                                                        "threads_per_row", "rows_per_thread"))]

    def __init__(self, torch, shape, seed):
        super().__init__(torch, shape, seed, shape[1], lambda X: torch.softmax(X, dim=1))

    def launch(self, library, variant, threads_per_row=0, rows_per_thread=0, row_bytes=0):
        """A function that queues one launch of a step's variant on copy i."""
        calls = self.calls(row_bytes, variant, threads_per_row=threads_per_row, rows_per_thread=rows_per_thread)
        return self.writing(launcher(self.torch, library, calls), row_bytes)

    def peers(self):
        return super().peers() | {"torch.softmax": self.peer(lambda X, Y: self.torch.softmax(X, dim=1, out=Y))}


class Strides(ctypes.Structure):  # struct strides in common/attention.h
    _fields_ = [(name, ctypes.c_size_t) for name in ("batch", "head", "row")]


CAUSAL = "-causal"
SHAPE_OF_ATTENTION = re.compile(rf"([0-9]+)x([0-9]+)(?:/([0-9]+))?x([0-9]+)(?:/([0-9]+))?x([0-9]+)({CAUSAL})?")


class AttentionShape(NamedTuple):
    batch: int
    heads: int
    kv_heads: int   # heads of K and V
    seqlen: int     # queries of a head
    kv_seqlen: int  # keys of a head
    head_dim: int
    causal: bool    # query i sees the keys up to i + kv_seqlen − seqlen

    @property
    def fewer_keys(self):
        """How many fewer keys than queries: with a causal mask, so many of the first queries see none."""
        return self.seqlen - self.kv_seqlen

    def __str__(self):
        pair = lambda one, other: f"{one}" if one == other else f"{one}/{other}"
        sizes = self.batch, pair(self.heads, self.kv_heads), pair(self.seqlen, self.kv_seqlen), self.head_dim
        return "x".join(map(str, sizes)) + CAUSAL * self.causal


class Attention:
    """O = softmax(Q Kᵀ / √D) V, all of one type, in as many copies as together exceed L2: Q and O [batch, heads, seqlen, head_dim],
    K and V [batch, kv_heads, kv_seqlen, head_dim]."""

    DTYPES = list(ENUM_DTYPE)
    SHAPE = (f"1x8x8192x64 for batch, heads, seqlen, head dimension, and {CAUSAL} behind it for a causal mask; 8x32/8x2048x64 has 8 heads of "
             "K and V, 1x8x512/4096x64 4096 keys of a head")
    LADDER = ["1x8x8192x64"]
    SAMPLED = 32   # rows of each head
    BEYOND_L2 = 1  # the copies have at least so many times the bytes of L2

    class Args(ctypes.Structure):  # struct attention_args in common/attention.h
        _fields_ = [*((name, ctypes.c_void_p) for name in ("Q", "K", "V", "O", "lse", "workspace", "prepared")),
                    *((f"{name}_strides", Strides) for name in "QKVO"),
                    *((name, ctypes.c_int) for name in ("batch", "heads", "kv_heads", "seqlen", "kv_seqlen", "head_dim")),
                    ("scale", ctypes.c_float),
                    *((name, ctypes.c_int) for name in ("causal", "dtype", "variant"))]

    def __init__(self, torch, shape, seed, dtype, values=None):
        """values: the type that holds the numbers of Q, K and V, too, where they are those of tensors of that type."""
        self.torch, self.sizes, self.dtype = torch, shape, dtype
        b, h, h_kv, n, n_kv, d, _ = shape
        generator = torch.Generator("cuda").manual_seed(seed)
        drawn = (mean + torch.randn(*size, device="cuda", generator=generator)
                 for mean, size in ((0.25, (b, h, n, d)), (0.25, (b, h_kv, n_kv, d)), (1, (b, h_kv, n_kv, d))))
        Q, K, V = (numbers.to(torch_type(torch, values or dtype)).to(torch_type(torch, dtype)) for numbers in drawn)
        self.bytes = 2 * (Q.nbytes + K.nbytes)
        self.copies = min(MAX_COPIES, 2 + self.BEYOND_L2 * torch.cuda.get_device_properties(0).L2_cache_size // self.bytes)
        self.inputs = [tuple(tensor.clone() for tensor in (Q, K, V)) for _ in range(self.copies)]
        self.O = [torch.full_like(Q, math.nan) for _ in range(self.copies)]
        self.result, self.workspace, self.scores_fit = None, [None] * self.copies, False
        self.rows = torch.linspace(0, n - 1, min(n, self.SAMPLED), device="cuda", dtype=torch.float64).long()
        self.reference = self.rows_of(Q, K, V)
        self.bounds = bounds(torch, dtype, max(n_kv, d), self.reference)

    def rows_of(self, Q, K, V):
        """The sampled rows of all heads of O, in double. A row that sees no key is 0."""
        b, h, h_kv, n, n_kv, d, causal = self.sizes
        rows = len(self.rows)
        queries = Q[:, :, self.rows].double().reshape(b, h_kv, h // h_kv * rows, d)  # neighbours share a head of K and V
        scores = (queries @ K.double().transpose(2, 3) / math.sqrt(d)).reshape(b, h, rows, n_kv)
        if causal:
            last = self.rows + (n_kv - n)
            hidden = self.torch.arange(n_kv, device="cuda") > last[:, None]
            scores = scores.masked_fill(hidden, -math.inf)
        weights = self.torch.softmax(scores, dim=3).nan_to_num(0)  # in a row that sees no key, all are NaN
        return (weights.reshape(b, h_kv, h // h_kv * rows, n_kv) @ V.double()).reshape(b, h, rows, d)

    @staticmethod
    def shape(text):
        found = SHAPE_OF_ATTENTION.fullmatch(text)
        if not found:
            raise ValueError
        b, h, h_kv, n, n_kv, d, causal = found.groups()
        shape = AttentionShape(*map(int, (b, h, h_kv or h, n, n_kv or n, d)), bool(causal))
        if min(shape[:-1]) < 1 or shape.heads % shape.kv_heads:
            raise ValueError
        return shape

    @staticmethod
    def flags(shape):
        """kv-heads and kv-seqlen only where they differ: then the program's line of JSON names them, too."""
        sizes = {"--batch": shape.batch, "--heads": shape.heads, "--kv-heads": shape.kv_heads if shape.kv_heads != shape.heads else None,
                 "--seqlen": shape.seqlen, "--kv-seqlen": shape.kv_seqlen if shape.kv_seqlen != shape.seqlen else None,
                 "--head-dim": shape.head_dim}
        return [word for flag, size in sizes.items() if size for word in (flag, str(size))] + ["--causal"] * shape.causal

    def reserve(self, lines):
        """Device memory for what the step's variants need beside the tensors."""
        most = max(line["workspace_bytes"] for line in lines)
        self.workspace = [self.torch.empty(most, dtype=self.torch.uint8, device="cuda") for _ in range(self.copies)]

    @classmethod
    def arguments(cls, Q, K, V, O, **more):
        """Of a launch on these tensors."""
        (b, h, n, d), (_, h_kv, n_kv, _) = Q.shape, K.shape
        tensors = {"Q": Q, "K": K, "V": V, "O": O}
        return cls.Args(**{name: tensor.data_ptr() for name, tensor in tensors.items()},
                        **{f"{name}_strides": Strides(*tensor.stride()[:3]) for name, tensor in tensors.items()},
                        batch=b, heads=h, kv_heads=h_kv, seqlen=n, kv_seqlen=n_kv, head_dim=d, scale=1 / math.sqrt(d), **more)

    def launch(self, library, variant):
        """A function that queues one launch of a step's variant on copy i."""
        workspace = self.workspace  # the calls hold its addresses, so it has to live as long
        calls = [self.arguments(*inputs, O, workspace=space.data_ptr(), causal=self.sizes.causal, dtype=ENUM_DTYPE[self.dtype],
                                variant=variant) for inputs, O, space in zip(self.inputs, self.O, workspace)]
        launch = launcher(self.torch, library, calls)

        def queue(i):
            launch(i)
            self.result = self.O[i]
            return workspace
        return queue

    def peers(self):
        """{name: function that queues it on copy i}"""
        from contextlib import nullcontext

        from torch.nn.attention import SDPBackend, sdpa_kernel
        settings = self.torch.backends.cuda.matmul
        settings.allow_tf32 = settings.allow_fp16_reduced_precision_reduction = False

        def sdpa(backend):
            choice = {"enable_gqa": True} if self.sizes.heads != self.sizes.kv_heads else {}
            choice |= self.mask_of(backend == SDPBackend.CUDNN_ATTENTION)

            def queue(i):
                with sdpa_kernel(backend) if backend else nullcontext():
                    self.result = self.torch.nn.functional.scaled_dot_product_attention(*self.inputs[i], **choice)
            return queue
        of_fp32 = {"efficient": SDPBackend.EFFICIENT_ATTENTION, "math": SDPBackend.MATH}
        of_16_bits = {"flash": SDPBackend.FLASH_ATTENTION, "cuDNN": SDPBackend.CUDNN_ATTENTION, "its own choice": None}
        backends = of_fp32 if self.dtype == "fp32" else of_16_bits
        if self.sizes.head_dim > MOST_OF_FLASH:
            backends["efficient"] = SDPBackend.EFFICIENT_ATTENTION
        fused = {f"PyTorch SDPA {self.dtype}, {name}": sdpa(backend) for name, backend in backends.items()}
        return fused | ({UNFUSED: self.unfused} if self.dtype == "fp16" else {})

    def mask_of(self, as_tensor):
        """How PyTorch is asked for the mask. Its own is_causal shows query i the keys up to i, however many there are; ours is
        that one where there are as many keys as queries. as_tensor: for a backend that has no other mask of this kind."""
        if not self.sizes.causal:
            return {}
        if not self.sizes.fewer_keys:
            return {"is_causal": True}
        if as_tensor:
            sees = self.torch.ones(self.sizes.seqlen, self.sizes.kv_seqlen, dtype=self.torch.bool, device="cuda")
            return {"attn_mask": sees.tril(-self.sizes.fewer_keys)}
        from torch.nn.attention.bias import causal_lower_right
        return {"attn_mask": causal_lower_right(self.sizes.seqlen, self.sizes.kv_seqlen)}

    def unfused(self, i):
        """Three kernels on copy i: two products, and between them a softmax, which reads all N² scores and writes N² weights."""
        b, h, h_kv, n, n_kv, d, causal = self.sizes
        if causal or h != h_kv:
            raise RuntimeError("it has neither a mask nor heads that share K and V")
        self.require_memory_for_scores()
        Q, K, V = (tensor.view(b * h, -1, d) for tensor in self.inputs[i])
        S = self.torch.baddbmm(Q.new_empty(1), Q, K.transpose(1, 2), beta=0, alpha=1 / math.sqrt(d))  # by beta, nothing is added
        self.result = self.torch.bmm(self.torch.softmax(S, dim=2), V).view(b, h, n, d)

    def require_memory_for_scores(self):
        """Scores and weights are there at the same time; freed, they serve the next copy, too."""
        if self.scores_fit:
            return
        b, h, _, n, n_kv, _, _ = self.sizes
        cuda, needed = self.torch.cuda, 2 * b * h * n * n_kv * ELEMENT_BYTES[self.dtype]
        free = cuda.mem_get_info()[0] + cuda.memory_reserved() - cuda.memory_allocated()
        if needed > free:
            raise RuntimeError(f"its scores and weights take {1e-9 * needed:.3g} GB, and {1e-9 * free:.3g} GB are free")
        self.scores_fit = True

    def memory(self, queue):
        """A peer's peak: one copy of the tensors, and what the call allocated beside its output."""
        cuda, self.result = self.torch.cuda, None
        cuda.reset_peak_memory_stats()
        before = cuda.memory_allocated()
        queue(0)
        cuda.synchronize()
        beside = cuda.max_memory_allocated() - before - self.O[0].nbytes
        return {"device_bytes": self.bytes + beside, "workspace_bytes": beside}

    def poison(self):
        self.O[0].fill_(math.nan)
        self.result = None

    def check(self):
        """Every element of the last output a number, sampled rows of all heads right."""
        difference = self.result[:, :, self.rows].double() - self.reference
        error = (difference.norm() / self.reference.norm()).item()
        of_rows = difference.norm(dim=3)
        worst_row = (of_rows / self.reference.norm(dim=3)).masked_fill(of_rows == 0, 0).max().item()  # a row that sees no key is 0
        complete = self.result.isfinite().all().item()
        bound, row_bound = self.bounds
        return {"right": complete and error <= bound and worst_row <= row_bound, "error": error,
                "bound": bound, "worst_row": worst_row, "worst_row_bound": row_bound,
                "max_abs": difference.abs().max().item(), "rows": self.reference[..., 0].numel()}


class Fused(Attention):
    """Attention beside PyTorch's fastest backends alone."""

    BACKENDS = "flash", "cuDNN"

    def peers(self):
        return {name: queue for name, queue in super().peers().items() if name.endswith(self.BACKENDS)}


LENGTHS = 512, 1024, 2048, 4096, 8192, 16384  # of sequences in FlashAttention-3's setting


def of_16384(head_dims, lengths=LENGTHS, kv_heads=("",), mask=""):
    """Attention's shapes in FlashAttention-3's setting: 16384 queries in as many sequences as that makes, and 2048 columns in as many heads.
    kv_heads: what follows the heads, such as /1."""
    return [f"{16384 // n}x{2048 // d}{shared}x{n}x{d}{mask}" for d in head_dims for n in lengths for shared in kv_heads]


OPERATIONS = {"axpy": Axpy, "sum": Sum, "scale": Scale, "matmul": Matmul, "softmax": Softmax, "attention": Attention}
TYPES_TOGETHER = {"attention"}  # whose types take turns in one measurement


# ---- timing ----

class Contender:
    """One thing to be timed: a step's variant, or a peer."""

    graph = None  # of its launches

    def __init__(self, line, queue, tensors):
        self.line, self.queue, self.tensors, self.copies = line, queue, tensors, tensors.copies
        self.launches, self.batch, self.iters, self.spin, self.ms = 0, 1, 0, SPIN_CYCLES, []

    def queue_next(self):
        self.queue(self.launches % self.copies)
        self.launches += 1

    def queue_sample(self):
        for _ in range(self.batch):
            self.queue_next()

    def queue_checked(self):
        """What is then checked."""
        self.queue(0)

    def sample(self, torch):
        """Milliseconds of one launch, queued behind a spin so that Python's own time stays out."""
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda._sleep(self.spin)
        self.queue_before()
        begin.record()
        self.queue_sample()
        end.record()
        late = begin.query()  # the spin was over before all was queued, and the GPU may have waited for Python
        end.synchronize()
        if not late:
            return begin.elapsed_time(end) / self.batch
        if self.spin >= LONGEST_SPIN:
            raise RuntimeError(f"to queue {self.batch} launches takes longer than a spin of {self.spin} clocks")
        self.spin *= 2
        return self.sample(torch)

    def queue_before(self):
        """What a sample is timed behind."""

    def prepare(self, torch, iters):
        """Returns about how many milliseconds a launch takes."""
        for _ in range(WARMUP):
            self.queue_next()
        ms = self.sample(torch)
        self.iters = iters if ms <= LONG_MS else max(LEAST_ITERS, min(iters, int(LONG_BUDGET_MS / ms)))
        self.batch = 1 if ms >= SHORT_MS else min(MAX_BATCH, math.ceil(BATCH_MS / ms))
        return ms


class Graph(Contender):
    """One thing to be timed whose launches are a CUDA graph, in whole rounds over the copies. They follow one another with neither the
    host nor the queue of a stream between them, and what the last of them leaves is checked."""

    graph_ms = GRAPH_MS

    def prepare(self, torch, iters):
        ms = super().prepare(torch, iters)
        rounds = max(1, min(round(self.graph_ms / (ms * self.copies)), MAX_GRAPH // self.copies))
        self.batch, graph = rounds * self.copies, torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for i in range(self.batch):
                self.queue(i % self.copies)
        self.graph, self.result = graph, self.tensors.result  # a peer's output lies where only the graph writes
        self.sample(torch)
        return ms

    def queue_sample(self):
        if self.graph:
            self.graph.replay()
        else:
            super().queue_sample()

    def queue_checked(self):
        if not self.graph:
            return super().queue_checked()
        self.result.fill_(math.nan)
        self.graph.replay()
        self.tensors.result = self.result


def quantile(values, fraction):
    """Interpolated between the two nearest."""
    values, place = sorted(values), fraction * (len(values) - 1)
    below = int(place)
    above = min(below + 1, len(values) - 1)
    return values[below] + (place - below) * (values[above] - values[below])


def checked(contender):
    """Whether a launch is right. A peer that computes something else is right by something else."""
    tensors = contender.tensors
    tensors.poison()
    contender.queue_checked()
    check = getattr(tensors, "peer_checks", {}).get(contender.line.get("peer"), tensors.check)
    contender.line["check"] = check()
    return contender.line["check"]["right"]


def measure(torch, contenders, iters):
    """Check each, time them in turns, check each again on what a timed launch left; fills in their lines."""
    right = [contender for contender in contenders if checked(contender)]
    for contender in right:
        contender.prepare(torch, iters)
    for turn in range(iters):
        for contender in right:
            if turn < contender.iters:
                contender.ms.append(contender.sample(torch))
    for contender in right:
        if checked(contender):
            fill_in_time(contender)


def fill_in_time(contender):
    line, median = contender.line, quantile(contender.ms, 0.5)
    line |= {"time": {"median_ms": median, "p10_ms": quantile(contender.ms, 0.1), "p90_ms": quantile(contender.ms, 0.9),
                      "iters": contender.iters, "warmup": WARMUP, "batch": contender.batch, "cold": False,
                      "copies": contender.copies, "graph": contender.graph is not None},
             "tflops": 1e-9 * line["flops"] / median, "gbps": 1e-6 * line["bytes"] / median,
             "of_floor": line["floor_ms"] and line["floor_ms"] / median}


# ---- steps ----

def find_step(text):
    path = ROOT / "build" / "steps.json"
    if not path.exists():
        stop(USAGE, "nothing is built yet: cmake --preset cuda && cmake --build --preset cuda")
    steps = json.loads(path.read_text())["steps"]
    for step in steps:
        if text in (step["number"], step["name"]) and step["operation"] in OPERATIONS:
            return step
    known = ", ".join(step["number"] for step in steps if step["operation"] in OPERATIONS)
    stop(USAGE, f"there is no step '{text}' with peers; there are {known}")


def source_of(step):
    return ROOT / step["dir"] / f"{step['name'].removeprefix(step['number'] + '_')}.cu"


def load(step):
    path = CUDA / f"lib{step['name']}.so"
    if not path.exists():
        stop(USAGE, f"{path.relative_to(ROOT)} is not built: cmake --preset cuda && cmake --build --preset cuda")
    library = ctypes.CDLL(str(path))
    library.launch.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    if hasattr(library, "workspace"):
        library.workspace.restype = ctypes.c_size_t
    return library


def workspace_bytes(library, call):
    """Of device memory that a launch with these arguments needs beside its tensors."""
    return library.workspace(ctypes.byref(call)) if hasattr(library, "workspace") else 0


def dtype_flags(step, dtype):
    """A program with one type offers no choice of it."""
    return ["--dtype", dtype] if len(step["dtypes"]) > 1 else []


def describe(step, flags, seed):
    """The step's own lines on this case, one for each variant, still without a result."""
    with tempfile.TemporaryDirectory() as place:
        path = Path(place, "lines.jsonl")
        command = [CUDA / step["name"], "--all-variants", "--no-check", "--no-time", "--seed", str(seed), "--json", path]
        done = subprocess.run([*command, *flags], capture_output=True, text=True)
        if done.returncode:
            stop(done.returncode, done.stderr.strip())
        return [json.loads(line) for line in path.read_text().splitlines()]


def tensors_of(operation, torch, shape, seed, dtype, dtypes):
    """An operation that has but one type is not asked for it. Of types that take turns, fp32 holds the numbers of the first of 16 bits.
    Those hold their own: products of bf16's few digits, held in fp16, would cost less power than fp16's."""
    if len(operation.DTYPES) == 1:
        return operation(torch, shape, seed)
    narrow = [other for other in dtypes if other in ROW_BOUND]
    return operation(torch, shape, seed, dtype, *(narrow[:1] if dtype == "fp32" else []))


def described(steps, dtypes, flags, seed, at_once, beside=()):
    """{(a step's name, a type that it has): its lines}. at_once: so many programs run side by side; beside: the steps that say why and
    are left out, as a peer is, where they refuse the shape."""
    def lines_of(case):
        try:
            return describe(case[0], [*flags, *dtype_flags(*case)], seed)
        except SystemExit as refusal:
            if refusal.code != USAGE or case[0] not in beside:
                raise
            return None

    cases = [(step, dtype) for step in steps for dtype in dtypes if dtype in step["dtypes"]]
    with ThreadPoolExecutor(at_once) as pool:
        return {(step["name"], dtype): lines for (step, dtype), lines in zip(cases, pool.map(lines_of, cases)) if lines}


def steps_of(steps, tensors, known, dtype, torch, timed_as=Contender):
    """The variants of the steps that have the type and can do the shape; known: what the programs say of them."""
    for step in (step for step in steps if (step["name"], dtype) in known):
        library, lines = load(step), known[step["name"], dtype]
        if hasattr(tensors, "reserve"):
            tensors.reserve(lines)
        for variant, line in enumerate(lines):
            line["env"]["torch"] = torch.__version__
            layout = {"row_bytes": step["row_bytes"]} if hasattr(tensors, "lay_out") else {}
            yield timed_as(line, tensors.launch(library, variant, **layout), tensors)


OURS_ALONE = {"parts", "blocks"}  # of a line, how a step divides the work


def peer_line(steps, ours, dtype):
    """What a peer's line says of the case. Of a type that no step here has, it is kept with these steps, and has no floor."""
    lines = [{key: value for key, value in contender.line.items() if key not in OURS_ALONE} for contender in ours]
    line = next((line for line in lines if line["dtype"] == dtype), None)
    if line:
        return line | {"step": None, "variant": None}
    line = lines[0]
    size = ELEMENT_BYTES[dtype] / ELEMENT_BYTES[line["dtype"]]
    return line | {"step": None, "variant": None, "dtype": dtype, "bytes": int(line["bytes"] * size), "floor_ms": None,
                   "beside": [step["name"] for step in steps]}


def accepted(name, queue):
    """Whether PyTorch has this peer for the case."""
    try:
        queue(0)
    except RuntimeError as refusal:
        print(f"peers.py: {name} is left out: {str(refusal).splitlines()[0]}", file=sys.stderr)
        return False
    return True


def contenders_of(steps, operation, shape, seed, dtypes, torch, only=None, timed_as=Contender, at_once=1, beside=()):
    """Of each type the steps that have it, then its peers; only: the variants and peers wanted, where not all are; timed_as: Graph, to
    be timed as graphs; at_once: how many programs may have the tensors on the host at the same time; beside: the steps that are left out
    where they cannot do the shape."""
    known = described(steps, dtypes, operation.flags(shape), seed, at_once, beside)
    tensors = {dtype: tensors_of(operation, torch, shape, seed, dtype, dtypes) for dtype in dtypes}
    wanted = lambda name: only is None or name in only
    ours = [contender for dtype in dtypes for contender in steps_of(steps, tensors[dtype], known, dtype, torch, timed_as)
            if wanted(contender.line["variant"])]
    peers = []
    for dtype in dtypes:
        for name, queue in tensors[dtype].peers().items():
            if not wanted(name) or not accepted(name, queue):
                continue
            line = peer_line(steps, ours, dtype) | {"peer": name}
            if "device_bytes" in line:
                line |= tensors[dtype].memory(queue)
            peers.append(timed_as(line, queue, tensors[dtype]))
    return ours + peers


# ---- what is said ----

def table(lines):
    peer = next((line["time"]["median_ms"] for line in lines if line.get("peer") and line["time"]), math.nan)
    moves = lines[0]["operation"] in ("axpy", "sum", "scale", "softmax")  # bytes, and computes little
    rate, unit = ("gbps", "GB/s") if moves else ("tflops", "TFLOPS")
    with_memory = "device_bytes" in lines[0]
    rows = [("", "median ms", "p10–p90", unit, "of floor", "of peer", "error", *["memory"] * with_memory)]
    for line in lines:
        name, check, time = line.get("peer") or f"{line['step']} {line['variant']}", line["check"], line["time"]
        if time:
            of_floor = f"{line['of_floor']:.1%}" if line["of_floor"] else "–"
            rows.append((name, f"{time['median_ms']:.4g}", f"{time['p10_ms']:.4g}–{time['p90_ms']:.4g}",
                         f"{line[rate]:.{0 if rate == 'gbps' else 2}f}", of_floor, f"{peer / time['median_ms']:.2f}",
                         f"{check['error']:.1e}", *[f"{1e-6 * line['device_bytes']:.4g} MB" for _ in range(with_memory)]))
        else:
            rows.append((name, "WRONG", "", "", "", "", f"{check['error']:.1e}", *[""] * with_memory))
    widths = [max(map(len, column)) for column in zip(*rows)]
    for row in rows:
        print("  ".join(cell.ljust(width) if place == 0 else cell.rjust(width)
                        for place, (cell, width) in enumerate(zip(row, widths))))


def text_of(shape):
    """As --shape takes it."""
    return str(shape) if isinstance(shape, AttentionShape) else "x".join(map(str, shape))


def json_line(line):
    """JSON has no NaN."""
    check = {key: value if math.isfinite(value) else None for key, value in line["check"].items()}
    return json.dumps(line | {"check": check}) + "\n"


def command_line():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("steps", nargs="+", metavar="STEP", help="01, or 03_matmul_naive; all of one operation")
    parser.add_argument("--shape", nargs="+",
                        help="; ".join(f"{name}: {operation.SHAPE}" for name, operation in OPERATIONS.items()))
    parser.add_argument("--dtype", nargs="+", help="of what the steps have: " + ", ".join(ENUM_DTYPE) + " (default: all); of attention "
                        "any, and where no step has one, the peers on it")
    parser.add_argument("--iters", type=int, default=20, help="timed launches of each (fewer above 100 ms)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=argparse.FileType("a"), metavar="FILE", help="append one line per item")
    asked = parser.parse_args()
    if asked.iters < 1:
        parser.error("--iters: at least 1")
    steps = [find_step(text) for text in asked.steps]
    if len({step["operation"] for step in steps}) > 1:
        parser.error("steps of one operation at a time: their peers and shapes differ")
    operation = OPERATIONS[steps[0]["operation"]]
    try:
        shapes = [operation.shape(text) for text in asked.shape or operation.LADDER]
    except ValueError:
        parser.error(f"--shape {' '.join(asked.shape)}: for {steps[0]['operation']} a shape is {operation.SHAPE}")
    have = [dtype for dtype in operation.DTYPES if any(dtype in step["dtypes"] for step in steps)]
    together = steps[0]["operation"] in TYPES_TOGETHER
    known = operation.DTYPES if together else have
    wanted = list(dict.fromkeys(asked.dtype or have))
    for dtype in wanted:
        if dtype not in known:
            parser.error(f"--dtype {dtype}: these steps and their peers have {', '.join(known) or 'none'}")
    if not set(wanted) & set(have):
        parser.error(f"--dtype {' '.join(wanted)}: that is of peers alone; the steps have {', '.join(have) or 'none'}")
    return asked, steps, operation, [(shape, dtypes) for dtypes in ([wanted] if together else [[one] for one in wanted]) for shape in shapes]


def pytorch(step):
    """The module, where it sees a GPU."""
    try:
        import torch
    except ImportError:
        stop(CANNOT_RUN, "PyTorch is not installed for this python3; the peers come from it: pip install torch")
    if not torch.cuda.is_available():
        stop(CANNOT_RUN, "PyTorch sees no GPU here; the step alone runs on the emulator: ./learn run " + step["number"])
    return torch


def main():
    asked, steps, operation, cases = command_line()
    torch, wrong = pytorch(steps[0]), False
    for shape, dtypes in cases:
        contenders = contenders_of(steps, operation, shape, asked.seed, dtypes, torch)
        measure(torch, contenders, asked.iters)
        lines = [contender.line for contender in contenders]
        wrong |= not all(line["check"]["right"] for line in lines)
        if asked.json:
            asked.json.writelines(json_line(line) for line in lines)
            asked.json.flush()
        print(f"\n{text_of(shape)} {lines[0]['operation']}, {' and '.join(dtypes)}, {lines[0]['device']}")
        table(lines)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
