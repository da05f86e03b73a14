"""What this machine has: GPU, nvcc, compilers; and so where a step can run."""
import os
import shutil
import subprocess
from functools import cache
from pathlib import Path


def output(*command):
    """The first line that a command prints, or None if it cannot be run."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return None
    lines = done.stdout.strip().splitlines()
    return lines[0].strip() if done.returncode == 0 and lines else None


@cache
def nvcc():
    """The path of nvcc, or None."""
    homes = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"]
    places = [os.environ.get("CUDACXX"), shutil.which("nvcc"), *(f"{home}/bin/nvcc" for home in homes if home)]
    return next((place for place in places if place and Path(place).is_file()), None)


@cache
def gpu():
    """({name, capability, driver}, None), or (None, why there is none)."""
    if os.environ.get("CUDA_VISIBLE_DEVICES") == "":
        return None, "CUDA_VISIBLE_DEVICES hides every GPU"
    if not shutil.which("nvidia-smi"):
        return None, "no NVIDIA GPU here (there is no nvidia-smi)"
    line = output("nvidia-smi", "--query-gpu=name,compute_cap,driver_version", "--format=csv,noheader")
    if not line or line.count(",") != 2:
        return None, "no NVIDIA GPU here (nvidia-smi lists none)"
    name, capability, driver = (field.strip() for field in line.split(","))
    return {"name": name, "capability": capability, "driver": driver}, None


def can_run(arch, capability):
    """Whether compute capability "9.0" (or arch "90a") runs code for arch "75": it or newer; for "90a": exactly it."""
    have = int(capability.replace(".", "").rstrip("a"))
    return have == int(arch[:-1]) if arch.endswith("a") else have >= int(arch)


def choose(step, forced=None):
    """Where a step runs, "cuda" or "cpu", and why. Forced to where it cannot run, it stops with status 77."""
    from tools.say import stop

    if forced == "cpu":
        return "cpu", "--backend cpu"
    device, why_not = gpu()
    if device and not nvcc():
        why_not = f"a {device['name']} is here, but no nvcc to compile for it"
    elif device and not can_run(step["arch"], device["capability"]):
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


def compiler():
    """The C++ compiler for the emulator, or None."""
    return next((path for name in (os.environ.get("CXX"), "g++", "clang++") if name and (path := shutil.which(name))), None)
