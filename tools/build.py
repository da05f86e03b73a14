"""Configure and build by CMake, with a progress bar. The compilers' whole output goes to build/learn.log."""
import fcntl
import os
import re
import shutil
import subprocess
from contextlib import contextmanager

from tools import machine
from tools.paths import BUILD, LOG, ROOT, STEPS_JSON
from tools.say import err, progress, stop

NINJA_LINE = re.compile(r"\[(\d+)/(\d+)\] (.*)")


def environment():
    """What CMake and simtcc see: one counter format, and the compilers that machine.py found."""
    env = dict(os.environ, NINJA_STATUS="[%f/%t] ")
    compiler = machine.compiler()
    if compiler and "CXX" not in env and compiler.endswith("clang++"):
        env |= {"CXX": compiler, "CC": compiler[:-2]}
    if machine.nvcc():
        env.setdefault("CUDACXX", machine.nvcc())
    return env


def require(preset):
    """Stop with what is missing before CMake does so at length."""
    if not machine.compiler():
        stop("No C++ compiler: neither $CXX nor g++ nor clang++ is on the PATH. On Debian or Ubuntu: apt-get install g++")
    for tool in ("cmake", "ninja"):
        if not shutil.which(tool):
            stop(f"No {tool} on the PATH. On Debian or Ubuntu: apt-get install cmake ninja-build; or run ./learn without "
                 "--system-python, which puts them into .venv.")
    if preset == "cuda" and not machine.nvcc():
        stop("No nvcc: install the CUDA Toolkit, 12.4 or newer (developer.nvidia.com/cuda-downloads), or set CUDACXX.")


@contextmanager
def one_at_a_time():
    BUILD.mkdir(exist_ok=True)
    with open(BUILD / "learn.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def logged(command, on_line):
    """Run a command in the root, its output added to the log and handed over line by line."""
    with open(LOG, "a") as log, subprocess.Popen(command, cwd=ROOT, env=environment(), text=True, errors="replace",
                                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        log.write(f"$ {' '.join(command)}\n")
        for line in process.stdout:
            log.write(line)
            on_line(line)
    if process.returncode:
        err.print(LOG.read_text(errors="replace"), markup=False, soft_wrap=True)
        stop(f"This failed: {' '.join(command)}\nThe output above is kept in {LOG.relative_to(ROOT)}.", 1)


def configure(preset):
    require(preset)
    logged(["cmake", "--preset", preset], lambda line: None)


def build(preset, *targets):
    """Bring a preset's targets, or all of them, up to date."""
    require(preset)
    with one_at_a_time():
        LOG.write_text("")
        with progress("build") as update:
            if not (BUILD / preset / "build.ninja").exists() or not STEPS_JSON.exists():
                update(0, None, f"cmake --preset {preset}")
                configure(preset)

            def on_line(line):
                if match := NINJA_LINE.match(line):
                    update(int(match[1]), int(match[2]), match[3])

            logged(["cmake", "--build", "--preset", preset, *(["--target", *targets] if targets else [])], on_line)
