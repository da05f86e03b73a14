"""The steps' programs on the emulator: matmul's at every edge shape, with its command line and its JSON lines; every
step's at its default shape; and bugs planted in them, which must not pass."""

import json
import re
import sys

import pytest

from conftest import BUILD, ROOT, TESTS, Program, ensure_build, read_report, run, source_of

sys.path.insert(0, str(TESTS / "planted"))
from bugs import BUGS, ENDLESS, HOPPER, HOPPER_MATMUL, IN_STEP, NOTHING  # noqa: E402

ensure_build()
STEPS = json.loads((ROOT / "build" / "steps.json").read_text())["steps"]
FLAGS = {"axpy": ("-n",), "sum": ("-n",), "device": ("-n", "--rounds"), "matmul": ("-m", "-n", "-k"), "softmax": ("--rows", "--cols"), "scale": ("--rows", "--cols"),
         "attention": ("--batch", "--heads", "--seqlen", "--head-dim")}  # an operation's sizes, in their order


def steps_of(operation):
    return [step for step in STEPS if step["operation"] == operation]


def variants_of(steps):
    return [pytest.param(step["name"], variant, id=f"{step['name']}-{variant}")
            for step in steps for variant in step["variants"]]


MATMUL = steps_of("matmul")
ANY = [step for step in MATMUL if step["arch"] == "75"][-1]  # every GPU that the emulator describes runs it
ANY_STEP = ANY["name"]

TILE = 32
SHAPES = [(1, 1, 1), (1, TILE, TILE), (TILE, 1, TILE), (TILE, TILE, 1), (TILE - 1, TILE - 1, TILE - 1),
          (TILE, TILE, TILE), (TILE + 1, TILE + 1, TILE + 1), (TILE - 1, TILE, TILE + 1), (2 * TILE, 3 * TILE, 4 * TILE),
          (97, 51, 129), (1, 300, 7), (301, 1, 3), (200, 150, 45), (5, 3, 400), (127, 127, 7), (128, 128, 8), (129, 129, 9),
          (260, 132, 36)]


def run_step(name, *arguments, **environment):
    return run(BUILD / name, *arguments, **environment)


def shape_arguments(shape, operation="matmul"):
    return [word for pair in zip(FLAGS[operation], shape, strict=True) for word in pair]


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: "x".join(map(str, shape)))
@pytest.mark.parametrize("name, variant", variants_of(MATMUL))
def test_right_at_every_shape(name, variant, shape):
    done = run_step(name, "--variant", variant, *shape_arguments(shape))
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1].startswith("right: error ")
    assert done.stderr == ""


@pytest.mark.parametrize("arguments", [("--input", "scaled"), ("--seed", "7"), ("--seed", "0")], ids=" ".join)
@pytest.mark.parametrize("name, variant", variants_of(MATMUL))
def test_right_for_other_inputs(name, variant, arguments):
    done = run_step(name, "--variant", variant, *arguments, *shape_arguments((40, 37, 70)))
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name, shape", [
    *((name, (520, 263, 70)) for name in ("42_matmul_persistent", "43_matmul_overlapped_store", "44_matmul_capstone")),
    ("44_matmul_capstone", (250, 1152, 200))])  # of 192 columns, whose three panels have two places
def test_right_where_each_cluster_has_several_tiles(name, shape):
    """An H200 runs 66 clusters at once, and other tests have fewer tiles than that."""
    done = run_step(name, "--all-variants", *shape_arguments(shape), SIMT_SMS="4")
    variants = next(len(step["variants"]) for step in STEPS if step["name"] == name)
    assert done.returncode == 0 and done.stdout.count("right: error ") == variants, done.stdout + done.stderr
    assert done.stderr == ""


def test_right_where_clusters_keep_in_step(compile_cu):
    """Step 44 keeps them in step at large shapes alone, unless its limits say otherwise. A tile of 16 steps has two intervals."""
    program = Program(source_of("44_matmul_capstone"), "g++", ("-I", str(ROOT / "common")), (str(BUILD / "common" / "libcommon.a"),),
                      tuple(zip(IN_STEP["also"][::2], IN_STEP["also"][1::2])))
    done = run(compile_cu(program), "--all-variants", *shape_arguments((150, 700, 1024)), SIMT_SMS="4")
    assert done.returncode == 0 and done.stdout.count("right: error ") == 6, done.stdout + done.stderr


@pytest.mark.parametrize("shape", [(1, 1, 1), (33, 31, 9), (127, 129, 33), (130, 136, 47)], ids=lambda shape: "x".join(map(str, shape)))
@pytest.mark.parametrize("name, dtype", [pytest.param(step["name"], dtype, id=f"{step['name']}-{dtype}")
                                         for step in MATMUL for dtype in step["dtypes"][1:]])
def test_right_in_every_type(name, dtype, shape):
    """All tests but this take a step's first type."""
    done = run_step(name, "--all-variants", "--dtype", dtype, *shape_arguments(shape))
    assert done.returncode == 0 and f", {dtype}," in done.stdout, done.stdout + done.stderr


# Runs a command, and says last how many KiB it held at most. It stands between, because what a process has held before it runs a
# program counts as the program's, and the tests' own process is large.
HELD_AT_MOST = """import resource, subprocess, sys
status = subprocess.run(sys.argv[1:]).returncode
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, flush=True)
sys.exit(status)"""


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step["name"])
def test_all_variants_at_the_default_shape(step):
    """In little memory, too."""
    done = run(sys.executable, "-c", HELD_AT_MOST, BUILD / step["name"], "--all-variants")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("right: error ") == len(step["variants"])
    for variant in step["variants"]:
        assert f"\n{variant}: " in done.stdout
    assert int(done.stdout.split()[-1]) <= 300 * 1024


@pytest.mark.parametrize("name, variant", variants_of(STEPS))
def test_profile_shows_source_lines(name, variant):
    done = run_step(name, "--variant", variant, "--profile")
    assert done.returncode == 0, done.stdout + done.stderr
    parts = re.split(r"^(\S+\.(?:cu|h))$", done.stdout, flags=re.MULTILINE)  # a file's name, and its lines
    assert len(parts) > 1 and any((ROOT / file).samefile(source_of(name)) for file in parts[1::2])
    for file, table in zip(parts[1::2], parts[2::2]):
        source, rows = (ROOT / file).read_text().splitlines(), list(re.finditer(r"^ +(\d+)  .*", table, re.MULTILINE))
        assert rows
        for row in rows:
            line = source[int(row[1]) - 1].strip()[:40]
            assert line and line in row[0]


@pytest.mark.parametrize("gpu, title", [("h200", "H200"), ("a100", "A100"), ("rtx4090", "4090"), ("t4", "T4")])
def test_emulator_describes_the_gpu_asked_for(gpu, title):
    done = run_step(ANY_STEP, *shape_arguments((1, 1, 1)), SIMT_GPU=gpu)
    assert done.returncode == 0 and re.search(rf"on SIMT emulator \(.*{title}", done.stdout), done.stdout + done.stderr


def test_unknown_gpu_is_refused():
    done = run_step(ANY_STEP, *shape_arguments((1, 1, 1)), SIMT_GPU="voodoo2")
    assert done.returncode == 2
    assert "voodoo2" in done.stderr and "h200" in done.stderr


# ---- the command line ----

MISTAKES = [
    (["-m", "0"], "-m 0", "from 1 to"),
    (["-n", "-5"], "-n -5", "from 1 to"),
    (["-k", "abc"], "-k abc", "whole number"),
    (["-k", ""], "-k", "whole number"),
    (["-m", "12x"], "-m 12x", "whole number"),
    (["-m", "1.5"], "-m 1.5", "whole number"),
    (["-m", "99999999999999999999"], "-m 99999999999999999999", "from 1 to"),
    (["-m", "4294967297"], "-m 4294967297", "from 1 to"),
    (["-m", "1000000000", "-n", "1000000000", "-k", "1"], "memory", "smaller"),
    (["-m", "1073741824", "-n", "1073741824", "-k", "1073741824"], "memory", "smaller"),
    (["--variant", "quick"], "quick", "it has"),
    (["--variant", ""], "--variant", "it has"),
    (["--iters", "0"], "--iters 0", "from 1 to"),
    (["--warmup", "-1"], "--warmup -1", "from 0 to"),
    (["--seed", "-1"], "--seed -1", "from 0 to"),
    (["--seed", "one"], "--seed one", "whole number"),
    (["--input", "zeros"], "--input zeros", "one of normal scaled"),
    (["--json", "/nonexistent/results.jsonl"], "/nonexistent/results.jsonl", "No such file"),
    (["--json", "/"], "--json /", "directory"),
    (["--json", "/dev/full", "-m", "1", "-n", "1", "-k", "1"], "--json", "No space"),
    (["--frobnicate"], "--frobnicate", "--help"),
    (["stray"], "", "--help"),
    (["-m"], "m", "--help"),
]


@pytest.mark.parametrize("arguments, names, accepts", MISTAKES, ids=[" ".join(m[0]) for m in MISTAKES])
def test_mistakes_on_the_command_line(arguments, names, accepts):
    done = run_step(ANY_STEP, *arguments)
    assert done.returncode == 2, done.stdout + done.stderr
    assert names in done.stderr and accepts in done.stderr, done.stderr


def test_variant_message_lists_the_variants():
    stderr = run_step(ANY_STEP, "--variant", "quick").stderr
    assert all(variant in stderr for variant in ANY["variants"])


def test_contradictions_are_refused():
    variant = ANY["variants"][0]
    assert run_step(ANY_STEP, "--variant", variant, "--all-variants").returncode == 2
    assert run_step(ANY_STEP, "--no-time", "--iters", "5").returncode == 2


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step["name"])
def test_help(step):
    done = run_step(step["name"], "--help")
    assert done.returncode == 0
    for option in (*FLAGS[step["operation"]], "--variant", "--all-variants", "--iters", "--warmup", "--seed", "--cold",
                   "--no-check", "--no-time", "--profile", "--json"):
        assert option in done.stdout
    assert all(variant in done.stdout for variant in step["variants"])


# ---- JSON lines ----

NUMBER = (int, float)
OPTIONAL = (int, float, type(None))
TEXT = (str, type(None))
SCHEMA = {
    "step": str, "variant": str, "operation": str, "dtype": str, "shape": {"m": int, "n": int, "k": int},
    "backend": str, "device": str, "compute_capability": str, "seed": int,
    "check": {"right": bool, "error": NUMBER, "bound": NUMBER, "worst_row": NUMBER, "worst_row_bound": NUMBER,
              "max_abs": NUMBER},
    "flops": NUMBER, "bytes": NUMBER, "tflops": OPTIONAL, "gbps": OPTIONAL, "floor_ms": NUMBER, "of_floor": OPTIONAL,
    "env": {"driver": str, "cuda": str, "gpu_driver": TEXT, "temperature_c": OPTIONAL, "sm_clock_mhz": OPTIONAL,
            "commit": TEXT, "date": str},
}


def expect_schema(value, schema, where=""):
    for key, kind in schema.items():
        assert key in value, where + key
        if isinstance(kind, dict):
            expect_schema(value[key], kind, f"{where}{key}.")
        else:
            assert isinstance(value[key], kind), f"{where}{key} is {value[key]!r}"


@pytest.mark.parametrize("step", MATMUL, ids=lambda step: step["name"])
def test_json_lines(step, tmp_path):
    out = tmp_path / "results.jsonl"
    assert run_step(step["name"], "--all-variants", "--json", out, *shape_arguments((33, 20, 40))).returncode == 0
    assert run_step(step["name"], "--json", out, "--no-check", "--seed", 3).returncode == 0
    *checked, unchecked = [json.loads(line) for line in out.read_text().splitlines()]
    assert [line["variant"] for line in checked] == step["variants"]
    for line in checked:
        expect_schema(line, SCHEMA)
        assert (line["step"], line["operation"]) == (step["name"], step["operation"])
        assert line["shape"] == {"m": 33, "n": 20, "k": 40}
        assert line["backend"] == "emulator" and line["device"].startswith("SIMT emulator")
        assert line["time"] is None and line["tflops"] is None  # the emulator counts, it does not time
        assert line["check"]["right"] and line["check"]["error"] <= line["check"]["bound"]
        assert line["flops"] == 2 * 33 * 20 * 40
        assert line["bytes"] == (4 if step["dtypes"][0] == "fp32" else 2) * (33 * 40 + 40 * 20 + 33 * 20)
    assert unchecked["check"] is None and unchecked["seed"] == 3


# ---- planted bugs ----

OPERATION = {step["name"]: step["operation"] for step in STEPS}
DTYPE = {step["name"]: step["dtypes"][0] for step in STEPS}  # the default of --dtype
LAST = {step["name"]: step["variants"][-1] for step in STEPS}  # the default of --variant


def only(bug):
    """The head dimension, the type and the variant that a program is run in. A wrong head dimension may take the kernel of another."""
    said = re.search(r"--dtype (\w+)", bug.flags)
    return {"head_dims": () if "head_dim" in bug.before else bug.shape[3:4], "dtypes": (said[1] if said else DTYPE[bug.step],), "variants": (bug.variant or LAST[bug.step],)}


PLANTED = {(bug, plain): Program(source_of(bug.step), "g++", ("--plain",) * plain + ("-I", str(ROOT / "common")),
                                 (str(BUILD / "common" / "libcommon.a"),), bug.edits, bug.header, **only(bug))
           for bug in BUGS for plain in (True, False)}


SHARED = [ROOT / "common" / header for header in (HOPPER, HOPPER_MATMUL, "hopper_causal.h", "hopper_softmax.h")]  # what several steps' kernels are made of


def bug_cases(plain):
    """Where the emulator has nothing to say, and the step's own check ends both programs alike, one of them is enough; and without the checks
    some go right."""
    return [pytest.param(PLANTED[bug, plain], bug, id=f"{bug.step[:2]}-{bug.name}") for bug in BUGS
            if not (plain and bug.plain in (NOTHING, bug.checked))]


def run_planted(executable, bug):
    chosen = [word for option, value in (("--variant", bug.variant), ("--input", bug.input)) if value
              for word in (option, value)]
    environment = {name: str(value) for name, value in (("SIMT_SMS", bug.sms), ("SIMT_TIMEOUT", bug.timeout)) if value}
    return run(executable, *chosen, *shape_arguments(bug.shape, OPERATION[bug.step]), *bug.flags.split(), **environment)


@pytest.mark.parametrize("program, bug", bug_cases(plain=True))
def test_planted_bug_fails_the_steps_own_check(compile_cu, program, bug):
    done = run_planted(compile_cu(program), bug)
    assert done.returncode == 1, done.stdout + done.stderr
    assert bug.plain in done.stdout or f"simt: {bug.plain}: " in done.stderr, done.stdout + done.stderr


@pytest.mark.parametrize("program, bug", bug_cases(plain=False))
def test_planted_bug_is_seen_by_the_emulator(compile_cu, program, bug):
    done = run_planted(compile_cu(program), bug)
    assert done.returncode == 1, done.stdout + done.stderr
    if bug.checked in ("WRONG", "was never written", "is NaN", "wrote behind row"):
        assert bug.checked in done.stdout, done.stdout + done.stderr
        return
    report = read_report(done.stderr)
    assert report.kind == bug.checked, report.text
    place, = (file for file in (program.source, *SHARED) if file.name == report.file)
    lines = place.read_text().splitlines()  # an edit moves no line
    line = lines[report.line - 1]
    if report.kind == ENDLESS and "wait" in line:  # of threads that go on for ever, it is about the one that runs then, and names where all are
        assert any(bug.at in lines[number - 1] for number in report.lines_named(report.file)), report.text
    else:
        assert bug.at in line, report.text
    assert bug.at or any(word in line for word in ("[", "*(", "tensor_load", "wgmma_m64", "wgmma_plain", "setmaxnreg", "store_row", "tensor_store")), report.text


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step["name"])
def test_every_step_has_planted_bugs(step):
    assert sum(bug.step == step["name"] for bug in BUGS) >= 6
