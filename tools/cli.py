"""The commands of ./learn. Each says what it does and hands over to the room that does it."""
import itertools
import json
from typing import Annotated, Literal, Optional

import typer

from tools import machine, source, steps
from tools.guard import guarded, stop
from tools.paths import PLOTS
from tools.say import err, out

GPUS = Literal["h200", "a100", "rtx4090", "t4"]
STEP = Annotated[str, typer.Argument(metavar="N", help="A step: 4, 04, matmul_tiled or 04_matmul_tiled.", show_default=False)]
GPU = Annotated[GPUS, typer.Option(help="The GPU whose floor is shown.")]
BACKEND = Annotated[Optional[Literal["cpu", "cuda"]],
                    typer.Option(help="Force the emulator (cpu) or the GPU (cuda); else the GPU where it can run the step.")]
EXERCISE = Annotated[Optional[str], typer.Argument(metavar="[N]", show_default=False, help="04.2 is the second exercise of step 04; 04 is the "
                                                   "first of it that is not solved yet; nothing is the one at hand.")]
FORMAT = Literal["json", "junit", "gradescope"]
REST = {"ignore_unknown_options": True, "allow_extra_args": True}

app = typer.Typer(
    name="learn", add_completion=False, invoke_without_command=True, pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]}, rich_markup_mode="rich",
    help="A staircase of small CUDA programs. Each runs on an NVIDIA GPU, or, without one, under an emulator that counts "
         "what the hardware would do and points at the line that is wrong. Begin with: [bold]./learn tour[/]",
    epilog="Before the command, --system-python uses python3 as it is: no .venv, no apt-get, no network. "
           "Exit status: 0 right, 1 wrong, 2 asked wrongly or something is missing, 77 this device cannot run it.")


@app.callback()
def welcome(context: typer.Context):
    """Where no command is given, say where the reader is."""
    if context.invoked_subcommand is None:
        from tools import workbook
        raise typer.Exit(workbook.welcome())


@app.command()
def tour(gpu: GPU = "h200", backend: BACKEND = None,
         everything: Annotated[bool, typer.Option("--all", help="Show the tables of all steps, not one of them.")] = False):
    """Build every step, run each variant once, show what they did, and say what comes next."""
    from tools import tour as room
    raise typer.Exit(room.tour(gpu, backend, everything))


@app.command(context_settings=REST)
def test(context: typer.Context,
         gpu: Annotated[bool, typer.Option("--gpu", help="Only what runs on this machine's GPU; status 2 where there is none.")] = False):
    """Run every test there is for this machine. Arguments go to pytest."""
    from tools import checks
    raise typer.Exit(checks.test(context.args, gpu))


@app.command(name="list")
def list_(as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False):
    """List the steps, and where each would run here."""
    every = steps.load()
    if as_json:
        return print(json.dumps(every, indent=1))
    needs = {step["name"]: f"compute capability {machine.capability_of(step['arch'])}; runs on the "
             f"{'GPU' if machine.choose(step)[0] == 'cuda' else 'emulator'} here" for step in every}
    alike = set(needs.values())
    for chapter, group in itertools.groupby(every, lambda step: step["chapter"]):
        out.print(chapter_table(chapter, group, needs if len(alike) > 1 else {}))
    if len(alike) == 1:
        out.print(f"\nEach step: {alike.pop()}.")


def chapter_table(chapter, group, needs):
    """A table of a chapter's steps: names, ideas, variants, origins, and what each needs, where that is said."""
    from rich.table import Table
    shown = Table(title=chapter, title_justify="left", title_style="bold", box=None, show_header=False, pad_edge=False)
    shown.add_column(no_wrap=True, style="cyan")
    shown.add_column()
    for step in group:
        parts = [f"variants: {', '.join(step['variants']) or 'one'}", "from " + ", ".join(step["from"]) if step["from"] else "",
                 needs.get(step["name"], "")]
        shown.add_row(step["name"], f"{step['idea']}\n[dim]{'; '.join(filter(None, parts))}[/]")
    return shown


@app.command(context_settings=REST)
def run(context: typer.Context, step: STEP, backend: BACKEND = None):
    """Build one step and run it. What follows goes to its program: ./learn run 4 -m 100 --variant padded.

    The program's own options: ./learn run 4 -- --help"""
    import subprocess

    from tools import build
    chosen = steps.find(step)
    steps.require_variant(chosen, context.args)
    where, why = machine.choose(chosen, backend)
    build.build(where, chosen["name"])
    err.print(f"{chosen['name']} on the {'GPU' if where == 'cuda' else 'emulator'}: {why}", style="dim")
    status = subprocess.run([steps.program(chosen, where), *context.args]).returncode
    if chosen["operation"] == "device" and where == "cpu" and status == 0:
        from tools import device
        device.show_recorded(chosen, context.args)
    raise typer.Exit(status if status >= 0 else 128 - status)


@app.command()
def predict(step: STEP,
            show: Annotated[bool, typer.Option("--show", help="Compare earlier answers, and ask nothing.")] = False,
            again: Annotated[bool, typer.Option("--again", help="Ask everything, answered or not.")] = False):
    """Ask a lesson's questions, and compare what you type with what is counted, computed or recorded."""
    from tools import predict as room
    raise typer.Exit(room.predict(steps.find(step), show, again))


@app.command(context_settings=REST)
def profile(context: typer.Context, step: STEP, gpu: GPU = "h200",
            variant: Annotated[Optional[str], typer.Option(help="One variant; else all.")] = None,
            as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
            by_ncu: Annotated[bool, typer.Option("--ncu", help="What the GPU's own counters say: by ncu where it can run, else as recorded on "
                                                 "an H200.")] = False,
            recorded: Annotated[bool, typer.Option("--recorded", help="With --ncu: what is recorded, although ncu is here.")] = False):
    """Count what each source line of a step does, on the emulator. What follows goes to its program."""
    if recorded and not by_ncu:
        stop("--recorded goes with --ncu: what the emulator counts is counted anew.")
    if by_ncu and as_json:
        stop("--ncu prints in ncu's own form, and --json asks for another: give one of them.")
    if by_ncu:
        from tools import ncu as room
        raise typer.Exit(room.ncu(steps.find(step), variant, context.args, recorded))
    from tools import profile as room
    raise typer.Exit(room.profile(steps.find(step), variant, gpu, as_json, context.args))


@app.command(context_settings=REST)
def timeline(context: typer.Context, step: STEP,
             variant: Annotated[Optional[str], typer.Option(help="One of the step's variants; else the program's default.")] = None,
             block: Annotated[str, typer.Option(metavar="X,Y,Z", help="Which block.")] = "0",
             kernel: Annotated[Optional[str], typer.Option(metavar="NAME", help="Which kernel, of a step that launches several; else the "
                                                           "first.")] = None,
             tiles: Annotated[int, typer.Option(min=1, help="How many passes of its main loop are shown.")] = 2,
             output: Annotated[Optional[str], typer.Option("-o", metavar="FILE.svg", show_default="build/timeline/…svg",
                                                           help="Where the picture goes.")] = None):
    """Draw in which order the warps of a block load, wait and multiply, on the emulator: an order, not time.

    What follows goes to the step's program: ./learn timeline 19 --variant two_stages -k 512"""
    from tools import timeline as room
    raise typer.Exit(room.timeline(steps.find(step), variant, block, kernel, tiles, output, context.args))


@app.command()
def analyze(kernels: Annotated[list[str], typer.Argument(metavar="N[:VARIANT]…", show_default=False, help="Steps, such as 13 15; of each its "
                                                         "fastest variant, or the one named: 13:two_rows 15.")],
            at: Annotated[str, typer.Option(metavar="SHAPE", show_default=False, help="At which of the shapes recorded, or a part of it: "
                                            "'H32 D32'; else at that of the plots.")] = "",
            gpu: Annotated[Literal["h200", "a100", "rtx4090", "l4", "t4"], typer.Option(help="The GPU whose block limits are shown.")] = "h200"):
    """Show kernels side by side, as Nsight Compute does: what the compiler reports, what limits occupancy, what ncu recorded on an H200."""
    from tools import analyze as room
    raise typer.Exit(room.analyze(kernels, at, gpu))


@app.command()
def sass(step: STEP,
         variant: Annotated[Optional[str], typer.Argument(metavar="[VARIANT]", show_default=False, help="One of the step's variants; else "
                                                          "the last.")] = None,
         arch: Annotated[str, typer.Option(help="The architecture to compile for, such as 75, 80 or 90a.")] = "90a",
         loop: Annotated[Optional[int], typer.Option(metavar="K", help="Another loop than the main one, by its number.", show_default=False)] = None,
         each: Annotated[bool, typer.Option("--all", help="Each instruction, in order; else those of a source line together.")] = False,
         recorded: Annotated[bool, typer.Option("--recorded", help="What is recorded, although nvcc is here.")] = False,
         record: Annotated[bool, typer.Option("--record", help="Compile, and write the step's sass.json.")] = False):
    """Show the main loop of a variant as the GPU executes it: SASS beside its source lines, instructions by class, registers and spills."""
    from tools import sass as room
    raise typer.Exit(room.sass(steps.find(step), variant, arch, loop, each, recorded, record))


@app.command()
def diff(step: STEP, stat: Annotated[bool, typer.Option("--stat", help="Only count the code lines.")] = False):
    """Show what a step changes in the step that it comes from."""
    from rich.syntax import Syntax
    after = steps.find(step)
    before = steps.origin(after)
    if before is None:
        return out.print(f"{after['name']} comes from no other step.")
    changed = source.changed_lines(steps.source(before).read_text(), steps.source(after).read_text())
    if not stat and out.is_terminal:
        out.print(Syntax(source.unified(before, after), "diff", background_color="default", word_wrap=False))
    elif not stat:
        print(source.unified(before, after), end="")
    out.print(f"{before['name']} → {after['name']}: {changed} code lines added or changed, comments not counted")


@app.command(context_settings=REST)
def bench(words: Annotated[Optional[list[str]], typer.Argument(metavar="[N…] [ARGS]", help="Steps; all without any.")] = None,
          record: Annotated[bool, typer.Option("--record", help="Replace what is recorded of the steps by this run.")] = False):
    """Time steps on the GPU, beside the vendor's libraries where PyTorch is installed. Options go to the programs."""
    from tools import bench as room
    words = words or []
    options = next((place for place, word in enumerate(words) if word.startswith("-")), len(words))
    chosen = [steps.find(name) for name in words[:options]]
    for step in chosen:
        steps.require_variant(step, words[options:])
    raise typer.Exit(room.bench(chosen, record, words[options:]))


def pictures():
    """{name: module} of plots/NAME.py: write() draws plots/NAME.svg and .png, stale() tells whether it must."""
    from importlib import import_module
    found = {path.stem: import_module(f"plots.{path.stem}") for path in sorted(PLOTS.glob("*.py"))}
    return {name: module for name, module in found.items() if hasattr(module, "stale") and hasattr(module, "write")}


@app.command()
def plot():
    """Draw every picture in plots/ from the recorded results."""
    for picture in pictures().values():
        for path in picture.write():
            out.print(str(path), markup=False)


@app.command()
def roofline():
    """Show every measured step under the roofs that the step `machine` measured, and draw plots/roofline.svg."""
    from plots import roofline as picture
    from tools import roofline as room
    room.show(room.data())
    for path in picture.write():
        out.print(f"[dim]{path}[/]")


@app.command()
def docs(check: Annotated[bool, typer.Option("--check", help="Only name what is stale; status 1 if anything is.")] = False,
         length: Annotated[bool, typer.Option("--length", help="Only count each lesson's words of prose.")] = False):
    """Renew the generated parts of the READMEs, pictures and what is recorded of SASS."""
    from tools import docs as room
    from tools import sass as sass_room
    if length and check:
        stop("--length counts words, and --check looks for what is stale: give one of them.")
    if length:
        from tools import length as counted
        return counted.show()
    stale = sass_room.renew(check) + room.docs(check)
    for name, picture in pictures().items():
        if picture.stale():
            stale.append((f"plots/{name}.svg", "picture"))
            if not check:
                picture.write()
    for path, name in stale:
        out.print(f"{path}: {name} {'is stale' if check else 'renewed'}", markup=False)
    if check and stale:
        stop("To renew: ./learn docs", 1)
    if not stale:
        out.print("Every generated part is fresh.")


@app.command()
def notebook(name: Annotated[Optional[str], typer.Argument(metavar="[NAME]", help="Which to open, such as 01; else the folder.")] = None,
             install: Annotated[bool, typer.Option("--install", help="Only install what notebooks need.")] = False):
    """Open the lessons as notebooks, in JupyterLab; installs it into .venv the first time."""
    from tools import notebook as room
    raise typer.Exit(room.notebook(name, install))


@app.command()
def doctor():
    """Say what this machine has, and what each missing piece costs."""
    from tools import doctor as room
    room.doctor()


@app.command()
def emulate(words: Annotated[list[str], typer.Argument(metavar="FILE.cu… [-- ARGS]", show_default=False,
                                                       help="A CUDA program: its .cu, .cpp, .c, .o and .a files. "
                                                            "What follows -- is for the program.")],
            include: Annotated[list[str], typer.Option("-I", metavar="DIR", help="Where to look for headers.")] = [],
            define: Annotated[list[str], typer.Option("-D", metavar="NAME[=X]", help="Define a macro.")] = [],
            std: Annotated[Optional[str], typer.Option("--std", "-std", metavar="STANDARD",
                                                       help="A newer C++ than c++17: c++20, c++23.")] = None,
            library: Annotated[list[str], typer.Option("-l", metavar="NAME", help="Link with a library.")] = [],
            library_path: Annotated[list[str], typer.Option("-L", metavar="DIR", help="Where to look for libraries.")] = [],
            profile: Annotated[bool, typer.Option("--profile", help="Count what each source line does.")] = False):
    """Compile anybody's CUDA program and run it under the emulator, with all checks."""
    import sys

    from tools import emulate as room
    n_arguments = len(sys.argv) - sys.argv.index("--") - 1 if "--" in sys.argv else 0
    files, arguments = words[:len(words) - n_arguments], words[len(words) - n_arguments:]
    room.require_files(files)
    if "" in include + define + library + library_path:
        stop("-I and -L want a directory, -D and -l a name, and one of them is empty.")
    flags = [f"-I{directory}" for directory in include] + [f"-D{name}" for name in define]
    flags += [f"-std={std}"] if std is not None else []
    libraries = [f"-L{directory}" for directory in library_path] + [f"-l{name}" for name in library]
    raise typer.Exit(room.emulate(files, flags, libraries, profile, arguments))


@app.command()
def exercise(exercise: EXERCISE = None):
    """Write a step's exercises into exercises/, and say what is asked."""
    from tools import workbook
    raise typer.Exit(workbook.hand_out(exercise))


@app.command()
def check(exercise: EXERCISE = None):
    """Judge an exercise: compile, smallest shape, edges, counts; stop at the first that fails."""
    from tools import workbook
    raise typer.Exit(workbook.check(exercise))


@app.command()
def watch(exercise: EXERCISE = None):
    """Check an exercise again on each save."""
    from tools import workbook
    raise typer.Exit(workbook.watch(exercise))


@app.command()
def hint(exercise: EXERCISE = None):
    """Show the next of three hints."""
    from tools import workbook
    raise typer.Exit(workbook.hint(exercise))


@app.command()
def solution(exercise: EXERCISE = None):
    """Show the author's version of an exercise."""
    from tools import workbook
    raise typer.Exit(workbook.solution(exercise))


@app.command()
def reset(exercise: EXERCISE = None):
    """Write an exercise anew; yours is kept beside it."""
    from tools import workbook
    raise typer.Exit(workbook.reset(exercise))


@app.command()
def progress():
    """Show which exercises are solved."""
    from tools import workbook
    raise typer.Exit(workbook.show_progress())


@app.command(name="next")
def next_():
    """Say what comes next."""
    from tools import progress as room
    out.print(room.next_words(), markup=False, soft_wrap=True)


@app.command()
def grade(folder: Annotated[str, typer.Argument(metavar="DIR", help="A learner's folder exercises/, or the one that it is in.",
                                                show_default=False)],
          tests: Annotated[Optional[str], typer.Option(metavar="DIR", help="More cases: files NN_name/1_name.toml.")] = None,
          form: Annotated[FORMAT, typer.Option("--format", help="Of what is printed.")] = "json",
          only: Annotated[list[str], typer.Option(metavar="N", help="A step or exercise, 04 or 04.2; may be repeated.")] = [],
          seed: Annotated[Optional[int], typer.Option(min=0, show_default="drawn anew", help="Of the inputs.")] = None,
          require_counts: Annotated[bool, typer.Option("--require-counts", help="No points where a count or a report does not "
                                                       "hold, although a submission could forge them.")] = False,
          unsafe: Annotated[bool, typer.Option("--unsafe", help="Run submissions without a sandbox.")] = False):
    """Grade a learner's exercises for a course: strangers' code runs in a sandbox, its output is compared outside."""
    from tools import grade as room
    raise typer.Exit(room.grade(folder, tests, form, only, seed, require_counts, unsafe))


@app.command(name="compile", hidden=True)
def compile_():
    """Compile every step by nvcc for 75, 80 and 90a; status 1 on an error, a register spill, or a warning of wgmma or setmaxnreg."""
    from tools import checks
    raise typer.Exit(checks.compile_all())


def main():
    with guarded():
        app(prog_name="./learn")
