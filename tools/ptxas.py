"""What the compiler reports of a step's kernels: registers, static shared memory, spills, warnings. It needs nothing but Python, as bench/ does."""
import re
import subprocess
import tempfile
from pathlib import Path

from tools import machine
from tools.paths import ROOT

KERNEL = re.compile(r"Compiling entry function '(?P<name>\w+)' for.*?(?P<stack>\d+) bytes stack frame, (?P<spill_stores>\d+) bytes spill stores, "
                    r"(?P<spill_loads>\d+) bytes spill loads.*?Used (?P<registers>\d+) registers(?P<rest>[^\n]*)", re.DOTALL)
# Of wgmma and setmaxnreg: products that it serialises, waits that it puts in, what it ignores. A fence that it puts in (C7519) costs nothing
# that counts, and ptxas says so, too, where it has moved a constant behind the program's own.
WARNING = re.compile(r"\((?P<code>C75(?!19)\d\d)\) (?:Potential Performance Loss: )?(?P<words>.+?)(?:,? in(?: the)? function '(?P<name>\w+)')?$", re.MULTILINE)
NUMBERS = "registers", "stack", "spill_stores", "spill_loads"


def compile_source(source, arch, output=None, form="-cubin"):
    """(nvcc's status, its output) for a source at an architecture, such as 90a; what it makes goes to a file where one is named."""
    with tempfile.TemporaryDirectory(prefix="learn-") as place:
        command = [machine.nvcc(), "-std=c++20", "-O3", f"-gencode=arch=compute_{arch},code=sm_{arch}", "-Xptxas", "-v", form,
                   *(["-lineinfo"] if form == "-cubin" else []), "-I", ROOT / "common", "-I", ROOT, "-o", output or Path(place, "cubin"), source]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace")
        return done.returncode, done.stdout + done.stderr


def called(demangled):
    """A kernel's name as ncu writes it, without its parameters: void scores<0, 1>, where c++filt has void scores<false, (layout)1>(float
    const*)."""
    return re.sub(r"\(\w+\)(?=\d)", "", demangled).split("(")[0].replace("false", "0").replace("true", "1")


def kernels(said):
    """{name as ncu has it: {registers, shared_static, stack, spill_stores, spill_loads}} of what nvcc said. Empty without c++filt."""
    found = list(KERNEL.finditer(said))
    names = (machine.said("c++filt", *(match["name"] for match in found)) or "").splitlines() if found else []
    shared = [re.search(r"(\d+) bytes smem", match["rest"]) for match in found]
    return {called(name): {number: int(match[number]) for number in NUMBERS} | {"shared_static": int(bytes_[1]) if bytes_ else 0}
            for name, match, bytes_ in zip(names, found, shared)}


def warnings(said):
    """[(code, function, or "" where none is named, what it warns of)] of what nvcc said, each once; first what costs the most."""
    found = [(match["code"], match["name"] or "", " ".join(match["words"].split())) for match in WARNING.finditer(said)]
    names = sorted({name for _, name, _ in found if name})
    plain = (machine.said("c++filt", *names) or "").splitlines() if names else []
    titles = dict(zip(names, map(called, plain)))
    once = dict.fromkeys((code, titles.get(name, name), words) for code, name, words in found)
    return sorted(once, key=lambda warning: "serialized" not in warning[2])


def report(source, arch):
    """kernels() of a source at an architecture; empty where nvcc is not found or cannot compile it."""
    if not machine.nvcc():
        return {}
    status, said = compile_source(source, arch)
    return {} if status else kernels(said)
