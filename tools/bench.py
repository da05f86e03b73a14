"""Time steps on a GPU beside their peers, and record what was measured."""
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from tools import build, machine, steps
from tools.guard import stop, write_whole
from tools.lines import belongs
from tools.paths import ROOT
from tools.say import out

PEERS = ROOT / "bench" / "peers.py"
RESULTS = "results.jsonl"
BY_ITSELF = {"device"}  # operations whose program measures its peer, too


class Script(NamedTuple):
    """A script of bench/ that times a step beside others: what it is given, and the file of its lines. One that is alone stands in the
    place of bench/peers.py. One that is asked for by a flag runs with that flag, and nothing else then."""
    name: str
    file: str
    beside: tuple
    options: tuple = ()
    alone: bool = False
    flag: str = ""


def heat(*beside, file="heat.jsonl", options=()):
    """Rested and hot."""
    return Script("heat.py", file, beside, ("--beside", *beside, *options))


CHAINED = "1024", "2048", "4096", "8192", "16384", "64x4096x4096", "128x4096x14336"  # shapes of step 44's chain
FEW = "--iters", "6"  # bursts, where there are many shapes: unless another number is asked for
SCRIPTS = {"34_flash_mma_split_keys": [Script("attention_decode.py", "decode.jsonl", ("33_flash_mma_gqa",), alone=True)],
           "39_matmul_ring": [heat("38_matmul_wgmma")],
           "40_matmul_warp_specialized": [heat("39_matmul_ring")],
           "41_matmul_multicast": [heat("40_matmul_warp_specialized")],
           "42_matmul_persistent": [heat("41_matmul_multicast")],
           "43_matmul_overlapped_store": [heat("42_matmul_persistent"),
                                          heat("38_matmul_wgmma", "39_matmul_ring", "40_matmul_warp_specialized", "41_matmul_multicast",
                                               "42_matmul_persistent", file="road.jsonl", options=("--dtype", "bf16"))],
           "44_matmul_capstone": [heat("43_matmul_overlapped_store"),
                                  heat("43_matmul_overlapped_store", file="chain.jsonl", options=(*FEW, "--variants", "--dtype", "bf16", "--shape", *CHAINED)),
                                  heat("43_matmul_overlapped_store", file="layers.jsonl", options=(*FEW, "--layers", "--dtype", "bf16"))],
           "45_flash_wgmma": [heat("31_flash_mma_warp_rows", options=FEW)],
           "46_flash_pingpong": [heat("31_flash_mma_warp_rows", "45_flash_wgmma", options=FEW)],
           "47_flash_overlap": [heat("46_flash_pingpong", options=FEW)],
           "48_flash_hopper_causal": [heat("33_flash_mma_gqa", options=(*FEW, "--causal"))],
           "49_flash_capstone": [Script("attention_table.py", "table.jsonl", (), flag="--table")]}


def scripts(step, arguments=()):
    """Those that run with these arguments, which are all but those that a flag asks for, or that one."""
    found = SCRIPTS.get(step["name"], [])
    asked = [script for script in found if script.flag in arguments]
    return asked or [script for script in found if not script.flag]


def flag_of(chosen, arguments):
    """The flag that asks for a script, taken out of the arguments; all steps have to have one."""
    flags = {script.flag for found in SCRIPTS.values() for script in found if script.flag}
    asked = [word for word in arguments if word in flags]
    for flag in asked:
        have = [name for name, found in SCRIPTS.items() if any(script.flag == flag for script in found)]
        if not chosen or any(step["name"] not in have for step in chosen):
            stop(f"{flag}: accepted of {', '.join(have)} alone; such as: ./learn bench {have[0][:2]} {flag}")
    return asked[:1], [word for word in arguments if word not in flags]


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
    asked, arguments = flag_of(chosen, arguments)
    if asked:
        if not python:
            stop(f"{asked[0]}: the peers come from PyTorch, and no Python here has it with CUDA: pip install torch", 77)
        for step in chosen:
            for script in scripts(step, asked):
                yield [python, PEERS.parent / script.name, "--step", step["number"], *script.options, "--json", place / script.file, *arguments]
        return
    alone = [step for step in chosen if python and any(script.alone for script in scripts(step))]
    together = [step for step in chosen if python and PEERS.exists() and step["operation"] not in BY_ITSELF and step not in alone]
    for operation in dict.fromkeys(step["operation"] for step in together):
        names = [step["name"] for step in together if step["operation"] == operation]
        yield [python, PEERS, *names, "--json", lines, *arguments]
    for step in [*alone, *together]:
        for script in scripts(step):
            yield [python, PEERS.parent / script.name, "--step", step["number"], *script.options, "--json", place / script.file, *arguments]
    for step in chosen:
        if step not in together and step not in alone:
            yield [steps.program(step, "cuda"), "--all-variants", "--json", lines, *arguments]


def keep(chosen, place):
    """Each step's results.jsonl becomes this run's lines of it and of its peers, as they were written; a script's file all of them."""
    for step in chosen:
        found = [script for script in SCRIPTS.get(step["name"], []) if (place / script.file).exists()]
        usual = [] if any(script.alone for script in found) or not (place / RESULTS).exists() else [RESULTS]
        for file in [*usual, *(script.file for script in found)]:
            kept = [text for text in (place / file).read_text().splitlines(keepends=True) if file != RESULTS or belongs(json.loads(text), step)]
            write_whole(steps.directory(step) / file, "".join(kept))
            out.print(f"recorded in {step['dir']}/{file}")


def targets(chosen):
    """What has to be built of steps that were named; nothing is everything."""
    beside = [other for step in chosen for script in scripts(step) for other in script.beside]
    return dict.fromkeys([*(step["name"] for step in chosen), *beside])


def bench(chosen, record, arguments):
    """Returns the exit status: the worst of the programs'."""
    flag_of(chosen, arguments)  # refuses what it cannot take before anything is built
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
