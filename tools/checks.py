"""Every test there is for this machine: CTest on the emulator and on the GPU, then pytest. Their own summaries come
last, together; and, for .ci/run, every step through nvcc."""
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tools import build, machine, steps
from tools.paths import ROOT
from tools.say import out

CTEST_SUMMARY = re.compile(r"\d+% tests passed|No tests were found")
PYTEST_SUMMARY = re.compile(r"(\x1b\[[\d;]*m)*=+ .*\bin [\d.]+s")
ARCHITECTURES = "75", "80", "90a"


def stream(command, summary):
    """Run a command in the root, printing as it goes; from its summary on, hold back. (status, what was held)."""
    held = []
    with subprocess.Popen(command, cwd=ROOT, env=build.environment(), text=True, errors="replace", stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT) as process:
        for line in process.stdout:
            if held or summary.match(line):
                held.append(line)
            else:
                print(line, end="", flush=True)
    return process.returncode, "".join(held)


def test(arguments):
    """Returns 0 if all passed. Arguments go to pytest."""
    gpu, _ = machine.gpu()
    presets = ["cpu"] + (["cuda"] if gpu and machine.nvcc() else [])
    outcomes = []
    for preset in presets:
        build.build(preset)
        outcomes.append(stream(["ctest", "--preset", preset], CTEST_SUMMARY))
    colour = ["--color=yes"] if out.is_terminal else []
    outcomes.append(stream([sys.executable, "-m", "pytest", *colour, *(arguments or ["tests"])], PYTEST_SUMMARY))
    print("".join(f"\n{held.strip()}\n" for _, held in outcomes), end="")
    return int(any(status for status, _ in outcomes))


def compile_step(step, arch, place):
    """(step, arch, nvcc's status, its output)."""
    command = [machine.nvcc(), "-std=c++20", "-O3", f"-gencode=arch=compute_{arch},code=sm_{arch}", "-Xptxas", "-v", "-cubin",
               "-I", ROOT / "common", "-I", ROOT, "-o", Path(place, f"{step['name']}.{arch}"), steps.source(step)]
    done = subprocess.run(command, capture_output=True, text=True)
    return step, arch, done.returncode, done.stdout + done.stderr


def compile_all():
    """Every step by nvcc for every architecture that can run it. Returns 1 on an error or a register spill."""
    if not machine.nvcc():
        print("no nvcc here: nothing was compiled for a GPU")
        return 0
    jobs = [(step, arch) for step in steps.load() for arch in ARCHITECTURES if machine.can_run(step["arch"], arch)]
    bad = 0
    with tempfile.TemporaryDirectory(prefix="learn-") as place, ThreadPoolExecutor(2) as pool:
        for step, arch, status, said in pool.map(lambda job: compile_step(*job, place), jobs):
            spills = sum(int(count) for count in re.findall(r"(\d+) bytes spill", said))
            registers = max(map(int, re.findall(r"Used (\d+) registers", said)), default=0)
            verdict = "failed" if status else f"{spills} bytes of spills" if spills else "no spills"
            print(f"nvcc sm_{arch:<4} {step['name']:<28} {registers:>3} registers, {verdict}")
            if status or spills:
                print(said.strip())
                bad = 1
    return bad
