"""What ./learn grade gives credit for, and what it does not: right lines; texts that are more than lines; programs that lie,
run away or look for a way out; files that are none. Each is bounded in time, and grading goes on."""

import argparse
import dataclasses
import hashlib
import inspect
import json
import os
import pathlib
import pickle
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as xml

import pytest
from conftest import KEPT, ROOT, TESTS, Program, emulator_key, kept, libclang_key, locked, run, with_older_marks

sys.path.insert(0, str(ROOT))
from test_exercises import what_is_run  # noqa: E402
from tools import exercises, grade, judge, marks, sandbox, statements, steps, submission, venv
from tools import kit as kits  # noqa: E402

_, LOAD = exercises.find("04.load")
_, MEASURE = exercises.find("05.loop")
_, BARRIER = exercises.find("04.barrier")
QUICK = sandbox.Limits(seconds=2.5, memory=256 << 20, said=64 << 10, written=1 << 20)


@pytest.fixture(scope="module")
def place():
    """A directory that the sandbox can show."""
    with tempfile.TemporaryDirectory(prefix="learn-test-", dir=sandbox.TEMPORARY) as folder:
        folder = pathlib.Path(folder)
        folder.chmod(0o755)
        yield folder


@pytest.fixture(scope="module")
def walled(place):
    """Skips where no sandbox works."""
    if trouble := sandbox.trouble(place):
        pytest.skip(trouble)


class KeptKit(kits.Kit):
    """Builds the same text once, for all tests and for another day's."""

    def build(self, name, text):
        key = hashlib.sha256(f"{emulator_key()}{inspect.getsource(kits)}{name}{text}".encode()).hexdigest()[:16]
        kept = KEPT / f"graded-{key}" / "built"
        with locked(kept.with_name("lock")):
            if not kept.exists():
                built = super().build(name, text)
                kept.with_suffix(".new").write_bytes(pickle.dumps(built))
                kept.with_suffix(".new").rename(kept)
            kept.with_name("ended.json").touch()
            return pickle.loads(kept.read_bytes())


@pytest.fixture(scope="module")
def kit(place, walled):
    return KeptKit(place / "kit", True)


@pytest.fixture
def read_once(monkeypatch):
    """libclang reads the same text once, for another day's tests too."""
    read = statements.objection

    def objection(name, program, authors, names, host):
        parts = [libclang_key(), name, program, authors, *names, str(host)]
        return kept("objection", parts, lambda: read(name, program, authors, names, host))

    monkeypatch.setattr(statements, "objection", objection)


def with_lines(exercise, **regions):
    """A reader's file with these lines between the marks, and the author's between the others."""
    assert regions.keys() <= exercise.regions.keys()
    return exercise.with_regions(exercise.author() | regions)


def handed_in(folder, exercise, text):
    """folder as a reader's exercises/, with this file."""
    path = folder / exercise.step["name"] / exercise.file_name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder


def graded(kit, folder, exercise, text, more=()):
    return grade.grade_one(kit, exercise, handed_in(folder, exercise, text), list(more), random.Random(1))


# ---- right and wrong lines ----

@pytest.mark.usefixtures("read_once")
@pytest.mark.parametrize("exercise", exercises.every(), ids=lambda one: one.reference)
def test_the_authors_lines_get_full_marks(kit, tmp_path, monkeypatch, exercise):
    """Of every exercise of every step, with inputs that nobody has drawn before. What no case of it runs is not compiled."""
    build, trimmed = kit.build, Program(steps.source(exercise.step), **what_is_run(exercise)).trimmed
    monkeypatch.setattr(kit, "build", lambda name, text: build(name, trimmed(text)))
    path = handed_in(tmp_path, exercise, exercise.solution())
    mark = grade.grade_one(kit, exercise, path, [], random.Random(), counts_matter=True)
    assert (mark.verdict, mark.points, mark.reason) == (marks.RIGHT, mark.of, "") and mark.points > 0, mark
    assert all(case["verdict"] == marks.RIGHT for case in mark.cases) and (mark.cases + mark.advisory or not exercise.asks_for_program)
    assert all(one["holds"] for one in mark.advisory), mark.advisory


@pytest.mark.parametrize("edit, verdict, reason", [
    (("ffma: 64", "ffma: 512"), "WRONG", "Those are the products of a whole tile"), (("ffma: 64", "ffma:"), "WRONG", "has no answer yet"),
    (("// [end answers]", ""), "REFUSED", "not there as handed out"), (("ffma: 64", "ffma: 64 FFMA"), "RIGHT", "")])
def test_answers_alone_are_graded_without_a_program(tmp_path, edit, verdict, reason):
    text = MEASURE.solution()
    assert text.count(edit[0]) == 1
    mark = graded(None, tmp_path, MEASURE, text.replace(*edit))
    assert mark.verdict == getattr(marks, verdict) and reason in mark.reason, mark
    untouched = graded(None, tmp_path, MEASURE, MEASURE.start())
    assert untouched.verdict == marks.REFUSED and "Nothing is written" in untouched.reason


def test_a_wrong_answer_gets_none_and_the_reason(kit, tmp_path):
    lines = LOAD.author()["load"].replace("(transposed ?", "(!transposed ?")
    mark = graded(kit, tmp_path, LOAD, with_lines(LOAD, load=lines))
    assert (mark.verdict, mark.points) == (marks.WRONG, 0)
    assert mark.reason.startswith("At m ") and "should be" in mark.reason, mark.reason


def test_unusual_lines_get_full_marks_too(kit, tmp_path):
    lines = """
        __align__(16) float four[4];
        struct two { float a, b; __device__ __forceinline__ float sum() const { return a + b; } };
        float *more = new float[n + 2];
        const int64_t most = INT64_MAX;
        auto at = [=] __device__ (int i) { return i % 4; };
        #pragma unroll (TILE / 8)  // the tile's eighths
        for (int i = 0; i < 4; i++)
            four[at(i)] = most > i ? 1'0.f : NAN;
        more[n] = two{four[0], four[1]}.sum();
        assert(more[n] == 20);
        delete[] more;
""" + LOAD.author()["load"]
    mark = graded(kit, tmp_path, LOAD, with_lines(LOAD, load=lines))
    assert (mark.verdict, mark.reason) == (marks.RIGHT, ""), mark


def test_counts_are_advisory_unless_they_are_asked_for(kit, tmp_path):
    lines = LOAD.author()["load"] + "        if (*(const volatile float *)A == 12345)  // one load more\n            return;\n"
    path = handed_in(tmp_path, LOAD, with_lines(LOAD, load=lines))
    found = [grade.grade_one(kit, LOAD, path, [], random.Random(1), counts_matter) for counts_matter in (False, True)]
    assert [mark.verdict for mark in found] == [marks.RIGHT, marks.WRONG], found
    assert not all(one["holds"] for one in found[0].advisory) and "sectors" in found[1].reason, found


def test_an_answer_without_overlap_computes_right_and_counts_wrong(kit, tmp_path):
    _, exercise = exercises.find("flash_mma_stages/prefetch")
    text = next(text for name, text, _ in exercise.wrong() if name == "the next tiles waited for at once")
    path = handed_in(tmp_path, exercise, text)
    found = [grade.grade_one(kit, exercise, path, [], random.Random(1), counts_matter) for counts_matter in (False, True)]
    assert [mark.verdict for mark in found] == [marks.RIGHT, marks.WRONG], found
    assert "bytes of a warp's copies are under way" in found[1].reason and ": 0 at heads 1" in found[1].reason, found


@pytest.mark.parametrize("count", ["null", '"many"', "[]", "1e999", "NaN", "1" + 400 * "0", "-1"])
def test_forged_counts_end_no_grading(count):
    """Whatever a program says that it counted: a sentence comes of it, and nothing else."""
    _, exercise = exercises.find("flash_mma_stages/prefetch")
    lines = f'{{"file": "a.cu", "line": 1, "barriers": {count}, "mma": 1, "mma_bytes_in_flight": {count}, "copy_st_requests": {count}}}'
    done = argparse.Namespace(written=f'{{"kernels": [{{"lines": [{lines}]}}]}}'.encode())
    liar = argparse.Namespace(run=lambda command: done)
    said = list(grade.advices(liar, exercise, exercise.solution(), "program", random.Random(1)))
    assert len(said) == len(exercise.data["count"]) and all(isinstance(one["holds"], bool) and one["said"] for one in said)


def test_a_function_of_the_library_hides_no_count(kit, tmp_path):
    """Bank conflicts of loads that std::max does."""
    _, swizzle = exercises.find("04.swizzle")
    lines = {"store": "        B_smem[threadIdx.y][threadIdx.x] = b;\n",
             "product": "            sum += A_smem[threadIdx.y][i] * std::max(-INFINITY, (const float &)B_smem[threadIdx.x][i]);\n"}
    path = handed_in(tmp_path, swizzle, with_lines(swizzle, **lines))
    mark = grade.grade_one(kit, swizzle, path, [], random.Random(1), True)
    assert mark.verdict == marks.WRONG and "at most 0 bank conflicts: 253,952" in mark.reason, mark


def test_a_line_of_the_readers_own_hides_no_count():
    """Neither a mark's words in a comment nor another mark make the lines fewer of which counts are taken."""
    lines = "x = 1;  // [end load]\n// [end loaded]\n// [end]\n// [product] x\n/* // [load] */\n// exercise: end load\n"
    text = with_lines(LOAD, load=lines)
    first, last = judge.lines_of(LOAD, text, "load")
    assert last - first == lines.count("\n") + 1
    _, upright = exercises.find("06.3")
    region = next(iter(upright.regions))
    own = upright.author()
    plain = judge.lines_of(upright, with_lines(upright), "multiply")
    found = judge.lines_of(upright, upright.with_regions(own | {region: own[region] + "// [end]\n// [end multiply]\n// [multiply] x\n"}), "multiply")
    assert found[1] - found[0] in (plain[1] - plain[0], plain[1] - plain[0] + 3)


def test_a_wrong_word_to_a_question_gets_none(kit, tmp_path):
    right = BARRIER.author()["barrier"]
    mark = graded(kit, tmp_path, BARRIER, with_lines(BARRIER, barrier=right.replace("early: b", "early: a")))
    assert mark.verdict == marks.WRONG and mark.reason.startswith(BARRIER.data["question"][0]["ask"]), mark


def test_what_does_not_compile_says_where(kit, tmp_path):
    text = with_lines(LOAD, load="        nonsense;\n")
    mark = graded(kit, tmp_path, LOAD, text)
    line = text[:text.index("nonsense")].count("\n") + 1
    assert mark.verdict == marks.REFUSED and f"1_load.cu:{line}" in mark.reason, mark.reason


def test_what_is_outside_of_the_marks_is_not_taken(kit, tmp_path):
    text = LOAD.solution().replace("C[(size_t)row * n + col] = sum;", "C[0] = 0; #error")
    assert graded(kit, tmp_path, LOAD, text).verdict == marks.RIGHT


def test_a_courses_own_cases_count_and_stay_its_own(kit, tmp_path):
    lines = LOAD.author()["load"].replace("A_col < k", "A_col < k && k != 71")
    more = [{"arguments": "-m 5 -n 6 -k 71", "hidden": True}]
    assert graded(kit, tmp_path, LOAD, with_lines(LOAD, load=lines)).verdict == marks.RIGHT
    mark = graded(kit, tmp_path, LOAD, with_lines(LOAD, load=lines), more)
    assert (mark.verdict, mark.reason) == (marks.WRONG, "At one of the course's own cases: it is wrong.")
    assert mark.cases[-1]["hidden"] and mark.cases[-1]["said"].startswith("At m 5, n 6, k 71: ")


def test_no_program_tells_a_learner_the_courses_shapes(kit, tmp_path, monkeypatch):
    """Not by what it prints, not by the report that it brings about, not by a number that it leaves in the output."""
    monkeypatch.setattr(kit, "limits", QUICK)
    more = [{"arguments": "-m 5 -n 6 -k 71", "hidden": True}]
    for lines in ('if (k == 71) { printf("m %d, k %d\\n", m, k); assert(k != 71); }\n', "if (k == 71) C[m * n + k] = 0;\n",
                  "if (k == 71) { C[0] = 100 * k + m; return; }\n", "while (k == 71) ;\n"):
        mark = graded(kit, tmp_path, LOAD, with_lines(LOAD, load=LOAD.author()["load"] + lines), more)
        assert mark.verdict == marks.WRONG and mark.cases[-1]["said"] and mark.cases[-1]["hidden"], mark
        junit, gradescope = marks.as_junit([mark], 1, True), json.loads(marks.as_gradescope([mark], 1, True))
        shown = [mark.reason, json.dumps(mark.advisory), junit, json.dumps(gradescope["tests"]), gradescope["output"]]
        assert not [words for words in shown if "71" in words], shown
        assert "k 71" in json.dumps(gradescope["extra_data"])


def test_a_course_is_told_of_a_case_that_no_program_can_do(kit, tmp_path, capsys):
    with pytest.raises(SystemExit) as stopped:
        graded(kit, tmp_path, LOAD, LOAD.solution(), [{"arguments": "--rows 7", "hidden": True}])
    assert stopped.value.code == 2 and "cannot do this case" in capsys.readouterr().err


def test_a_course_is_told_of_a_case_that_takes_the_author_too_long(kit, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(kit, "limits", QUICK)
    with pytest.raises(SystemExit) as stopped:
        graded(kit, tmp_path, LOAD, LOAD.solution(), [{"arguments": "-m 700 -n 700 -k 3000", "hidden": True}])
    assert stopped.value.code == 2 and "asks too much" in capsys.readouterr().err
    assert not (kit.place / "author").exists()


def test_the_canary_is_computed_by_the_kernel_alone(kit, tmp_path):
    """Where host code is asked for, the kernel around it is another at grading: who computes on the host, misses that."""
    edits = {"grade": {"edits": [["C[(size_t)row * n + col] = sum;", "C[(size_t)row * n + col] = {canary} * sum;"]]}}
    changed = dataclasses.replace(LOAD, data=LOAD.data | edits)
    assert graded(kit, tmp_path, changed, LOAD.solution()).verdict == marks.RIGHT
    lines = LOAD.author()["load"] + "        if (row < m && col < n && k == 1) { C[row * n + col] = a * b; m = 0; }\n"
    mark = graded(kit, tmp_path, changed, with_lines(LOAD, load=lines))
    assert mark.verdict == marks.WRONG and "not what the kernel computes" in mark.reason, mark


# ---- texts that are more than lines ----

@pytest.mark.parametrize("text, reason", [
    (LOAD.solution().replace("[end load]", "[end lode]"), "each once"),
    (LOAD.solution() + LOAD.solution(), "each once"),
    (LOAD.solution().replace("        // [load]\n", ""), "each once"),
    (LOAD.start(), "Nothing is written"), ("", "each once")], ids=["name", "twice", "half", "start", "empty"])
def test_marks_have_to_be_as_handed_out(text, reason):
    with pytest.raises(submission.Refused, match=reason):
        submission.regions(LOAD, text)


@pytest.mark.parametrize("name, device", [("element", True), ("host", False)])
def test_host_code_is_told_from_device_code(name, device):
    program = ("__global__ void f(int a)\n{\n    // [element]\n    // [end element]\n}\n\n"
               "int main()\n{\n    // [host]\n    // [end host]\n}\n"
               "// [nowhere]\n// [end nowhere]\n")
    assert submission.is_device(program, name) == device
    assert submission.around(program, name) and not submission.around(program, "nowhere")


# ---- programs that lie, run away or look for a way out ----

ONCE = "        if (threadIdx.x + threadIdx.y + blockIdx.x + blockIdx.y == 0) {{ {} }}\n"
HOSTILE = {
    "exits": ('printf("right: error 0.0e+00\\n"); exit(0);', "exit", "never written|NaN"),
    "writes the output": ('system("for f in /dev/fd/*; do printf 0000 >$f; done");', "system", "wrong element|goes on behind"),
    "runs for ever": ('system("while :; do :; done");', "system", "longer than"),
    "sleeps for ever": ('system("sleep 1000");', "system", "longer than"),
    "prints without end": ('system("yes");', "system", "printed more"),
    "forks without end": ('system("f() { f | f & }; f; sleep 1000");', "system", "longer than|printed more"),
    "fills the disk": ('system("cat /dev/zero >/tmp/a; cat /dev/zero >/tmp/b"); exit(1);', "exit", "status 1|limit|space"),
    "allocates without end": ('system("tail /dev/zero");', "system", "memory"),
    "kills": ('system("kill -9 -1; kill -9 $PPID");', "system", "ended by SIGKILL"),
}


@pytest.mark.parametrize("name", ["exits", "prints without end"])
def test_what_no_kernel_can_call_is_refused(kit, tmp_path, name):
    attack, function, _ = HOSTILE[name]
    mark = graded(kit, tmp_path, LOAD, with_lines(LOAD, load=ONCE.format(attack) + LOAD.author()["load"]))
    assert (mark.verdict, mark.reason) == (marks.REFUSED, f"It calls `{function}`, which no kernel can call on a GPU.")


@pytest.mark.parametrize("change, reason", [
    ({"called": {"_Z1fv", "expf", "simt_shared"}}, "`_Z1fv`"), ({"called": {"cudaMemcpy"}}, "`cudaMemcpy`"),
    ({"defined": {"_Z1fv", "fwrite"}}, "`fwrite`"), ({"run_at_start": 16}, "before main")],
    ids=["calls a function of C++", "calls CUDA", "defines", "runs at the start"])
def test_what_an_object_file_shows_is_refused(change, reason):
    authors = kits.Built(b"", {"matmul_main", "expf"}, {"main", "launch"}, 8)
    grade.require_device_code(dataclasses.replace(authors, called={"simt_atomic", "printf"}), authors, True)
    with pytest.raises(submission.Refused, match=reason):
        grade.require_device_code(dataclasses.replace(authors, **change), authors, True)


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_run_all_the_same_is_bounded_and_gets_no_credit(kit, tmp_path, monkeypatch, name):
    """The same in the sandbox, as if nobody had looked at what the program calls."""
    monkeypatch.setattr(grade, "require_device_code", lambda *_: None)
    monkeypatch.setattr(statements, "objection", lambda *_: None)
    monkeypatch.setattr(kit, "limits", QUICK)
    attack, _, reason = HOSTILE[name]
    start = time.monotonic()
    mark = graded(kit, tmp_path, LOAD, with_lines(LOAD, load=ONCE.format(attack) + LOAD.author()["load"]))
    assert (mark.verdict, mark.points) == (marks.WRONG, 0) and re.search(reason, mark.reason), mark
    assert time.monotonic() - start < 30


@pytest.mark.parametrize("words", ["simt: " * 40000, "simt: : a:1 \n" * 20000, "a" * 250000], ids=["heads", "lines", "word"])
def test_words_that_take_long_to_read_are_not_read(words):
    start = time.monotonic()
    for status in (1, 200, 255, -9, 137):
        assert grade.complaint(sandbox.Outcome(status, words, b"")) and marks.clean(words)
    assert time.monotonic() - start < 20


def test_a_process_that_says_nothing_more_is_waited_for(place, walled):
    begun = os.times()
    done = sandbox.run(["sh", "-c", "exec >&- 2>&-; sleep 1"], [place], QUICK)
    assert (done.status, done.fault) == (0, None) and os.times().user - begun.user < 0.5


def processes_named(word):
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found += [path] if word.encode() in path.read_bytes() else []
        except OSError:
            continue
    return found


def test_what_is_left_in_the_background_ends(place, walled):
    started = time.monotonic()
    done = sandbox.run(["sh", "-c", "setsid sleep 98765 & echo started"], [place], QUICK)
    assert (done.status, done.said, done.fault) == (0, "started\n", None)
    assert time.monotonic() - started < QUICK.seconds and not processes_named("98765")


DAEMON = "setsid sh -c 'setsid sleep 98761 & sleep 98761' & echo started"
TAKES_MEMFD = "import os, time\nfor i in range(9):\n    os.write(os.memfd_create('a'), bytes(60 << 20))\ntime.sleep(9)"


@pytest.mark.parametrize("walls", [True, False], ids=["walled", "unsafe"])
def test_memory_that_is_no_processes_is_none(place, walled, walls):
    done = sandbox.run(["python3", "-c", TAKES_MEMFD], [place], QUICK, walls)
    assert done.status and "Operation not permitted" in done.said, done


def test_without_walls_too_all_that_was_started_ends(place):
    for command in (DAEMON, f"{DAEMON}; kill -9 $$", f"({DAEMON}) & exit 0"):
        done = sandbox.run(["sh", "-c", command], [place], QUICK, False)
        assert done.fault is None and not processes_named("98761"), done
    assert subprocess.Popen(["sleep", "0"]).wait() == 0  # what this process starts itself is left alone


@pytest.mark.skipif(os.getuid() != 0, reason="only root has another user's files")
def test_without_walls_too_the_machines_memory_is_bounded(place):
    fill = "for i in 1 2 3 4 5 6 7 8 9; do head -c 50000000 /dev/zero >/dev/shm/learn-test-$i; done; sleep 9"
    done = sandbox.run(["sh", "-c", f"mkdir /tmp/learn-test-left; {fill}"], [place], QUICK, False)
    assert "256 MiB of memory" in done.fault, done
    assert not [*pathlib.Path("/dev/shm").glob("learn-test-*"), *pathlib.Path("/tmp").glob("learn-test-left")]


def test_the_sandbox_shows_nothing_of_the_clone(place, walled):
    for path in (ROOT, ROOT / "steps", pathlib.Path.home() / "x", "/etc/passwd", "/var", "/sys", "/run"):
        done = sandbox.run(["ls", path], [place], QUICK)
        assert done.status and "No such file" in done.said, done
    done = sandbox.run(["sh", "-c", "cat /proc/net/dev; ls /proc; env; grep -i capeff /proc/self/status"], [place], QUICK)
    assert re.findall(r"^ *(\w+): ", done.said, re.MULTILINE) == ["lo"], done
    assert len(re.findall(r"^\d+$", done.said, re.MULTILINE)) < 8 and "0000000000000000" in done.said
    known = {*sandbox.environment(place), "PWD", "OLDPWD"}
    assert not [name for name in os.environ if f"\n{name}=" in done.said and name not in known]


def test_the_authors_program_is_not_there_to_be_run(kit, tmp_path):
    """What a submission's process sees of the kit, beside the emulator and the libraries: its own program."""
    assert graded(kit, tmp_path, LOAD, LOAD.solution()).verdict == marks.RIGHT
    done = kit.run(["sh", "-c", f"find {kit.place} -type f -newer {kit.place}/libcommon.a; ls {kit.hidden}"])
    assert list(kit.hidden.iterdir()) == [kit.hidden / "author"]
    *shown, hidden = done.said.splitlines()
    assert shown == [str(kit.place / "program")] and "No such file" in hidden, done.said


@pytest.mark.skipif(not shutil.which("g++"), reason="only g++ takes it")
def test_the_kit_has_the_runtimes_header_parsed(kit):
    source = kit.write("nothing.cu", b"")
    traced = kit.made(f"sh -x {kit.place}/emulator/simtcc --simt-build {kit.place} -std={kits.STANDARD} -c -o out.o {source} 2>RESULT")
    source.unlink()
    assert b"-fpch-preprocess" in traced and [*kit.place.glob(f"runtime/*/simt/*.gch/checked-{kits.STANDARD}")]


def test_the_result_is_bounded_and_whole(place, walled):
    done = sandbox.run(["sh", "-c", "printf result >RESULT"], [place], QUICK)
    assert (done.written, done.fault) == (b"result", None)
    done = sandbox.run(["sh", "-c", "cat /dev/zero >RESULT"], [place], QUICK)
    assert len(done.written) == QUICK.written and "result of more than" in done.fault


# ---- files that are none ----

def test_files_that_are_none(tmp_path, kit):
    folder = handed_in(tmp_path / "work", LOAD, LOAD.solution()) / LOAD.step["name"]
    path = folder / "1_load.cu"

    def said(of=tmp_path / "work"):
        mark = grade.grade_one(kit, LOAD, of, [], random.Random(1))
        assert mark.points == 0
        return f"{mark.verdict}: {mark.reason}"

    path.write_bytes(b"\xff\xfe\x00binary")
    assert said() == "refused: The file is not UTF-8 text."
    path.write_bytes(b" " * (submission.LARGEST + 1))
    assert said() == "refused: The file is larger than 64 KiB."
    path.unlink()
    assert said() == "missing: There is no 04_matmul_tiled/1_load.cu."
    path.mkdir()
    assert said() == "refused: It is no file."
    path.rmdir()
    os.mkfifo(path)
    assert said() == "refused: It is no file."
    path.unlink()
    (tmp_path / "solution.cu").write_text(LOAD.solution())
    path.symlink_to(tmp_path / "solution.cu")
    assert "symbolic link" in said()
    (tmp_path / "linked").mkdir()
    solved = handed_in(tmp_path / "solved", LOAD, LOAD.solution()) / LOAD.step["name"]
    (tmp_path / "linked" / LOAD.step["name"]).symlink_to(solved)
    assert "symbolic link" in said(tmp_path / "linked")


def test_files_under_earlier_numbers_are_found(tmp_path):
    """A course's folder of last year is graded as it is, and left so."""
    old = tmp_path / "03_matmul_register" / "2_loop.txt"
    old.parent.mkdir()
    old.write_text(MEASURE.solution())
    mark = grade.grade_one(None, MEASURE, tmp_path, [], random.Random(1))
    assert mark.verdict == marks.RIGHT and old.exists() and not (tmp_path / MEASURE.step["name"]).exists()
    (old.parent / "2_loop.1.txt").write_text("set aside by a reset")
    (old.parent / "2_loop.cu").write_text("no answers")
    assert grade.grade_one(None, MEASURE, tmp_path, [], random.Random(1)).verdict == marks.RIGHT
    (tmp_path / "04_matmul_register").mkdir()
    (tmp_path / "04_matmul_register" / "5_loop.txt").write_text(MEASURE.solution())
    twice = grade.grade_one(None, MEASURE, tmp_path, [], random.Random(1))
    assert twice.verdict == marks.REFUSED and "03_matmul_register/2_loop.txt, 04_matmul_register/5_loop.txt" in twice.reason
    assert graded(None, tmp_path, MEASURE, MEASURE.solution()).verdict == marks.RIGHT  # the present number counts before others
    linked = tmp_path / "linked"
    (linked / "04_matmul_register").mkdir(parents=True)
    (linked / "04_matmul_register" / "5_loop.txt").symlink_to(old)
    assert "symbolic link" in grade.grade_one(None, MEASURE, linked, [], random.Random(1)).reason


def test_marks_under_a_regions_earlier_name_are_taken():
    rounds = next(exercise for exercise in exercises.every() if exercise.id == "flash_scalar/rounds")
    older = re.sub(r"(// \[(?:end )?)rounds\]", r"\1groups]", rounds.solution())
    assert older != rounds.solution() and submission.regions(rounds, older) == rounds.author()
    older = with_older_marks(rounds, rounds.solution(), rounds="groups")
    assert older.count("// exercise: end groups") == 1 and submission.regions(rounds, older) == rounds.author()


@pytest.mark.parametrize("exercise", exercises.every(), ids=lambda one: one.reference)
def test_files_with_older_marks_are_taken(exercise):
    """Each region, and the lines in which something is counted."""
    older = with_older_marks(exercise, exercise.solution())
    assert "// exercise: begin" in older and submission.regions(exercise, older) == exercise.author()
    for piece in exercise.counted:
        assert judge.lines_of(exercise, exercise.present(older), piece) == judge.lines_of(exercise, exercise.solution(), piece)


def test_a_piece_around_a_region_may_have_its_name_in_an_older_file():
    older = with_older_marks(LOAD, LOAD.solution()).replace("// Each thread loads", "// [load] Each thread loads")
    assert older.count("// [load]") == 1 and submission.regions(LOAD, older) == LOAD.author()
    _, upright = exercises.find("06.3")
    named = with_older_marks(upright, upright.solution()).replace("// A thread has 8 × 8", "// [index] A thread has 8 × 8")
    assert named.count("// [index]") == 1
    assert judge.lines_of(upright, upright.present(named), "multiply") == judge.lines_of(upright, upright.solution(), "multiply")
    with pytest.raises(submission.Refused, match="each once"):
        submission.regions(LOAD, older + "// exercise: end load\n")
    with pytest.raises(submission.Refused, match="each once"):
        submission.regions(LOAD, older.replace("// exercise: end load", ""))


# ---- formats ----

STRANGE = "\x1b[31m<b>&\x00\ud800\ufffe ]]> \u202e" + "x" * 5000


def two_marks():
    wrong = marks.Mark(LOAD, 2, marks.WRONG, marks.clean(STRANGE), [{"arguments": "-m 1", "seed": 7, "verdict": marks.WRONG}],
                       [{"requirement": "at most 0 bank conflicts", "holds": False, "said": marks.clean(STRANGE)}])
    return [wrong, marks.Mark(BARRIER, 1)]


def test_json_says_everything():
    found = json.loads(marks.as_json(two_marks(), 5, True))
    assert (found["points"], found["of"], found["seed"], found["sandbox"]) == (1, 3, 5, "bubblewrap")
    assert [one["verdict"] for one in found["exercises"]] == ["wrong", "right"]
    assert found["exercises"][0]["cases"][0]["seed"] == 7 and found["exercises"][0]["counters_advisory"]


def test_junit_is_well_formed():
    suite = xml.fromstring(marks.as_junit(two_marks(), 5, True).encode())[0]
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    assert "<b>&" in suite.find("testcase/failure").text and "advisory" in suite.find("testcase/system-out").text


def test_gradescope_has_its_fields_and_no_more_than_is_read():
    found = json.loads(marks.as_gradescope(two_marks(), 5, True))
    assert [(one["score"], one["max_score"]) for one in found["tests"]] == [(0, 2), (1, 1)]
    assert len(found["tests"][0]["output"]) < 4 * marks.LONGEST and "\x1b" not in found["tests"][0]["output"]
    assert "advisory" in found["tests"][0]["output"]


# ---- the command ----

def learn(*arguments):
    path = f"{pathlib.Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return run(ROOT / "learn", "--system-python", *arguments, PATH=path)


def test_without_a_sandbox_it_refuses(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sandbox.shutil, "which", lambda name: None)
    with pytest.raises(SystemExit) as stopped:
        grade.grade(str(handed_in(tmp_path, LOAD, LOAD.solution())), None, "json", ["04.load"], 1, False, False)
    said = capsys.readouterr()
    assert stopped.value.code == 2 and "bubblewrap is not installed" in said.err and "--unsafe" in said.err and not said.out


@pytest.mark.parametrize("part, before, after, hole", [
    ("DENIED", "--unshare-user", "--unshare-user --share-net", "it reaches the network"),
    ("DENIED", "", "", "it makes memory that is no process's"),
    ("walls", "--unshare-user", "--unshare-user --ro-bind /etc /etc", "it sees /etc/passwd"),
    ("walls", " --remount-ro /dev", "", "it writes into /dev/shm"), ("walls", " --remount-ro / ", " ", "it writes into /"),
    ("walls", " --disable-userns", "", "it makes namespaces"),
    ("bounds", f" --nproc={sandbox.PROCESSES}:{sandbox.PROCESSES}", "", "processes"),
], ids=str)
def test_a_sandbox_with_a_hole_is_none(place, walled, monkeypatch, part, before, after, hole):
    if part == "DENIED":
        monkeypatch.setattr(sandbox, part, {})
        part = "walls"
    whole = getattr(sandbox, part)
    monkeypatch.setattr(sandbox, part, lambda *arguments: " ".join(whole(*arguments)).replace(before, after).split())
    assert hole in sandbox.trouble(place)


def test_unsafe_warns_and_grades(tmp_path):
    folder = handed_in(tmp_path / "exercises", LOAD, LOAD.solution()).parent
    done = learn("grade", folder, "--only", "04.load", "--seed", 3, "--unsafe")
    assert done.returncode == 0 and "without a sandbox" in done.stderr, done.stderr
    assert json.loads(done.stdout)["points"] == 1 and json.loads(done.stdout)["sandbox"] is None


@pytest.mark.parametrize("arguments, said", [
    (("no/such",), "no directory 'no/such'"), (("",), "no directory ''"), ((TESTS, "--tests", ""), "no directory ''"), ((TESTS, "--tests", "no/such"), "no directory"),
    ((TESTS, "--format", "html"), "json"), ((TESTS, "--only", "99"), "no step"), ((), "DIR")], ids=str)
def test_asked_wrongly(arguments, said):
    done = learn("grade", *arguments)
    assert done.returncode == 2 and said in done.stderr, done


@pytest.mark.parametrize("compiler", ["env g++", "/usr/bin/env -u NOTHING g++ -pipe"])
def test_a_compiler_of_several_words(place, walled, tmp_path, monkeypatch, compiler):
    monkeypatch.setenv("CXX", compiler)
    kit = kits.Kit(tmp_path_of(place), True)
    assert kit.build("0.cu", LOAD.solution()).program


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")
@pytest.mark.parametrize("options", [(), ("--unsafe",)], ids=["walled", "unsafe"])
@pytest.mark.parametrize("user", [65534, 77777], ids=["nobody", "no name"])
def test_another_user_grades_in_a_clone_that_is_not_its_own(place, walled, user, options):
    """With neither a home nor the right to write, as in a container that runs as a user of its own."""
    python = next((path for path in ("/usr/local/bin/python3", "/usr/bin/python3") if os.path.exists(path)), None)
    packages = pathlib.Path(sys.modules["rich"].__file__).parents[1]
    as_user = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", "env", "-i", f"PATH={pathlib.Path(python or '/').parent}:/usr/bin:/bin",
               f"PYTHONPATH={packages}"]
    if not python or run(*as_user, python, "-c", "import typer, clang").returncode:
        pytest.skip("the packages are not to be read by every user, or there is no Python of the system")
    folder = handed_in(tmp_path_of(place), LOAD, LOAD.solution())
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    done = run(*as_user, ROOT / "learn", "--system-python", "grade", folder, "--only", "04.1", *options)
    assert done.returncode == 0 and json.loads(done.stdout)["points"] == 1, done


def tmp_path_of(place):
    """A place in a directory that every user can enter."""
    folder = pathlib.Path(tempfile.mkdtemp(dir=place))
    folder.chmod(0o755)
    return folder / "kit"


def test_without_libclang_it_says_so(monkeypatch, capsys):
    monkeypatch.setattr(venv, "missing", lambda name: ["libclang"] if name == "grade" else [])
    monkeypatch.setattr(venv, "is_ours", lambda: False)
    with pytest.raises(SystemExit) as stopped:
        grade.grade(str(TESTS), None, "json", ["04.load"], 1, False, False)
    assert stopped.value.code == 2 and "This Python has no libclang" in capsys.readouterr().err


def test_a_courses_files_are_read(tmp_path):
    (tmp_path / "04_matmul_tiled").mkdir()
    path = tmp_path / "04_matmul_tiled" / "1_load.toml"
    path.write_text('[[check]]\narguments = "-m 7"\n')
    assert grade.course_cases(tmp_path) == {LOAD.id: [{"arguments": "-m 7", "hidden": True}]}
    (tmp_path / "03_matmul_tiled").mkdir()
    path = path.rename(tmp_path / "03_matmul_tiled" / "2_load.toml")  # from before the steps were numbered anew
    assert grade.course_cases(tmp_path) == {LOAD.id: [{"arguments": "-m 7", "hidden": True}]}
    for text in ('[[check]]\nargument = "-m 7"\n', '[[check]]\narguments = "a\\u0000"\n', "[[check", '[[check]]\narguments = 7\n'):
        path.write_text(text)
        with pytest.raises(SystemExit) as stopped:
            grade.course_cases(tmp_path)
        assert stopped.value.code == 2
