"""Time steps on a GPU beside their peers, and record what was measured."""
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tools import build, machine, steps
from tools.guard import stop, write_whole
from tools.lines import belongs
from tools.paths import ROOT
from tools.say import out

PEERS = ROOT / "bench" / "peers.py"
BY_ITSELF = {"device"}  # operations whose program measures its peer, too


def torch_python():
    """An interpreter that has PyTorch with CUDA: this one, or the system's; None if neither has."""
    test = "import torch; raise SystemExit(not torch.cuda.is_available())"
    for python in (sys.executable, shutil.which("python3", path="/usr/local/bin:/usr/bin:/bin"), shutil.which("python")):
        if python and subprocess.run([python, "-c", test], capture_output=True).returncode == 0:
            return python
    return None


def commands(chosen, python, lines, arguments):
    """With PyTorch all steps of one operation in one process, so that their figures compare; else each by itself."""
    together = [step for step in chosen if python and PEERS.exists() and step["operation"] not in BY_ITSELF]
    for operation in dict.fromkeys(step["operation"] for step in together):
        names = [step["name"] for step in together if step["operation"] == operation]
        yield [python, PEERS, *names, "--json", lines, *arguments]
    for step in chosen:
        if step not in together:
            yield [steps.program(step, "cuda"), "--all-variants", "--json", lines, *arguments]


def keep(chosen, lines):
    """Each step's results.jsonl becomes this run's lines of it and of its peers, as they were written."""
    for step in chosen:
        kept = [text for text in lines.read_text().splitlines(keepends=True) if belongs(json.loads(text), step)]
        write_whole(steps.directory(step) / "results.jsonl", "".join(kept))
        out.print(f"recorded in {step['dir']}/results.jsonl")


def bench(chosen, record, arguments):
    """Returns the exit status: the worst of the programs'."""
    device, why_not = machine.gpu()
    if device is None:
        stop(f"bench times on a GPU: {why_not}. The emulator counts and never times; try: ./learn profile", 77)
    chosen = chosen or [step for step in steps.load() if machine.can_run(step["arch"], device["capability"])]
    for step in chosen:
        machine.choose(step, "cuda")
    build.build("cuda")
    python = torch_python()
    out.print(f"On {device['name']}" + ("." if python else ", without peers: no Python here has PyTorch with CUDA."))
    with tempfile.TemporaryDirectory(prefix="learn-") as place:
        lines = Path(place, "results.jsonl")
        worst = max(abs(subprocess.run(command, cwd=ROOT).returncode)
                    for command in commands(chosen, python, lines, arguments))
        if record and worst == 0:
            keep(chosen, lines)
    return worst
