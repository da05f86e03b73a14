"""Every test there is for this machine: CTest on the emulator and on the GPU, then pytest. Their own summaries come
last, together; and, for .ci/run, every step through nvcc."""
import os
import re
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec

from tools import build, machine, ptxas, steps
from tools.guard import stop
from tools.paths import ROOT
from tools.say import out

CTEST_SUMMARY = re.compile(r"\d+% tests passed|No tests were found")
PYTEST_SUMMARY = re.compile(r"(\x1b\[[\d;]*m)*=+ .*\bin [\d.]+s")
PYTEST_ERROR = re.compile(r"^(?:ERROR|.*: error): (?!usage)(.*)", re.MULTILINE)
USAGE_ERROR = 4  # pytest's status
ARCHITECTURES = "75", "80", "90a"


def stream(command, summary, **environment):
    """Run a command in the root, printing as it goes; from its summary on, hold back. (status, what was held)."""
    held = []

    def on_line(line):
        if held or summary.match(line):
            held.append(line)
        else:
            print(line, end="", flush=True)

    return build.follow(command, on_line, **environment), "".join(held)


def is_file(word):
    """Whether an argument names a file of tests, or a test in one."""
    path = word.partition("::")[0]
    return path.endswith(".py") and (ROOT / path).is_file()


def require_understood(arguments):
    """Stop where pytest does not know what to do with the arguments, before anything is built. It collects nothing here."""
    if arguments and not arguments[0].startswith("-") and not (ROOT / arguments[0].split("::")[0]).exists():
        stop(f"There is no '{arguments[0]}'. What follows `test` goes to pytest: a file of tests/, or options.")
    options = [word for word in arguments if not is_file(word)]
    done = subprocess.run([sys.executable, "-m", "pytest", *options, "--collect-only", "--quiet", "-p", "no:python", "--ignore-glob=*"],
                          cwd=ROOT, capture_output=True, text=True, errors="replace")
    if done.returncode == USAGE_ERROR:
        found = PYTEST_ERROR.search(done.stdout + done.stderr)
        stop(f"What follows `test` goes to pytest, which says: {found[1] if found else 'this is not understood'}")


def test(arguments, gpu_alone=False):
    """Returns 0 if all passed. Arguments go to pytest. gpu_alone: only what runs on the GPU."""
    require_understood(arguments)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job would hand down that it is ignored
    why_not = machine.why_no_cuda()
    if gpu_alone and why_not:
        stop(f"--gpu asks for the tests that run on a GPU: {why_not}. Without it, ./learn test runs all others.")
    cores = len(os.sched_getaffinity(0))
    outcomes = []
    for preset in ([] if gpu_alone else ["cpu"]) + ([] if why_not else ["cuda"]):
        build.build(preset)
        outcomes.append(stream(["ctest", "--preset", preset, "--parallel", str(cores)], CTEST_SUMMARY))
    options = ["--color=yes"] if out.is_terminal else []
    if find_spec("xdist"):
        options += ["-n", str(cores + 1), "--dist", "worksteal"]  # some tests wait, for a signal or for the end of a kernel without one
    selected = ["-m", "gpu"] if gpu_alone else []
    # The tests' programs run side by side, so each has one worker where its test does not want more. Bytecode of the tests is kept,
    # whatever this shell says: each process of pytest would compile them all.
    outcomes.append(stream([sys.executable, "-m", "pytest", *options, *arguments, *selected], PYTEST_SUMMARY, PYTHONUTF8="1",
                           PYTHONDONTWRITEBYTECODE="", SIMT_WORKERS="1"))
    print("".join(f"\n{held.strip()}\n" for _, held in outcomes), end="")
    return int(any(status for status, _ in outcomes))


def compile_step(step, arch):
    """(step, arch, nvcc's status, its output)."""
    return step, arch, *ptxas.compile_source(steps.source(step), arch)


def verdict_of(step, arch, status, said):
    """(what to say of a step that nvcc compiled, whether it is good): no warning of wgmma or setmaxnreg, no register spills but those that
    its CMakeLists.txt names, and no array in local memory."""
    spills, stack = (sum(int(count) for count in re.findall(rf"(\d+) bytes {what}", said)) for what in ("spill", "stack frame"))
    known = int(dict(each.split(":") for each in step["spills"]).get(arch, 0))
    if status:
        return "failed", False
    for code, kernel, words in ptxas.warnings(said):
        return f"ptxas warns of {kernel or 'a kernel that it does not name'}: {words} ({code})", False
    if spills > known:
        return f"{spills} bytes of spills", False
    if stack and not spills:
        return f"{stack} bytes of local memory", False
    return (f"{spills} bytes of spills, as its README says" if spills else "no spills"), True


def compile_all():
    """Every step by nvcc for every architecture that can run it. Returns 1 on an error, a warning, or a spill that is not expected."""
    if not machine.nvcc():
        print("no nvcc here: nothing was compiled for a GPU")
        return 0
    jobs = [(step, arch) for step in steps.load() for arch in ARCHITECTURES if machine.can_run(step["arch"], arch)]
    bad = 0
    with ThreadPoolExecutor(2) as pool:
        for step, arch, status, said in pool.map(lambda job: compile_step(*job), jobs):
            verdict, good = verdict_of(step, arch, status, said)
            registers = max(map(int, re.findall(r"Used (\d+) registers", said)), default=0)
            print(f"nvcc sm_{arch:<4} {step['name']:<28} {registers:>3} registers, {verdict}")
            if not good:
                print(said.strip())
                bad = 1
    return bad
