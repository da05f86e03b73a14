"""The counters of one variant, source line by source line, with where Nsight Compute shows the same."""
import json
from pathlib import Path

from rich.table import Table
from rich.text import Text

from tools import build, floors, metrics, results, run, steps
from tools.paths import ROOT
from tools.say import out

# Our counter → ncu's metric; {} is ld or st.
NCU = {f"shared {name}": metric for name, metric in metrics.SHARED.items()} \
    | {f"global {name}": metrics.GLOBAL[name] for name in ("requests", "sectors")}
# Beside them for kernels on tensor cores.
NCU_MATRICES = {words: metrics.TRAFFIC[name][0] for words, name in (("ldmatrix requests", "ldmatrix_requests"),
                                                                    ("ldmatrix conflicts", "ldmatrix_conflicts"), ("products", "mma"))}
# And for those whose warpgroups multiply.
NCU_WGMMA = {words: metrics.WGMMA[name][0] for words, name in (("wgmma", "wgmma"), ("wgmma wavefronts", "wgmma_ld_wavefronts"))}
# And for those with bulk copies.
NCU_BULK = {words: metrics.TMA[name][0] for words, name in (("bulk requests", "tma_requests"), ("bulk load sectors", "tma_ld_sectors"),
                                                            ("bulk store sectors", "tma_st_sectors"))}
ACCESSES = {"global_ld": "global load", "global_st": "global store", "copy_ld": "cp.async reads global",
            "shared_ld": "shared load", "shared_st": "shared store", "copy_st": "cp.async writes shared",
            "ldmatrix": "ldmatrix", "stmatrix": "stmatrix", "wgmma_ld": "wgmma reads shared",
            "tma_ld": "bulk load", "tma_st": "bulk store", "tma_red": "bulk reduction",
            "dshared_ld": "load of another block's shared", "dshared_st": "store to another block's shared", "dshared_atom": "atomic in another block's shared",
            "dshared_red": "red.async", "dshared_tma_st": "bulk copy within shared", "dshared_tma_red": "bulk reduction within shared"}
# During what copies in flight are counted: our name for it → how those counters begin.
IN_FLIGHT = {"shared_ld": "shared_ld", "ldmatrix": "ldmatrix", "shuffles": "shuffle", "mma": "mma", "wgmma": "wgmma"}
EVENTS = {"mma": "product of fragments", "wgmma": "wgmma, by warp", "barriers": "__syncthreads, by warp", "warp_barriers": "__syncwarp", "shuffles": "shuffle", "votes": "vote",
          "atomics": "atomic", "mbarrier_arrivals": "arrival at an mbarrier"}


def copies(counts):
    """Whether there are copies by cp.async."""
    return counts["copy_st_requests"] > 0


def in_flight(counts, name, requests):
    """The row that says during how many of these requests copies of the warp were in flight, and how many bytes."""
    begins = IN_FLIGHT[name]
    average = counts[f"{begins}_bytes_in_flight"] / requests
    words = f"{average:,.0f} bytes" if average < 1e4 else f"{average / 1e3:,.1f} KB"
    return "with copies in flight", counts[f"{begins}_with_copies"], f"{words} on average", ""


def rows(counts, with_copies):
    """(what, requests, wavefronts or sectors, conflicts or sectors per request) for whatever a line did. with_copies: its kernel
    has copies by cp.async. Warpgroups multiply what bulk loads bring."""
    found = []
    for access, words in ACCESSES.items():
        get = lambda name: counts.get(f"{access}_{name}")
        if not get("requests"):
            continue
        if access in floors.ACCESSES["shared"]:
            found.append((words, get("requests"), f"{get('wavefronts'):,} wavefronts", f"{get('conflicts'):,} conflicts"))
            if with_copies and access in IN_FLIGHT:
                found.append(in_flight(counts, access, get("requests")))
        else:
            found.append((words, get("requests"), f"{get('sectors'):,} sectors",
                          f"{get('sectors') / get('requests'):.2f} a request"))
    for event, words in EVENTS.items():
        count = counts[event] - (counts["wgmma"] if event == "mma" else 0)  # of which those of warpgroups stand apart
        if count:
            found.append((words, count, "", ""))
            if event == "wgmma" or with_copies and event in IN_FLIGHT:
                found.append(in_flight(counts, event, count))
    return found


def source_line(name, line):
    """The text of a line of the clone's own sources, else nothing."""
    path = Path(name) if Path(name).is_absolute() else ROOT / name
    try:
        return path.read_text().splitlines()[line - 1].strip()
    except (OSError, IndexError):
        return ""


def table(counts, with_copies):
    """What a line did, as a table; the widths are fixed, so that the tables of a kernel's lines stand below one another."""
    made = Table.grid(padding=(0, 1, 0, 0))
    for justify, width in (("left", 26), ("right", 11), ("right", 22), ("right", 18)):
        made.add_column(justify=justify, width=width)
    for words, requests, second, third in rows(counts, with_copies):
        made.add_row(f"    {words}", f"{requests:,}", second, third)
    return made


def show(done):
    for kernel in done["profile"]["kernels"]:
        grid, block = (" × ".join(map(str, kernel[name])) for name in ("grid", "block"))
        shared = kernel["shared_static"] + kernel["shared_dynamic"]
        out.print(f"\n[bold cyan]{kernel['kernel']}[/]  grid {grid}, block {block}, shared memory {shared:,} bytes")
        for counts in sorted(kernel["lines"], key=lambda counts: (counts["file"], counts["line"])):
            place = f"{Path(counts['file']).name}:{counts['line']}"
            out.print(Text.assemble((place, "bold"), "  ", source_line(counts["file"], counts["line"])),
                      no_wrap=True, overflow="ellipsis")
            out.print(table(counts, copies(kernel["total"])))


def legend(step, done):
    """The ncu line that shows the same numbers on a GPU."""
    out.print("\nThe same under Nsight Compute, on a GPU (ptxas may have merged accesses):", style="dim")
    total = run.total(done["profile"])
    more = (NCU_MATRICES if total["mma"] else {}) | (NCU_WGMMA if total["wgmma"] else {}) | (NCU_BULK if total["tma_requests"] else {})
    for words, metric in (NCU | more).items():
        out.print(f"  {words:<18} {metric.format('{ld,st}')}", style="dim", markup=False, soft_wrap=True)
    if any(copies(kernel["total"]) for kernel in done["profile"]["kernels"]):
        out.print("  copies in flight   ncu has no such counter", style="dim")
    variant = f" --variant {done['variant']}" if done["variant"] else ""
    wanted = ",".join([*(metric.format(op) for metric in NCU.values() for op in ("ld", "st")), *more.values()])
    shape = " ".join(results.shape_flags(done["case"]["shape"] if done["case"] else {}))
    out.print(f"  ncu --metrics {wanted} build/cuda/{step['name']}{variant} {shape} --no-check --no-time", style="dim", markup=False,
              soft_wrap=True)
    if step["operation"] != "device":
        out.print(f"What it counted: ./learn profile {steps.called(step)} --ncu", style="dim", markup=False)


def profile(step, variant, gpu, as_json, arguments):
    """Returns the exit status."""
    steps.require_variant(step, [] if variant is None else ["--variant", variant])
    build.build("cpu", step["name"])
    chosen = [variant] if variant else steps.variants(step)
    runs = [run.case(step, name, "cpu", gpu, arguments) for name in chosen]
    failed = next((done for done in runs if done["status"]), None)
    if failed:
        out.print(failed["output"].strip(), markup=False)
        return failed["status"]
    if as_json:
        print(json.dumps([{key: done[key] for key in ("step", "variant", "case", "profile")} for done in runs], indent=1))
        return 0
    for done in runs:
        out.print(f"[bold]{step['name']} {done['variant'] or ''}[/] on the emulator, "
                  f"{run.shape_words(done['case']['shape'])}: counts, not times.")
        show(done)
    legend(step, runs[-1])
    return 0
