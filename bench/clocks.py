#!/usr/bin/env python3
"""What the consumers of a block do when, in clocks of their SM, as an instrumented copy of a step's program reads them.

    bench/clocks.py --step 46 --variant pingpong --shape 1x16x8192x128 --json clocks.jsonl

The copy, in a temporary folder, has a read of the clock at each mark that tools/clocks.py names of the step. Of some blocks from all over
the grid, the first thread of each consumer keeps what it reads. Each line also has the time of the program with the reads and without
them. The step itself has to be built: cmake --preset cuda && cmake --build --preset cuda --target 46_flash_pingpong
"""
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import peers
import sweep
from peers import CANNOT_RUN, ROOT, USAGE, stop

sys.path += [str(ROOT)]
from tools import clocks, machine  # noqa: E402


def compiled(step, marks, place):
    """The instrumented program of a step; where one of the same source lies there already, that one."""
    path = peers.source_of(step)
    text = clocks.instrumented(path.read_text(), marks, path.relative_to(ROOT))
    source, program = place / path.name, place / step["name"]
    if program.exists() and source.exists() and source.read_text() == text:
        return program
    if not machine.nvcc():
        stop(CANNOT_RUN, "there is no nvcc here to compile the instrumented program")
    place.mkdir(parents=True, exist_ok=True)
    source.write_text(text)
    done = subprocess.run([machine.nvcc(), "-O3", "-std=c++20", f"-gencode=arch=compute_{step['arch']},code=sm_{step['arch']}",
                           "-I", ROOT / "common", "-o", program, source, *(ROOT / "common").glob("*.c")],
                          capture_output=True, text=True)
    if done.returncode:
        program.unlink(missing_ok=True)
        stop(1, f"nvcc refuses the instrumented {step['name']}:\n{done.stdout}{done.stderr}")
    return program


def line_of(program, variant, flags, iters):
    """What the program says of a case that it times, and what it wrote of clocks."""
    with tempfile.TemporaryDirectory() as place:
        said = Path(place, "line.jsonl")
        done = subprocess.run([program.resolve(), "--variant", variant, "--no-check", "--iters", str(iters), *flags, "--json", said], cwd=place,
                              capture_output=True, text=True)
        if done.returncode or not said.exists():
            stop(done.returncode or 1, f"{program.name} --variant {variant} {' '.join(flags)} ended with status {done.returncode}:\n"
                                       f"{done.stdout}{done.stderr}".rstrip())
        noted = Path(place, clocks.FILE)
        return json.loads(said.read_text()), noted.read_text() if noted.exists() else ""


def measured(step, program, variant, flags, iters):
    """The line of a variant at a shape."""
    marks = clocks.MARKS[step["name"]]
    line, _ = line_of(peers.CUDA / step["name"], variant, flags, iters)
    read, noted = line_of(program, variant, flags, iters)
    found = clocks.summary(clocks.blocks_of(noted, marks), next(iter(marks.values())))
    if not found:
        stop(USAGE, f"{step['name']} --variant {variant} {' '.join(flags)}: no consumer comes to three passes; take more keys")
    return line | {"clocks": found | {"with_reads_ms": read["time"]["median_ms"]}}


def show(line):
    found = line["clocks"]
    means = ", ".join(f"{clocks.DOES[what]} {mean:.0f}" for what, mean in found["mean"].items())
    print(f"{line['variant']}, {' '.join(f'{name} {size}' for name, size in line['shape'].items())}: a pass takes {found['pass']:.0f} clocks "
          f"({found['least']:.0f} to {found['most']:.0f} in {found['blocks']} blocks): "
          f"{means}; {line['time']['median_ms']:.4g} ms, with the reads {found['with_reads_ms']:.4g} ms")


def main():
    parser = sweep.options(__doc__, "46", peers.Attention)
    parser.add_argument("--variant", nargs="+", help="default: all")
    parser.add_argument("--programs", type=Path, metavar="FOLDER", help="where the instrumented program is kept, or lies already (default: nowhere)")
    asked = sweep.understood(parser)
    step = peers.find_step(asked.step)
    if step["name"] not in clocks.MARKS:
        parser.error(f"--step {asked.step}: there are marks for {', '.join(clocks.MARKS)} alone")
    if unknown := [name for name in asked.variant or [] if name not in step["variants"]]:
        parser.error(f"--variant {' '.join(unknown)}: {step['name']} has {', '.join(step['variants'])}")
    shapes = sweep.shapes_of(parser, asked, peers.Attention, ["1x16x8192x128", "1x32x8192x64"])
    with tempfile.TemporaryDirectory() as place:
        program = compiled(step, clocks.MARKS[step["name"]], asked.programs or Path(place))
        if machine.gpu()[1]:
            stop(CANNOT_RUN, f"{machine.gpu()[1]}; the order of events without clocks: ./learn timeline {step['number']}")
        for shape in shapes:
            for variant in asked.variant or step["variants"]:
                line = measured(step, program, variant, peers.Attention.flags(shape), asked.iters)
                if asked.json:
                    asked.json.write(json.dumps(line) + "\n")
                    asked.json.flush()
                show(line)


if __name__ == "__main__":
    sys.exit(main())
