"""What Nsight Compute counts of a step's kernels, in its own form: by ncu itself where a GPU and its counters are here, else as it was
recorded on an H200."""
import re
import shlex
import shutil
import subprocess

from tools import build, machine, metrics, results, run, steps
from tools.guard import run_group, stop
from tools.paths import ROOT
from tools.say import err, out

# What is asked for, by our names, a group of bench/verify.py's each.
ASKED = {
    "ncu": ("dram_ld_bytes", "dram_st_bytes", "l2_ld_sectors", "l2_ld_hit_sectors", "l2_st_sectors",
            "global_ld_requests", "global_ld_sectors", "global_st_requests", "global_st_sectors", "copy_ld_requests", "copy_ld_sectors",
            "shared_ld_requests", "shared_ld_wavefronts", "shared_ld_conflicts", "shared_st_requests", "shared_st_wavefronts",
            "shared_st_conflicts", "ldmatrix_requests", "ldmatrix_wavefronts", "ldmatrix_conflicts", "data_wavefronts",
            "instructions", "fma_instructions", "mma"),
    "percent": ("data_stage", "fma", "tensor", "issue_active", "occupancy"),
    "launch": ("registers", "duration_ns"),
}
GROUPS = {"ncu": metrics.SUMMED, "percent": metrics.PERCENT, "launch": metrics.LAUNCH}
UNITS = {"pct": "%", "bytes": "byte", "sectors": "sector", "inst_executed": "inst", "registers": "register/thread", "duration": "ns"}
DENIED = re.compile(r"==ERROR== (.*)")


def asked():
    """[(group, our name, ncu's metric)]"""
    return [(group, name, GROUPS[group][name][0]) for group, names in ASKED.items() for name in names]


def unit(metric):
    return next((words for part, words in UNITS.items() if re.search(rf"(^|[_.]){part}([_.]|$)", metric)), "")


def command(step, variant, arguments):
    """The words that have ncu count a variant at the shape of the step's figures, or at another."""
    wanted = dict.fromkeys(metric for _, _, metric in asked())
    return ["ncu", "--clock-control", "none", "--print-units", "base", "--metrics", ",".join(wanted), f"build/cuda/{step['name']}", *(["--variant", variant] if variant else []),
            *(arguments or results.shape_flags(results.headline(step))), "--no-check", "--no-time"]


def rows_of(line):
    """[(kernel's heading, [(metric, unit, value)])] of a recorded line, as ncu counted it."""
    found = []
    for kernel in line["kernels"]:
        groups = {"ncu": kernel.get("ncu") or line["ncu"], "percent": kernel["percent"], "launch": kernel["launch"]}
        grid, block = (kernel["launch"].get(name) for name in ("grid", "block"))
        launch = f" ({grid:,} blocks of {block:,} threads)" if grid and block else ""
        rows = {metric: groups[group].get(name) for group, name, metric in asked()}
        found.append((f"{kernel['kernel'].removeprefix('void ')}{launch}, {line['device']}",
                      [(metric, unit(metric), value) for metric, value in sorted(rows.items()) if value is not None]))
    return found


def show_recorded(step, variant, why):
    """ncu's own form: a heading for each kernel, then a metric a line, by name."""
    wanted = results.headline(step)
    line = next((line for line in reversed(steps.recorded(step)) if line.get("ncu") and "H200" in line["device"]
                 and line["variant"] == variant and line["shape"] == wanted), None)
    title = " ".join(filter(None, (step["name"], variant)))
    if line is None:
        stop(f"{why} Nothing that ncu counted is recorded of {title}.".strip())
    env = line["env"]
    out.print(f"[bold]{title}[/] at {run.shape_words(wanted)}, recorded on an {env['gpu']} by ncu {env['ncu']}. {why}".rstrip() + "\n", soft_wrap=True)
    for heading, rows in rows_of(line):
        width = max(len(metric) for metric, _, _ in rows)
        rule = f"    {'-' * width} {'-' * 15} {'-' * 15}"
        lines = [f"  {heading}", "    Section: Command line profiler metrics", rule, f"    {'Metric Name':<{width}} {'Metric Unit':>15} {'Metric Value':>15}",
                 rule, *(f"    {metric:<{width}} {words:>15} {value:>15,}" for metric, words, value in rows), rule]
        out.print("\n".join(lines), markup=False, soft_wrap=True)


def why_not(step):
    """Why ncu cannot count the step here, in a sentence, or nothing."""
    where, why = machine.choose(step)
    if where != "cuda":
        return f"{why[:1].upper()}{why[1:]}."
    return "" if shutil.which("ncu") else "There is no ncu on the PATH: the CUDA Toolkit has it."


def complaint(done):
    """Why ncu counted nothing, or the program that it ran: the line of ncu's error, or the last that was said."""
    said = (done.stdout + done.stderr).strip()
    refused = DENIED.search(said)
    return refused[1].strip() if refused else said.splitlines()[-1] if said else f"status {done.returncode}"


def ncu(step, variant, arguments, only_recorded):
    """Returns the exit status."""
    steps.require_variant(step, [] if variant is None else ["--variant", variant])
    if step["operation"] == "device":
        stop(f"{step['name']} measures the GPU and times its own kernels: ncu counts nothing of it.")
    variant = variant or steps.variants(step)[-1]
    words = command(step, variant, arguments)
    why = "" if only_recorded else why_not(step)
    if not only_recorded and not why:
        build.build("cuda", step["name"])
        with err.status("ncu runs each kernel several times, and counts a few metrics each time"):
            done = run_group(words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace")
        if done.returncode == 0:
            print(done.stdout, end="")
            return 0
        why = f"ncu counted nothing: {complaint(done)}"
    if arguments:
        stop(f"{why} Recorded is only {run.shape_words(results.headline(step))}: leave out what follows the step.".strip())
    show_recorded(step, variant, why)
    out.print(f"\nThe same on a GPU, once ./learn run {steps.called(step)} has built it there: {shlex.join(words)}", style="dim", markup=False, soft_wrap=True)
    return 0
