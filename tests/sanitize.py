#!/usr/bin/env python3
"""What compute-sanitizer finds in tests/faults and tests/right on a GPU: one JSON line a program, then a short table.

    sanitize.py OUT.jsonl [--only REGEX] [--budget SECONDS] [--jobs N] [--tools memcheck,racecheck,…]

Needs nvcc, compute-sanitizer and a GPU. Cases that begin after the budget is spent are left out, and counted."""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")
MARK = re.compile(r"// (expect|perhaps) (\w+): ([^,\n]+)")


def endless():
    """ENDLESS_ON_A_GPU of test_faults.py, read without importing it: pytest need not be here."""
    text = (HERE / "test_faults.py").read_text()
    return set(re.findall(r'"([\w-]+)"', re.search(r"ENDLESS_ON_A_GPU = \{(.*?)\}", text, re.DOTALL)[1]))


def cases():
    """(source, argument, kind, marked lines) of every program that may run on a GPU."""
    left_out = endless()
    for source in sorted((HERE / "faults").glob("*.cu")):
        found = {}
        for number, line in enumerate(source.read_text().splitlines(), 1):
            for _, name, kind in (mark for mark in MARK.findall(line) if mark[1] != "all"):
                found.setdefault(name, (kind.strip(), []))[1].append(number)
        for name, (kind, lines) in found.items():
            if not {source.stem, f"{source.stem}-{name}"} & left_out:
                yield source, name, kind, lines
    for source in sorted((HERE / "right").glob("*.cu")):
        yield source, "", "right", []


def architecture(source):
    """For nvcc: the GPU's own, but of bulk copies, tensor maps, wgmma and setmaxnreg Hopper's alone."""
    hopper = re.search(r'"\.\./(hopper|cluster)\.h"|"cluster_kernels\.h"|cp\.async\.bulk|expect_tx|arrive_tx|<cuda/ptx>|wgmma|setmaxnreg|this_cluster|barrier\.cluster', source.read_text())
    return "-gencode=arch=compute_90a,code=sm_90a" if hopper else "-arch=native"


def run(command, timeout):
    process = subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               errors="replace", start_new_session=True)
    try:
        text, _ = process.communicate(timeout=timeout)
        return process.returncode, text
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)  # the program as well, which would stay on the GPU
        return "timeout", process.communicate()[0]


def look(tool, program, argument, source, timeout):
    """How one tool ended, what it said first, and the lines of the source that it named."""
    options = {"racecheck": ["--racecheck-report", "analysis", "--print-limit", "1000"]}.get(tool, [])
    status, text = run(["compute-sanitizer", "--tool", tool, *options, program, *([argument] if argument else [])], timeout)
    summary = re.search(r"(?:ERROR SUMMARY: (\d+) error|RACECHECK SUMMARY: (\d+) hazard)", text)
    found = int(summary[1] or summary[2]) if summary else 0
    first = re.search(r"^========= (?!COMPUTE-SANITIZER)(.+)$", text, re.MULTILINE)
    lines = sorted({int(n) for n in re.findall(rf"{re.escape(source.name)}:(\d+)", text)})
    return dict(status=status, found=found, first=first[1] if first and found else "", lines=lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out")
    parser.add_argument("--only", default="", help="regular expression on FILE-NAME")
    parser.add_argument("--budget", type=float, default=450)
    parser.add_argument("--jobs", type=int, default=8)
    parser.add_argument("--timeout", type=float, default=20)
    parser.add_argument("--tools", default=",".join(TOOLS))
    o = parser.parse_args()
    end, tools = time.monotonic() + o.budget, o.tools.split(",")
    chosen = [case for case in cases() if re.search(o.only, f"{case[0].stem}-{case[1]}")]
    skipped, rows = 0, []
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(o.jobs) as pool, \
            open(o.out, "w") as log:
        sources = {case[0] for case in chosen}
        built = {s: pathlib.Path(folder) / f"{s.parent.name}_{s.stem}" for s in sources}
        made = dict(zip(sources, pool.map(lambda s: run(["nvcc", "-std=c++17", architecture(s), "-lineinfo", "-o", built[s], s], 200), sources)))

        def sanitize(case):
            source, name, kind, lines = case
            row = dict(file=source.stem, name=name, kind=kind, marked=lines)
            if made[source][0] != 0:
                return {**row, "compile": made[source][1][-500:]}
            if time.monotonic() > end:
                return None
            status, text = run([built[source], *([name] if name else [])], o.timeout)
            row["plain"] = dict(status=status, output=text[-300:] if kind == "right" else "")
            for tool in tools:
                row[tool] = look(tool, built[source], name, source, o.timeout * (4 if kind == "right" else 1))
            return row

        for row in pool.map(sanitize, chosen):
            if row is None:
                skipped += 1
                continue
            log.write(json.dumps(row) + "\n")
            log.flush()
            rows.append(row)
    faulty = [row for row in rows if row["kind"] != "right"]
    counts = {tool: sum(row.get(tool, {}).get("found", 0) > 0 for row in faulty) for tool in tools}
    some = sum(any(row.get(tool, {}).get("found", 0) for tool in tools) for row in faulty)
    print(f"{len(faulty)} faults:", *(f"{tool} {counts[tool]}" for tool in tools), f"any {some}, left out {skipped}")
    for row in rows:
        if "compile" in row:
            print("does not compile:", row["file"], row["compile"][-200:])
        if row["kind"] == "right" and "plain" in row:
            accused = [f"{tool}: {row[tool]['first']} {row[tool]['lines']}" for tool in tools if row[tool]["found"]]
            if row["plain"]["status"] != 0 or accused:
                print("right but:", row["file"], row["plain"], *accused)
        elif row.get("plain", {}).get("status") == "timeout":
            print("does not end:", row["file"], row["name"])


if __name__ == "__main__":
    sys.exit(main())
