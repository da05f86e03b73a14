"""What this machine has, and what each missing piece costs."""
import os
import platform
import re
import shutil
import sys
from pathlib import Path

from tools import bench, machine, venv
from tools.say import out


def version(tool, *arguments):
    """The first version number that a tool prints, or None where there is no such tool."""
    line = shutil.which(tool) and machine.output(tool, *(arguments or ("--version",)))
    found = line and re.search(r"\d+(\.\d+)+", line)
    return found[0] if found else line


def nvcc_version():
    path = machine.nvcc()
    found = path and re.search(r"release ([\d.]+)", machine.said(path, "--version") or "")
    return f"{found[1]} ({path})" if found else None


def ncu_counters():
    """Whether this user may read the GPU's counters."""
    params = Path("/proc/driver/nvidia/params")
    if not params.exists():
        return None
    admin_only = "RmProfilingAdminOnly: 1" in params.read_text()
    return "permitted" if not admin_only or os.geteuid() == 0 else None


def findings():
    """(what, what is here or None, what it is for, how to get it)."""
    device, _ = machine.gpu()
    packages = [package for name in venv.ALWAYS for package in venv.wanted(name)]
    missing = [package for name in venv.ALWAYS for package in venv.missing(name)]
    torch = bench.torch_python()
    emulator, cuda, times = "the emulator: every step without a GPU", "steps on a GPU", "times on a GPU"
    toolkit = "CUDA Toolkit 12.4 or newer: developer.nvidia.com/cuda-downloads"
    return [
        ("g++", version("g++"), emulator, "apt-get install g++ (11 or newer; clang++ 14 does as well)"),
        ("clang++", version("clang++"), "the emulator's other compiler; not needed beside g++", "apt-get install clang"),
        ("cmake", version("cmake"), "every build", "./learn puts it into .venv, or apt-get install cmake"),
        ("ninja", version("ninja"), "every build", "./learn puts it into .venv, or apt-get install ninja-build"),
        ("python", platform.python_version(), "./learn", "apt-get install python3 python3-venv"),
        ("packages", None if missing else f"{', '.join(packages)} ({sys.prefix})",
         "./learn, its plots and tests", f"missing: {', '.join(missing)}; ./learn without --system-python installs them"),
        ("nvcc", nvcc_version(), cuda, toolkit),
        ("nvdisasm", machine.nvdisasm(), "SASS of your own compiler in ./learn sass; without it, as it was recorded",
         "pip install nvidia-cuda-nvdisasm, or the whole CUDA Toolkit"),
        ("GPU", device and f"{device['name']}, compute capability {device['capability']}, driver {device['driver']}",
         times, "rent one, or stay with the emulator"),
        ("ncu", version("ncu"), "the hardware's own counters", toolkit),
        ("counters", ncu_counters(), "ncu without root",
         "need a GPU, and the driver option NVreg_RestrictProfilingToAdminUsers=0; often denied on rented GPUs"),
        ("torch", torch and f"with CUDA ({torch})", "the peers in bench: cuBLAS and attention through PyTorch",
         "pip install torch, on a machine with a GPU"),
    ]


def doctor():
    for what, here, purpose, remedy in findings():
        mark = "[green]✓[/]" if here else "[yellow]–[/]"
        out.print(f"{mark} [bold]{what:<10}[/]{here or 'not here'}")
        if not here:
            out.print(f"            [dim]costs: {purpose}\n            get it: {remedy}[/]", soft_wrap=True)
    gpu, why_not = machine.gpu()
    runs = "on the GPU where it has a step's architecture, on the emulator otherwise" if gpu and machine.nvcc() else \
        f"on the emulator: {why_not or 'there is no nvcc'}" if machine.compiler() else "nowhere: there is no C++ compiler"
    out.print(f"\nSteps run here {runs}.")
