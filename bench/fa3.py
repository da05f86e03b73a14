"""FlashAttention-3 as a peer: its forward pass, built from a folder of its sources and loaded beside PyTorch.

It is built for the measurement alone, under build/, and is no part of this project: its licence is its own. Only fp16, head dimensions of 64, 128
and 256, equal lengths and as many heads of K and V as of Q are built, with its own settings for the H100 and H200.
"""
import ctypes
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import peers

BUILT = peers.ROOT / "build" / "fa3"
LIBRARY, ABOUT = "libfa3.so", "fa3.json"
HEAD_DIMS, DTYPE = (64, 128, 256), "fp16"
NEEDED = "hopper/flash.h", *(f"hopper/instantiations/flash_fwd_hdim{d}_fp16_sm90.cu" for d in HEAD_DIMS)
LEFT_OUT = "BACKWARD", "PAGEDKV", "SPLIT", "APPENDKV", "LOCAL", "SOFTCAP", "PACKGQA", "VARLEN", "SM8x"
FLAGS = ["-O3", "-std=c++17", "--use_fast_math", "-DNDEBUG", "-DCUTLASS_DEBUG_TRACE_LEVEL=0", "-DCUTE_SM90_EXTENDED_MMA_SHAPES_ENABLED",
         "-DCUTLASS_ENABLE_GDC_FOR_SM90", "--expt-relaxed-constexpr", "--expt-extended-lambda", "-gencode=arch=compute_90a,code=sm_90a",
         "-Xcompiler", "-fPIC", *(f"-DFLASHATTENTION_DISABLE_{part}" for part in LEFT_OUT)]


class Peer(NamedTuple):
    """What was built."""
    library: Path
    commit: str
    licence: str

    def __str__(self):
        return f"FlashAttention-3, commit {self.commit}, {self.licence}"


def refuse(message):
    peers.stop(peers.USAGE, message)


def commit_of(folder):
    """Its commit, of a checkout."""
    done = subprocess.run(["git", "-C", str(folder), "rev-parse", "--short=8", "HEAD"], capture_output=True, text=True)
    top = subprocess.run(["git", "-C", str(folder), "rev-parse", "--show-toplevel"], capture_output=True, text=True)
    is_its_own = top.returncode == 0 and Path(top.stdout.strip()).resolve() == folder.resolve()
    return done.stdout.strip() if done.returncode == 0 and is_its_own else "unknown (no checkout of git)"


def built_before(folder):
    """The peer in a folder of build/fa3, or None."""
    if not ((folder / LIBRARY).is_file() and (folder / ABOUT).is_file()):
        return None
    about = json.loads((folder / ABOUT).read_text())
    return Peer(folder / LIBRARY, about["commit"], about["licence"])


def compile_all(sources, cutlass, place):
    """Compiles them one after another, which takes minutes, and says so."""
    cuda = Path(os.environ.get("CUDA_HOME", "/usr/local/cuda"))
    nvcc = shutil.which("nvcc") or str(cuda / "bin" / "nvcc")
    if not Path(nvcc).is_file():
        peers.stop(peers.CANNOT_RUN, "FlashAttention-3 is compiled by nvcc, which is not found here: install the CUDA toolkit, or set CUDA_HOME")
    include = [f"-I{sources / 'hopper'}", f"-I{cutlass / 'include'}", f"-I{cuda / 'include' / 'cccl'}"]
    files = [*(sources / name for name in NEEDED[1:]), Path(__file__).with_suffix(".cu")]
    objects = [place / (file.stem + ".o") for file in files]
    for number, (file, made) in enumerate(zip(files, objects), 1):
        print(f"compiling FlashAttention-3: {number} of {len(files)}, {file.name}", file=sys.stderr, flush=True)
        done = subprocess.run([nvcc, *FLAGS, *include, "-c", file, "-o", made], capture_output=True, text=True)
        if done.returncode:
            peers.stop(1, f"nvcc refused {file.name}:\n" + "\n".join((done.stderr or done.stdout).splitlines()[:20]))
    subprocess.run([nvcc, "-shared", "-o", place / LIBRARY, *objects], check=True)
    for made in objects:
        made.unlink()


def build(folder, cutlass=None):
    """The peer, built from a checkout of FlashAttention; cutlass: a checkout of CUTLASS, where the submodule is not there. The folder may also
    be one of build/fa3, that was built before."""
    folder = Path(folder).resolve()
    if peer := built_before(folder):
        return peer
    if missing := [name for name in NEEDED if not (folder / name).is_file()]:
        refuse(f"--flash-attention {folder}: it has no {missing[0]}; a checkout of https://github.com/Dao-AILab/flash-attention is accepted, "
               f"or a folder of {BUILT.relative_to(peers.ROOT)}")
    cutlass = Path(cutlass).resolve() if cutlass else folder / "csrc" / "cutlass"
    if not (cutlass / "include" / "cutlass" / "cutlass.h").is_file():
        refuse(f"--cutlass {cutlass}: it has no include/cutlass/cutlass.h; a checkout of https://github.com/NVIDIA/cutlass is accepted, "
               "and without the flag the submodule csrc/cutlass")
    licence = next((folder / "LICENSE").open(), "no licence").strip() if (folder / "LICENSE").is_file() else "no licence"
    commit = commit_of(folder)
    place = BUILT / commit.split()[0]
    if peer := (commit.split()[0] != "unknown" and built_before(place)):
        return peer
    place.mkdir(parents=True, exist_ok=True)
    compile_all(folder, cutlass, place)
    (place / ABOUT).write_text(json.dumps({"commit": commit, "licence": licence}) + "\n")
    return built_before(place)


def why_not(shape, dtype):
    """Why it is not built for a case, or None."""
    if dtype != DTYPE:
        return f"it is built for {DTYPE}"
    if shape.head_dim not in HEAD_DIMS:
        return f"it is built for head dimensions {', '.join(map(str, HEAD_DIMS))}"
    if shape.kv_heads != shape.heads or shape.kv_seqlen != shape.seqlen:
        return "it is built for equal lengths and numbers of heads"
    return None


def queue_of(peer, tensors):
    """A function that queues it on copy i of the tensors of peers.Attention. Like a function of PyTorch, it allocates its output."""
    torch, forward = tensors.torch, ctypes.CDLL(str(peer.library)).fa3_forward
    b, h, _, n, _, d, causal = tensors.sizes
    lse = torch.empty((b, h, n), device="cuda")

    def queue(i):
        tensors.result = torch.empty_like(tensors.inputs[i][0])
        pointers = [ctypes.c_void_p(tensor.data_ptr()) for tensor in (*tensors.inputs[i], tensors.result, lse)]
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        if status := forward(*pointers, b, h, n, d, int(causal), stream):
            raise RuntimeError(f"FlashAttention-3 refused the launch: CUDA error {status}")
    return queue
