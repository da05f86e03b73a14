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
RESULTS = "results.jsonl"
BY_ITSELF = {"device"}  # operations whose program measures its peer, too
# Steps that are timed at a table of shapes, beside another step: the file of its lines, the script of bench/, and that step.
TABLES = {"34_flash_mma_split_keys": ("decode.jsonl", "attention_decode.py", "33_flash_mma_gqa")}

# Steps that bench/heat.py times rested and hot as well: files of its lines, the steps beside, and what else it is given.
HEATED = {"39_matmul_ring": {"heat.jsonl": (["38_matmul_wgmma"], [])},
          "40_matmul_warp_specialized": {"heat.jsonl": (["39_matmul_ring"], [])},
          "41_matmul_multicast": {"heat.jsonl": (["40_matmul_warp_specialized"], [])},
          "42_matmul_persistent": {"heat.jsonl": (["41_matmul_multicast"], [])},
          "43_matmul_overlapped_store": {"heat.jsonl": (["42_matmul_persistent"], []),
                                         "road.jsonl": (["38_matmul_wgmma", "39_matmul_ring", "40_matmul_warp_specialized",
                                                         "41_matmul_multicast", "42_matmul_persistent"], ["--dtype", "bf16"])}}


def torch_python():
    """An interpreter that has PyTorch with CUDA: this one, or the system's; None if neither has."""
    test = "import torch; raise SystemExit(not torch.cuda.is_available())"
    for python in (sys.executable, shutil.which("python3", path="/usr/local/bin:/usr/bin:/bin"), shutil.which("python")):
        if python and subprocess.run([python, "-c", test], capture_output=True).returncode == 0:
            return python
    return None


def commands(chosen, python, place, arguments):
    """With PyTorch all steps of one operation in one process, so that their figures compare; else each by itself. Lines go to files of
    that folder, of the names that they have in a step's directory."""
    lines = place / RESULTS
    tables = [step for step in chosen if python and step["name"] in TABLES]
    together = [step for step in chosen if python and PEERS.exists() and step["operation"] not in BY_ITSELF and step not in tables]
    for operation in dict.fromkeys(step["operation"] for step in together):
        names = [step["name"] for step in together if step["operation"] == operation]
        yield [python, PEERS, *names, "--json", lines, *arguments]
    for step in tables:
        file, script, _ = TABLES[step["name"]]
        yield [python, PEERS.parent / script, "--step", step["number"], "--json", place / file, *arguments]
    for step in together:
        for file, (beside, more) in HEATED.get(step["name"], {}).items():
            yield [python, PEERS.parent / "heat.py", "--step", step["number"], "--beside", *beside, "--json", place / file, *more, *arguments]
    for step in chosen:
        if step not in together and step not in tables:
            yield [steps.program(step, "cuda"), "--all-variants", "--json", lines, *arguments]


def keep(chosen, place):
    """Each step's results.jsonl becomes this run's lines of it and of its peers, as they were written; or its table all of them."""
    for step in chosen:
        table = TABLES.get(step["name"], [RESULTS])[0]
        file = table if (place / table).exists() else RESULTS
        kept = [text for text in (place / file).read_text().splitlines(keepends=True) if file != RESULTS or belongs(json.loads(text), step)]
        write_whole(steps.directory(step) / file, "".join(kept))
        out.print(f"recorded in {step['dir']}/{file}")
        for heat in HEATED.get(step["name"], {}):
            if (place / heat).exists():
                write_whole(steps.directory(step) / heat, (place / heat).read_text())
                out.print(f"recorded in {step['dir']}/{heat}")


def targets(chosen):
    """What has to be built of steps that were named; nothing is everything."""
    names = [step["name"] for step in chosen]
    beside = [TABLES[name][-1] for name in names if name in TABLES]
    beside += [other for name in names for others, _ in HEATED.get(name, {}).values() for other in others]
    return dict.fromkeys(names + beside)


def bench(chosen, record, arguments):
    """Returns the exit status: the worst of the programs'."""
    device, why_not = machine.gpu()
    if device is None:
        stop(f"bench times on a GPU: {why_not}. The emulator counts and never times; try: ./learn profile", 77)
    named, chosen = targets(chosen), chosen or [step for step in steps.load() if machine.can_run(step["arch"], device["capability"])]
    for step in chosen:
        machine.choose(step, "cuda")
    build.build("cuda", *named)
    python = torch_python()
    out.print(f"On {device['name']}" + ("." if python else ", without peers: no Python here has PyTorch with CUDA."))
    with tempfile.TemporaryDirectory(prefix="learn-") as place:
        worst = max(abs(subprocess.run(command, cwd=ROOT).returncode)
                    for command in commands(chosen, python, Path(place), arguments))
        if record and worst == 0:
            keep(chosen, Path(place))
    return worst
