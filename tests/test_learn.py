"""./learn itself: against a small clone with made-up steps, whose programs, cmake and compilers are scripts."""
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from small_clone import (COUNTERS, H200, NAIVE, STEPS, TILED, add_step, clone, configure, ended, give_gpu,  # noqa: E402, F401
                         learn, measured, script)
pytest.importorskip("typer")
from typer.testing import CliRunner  # noqa: E402

from tools import cli, device, docs, floors, judge, ladder, machine, profile, results, source, steps, venv  # noqa: E402


# Asked wrongly

def test_help(learn):
    ended(learn("--help"), 0, "tour", "emulate", "doctor")
    for command in ("tour", "test", "list", "run", "predict", "profile", "analyze", "diff", "bench", "plot", "roofline", "notebook", "docs", "doctor",
                    "emulate"):
        done = CliRunner().invoke(cli.app, [command, "--help"], prog_name="./learn")
        assert done.exit_code == 0 and f"./learn {command}" in done.output


@pytest.mark.parametrize("arguments, words", [
    (["tuor"], ["No such command 'tuor'", "tour"]),
    (["run", "matmul_tild"], ["no step 'matmul_tild'", "nearest is matmul_tiled", "23_matmul_wgmma"]),
    (["run", "5"], ["no step '5'", "nearest is 04_matmul_tiled"]),
    (["diff", "99"], ["nearest is 23_matmul_wgmma"]),
    (["run"], ["Missing argument"]),
    (["tour", "--gpu", "h100"], ["h200", "rtx4090"]),
    (["tour", "--backend", "metal"], ["cpu", "cuda"]),
    (["profile", "3", "--variant", "paded"], ["no variant 'paded'", "strided, coalesced"]),
    (["analyze"], ["Missing argument"]),
    (["analyze", "5"], ["no step '5'", "nearest is 04_matmul_tiled"]),
    (["analyze", "3:paded"], ["no variant 'paded'", "strided, coalesced"]),
    (["analyze", "3", "4:"], ["no variant ''", "padded"]),
    (["analyze", "3", "4", "4"], ["nothing of 3,", "python3 bench/verify.py 03 04 --out FOLDER"]),
    (["analyze", "4", "--gpu", "h100"], ["h200", "l4"]),
    (["emulate", "none.cu"], ["no file 'none.cu'"]),
    (["notebook", "99"], ["no notebook '99'", "There are: 01_memory_system"]),
])
def test_asked_wrongly(learn, arguments, words):
    ended(learn(*arguments), 2, *words)


@pytest.mark.parametrize("name", ["4", "04", "matmul_tiled", "04_matmul_tiled"])
def test_a_step_has_four_names(learn, name):
    ended(learn("run", name), 0, "04_matmul_tiled")


# Running steps

def test_run_hands_over_arguments_and_status(learn):
    ended(learn("run", "4", "-m", "100", "--variant", "padded", "--", "--help"), 0,
          "04_matmul_tiled -m 100 --variant padded --help", "on the emulator: no NVIDIA GPU here")
    for status in (1, 2, 77):
        ended(learn("run", "3", FAKE_STATUS=str(status)), status)


def test_cuda_without_a_gpu(learn):
    ended(learn("run", "4", "--backend", "cuda"), 77, "CUDA was asked for", "nvidia-smi")
    ended(learn("bench"), 77, "bench times on a GPU")
    ended(learn("bench", "4"), 77)


def test_a_gpu_too_old_for_a_step(learn, clone):
    give_gpu(clone, "Tesla T4", "7.5")
    old = "23_matmul_wgmma needs compute capability exactly 9.0, the Tesla T4 has 7.5"
    ended(learn("run", "23"), 0, "on the emulator", old)
    ended(learn("run", "23", "--backend", "cuda"), 77, old)
    ended(learn("bench", "23"), 77, old)
    ended(learn("list"), 0, "runs on the GPU here", "runs on the emulator here")


def give_tests(clone, ctest_status=0):
    """A test for any machine and one for a GPU; a ctest that says what it was asked for."""
    script(clone.parent / "bin/ctest", f"#!/bin/sh\necho ctest $*\necho '100% tests passed'\nexit {ctest_status}\n")
    (clone / "tests").mkdir()
    (clone / "tests/test_two.py").write_text("import pytest\n@pytest.mark.gpu\ndef test_on_the_gpu(): pass\ndef test_else(): pass\n")


@pytest.mark.parametrize("more, presets, tests", [([], ["cpu", "cuda"], "2 passed"), (["--gpu"], ["cuda"], "1 passed"),
                                                  (["-q", "--gpu", "-m", "not gpu"], ["cuda"], "1 passed")], ids=str)
def test_the_tests_of_a_machine_with_a_gpu(learn, clone, more, presets, tests):
    give_gpu(clone, "NVIDIA H200", "9.0")
    give_tests(clone)
    done = learn("test", *more)
    ended(done, 0, tests)
    assert [line.split()[2] for line in done.stdout.splitlines() if line.startswith("ctest")] == presets


def test_a_gpus_tests_that_fail(learn, clone):
    give_gpu(clone, "NVIDIA H200", "9.0")
    give_tests(clone, 8)
    ended(learn("test", "--gpu"), 1, "1 passed")


def test_no_gpu_to_test(learn, clone):
    give_tests(clone)
    done = learn("test", "--gpu")
    ended(done, 2, "--gpu asks for the tests that run on a GPU: no NVIDIA GPU here")
    assert done.stdout == "" and len(done.stderr.splitlines()) == 1
    give_gpu(clone, "NVIDIA H200", "9.0")
    (clone.parent / "bin/nvcc").unlink()
    if not Path("/usr/local/cuda/bin/nvcc").exists():
        ended(learn("test", "--gpu"), 2, "a NVIDIA H200 is here, but no nvcc")
    done = learn("test")
    ended(done, 0, "2 passed")


def test_a_gpu_without_nvcc_is_no_gpu(learn, clone):
    give_gpu(clone, "Tesla T4", "7.5")
    (clone.parent / "bin/nvcc").unlink()
    ended(learn("run", "3", CUDA_VISIBLE_DEVICES=""), 0, "CUDA_VISIBLE_DEVICES hides every GPU")
    if not Path("/usr/local/cuda/bin/nvcc").exists():
        ended(learn("run", "3"), 0, "on the emulator: a Tesla T4 is here, but no nvcc")


@pytest.mark.parametrize("columns", [80, 120])
def test_tour_on_a_gpu(learn, clone, columns):
    give_gpu(clone, "NVIDIA H200", "9.0")
    done = learn("tour", "--all", COLUMNS=str(columns))
    ended(done, 0, "Ran on the GPU: NVIDIA H200, compute capability 9.0", "137", "TFLOPS", "50 %", "1.50 × step 03")
    assert max(map(len, done.stdout.splitlines())) <= columns
    assert headings(done.stdout).keys() >= {"matmul, 4096³, fp32: timed here"}


def test_bench_records_what_the_programs_wrote(learn, clone):
    give_gpu(clone, "NVIDIA H200", "9.0")
    recorded = clone / "steps/04_matmul_tiled/results.jsonl"
    ended(learn("bench", "4", "-m", "5"), 0, "--all-variants", "-m 5")
    assert not recorded.exists()
    ended(learn("bench", "4", "--record", FAKE_STATUS="1"), 1)
    assert not recorded.exists()
    ended(learn("bench", "4", "--record"), 0, "recorded in steps/04_matmul_tiled/results.jsonl")
    assert json.loads(recorded.read_text())["device"] == "NVIDIA H200"


def test_capabilities():
    assert machine.can_run("75", "7.5") and machine.can_run("80", "12.0") and machine.can_run("90a", "9.0")
    assert not machine.can_run("80", "7.5") and not machine.can_run("90a", "10.0") and not machine.can_run("90a", "8.9")


@pytest.mark.parametrize("columns", [80, 120])
def test_tour(learn, clone, columns):
    (clone / "steps/04_matmul_tiled/results.jsonl").write_text(measured("04_matmul_tiled", "padded", 12.5))
    done = learn("tour", "--all", COLUMNS=str(columns))
    ended(done, 0, "Ran on the emulator: no NVIDIA GPU", "23 matmul_wgmma", "16,500", "6 %", "12.5 ms", "11.0 TFLOPS",
          "It counts; it does not time", "4 of 4 variants gave the right result.")
    assert done.stderr.startswith("Building")  # where no progress is drawn
    assert max(map(len, done.stdout.splitlines())) <= columns
    assert done.stdout.endswith(learn("next", COLUMNS=str(columns)).stdout)


@pytest.mark.parametrize("columns", [80, 120])
def test_a_visitors_tour_is_one_table_and_what_comes_next(learn, clone, columns):
    (clone / "steps/04_matmul_tiled/results.jsonl").write_text(measured("04_matmul_tiled", "padded", 12.5))
    done = learn("tour", COLUMNS=str(columns))
    ended(done, 0, "Ran on the emulator", "4 of 4 variants gave the right result.", "./learn tour --all")
    assert headings(done.stdout) == {"matmul, 128³, fp32: counted by the emulator": ["03 strided", "03 coalesced", "04 padded", "23 matmul_wgmma"]}
    assert "recorded" not in done.stdout and "as fast as" not in done.stdout
    assert done.stdout.endswith(learn("next", COLUMNS=str(columns)).stdout)
    give_gpu(clone, "NVIDIA H200", "9.0")
    assert list(headings(learn("tour", COLUMNS=str(columns)).stdout)) == ["matmul, 4096³, fp32: timed here"]


def headings(text):
    """{the line above a table's head: the first words of its rows}, of a tour's output."""
    parts = [part.splitlines() for part in re.split(r"\n\s*\n", text) if "───" in part]
    return {lines[0]: [line.split("  ")[0] for line in lines[next(i for i, line in enumerate(lines) if "───" in line) + 1:]]
            for lines in parts}


@pytest.mark.parametrize("columns", [80, 120])
def test_tables_of_the_tour_name_their_shape(learn, clone, columns):
    """Counts at one shape and records at another are two tables, and each says of which shape it is."""
    (clone / "steps/04_matmul_tiled/results.jsonl").write_text(
        measured("04_matmul_tiled", "padded", 12.5) + measured("04_matmul_tiled", None, 2.5, "cuBLAS"))
    assert headings(learn("tour", "--all", COLUMNS=str(columns)).stdout) == {
        "matmul, 128³, fp32: counted by the emulator": ["03 strided", "03 coalesced", "04 padded", "23 matmul_wgmma"],
        "matmul, 4096³, fp32: recorded on an NVIDIA H200": ["04 padded", "cuBLAS"]}


def test_shapes_that_differ_stand_in_the_rows():
    """As those of `machine` do, whose variants measure different things."""
    step = {"name": "machine", "number": "", "operation": "device"}
    cases = [{"shape": shape, "dtype": "fp32"} for shape in ({"bytes": 1 << 20}, {"rounds": 5})]
    title, shape = ladder.titled(step, cases, "counted by the emulator")
    assert title == "machine, fp32, each at a shape of its own: counted by the emulator"
    assert list(map(shape, cases)) == ["1 MiB", "rounds 5"]
    assert list(map(ladder.titled(step, cases[:1], "")[1], cases)) == ["", ""]


@pytest.mark.parametrize("check, words", [({"error": 0, "bound": 0}, "exact"), ({"error": 1e-9, "bound": 1e-6}, "< 1 %"),
                                          ({"error": 5e-7, "bound": 1e-6}, "50 %"), (None, "–")])
def test_an_error_is_a_share_of_its_bound(check, words):
    assert ladder.of_its_bound(check) == words


def test_pictures_are_the_same_each_time(learn, clone):
    drawn = []
    for command in ("tour", "plot"):
        ended(learn(command), 0, "plots/ladder.svg")
        drawn.append([(clone / f"plots/ladder.{kind}").read_bytes() for kind in ("svg", "png")])
    assert drawn[0] == drawn[1]
    assert "plots/" not in learn("tour").stdout  # it is fresh


def test_tour_tells_of_a_wrong_step(learn):
    ended(learn("tour", FAKE_STATUS="1"), 1, "WRONG", "ended with status 1")


def test_profile(learn):
    ended(learn("profile", "4"), 0, "x.cu:3", "global load", "16,500 sectors", "l1tex__t_sectors")
    assert json.loads(learn("profile", "3", "--json").stdout)[1]["variant"] == "coalesced"


def test_profile_says_what_is_in_flight_where_something_is_copied():
    """Below each kind of request during which that is counted; a kernel without copies has no such lines."""
    line = dict.fromkeys(COUNTERS, 0) | {"mma": 1000, "mma_with_copies": 750, "mma_bytes_in_flight": 1_536_000, "barriers": 8,
                                         "ldmatrix_requests": 200, "ldmatrix_wavefronts": 800}
    found = profile.rows(line, with_copies=True)
    assert found == [("ldmatrix", 200, "800 wavefronts", "0 conflicts"), ("with copies in flight", 0, "0 bytes on average", ""),
                     ("product of fragments", 1000, "", ""), ("with copies in flight", 750, "1,536 bytes on average", ""),
                     ("__syncthreads, by warp", 8, "", "")]
    assert profile.rows(line, with_copies=False) == [row for row in found if row[0] != "with copies in flight"]


def test_profile_says_that_ncu_has_no_such_counter(capsys):
    kernel = {"total": dict.fromkeys(COUNTERS, 0), "lines": []}
    for copies in (0, 8):
        kernel["total"]["copy_st_requests"] = copies
        profile.legend(STEPS[0], {"profile": {"kernels": [kernel]}, "variant": None, "case": None})
        assert ("ncu has no such counter" in capsys.readouterr().out) == (copies > 0)


def test_list_as_json(learn):
    assert json.loads(learn("list", "--json").stdout) == STEPS


def test_emulate_hands_over(learn, clone):
    script(clone / "emulator/simtcc", f'#!/bin/sh\necho simtcc "$@"\n[ -z "$UNSUPPORTED" ] || exit 2\n'
           f'while [ "$1" != -o ]; do shift; done\ncp "{clone}/build/cpu/03_matmul_naive" "$2"\n')
    elsewhere = clone.parent / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "mine.cu").touch()
    ended(learn("emulate", "mine.cu", "-Iinclude", "-D", "N=3", "-std=c++20", "--", "-x", "1", cwd=elsewhere, FAKE_STATUS="7"), 7,
          "-Iinclude -DN=3 -std=c++20 -o", "mine.cu", "mine -x 1")
    ended(learn("emulate", "mine.cu", cwd=elsewhere, UNSUPPORTED="1"), 2)
    for name in ("more.cpp", "made.o"):
        (elsewhere / name).touch()
    ended(learn("emulate", "mine.cu", "-lz", "more.cpp", "-L", "lib", "made.o", "--", "mine.cu", cwd=elsewhere), 0,
          "mine.cu more.cpp made.o -Llib -lz mine mine.cu")
    ended(learn("emulate", "mine.cu", "less.cpp", cwd=elsewhere), 2, "no file 'less.cpp'")


# What is missing

def test_no_compiler(learn, clone):
    (clone.parent / "bin/g++").unlink()
    ended(learn("tour"), 2, "No C++ compiler", "apt-get install g++")
    ended(learn("tour", system_python=False), 2, "Missing: g++", "Fedora")
    assert not (clone / ".venv").exists()
    ended(learn("doctor"), 0, "nowhere: there is no C++ compiler")


def test_a_build_that_fails_shows_the_compilers_output(learn, clone):
    ended(learn("tour", FAKE_BUILD_FAILS="error: no such thing"), 1, "error: no such thing", "build/learn.log")
    assert "error: no such thing" in (clone / "build/learn.log").read_text()


def test_no_network(learn, clone):
    nowhere = {"PIP_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_CONFIG_FILE": "/dev/null", "PIP_RETRIES": "0"}
    ended(learn("list", system_python=False, **nowhere), 2, "could not be fetched", "./learn --system-python tour")
    assert not (clone / ".venv").exists()


def test_a_python_without_the_packages():
    bare = subprocess.run([sys.executable, "-S", ROOT / "tools/__main__.py", "list"], capture_output=True, text=True)
    ended(bare, 2, "has no module", "pyproject.toml")


def test_no_notebooks_for_a_python_without_jupyter(learn, clone):
    pins = clone / "pyproject.toml"
    pins.write_text(pins.read_text().replace("jupyterlab==", "no-such-package=="))
    ended(learn("notebook", "01"), 2, "has no", "no-such-package", "pip install")


def test_packages_are_pinned():
    """As Python's own reader of TOML reads them, where there is one."""
    tomllib = pytest.importorskip("tomllib")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lists = project["optional-dependencies"] | {"dependencies": project["dependencies"]}
    assert lists.keys() == {"dependencies", "grade", "test", "build", "notebook"}
    for name, lines in lists.items():
        assert lines and venv.pins(name) == lines


@pytest.mark.parametrize("marker, wanted", [("", True), ("; python_version < '3.0'", False), ("; python_version >= '3.10'", True),
                                            ("; sys_platform == 'win32' or python_version < '3.4'", False)])
def test_a_package_for_other_pythons_is_not_missing(monkeypatch, marker, wanted):
    monkeypatch.setattr(venv, "pins", lambda name: ["rich==0.1", f"no-such-package==1.2{marker}"])
    monkeypatch.setattr(venv, "is_ours", lambda: True)
    assert venv.wanted("test") == {"rich": "0.1"} | ({"no-such-package": "1.2"} if wanted else {})
    assert venv.missing("test") == ["rich", *(["no-such-package"] if wanted else [])]


# Generated text

def test_diff(learn):
    ended(learn("diff", "4"), 0, "+ int col = 3;", "2 code lines added or changed")
    assert "+" not in learn("diff", "4", "--stat").stdout
    ended(learn("diff", "3"), 0, "comes from no other step")


def shown(text):
    """{name: the lines that a lesson shows}"""
    return {name: piece.lines(piece) for name, piece in source.pieces(text, "x.cu").items()}


def test_pieces_of_a_source():
    """One that is closed is a part of another; one that is not ends where the next such one begins, or with the closed one around it."""
    assert shown(NAIVE) == {"index": (3, 6), "row": (5, 5), "store": (9, 10)}
    assert shown("// [a]\nx\n// [end a]\ny\n") == {"a": (2, 2)}
    assert shown("// [a] It.\nx\n\n// [b]\ny\n") == {"a": (1, 2), "b": (5, 5)}
    assert shown("// [a]\n// [b]\nx\n// [c]\ny\n// [end b]\nz\n") == {"a": (2, 3), "b": (3, 5), "c": (5, 5)}
    assert shown("float *x;  // [n]\n// [16, 16], B is [16, 8]\n// []\n") == {}
    assert source.unmarked(NAIVE.splitlines()[2:9]) == ["    // Where.", "    int row = 1;", "", "    C[row] = 0;"]


def test_an_exercise_takes_no_more_than_a_block():
    text = "void f()\n{\n    // [a] It\n    // is.\n    if (x) {  // }\n        puts(\"}\");\n    }\n}\n\n// [b]\nint i;\n"
    piece = source.pieces(text, "x.cu")["a"]
    assert text.split("\n")[piece.begin:piece.taken] == ["    if (x) {  // }", "        puts(\"}\");", "    }"] and piece.lines(piece) == (3, 8)


@pytest.mark.parametrize("text, words", [
    ("// [a]\nx\n// [end a]\n// [end a]\n", "x.cu:4: `// [end a]` closes what line 3 has closed"),
    ("// [a]\n// [b]\n// [end a]\n// [end b]\n", "x.cu:3: `// [end a]` stands before `// [end b]`, whose piece begins in this one"),
    ("x\n// [end a]\n", "x.cu:2: `// [end a]` closes what no mark above it opens"),
    ("// [end a]\n// [a]\n", "x.cu:1: `// [end a]` closes what no mark above it opens"),
    ("// [a]\nx\n// [a]\n", "x.cu:3: `// [a]` opens a second piece of that name; the first begins in line 1"),
    ("// [a]\nx\n// [end]\n", "x.cu:3: `// [end]` says of no piece that it ends"),
], ids=["twice closed", "nested wrongly", "never opened", "closed before", "twice opened", "no name"])
def test_marks_that_do_not_fit_together(text, words, capsys):
    with pytest.raises(SystemExit) as stopped:
        source.pieces(text, "x.cu")
    assert stopped.value.code == 2 and words in " ".join(capsys.readouterr().err.split())


def test_code_lines_leave_comments_out():
    assert source.code_lines('a; // b\n/* c\n d */ e("//x", \'"\'); // "\n\n') == ["a;", 'e("//x", \'"\');']
    assert source.changed_lines("a;\nb;\n", "// new\na;\n\n  b;  // old\nc;\n") == 1


def block(name):
    return f"<!-- generated: {name} -->\n<!-- /generated -->\n"


def test_docs(learn, clone):
    results = measured("04_matmul_tiled", "padded", 12.5) + measured("04_matmul_tiled", "", 2.5, "cuBLAS")
    (clone / "steps/04_matmul_tiled/results.jsonl").write_text(results)
    (clone / "steps/03_matmul_naive/results.jsonl").write_text(measured("03_matmul_naive", "coalesced", 25))
    (clone / "README.md").write_text("before\n" + block("milestones") + "between\n" + block("steps") + block("tour matmul")
                                     + block("piece steps/03_matmul_naive/matmul_naive.cu index") + "after\n")
    page = clone / "steps/04_matmul_tiled/README.md"
    page.write_text("".join(map(block, ("diff", "walk index", "results", "speed", "counters", "ncu registers", "code note.c"))))
    (page.parent / "note.c").write_text("int note;\n")
    (clone / "docs").mkdir()
    (clone / "docs/memory-hierarchy.md").write_text(block("memory levels") + block("memory gpus"))
    ended(learn("docs", "--check"), 1, "README.md: milestones is stale", "README.md: tour matmul is stale", "docs/memory-hierarchy.md: memory gpus is stale",
          "04_matmul_tiled/README.md: walk index is stale", "plots/ladder.svg")
    ended(learn("docs"), 0)
    ended(learn("docs", "--check"), 0, "fresh")
    front, text, memory = (place.read_text() for place in (clone / "README.md", page, clone / "docs/memory-hierarchy.md"))
    assert "Not measured on an H200 yet." in memory and "| L2 | 4 MiB | 40 MiB | 72 MiB | 60 MiB |" in memory
    assert front.startswith("before\n") and "\nbetween\n" in front and front.endswith("after\n")
    assert "| [04 matmul_tiled](steps/04_matmul_tiled/) | tiles in shared memory | 03 | `padded`: 11.0 TFLOPS at 4096³ |" in front
    assert "| [04 matmul_tiled](steps/04_matmul_tiled/) | `padded`: 11.0 TFLOPS at 4096³ | 2.00 × step 03 |" in front
    assert "wgmma Needs compute capability exactly 9.0. | 04 | – |" in front and "with driver 580.1, CUDA 13.0." in front
    assert "```\nmatmul, 128³, fp32: counted by the emulator\nstep" in front and "\n03 coalesced" in front
    assert "](steps/03_matmul_naive/matmul_naive.cu#L3-L" in front and "```cuda\n// Where.\nint row = 1;\n```" in front
    assert "int col = 3;" in text and "16.50" in text and "**`padded` takes 12.5 ms, 11.0 TFLOPS**; it is 2.00 × as fast as step 03's `coalesced`, 0.20 × as fast as cuBLAS." in text
    assert "```c\nint note;\n```" in text and "Not counted on an H200 yet." in text
    (clone / "steps/04_matmul_tiled/matmul_tiled.cu").write_text(TILED + "int more;\n")
    ended(learn("docs", "--check"), 1, "diff is stale")


def test_floors_of_a_step(learn, clone):
    page = clone / "steps/04_matmul_tiled/README.md"
    page.write_text(block("floors"))
    ended(learn("docs"), 0)
    # 16,500 sectors at four a clock on 132 SMs of 1.98 GHz are 15.8 ns; 2 · 128³ operations need more.
    text = page.read_text()
    assert "| padded | 62.7 ns | 0.00 ns | 15.8 ns | 3.83 ns | 41.0 ns | 62.7 ns | 62.7 ns | fp32 | the emulator |" in text
    assert "ptxas may merge some" in text and "it leaves out the bank conflicts" in text


def by_ncu(shape, **counts):
    """A line that says what ncu counted of 04's padded."""
    counts = {name: 0 for name in COUNTERS if not name.endswith("s") or name[:6] in ("shared", "global")} | counts
    return json.dumps(json.loads(measured("04_matmul_tiled", "padded", 1)) | {
        "shape": dict.fromkeys("mnk", shape), "time": None, "check": None, "ncu": counts}) + "\n"


def test_floors_and_counters_by_ncu(learn, clone):
    """ncu's counts stand in the floors, and what ptxas did is told by the numbers."""
    page, recorded = (clone / f"steps/04_matmul_tiled/{name}" for name in ("README.md", "results.jsonl"))
    page.write_text(block("floors") + block("counters"))
    recorded.write_text(by_ncu(128, global_ld_requests=500, global_ld_sectors=16500, data_wavefronts=132_000, lsu_requests=66_000))
    ended(learn("docs"), 0)
    text = page.read_text()
    assert "| padded | 62.7 ns | 0.00 ns | 505 ns | 253 ns | 41.0 ns | 505 ns | 505 ns | L1, 8.06 × fp32 | ncu |" in text
    assert "with their bank conflicts" in text and "leaves out the bank conflicts" not in text
    assert "ncu counted fewer requests than are written, `padded` 500 for 1,000 to load from global memory: ptxas merged" in text
    recorded.write_text(by_ncu(128, global_ld_requests=4000, global_ld_sectors=16500))
    ended(learn("docs"), 0)
    text = page.read_text()  # what no lane executes is not issued to L1: the emulator's 1,000 requests are the floor's
    assert "| 3.83 ns | 41.0 ns | 62.7 ns | 62.7 ns | fp32 | ncu |" in text and "no lane of the warp executes" in text and "merged" not in text


def test_floors_at_the_shape_that_was_measured(learn, clone):
    page, recorded = (clone / f"steps/04_matmul_tiled/{name}" for name in ("README.md", "results.jsonl"))
    page.write_text(block("floors"))
    timed = json.loads(measured("04_matmul_tiled", "padded", 10)) | {"flops": 2 * 4096**3, "bytes": 12 * 4096**2}
    recorded.write_text(json.dumps(timed) + "\n" + by_ncu(4096, data_wavefronts=132 * 1_980_000 * 5, lsu_requests=132 * 1_980_000,
                                                               dram_ld_bytes=4_000_000_000, dram_st_bytes=800_000_000))
    ended(learn("docs"), 0)
    assert "At 4096³" in page.read_text()
    assert "| padded | 2.05 ms | 0.00 ns | 5.00 ms | 1.00 ms | 1.00 ms | 5.00 ms | 5.00 ms | L1, 2.43 × fp32 | 10.0 ms | 50 % |" in page.read_text()


def roofs(clone):
    """machine as it was measured, added to the clone's steps: DRAM copies 4,000 GB/s, fp32 does 60 TFLOPS."""
    step = {"name": "machine", "number": "", "dir": "steps/machine", "idea": "roofs", "from": [], "arch": "75",
            "chapter": "A. Memory", "operation": "device", "dtypes": ["fp32"], "variants": ["copy", "fma"]}
    (clone.parent / "steps.json").write_text(json.dumps({"steps": [step, *STEPS]}))
    add_step(clone, step)
    configure(clone)
    common = {"step": "machine", "operation": "device", "device": "NVIDIA H200", "dtype": "fp32", "tflops": 0, "gbps": 4000,
              "check": None, "time": {"median_ms": 1, "p10_ms": 1, "p90_ms": 1}, "flops": 0, "bytes": 1,
              "env": {"gpu_driver": "580.1", "cuda": "13.0", "temperature_c": 41, "date": "2026-11-21"}}
    lines = [{"variant": "copy", "shape": {"bytes": 1 << 30}, "figure": {"unit": "GB/s", "value": 4000, "published": 4800}},
             {"variant": "copy", "shape": {"bytes": 1 << 30}, "peer": "cudaMemcpyAsync",
              "figure": {"unit": "GB/s", "value": 4100, "published": 4800}},
             {"variant": "fma", "shape": {"rounds": 9}, "figure": {"unit": "TFLOPS", "value": 60, "published": 66.9}}]
    (clone / "steps/machine/results.jsonl").write_text("".join(json.dumps(common | line) + "\n" for line in lines))


def test_roofline(learn, clone):
    ended(learn("roofline"), 0, "No step was measured")
    assert not (clone / "plots/roofline.svg").exists()
    roofs(clone)
    line = json.loads(measured("04_matmul_tiled", "padded", 12.5)) | {"flops": 2 * 4096**3, "bytes": 12 * 4096**2}
    (clone / "steps/04_matmul_tiled/results.jsonl").write_text(json.dumps(line) + "\n")
    ended(learn("roofline"), 0, "DRAM 4,000 GB/s", "fp32 60.0 TFLOPS", "04 tiled 682.7 11.0 18.3 % fp32")
    drawn = [(clone / f"plots/roofline.{kind}").read_bytes() for kind in ("svg", "png")]
    ended(learn("docs"), 0)
    ended(learn("plot"), 0, "plots/roofline.svg")
    assert drawn == [(clone / f"plots/roofline.{kind}").read_bytes() for kind in ("svg", "png")]
    ended(learn("docs", "--check"), 0, "fresh")
    counted = line | {"time": None, "check": None, "ncu": {"dram_ld_bytes": 3 << 30, "dram_st_bytes": 1 << 30}}
    (clone / "steps/04_matmul_tiled/results.jsonl").write_text(json.dumps(line) + "\n" + json.dumps(counted) + "\n")
    ended(learn("roofline"), 0, "by ncu: of those that it moved", "04 tiled 682.7 32 11.0 18.3 % fp32")
    slower = line | {"tflops": 1.5}
    (clone / "steps/04_matmul_tiled/results.jsonl").write_text(json.dumps(slower) + "\n")
    ended(learn("docs", "--check"), 1, "plots/roofline.svg: picture is stale")


def test_the_machine_without_a_gpu_shows_what_was_recorded(learn, clone):
    roofs(clone)
    ended(learn("run", "machine"), 0, "Recorded on an NVIDIA H200 (2026-11-21", "nothing was timed here", "1 GiB by cudaMemcpyAsync",
          "4,100 GB/s", "15.0 operations a byte")
    (clone / "steps/machine/results.jsonl").unlink()
    ended(learn("run", "machine"), 0, "Nothing is recorded")


@pytest.mark.parametrize("text, words", [
    (block("weather"), "nothing generates 'weather'"), (block("walk nowhere"), "no piece // [nowhere]. It has: index, row, store"),
    (block("walk store index"), "the pieces store, index in another order"), (block("walk"), "nothing generates 'walk'"),
    (block("piece steps/04_matmul_tiled/matmul_tiled.cu"), "nothing generates 'piece"),
    (block("report none.cu"), "no none.cu"), (block("piece none.cu a"), "no none.cu"),
    (block("tour poem"), "No step is a poem"), (block("memory card"), "memory levels and memory gpus"), (block("code none.c"), "no steps/04_matmul_tiled/none.c"),
    ("x.cu:3  sum += 1;\n", "shows x.cu:3, but no line of such a program begins with: sum += 1;"),
    ("matmul_naive.cu:3  sum +…\n", "no line of such a program begins with: sum +"), (block("ncu colour"), "takes one to three of dram, l2"), ("<!-- generated: diff -->\n", "no <!-- /generated -->"),
])
def test_docs_of_an_unknown_part(learn, clone, text, words):
    (clone / "steps/04_matmul_tiled/README.md").write_text(text)
    ended(learn("docs"), 2, words)


# Arithmetic

def test_floors():
    counts = dict.fromkeys(COUNTERS, 0) | {"shared_ld_wavefronts": 132_000, "shared_ld_requests": 66_000,
                                           "global_ld_requests": 66_000, "global_ld_sectors": 1_056_000}
    rates = floors.published(H200 | {"clock_ghz": 1})
    seconds = floors.units(counts, 132 * 256 * 500, 4.8e6, rates)
    assert seconds == pytest.approx({"fp32": 0.5e-6, "shared": 1e-6, "L1": 2e-6, "LSU": 1e-6, "DRAM": 1e-6})
    assert floors.binding(counts, 132 * 256 * 500, 4.8e6, rates) == ("L1", pytest.approx(2e-6))
    counted = counts | {"data_wavefronts": 132_000 * 3, "lsu_requests": 132_000 * 2, "dram_ld_bytes": 9e6, "dram_st_bytes": 6e5}
    seconds = floors.units(counted, 0, 4.8e6, rates)
    assert seconds == pytest.approx({"fp32": 0, "shared": 1e-6, "L1": 3e-6, "LSU": 2e-6, "DRAM": 2e-6})
    assert floors.units(counted | {"dram_ld_bytes": 0}, 0, 4.8e6, rates)["DRAM"] == pytest.approx(1e-6)  # the rest is in L2


def test_floors_of_tensor_cores():
    """A kernel that multiplies fragments computes on them; ldmatrix and cp.async load shared memory's and L1's units, too."""
    counts = dict.fromkeys(COUNTERS, 0) | {
        "mma": 1, "shared_st_wavefronts": 11_000, "ldmatrix_wavefronts": 66_000, "stmatrix_wavefronts": 11_000,
        "copy_st_wavefronts": 44_000, "ldmatrix_requests": 66_000, "copy_st_requests": 33_000, "copy_ld_requests": 33_000,
        "global_st_requests": 33_000, "copy_ld_sectors": 528_000}
    gpu = H200 | {"clock_ghz": 1, "tensor_fp16_tflops": 1000}
    rates = floors.published(gpu)
    assert floors.units(counts, 3e9, 4.8e6, rates) == pytest.approx({"tensor": 3e-6, "shared": 1e-6, "L1": 1e-6, "LSU": 1e-6, "DRAM": 1e-6})
    assert floors.units(counts | {"shared_wavefronts": 264_000}, 3e9, 0, rates)["shared"] == pytest.approx(2e-6)  # all, by ncu
    said = floors.legend(["tensor"], {False}, gpu, rates)
    assert "the 1,000 TFLOPS that are published" in said and "fp32**" not in said
    assert "the 600 TFLOPS that mma reached, of 1,000 TFLOPS published" in floors.legend(["tensor"], {False}, gpu, rates | {"tensor": 6e14})


def test_floors_of_wgmma():
    """What mma.sync reached is no floor of a kernel whose warpgroups multiply: ncu counts those among all products, and apart."""
    counts = dict.fromkeys(COUNTERS, 0) | {"mma": 8, "wgmma": 8, "wgmma_ld_requests": 66_000, "wgmma_ld_wavefronts": 132_000}
    rates = device.rates(H200)
    assert rates["tensor"] < 0.7 * rates["wgmma"] and rates["wgmma"] == 989.4e12
    assert floors.units(counts, 989.4e9, 0, rates)["wgmma"] == pytest.approx(1e-3) and "tensor" not in floors.units(counts, 1, 0, rates)
    assert floors.units(counts, 0, 0, floors.published(H200 | {"clock_ghz": 1}))["shared"] == pytest.approx(1e-6)
    assert floors.binding(counts, 989.4e9, 0, rates) == ("wgmma", pytest.approx(1e-3))
    assert "by wgmma, at the 989 TFLOPS that are published" in floors.legend(["wgmma"], {False}, H200, rates)


def test_the_floor_of_a_line_is_that_of_its_instruction(monkeypatch):
    """A step for compute capability 9.0 alone has wgmma, which mma's rate is no floor of."""
    line = {"step": "23_matmul_wgmma", "dtype": "bf16", "flops": 989.4e9, "floor_ms": 1.0}
    monkeypatch.setattr(device.steps, "load", lambda: [step | {"arch": arch} for step in STEPS[2:]])
    monkeypatch.setattr(device, "reached", lambda: {"fp32": 66e12, "tensor": 647e12})
    arch = "90a"
    assert device.floor_ms(line) == 1.0
    arch = "90"
    assert device.floor_ms(line) == pytest.approx(989.4 / 647)


def test_products_of_a_step_for_wgmma_are_warpgroups_products():
    """Also where ncu was not asked for them by themselves; what it counted goes before."""
    for arch, ncu, found in (("90a", {"mma": 8}, 8), ("90a", {"mma": 8, "wgmma": 4}, 4), ("80", {"mma": 8}, None), ("90a", {"mma": 0}, None)):
        assert results.counters({"arch": arch}, {"ncu": ncu}).get("wgmma") == found


@pytest.mark.parametrize("mma, wgmma, columns", [(8, 0, ["products of fragments"]), (12, 8, ["products of fragments", "wgmma, by warp"]),
                                                 (8, 8, ["wgmma, by warp"])])
def test_the_counters_of_warpgroups_have_columns_of_their_own(monkeypatch, mma, wgmma, columns):
    counts = dict.fromkeys(COUNTERS, 0) | {"mma": mma, "wgmma": wgmma}
    done = {"case": {"shape": {"m": 64, "n": 64, "k": 64}}}
    monkeypatch.setattr(docs, "counted", lambda step: [("padded", done, counts)])
    monkeypatch.setattr(docs.results, "hardware", lambda step, variant, shape: None)
    head = docs.counters(STEPS[1]).split("\n\n")[1].splitlines()[0]
    assert [column for column in ("products of fragments", "wgmma, by warp") if column in head] == columns


@pytest.mark.parametrize("arch, option", [("80", "-arch=native"), ("90", "-arch=native"), ("90a", "-gencode=arch=compute_90a,code=sm_90a")])
def test_an_exercise_of_wgmma_is_compiled_for_it(monkeypatch, tmp_path, arch, option):
    asked = []
    exercise = SimpleNamespace(data={"gpu_speed": 1}, step={"name": "38_x", "arch": arch}, name="e")
    monkeypatch.setattr(judge, "BUILD", tmp_path)
    monkeypatch.setattr(judge, "flags", lambda exercise: [])
    monkeypatch.setattr(judge.machine, "choose", lambda step: ("cuda", ""))
    monkeypatch.setattr(judge.machine, "nvcc", lambda: "nvcc")
    monkeypatch.setattr(judge.build, "build", lambda *names: None)
    monkeypatch.setattr(judge.subprocess, "run", lambda command, **more: asked.append(command) or SimpleNamespace(returncode=1, stderr="no"))
    assert not judge.fast(exercise, "e.cu").holds and asked[0][:3] == ["nvcc", "-O3", option]


def test_profile_says_what_warpgroups_multiply():
    """Their products stand apart from those of a warp, with the bulk copies in flight meanwhile."""
    line = dict.fromkeys(COUNTERS, 0) | {"mma": 12, "wgmma": 8, "wgmma_ld_requests": 8, "wgmma_ld_wavefronts": 64,
                                         "wgmma_with_copies": 4, "wgmma_bytes_in_flight": 8 * 35_840}
    assert profile.rows(line, with_copies=False) == [("wgmma reads shared", 8, "64 wavefronts", "0 conflicts"),
                                                     ("product of fragments", 4, "", ""), ("wgmma, by warp", 8, "", ""),
                                                     ("with copies in flight", 4, "35.8 KB on average", "")]


def test_the_rate_that_was_reached_says_what_binds():
    """On an H200 the fastest that the step machine recorded counts, and of another GPU what is published."""
    rates = device.rates(H200)
    assert rates["tensor"] == pytest.approx(646.68e12, rel=1e-4) and rates["fp32"] == pytest.approx(65.97e12, rel=1e-4)
    assert rates["shared"] == rates["L1"] == rates["LSU"] == 132 * 1.98e9 and rates["DRAM"] == 4800e9
    assert device.rates(H200 | {"name": "a100"}) == floors.published(H200)
    counts = dict.fromkeys(COUNTERS, 0) | {"mma": 1, "data_wavefronts": 132 * 1.98e9 * 1.2e-3}
    assert floors.binding(counts, 989.4e9, 0, floors.published(H200)) == ("L1", pytest.approx(1.2e-3))
    assert floors.binding(counts, 989.4e9, 0, rates) == ("tensor", pytest.approx(1.53e-3, rel=1e-2))


def test_zeros_explain_more_wavefronts_of_copies_and_no_fewer():
    counts = dict.fromkeys(COUNTERS, 0) | {"copy_ld_requests": 8, "copy_st_wavefronts": 32}
    for wavefronts, explained in ((64, True), (32, False), (24, False)):
        notes = docs.compared([("padded", counts, {"copy_st_wavefronts": wavefronts})])
        assert any("writes zeros first" in note for note in notes) == explained


def test_what_ncu_counted_goes_before():
    counts = dict.fromkeys(COUNTERS, 8)
    found = floors.executed(counts, {"shared_ld_requests": 2, "shared_st_requests": 9, "shared_ld_wavefronts": 9, "data_wavefronts": 5,
                                     "lsu_requests": None})
    assert found == counts | {"shared_ld_requests": 2, "shared_ld_wavefronts": 9, "data_wavefronts": 5}
    assert floors.executed(counts, None) == counts


def test_nothing_recorded_beats_its_floor():
    """Of every step here: the floor that its program computes, the one by the rates that were reached, and every unit's where ncu counted."""
    lines = [json.loads(text) for path in ROOT.glob("steps/*/*.jsonl") for text in path.read_text().splitlines()]
    timed = [line for line in lines if line["time"] and (line["operation"], line["flops"]) != ("attention", 0)]  # not a copy beside it
    assert len(timed) > 100 and all(line["of_floor"] <= 1 for line in timed if line["of_floor"] is not None)
    assert all(line["of_floor"] is not None or line.get("peer") for line in timed)  # a peer on a type that the step lacks has no floor
    by_shape, rates, ours = {}, device.rates(H200), [line for line in timed if line["operation"] != "device" and not line.get("peer")]
    for line in ours:
        by_shape[line["step"], line["variant"], line["dtype"], *line["shape"].values()] = line
        assert device.floor_ms(line) <= line["time"]["median_ms"], f"{line['step']} {line['variant']} {line['shape']}"
    counted = 0
    for line in lines:
        if line.get("ncu") and (run := by_shape.get((line["step"], line["variant"], line["dtype"], *line["shape"].values()))):
            unit, seconds = floors.binding(results.counters(steps.find(line["step"]), line), run["flops"], run["bytes"], rates)
            assert 1e3 * seconds <= run["time"]["median_ms"], f"{line['step']} {line['variant']} beats its floor by {unit}"
            counted += 1
    assert len(ours) > 100 and counted > 30


@pytest.mark.parametrize("seconds, words", [(2.07e-6, "2.07 µs"), (0.0262, "26.2 ms"), (0.9996, "1.00 s"), (5e-9, "5.00 ns"),
                                            (0.99996e-6, "1.00 µs"), (0, "0.00 ns")])
def test_durations(seconds, words):
    assert floors.duration(seconds) == words
