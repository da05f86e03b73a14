"""What this machine has: GPU, nvcc, compilers; and so where a step can run."""
import os
import re
import shlex
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path


LEAST_COMPILER = {"__clang_major__": ("clang++", 14), "__GNUC__": ("g++", 11)}  # clang defines both


def said(*command):
    """What a command prints, or None if it fails or cannot be run."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=30, stdin=subprocess.DEVNULL)
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def output(*command):
    """The first line that a command prints, or None."""
    lines = (said(*command) or "").strip().splitlines()
    return lines[0].strip() if lines else None


@cache
def nvcc():
    """The path of nvcc, or None."""
    homes = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"]
    places = [os.environ.get("CUDACXX"), shutil.which("nvcc"), *(f"{home}/bin/nvcc" for home in homes if home)]
    return next((place for place in places if place and Path(place).is_file()), None)


@cache
def nvdisasm():
    """The path of CUDA's disassembler: beside nvcc, on the PATH, or of a package of this Python; or None."""
    beside = [str(Path(place).resolve().with_name("nvdisasm")) for place in [nvcc()] if place]
    packages = [str(path) for folder in sys.path if folder for path in sorted(Path(folder).glob("nvidia/*/bin/nvdisasm"))]
    return next((place for place in [*beside, shutil.which("nvdisasm"), *packages] if place and os.access(place, os.X_OK)), None)


@cache
def gpu():
    """({name, capability, driver}, None), or (None, why there is none)."""
    if os.environ.get("CUDA_VISIBLE_DEVICES") == "":
        return None, "CUDA_VISIBLE_DEVICES hides every GPU"
    if not shutil.which("nvidia-smi"):
        return None, "no NVIDIA GPU here (there is no nvidia-smi)"
    line = output("nvidia-smi", "--query-gpu=name,compute_cap,driver_version", "--format=csv,noheader")
    found = re.fullmatch(r"(.+), *(\d+\.\d+), *(.+)", line or "")
    if not found:
        return None, "no NVIDIA GPU here (nvidia-smi lists none)"
    return dict(zip(("name", "capability", "driver"), found.groups())), None


def can_run(arch, capability):
    """Whether compute capability "9.0" (or arch "90a") runs code for arch "75": it or newer; for "90a": exactly it."""
    have = int(capability.replace(".", "").rstrip("a"))
    return have == int(arch[:-1]) if arch.endswith("a") else have >= int(arch)


def why_no_cuda():
    """Why nothing can be built and run for a GPU here, or None."""
    device, why_not = gpu()
    return f"a {device['name']} is here, but no nvcc to compile for it" if device and not nvcc() else why_not


def choose(step, forced=None):
    """Where a step runs, "cuda" or "cpu", and why. Forced to where it cannot run, it stops with status 77."""
    from tools.guard import stop

    if forced == "cpu":
        return "cpu", "--backend cpu"
    device, why_not = gpu()[0], why_no_cuda()
    if why_not is None and not can_run(step["arch"], device["capability"]):
        why_not = f"{step['name']} needs compute capability {capability_of(step['arch'])}, the {device['name']} " \
                  f"has {device['capability']}"
    if why_not is None:
        return "cuda", f"{device['name']}, compute capability {device['capability']}"
    if forced == "cuda":
        stop(f"CUDA was asked for: {why_not}. Without --backend cuda it runs on the emulator.", 77)
    return "cpu", why_not


def capability_of(arch):
    digits = arch.rstrip("a")
    return f"exactly {digits[:-1]}.{digits[-1]}" if arch.endswith("a") else f"{digits[:-1]}.{digits[-1]} or newer"


def words(name):
    """The command in an environment variable, [program, flags…]: "ccache g++" and a path with a space in it, too."""
    text = os.environ.get(name, "")
    if shutil.which(text):
        return [text]
    try:
        return shlex.split(text)
    except ValueError:
        return [text]


def compiler():
    """The C++ compiler for the emulator as [program, flags…]: what CXX names, else g++ or clang++; None without any."""
    for command in [words("CXX")] if words("CXX") else (["g++"], ["clang++"]):
        if path := shutil.which(command[0]):
            return [path, *command[1:]]
    return None


def compiler_trouble():
    """Why nothing can be compiled here, in one sentence, or None."""
    wanted = "g++ 11 or clang++ 14, or a newer one"
    for name in ("CXX", "CC"):
        if words(name) and not shutil.which(words(name)[0]):
            return f"{name} is '{os.environ[name]}', and there is no such program: unset it, or name {wanted}."
    command = compiler()
    if not command:
        return "No C++ compiler: neither g++ nor clang++ is on the PATH. On Debian or Ubuntu: apt-get install g++"
    macros = dict(re.findall(r"^#define (\w+) (\d+)$", said(*command, "-x", "c++", "-dM", "-E", "/dev/null") or "", re.MULTILINE))
    for macro, (title, least) in LEAST_COMPILER.items():
        if macro in macros:
            return f"{' '.join(command)} is {title} {macros[macro]}: install {wanted}, and name it in CXX." \
                if int(macros[macro]) < least else None
    return f"{' '.join(command)} is not a C++ compiler that this emulator knows: unset CXX, or name {wanted}."
