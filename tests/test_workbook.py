"""The commands around exercises, as a reader uses them: nothing of the reader's is lost, and what comes next is said."""

import contextlib
import errno
import json
import os
import re
import shutil
import socket
import sys

import pytest
from conftest import ROOT, with_older_marks

sys.path.insert(0, str(ROOT))
pytest.importorskip("typer")
from typer.testing import CliRunner  # noqa: E402

from tools import cli, exercises, progress, steps, workbook  # noqa: E402

LOAD = next(exercise for exercise in exercises.every() if exercise.id == "matmul_tiled/load")
MEASURE = next(exercise for exercise in exercises.every() if exercise.id == "matmul_register/loop")
BARRIER = next(exercise for exercise in exercises.every() if exercise.data["kind"] == "break" and exercise.step is LOAD.step)


@pytest.fixture
def learn(monkeypatch, request):
    """learn(words…) -> (status, what it says), with an empty folder in place of exercises/."""
    work = ROOT / "build" / "readers" / re.sub(r"\W", "_", request.node.name)
    shutil.rmtree(work, ignore_errors=True)
    monkeypatch.setattr(exercises, "WORK", work)

    def invoke(*words):
        done = CliRunner().invoke(cli.app, [str(word) for word in words], prog_name="./learn")
        assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
        return done.exit_code, " ".join(done.output.split())

    yield invoke
    shutil.rmtree(work, ignore_errors=True)


def said(done, status, *words):
    assert done[0] == status, done[1]
    for word in words:
        assert word in done[1], done[1]


def solve(exercise):
    exercise.file.write_text(exercise.solution())


def test_a_new_reader_is_told_where_to_begin(learn):
    exercises.WORK.mkdir(parents=True)
    said(learn(), 0, "./learn tour", "steps/00_first_kernel/README.md", "./learn --help")
    said(learn("next"), 0, "steps/00_first_kernel/README.md as far as Try it first", "./learn exercise 00.1")


def test_a_file_of_another_clone_is_not_judged_as_this_ones(learn, tmp_path):
    said(learn("exercise", "04.1"), 0)
    name = LOAD.file.relative_to(ROOT)
    other = tmp_path / "exercises" / LOAD.step["name"] / LOAD.file.name
    other.parent.mkdir(parents=True)
    other.write_text(LOAD.solution())
    said(learn("check", f"{tmp_path}/{name}"), 2, "is not in this clone", "run the ./learn of the clone")
    said(learn("check", LOAD.file), 1, "Something is written")
    (tmp_path / "link.cu").symlink_to(LOAD.file)
    said(learn("check", name), 1, "Something is written")


@pytest.mark.parametrize("kind", ["FIFO", "folder", "socket"])
def test_what_is_no_file(learn, kind):
    """Nobody writes into the FIFO: to open it would wait for ever."""
    def put(path):
        path.unlink()
        if kind == "FIFO":
            os.mkfifo(path)
        elif kind == "folder":
            path.mkdir()
        else:
            with contextlib.chdir(path.parent) if hasattr(contextlib, "chdir") else contextlib.nullcontext():
                socket.socket(socket.AF_UNIX).bind(path.name if hasattr(contextlib, "chdir") else str(path))

    said(learn("exercise", "04.1"), 0)
    put(LOAD.file)
    for command in ("check", "exercise", "watch"):
        said(learn(command, "04.1"), 2, f"{LOAD.file} is not a file")
    put(progress.file())
    for command in (["progress"], ["next"], [], ["hint", "04.1"], ["check", "04.1"]):
        said(learn(*command), 2, f"{progress.file()} is not a file")


def test_from_the_task_to_the_next_one(learn):
    said(learn("exercise", "04"), 0, "04.1", LOAD.title, "1_load.cu", "./learn check 04.1")
    assert {path.stem for path in LOAD.file.parent.glob("*.cu")} == {exercise.name for exercise in exercises.load(LOAD.step)}
    said(learn("check"), 1, "✗ Something is written", f"{LOAD.file.relative_to(ROOT)}:", "./learn hint 04.1")
    solve(LOAD)
    said(learn("check"), 0, "✓ It compiles.", "Solved.", "The author's version", "Next:", "04.2")
    said(learn(), 0, f"1 of {len(exercises.every())} exercises are solved.", "Next:", "04.2")
    said(learn("progress"), 0, "✓ 1 · 2", "04 matmul_tiled")
    said(learn("next"), 0, "./learn check 04.2")


def test_what_grading_refuses_is_said_where_it_is_solved(learn, monkeypatch):
    """With the sentence of `./learn grade`; and nothing of it where there is nothing to say."""
    learn("exercise", "04.1")
    solve(LOAD)
    assert "grade" not in learn("check", "04.1")[1].partition("Solved.")[0]
    lines = LOAD.author()["load"] + "        goto done;\n        done: ;\n"
    LOAD.file.write_text(LOAD.with_regions({"load": lines}))
    said(learn("check", "04.1"), 0, "gives no credit", "It has the word `goto`", "Solved.")
    LOAD.file.write_text(LOAD.solution() + "// [end load]\n")
    said(learn("check", "04.1"), 0, "gives no credit", "as handed out, each once", "Solved.")
    monkeypatch.setattr(workbook.venv, "missing", lambda name: ["libclang"])
    said(learn("check", "04.1"), 0, "was not looked at: this Python has no libclang", "Solved.")


def test_exercises_are_listed_in_their_order(learn):
    """The one at hand is marked among them, and its task follows the list; an exercise alone needs none."""
    listed = lambda: re.findall(r"([✓→·]) (04\.\d) ", learn("exercise", "04")[1])
    ids = [exercise.reference for exercise in exercises.load(LOAD.step)]
    assert listed() == [("→", ids[0]), *(("·", each) for each in ids[1:])]
    progress.change(passed={LOAD.id: "2026-01-01"})
    assert listed() == [("✓", ids[0]), ("→", ids[1]), *(("·", each) for each in ids[2:])]
    assert "→" not in learn("exercise", "04.2")[1]


def test_a_failure_names_the_line_and_leaves_the_next_case_alone(learn):
    learn("exercise", "04.1")
    name, wrong, says = LOAD.wrong()[0]
    LOAD.file.write_text(wrong)
    done = learn("check", "04.1")
    said(done, 1, "✓ It compiles.", "✗", says)
    assert done[1].count("✗") == 1
    assert re.search(rf"{re.escape(str(LOAD.file.relative_to(ROOT)))}:\d+", done[1])
    LOAD.file.write_text(LOAD.solution().replace("const float a", "const flaot a"))
    said(learn("check", "04.1"), 1, "✗ It compiles.", ": error: ", str(LOAD.file.relative_to(ROOT)))


@pytest.mark.parametrize("name", ["04.1", "4.1", "matmul_tiled.1", "matmul_tiled/load", "04_matmul_tiled/1_load"])
def test_an_exercise_has_several_names(learn, name):
    said(learn("hint", name), 0, LOAD.title)


def test_a_file_names_its_exercise(learn):
    learn("exercise", "04.1")
    said(learn("hint", LOAD.file), 0, LOAD.title)
    said(learn("hint", LOAD.file.relative_to(ROOT)), 0, LOAD.title)


@pytest.mark.parametrize("name, words", [("04.9", ["no exercise '9'", "04.1, 04.2"]), ("99", ["There is no step '99'"]),
                                         ("04.laod", ["nearest name is load"]), ("", ["no step ''"]),
                                         *((path, [f"'{path}' is no exercise", "04.2 or matmul_tiled/load"])
                                           for path in ("/some/path", "./no.cu", ".", "exercises/04_matmul_tiled/9_x.cu"))])
def test_asked_wrongly(learn, name, words):
    said(learn("check", name), 2, *words)


def test_hints_come_one_by_one(learn):
    for count in (1, 2, 3, 3):
        done = learn("hint", "04.1")
        said(done, 0, f"hint {count} of 3")
        assert f"hint {count + 1} of 3" not in done[1]
    assert "./learn solution 04.1" in done[1]


def test_the_solution_is_shown_on_request(learn):
    said(learn("solution", "04.1"), 0, "B_smem[threadIdx.y][threadIdx.x] = b;")


def test_handing_out_again_keeps_what_was_written(learn):
    learn("exercise", "04.1")
    solve(LOAD)
    learn("exercise", "04.1")
    assert LOAD.file.read_text() == LOAD.solution()


def test_reset_without_room_leaves_the_file_in_its_place(learn, monkeypatch):
    learn("exercise", "04.1")
    solve(LOAD)

    def full(path, text):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(exercises, "write", full)
    with pytest.raises(OSError):
        workbook.reset("04.1")
    assert LOAD.file.read_text() == LOAD.solution() and [one.name for one in LOAD.file.parent.iterdir()] == [LOAD.file.name]


def test_reset_keeps_the_old_file_beside_the_new_one(learn):
    learn("exercise", "04.1")
    for number in (1, 2):
        LOAD.file.write_text(f"mine {number}")
        said(learn("reset", "04.1"), 0, f"1_load.{number}.cu")
        assert LOAD.file.with_name(f"1_load.{number}.cu").read_text() == f"mine {number}"
        assert LOAD.file.read_text() == LOAD.start()


def test_a_pull_renews_the_program_around_the_readers_lines(learn):
    """The file of an older program, whose lines around the marks were not touched, becomes one of today's."""
    learn("exercise", "04.1")
    older = LOAD.solution().replace("float sum = 0;", "float sum = 0.0f;")
    LOAD.file.write_text(older)
    progress.change(outside={LOAD.id: LOAD.outside(older)})
    said(learn("check", "04.1"), 0, "The step's program has changed since", "Solved.")
    assert LOAD.file.read_text() == LOAD.solution()


def test_what_the_reader_changed_outside_the_marks_stays(learn):
    learn("exercise", "04.1")
    LOAD.file.write_text(LOAD.solution().replace("float sum = 0;", "float sum = 0.0f;"))
    said(learn("check", "04.1"), 0, "differs from the step's program outside the marks", "Solved.")
    assert "float sum = 0.0f;" in LOAD.file.read_text()


def test_a_file_of_another_encoding_is_judged_and_kept(learn):
    """Latin-1 in a comment, and the line ends of Windows."""
    learn("exercise", "04.1")
    older = LOAD.solution().replace("float sum = 0;", "float sum = 0.0f;")
    progress.change(outside={LOAD.id: LOAD.outside(older)})
    mine = older.replace("// [end load]", "// caf\udce9\n        // [end load]")
    LOAD.file.write_bytes(mine.replace("\n", "\r\n").encode(errors="surrogateescape"))
    said(learn("check", "04.1"), 0, "The step's program has changed since", "Solved.")
    assert b"// caf\xe9" in LOAD.file.read_bytes()


def test_lost_marks_are_said(learn):
    learn("exercise", "04.1")
    LOAD.file.write_text(LOAD.solution().replace("// [end load]\n", ""))
    said(learn("check", "04.1"), 1, "✗ The marks are in place.", "./learn reset 04.1")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"passed": {}}', '{"passed": 1, "hints": {}, "outside": {}, "at": ""}',
                                  *(f'{{"passed": {p}, "hints": {h}, "outside": {o}, "at": ""}}' for p, h, o in (
                                      ('{"a/b": 7}', "{}", "{}"), ("{}", '{"matmul_tiled/load": "x"}', "{}"),
                                      ("{}", '{"matmul_tiled/load": 1e400}', "{}"), ("{}", "{}", '{"matmul_tiled/load": []}')))])
def test_a_broken_record_is_set_aside(learn, text):
    learn("exercise", "04.1")
    progress.file().write_text(text)
    said(learn("progress"), 0, "could not be read")
    assert [path.read_text() for path in exercises.WORK.glob("progress.broken-*.json")] == [text]
    said(learn("hint", "04.1"), 0, "hint 1 of 3")


def test_break_it_shows_the_report_and_asks(learn):
    learn("exercise", BARRIER.reference)
    solve(BARRIER)
    said(learn("check", BARRIER.reference), 0, "race in shared memory", "Solved.")
    BARRIER.file.write_text(re.sub(r"(// answer \w+:).*", r"\1", BARRIER.solution()))
    said(learn("check", BARRIER.reference), 1, "race in shared memory", "has no answer yet")


@pytest.mark.parametrize("typed, status, words", [("b", 0, "Solved."), ("(b) the store", 0, "Solved."), ("B)", 0, "Solved."),
                                                  ("the store", 1, "not one of the letters offered"), ("a", 1, "✗")])
def test_an_answer_is_a_letter(learn, typed, status, words):
    learn("exercise", BARRIER.reference)
    BARRIER.file.write_text(re.sub(r"(// answer \w+:) b$", rf"\1 {typed}", BARRIER.solution(), count=1, flags=re.MULTILINE))
    said(learn("check", BARRIER.reference), status, words)


def test_numbers_read_from_a_tool_are_checked_without_a_program(learn, monkeypatch):
    monkeypatch.setattr(workbook.build, "build", lambda *names: pytest.fail("nothing is to be built"))
    said(learn("exercise", MEASURE.reference), 0, "read it from a tool", "5_loop.txt")
    said(learn("check", MEASURE.reference), 1, "Something is written between the marks.")
    handed = MEASURE.file.read_text()
    MEASURE.file.write_text(handed.replace("answer ffma:", "answer ffma: 64"))
    said(learn("check", MEASURE.reference), 1, "✓ How many FFMA", "The line `// answer loads:` has no answer yet.")
    MEASURE.file.write_text(MEASURE.solution().replace("loads: 16", "loads: 16 bytes"))
    said(learn("check", MEASURE.reference), 1, "'bytes' is not the unit asked for")
    solve(MEASURE)
    said(learn("check", MEASURE.reference), 0, "Solved.", "// answer ffma: 64")
    assert MEASURE.id in progress.load()["passed"]
    said(learn("reset", MEASURE.reference), 0, "5_loop.1.txt")
    assert MEASURE.file.read_text() == handed and MEASURE.id not in progress.load()["passed"]


def test_watch_checks_on_each_save(learn, monkeypatch):
    """The saves happen between two looks at the file: first a wrong one, then the solution."""
    learn("exercise", "04.1")
    saves = [LOAD.wrong()[0][1], LOAD.solution()]

    def save(seconds):
        LOAD.file.write_text(saves.pop(0))

    monkeypatch.setattr(workbook, "sleep", save)
    done = learn("watch", "04.1")
    said(done, 0, "where your lines belong", LOAD.wrong()[0][2], "Waiting for the next save", "Solved.")


def test_an_editors_task_finds_the_lines(learn):
    """The patterns of .vscode/tasks.json match what a check says of a compiler's error, of a report and of a count."""
    task = json.loads((ROOT / ".vscode/tasks.json").read_text())["tasks"][0]
    patterns = [matcher["pattern"]["regexp"] for matcher in task["problemMatcher"]]
    shown = "exercises/04_matmul_tiled/1_load.cu"
    for line, pattern in (f"    {shown}:36: error: 'x' was not declared", 0), (f"    race in shared memory: {shown}:44", 1), \
            (f"    63,488 bank conflicts, 0 wanted. {shown}:40 has 63,488: x = 1;", 2):
        assert [bool(re.match(each, line)) for each in patterns] == [number == pattern for number in range(3)]


def test_what_a_reader_did_follows_new_numbers(learn):
    """Step 21 was number 20 once, and an exercise of step 22 stood in step 23."""
    place = exercises.find("21.1")[1]
    ahead = next(exercise for exercise in exercises.every() if exercise.earlier)
    step, name = ahead.earlier[0].split("/")
    old = [exercises.WORK / "20_matmul_swizzle" / f"7_{place.name.split('_')[1]}{ending}" for ending in (".cu", ".1.cu")]
    old += [exercises.WORK / f"21_{step}" / f"2_{name}.cu"]
    for file in old:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"// mine: {file.name}\n")
    (exercises.WORK / "20_matmul_swizzle" / "notes.txt").write_text("mine, too")
    progress.change(passed={place.id: "2026-11-22"}, at=ahead.id)
    data = json.loads(progress.file().read_text())
    data["passed"][ahead.earlier[0]], data["hints"][ahead.earlier[0]], data["at"] = "2026-11-21", 2, ahead.earlier[0]
    progress.file().write_text(json.dumps(data))

    said(learn("progress"), 0)
    now = progress.load()
    assert now["passed"] == {place.id: "2026-11-22", ahead.id: "2026-11-21"} and now["hints"] == {ahead.id: 2} and now["at"] == ahead.id
    files = [place.file, place.file.with_name(f"{place.name}.1.cu"), ahead.file]
    assert [file.read_text() for file in files] == [f"// mine: {file.name}\n" for file in old]
    assert (exercises.WORK / "20_matmul_swizzle" / "notes.txt").read_text() == "mine, too"

    old[0].write_text("// a second one\n")  # its place is taken: both stay
    said(learn("progress"), 0)
    assert old[0].read_text() == "// a second one\n" and place.file.read_text() == f"// mine: {old[0].name}\n"
    progress.change(passed={ahead.id: None})
    assert progress.load()["passed"] == {place.id: "2026-11-22"}


def test_no_file_takes_anothers_place(learn):
    """Two files from different times want one name, and a name is taken by a link to nowhere: the first is moved, the others stay."""
    place, one_side = (exercises.find(name)[1] for name in ("21.1", "21.2"))
    files = [exercises.WORK / folder / f"1_{place.name.split('_')[1]}.cu" for folder in ("20_matmul_swizzle", "25_matmul_swizzle")]
    files += [exercises.WORK / "20_matmul_swizzle" / f"3_{one_side.name.split('_', 1)[1]}.cu"]
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(str(file))
    one_side.file.parent.mkdir()
    one_side.file.symlink_to("nowhere")
    said(learn("progress"), 0)
    assert place.file.read_text() == str(files[0]) and not files[0].exists()
    assert [file.read_text() for file in files[1:]] == [str(file) for file in files[1:]] and one_side.file.is_symlink()


def test_a_file_that_cannot_be_moved_stays_and_it_is_said(learn):
    place = exercises.find("21.1")[1]
    old = exercises.WORK / "20_matmul_swizzle" / place.file.name
    old.parent.mkdir(parents=True)
    old.write_text("mine")
    place.file.parent.write_text("a file where a folder shall be")
    done = learn("progress")
    said(done, 0, "21_matmul_swizzle/1_place.cu now, and cannot be moved: File exists.", "exercises are solved")
    assert done[1].count("cannot be moved") == 1 and old.read_text() == "mine"


def test_a_folder_that_is_a_link_stays_one(learn, tmp_path):
    place = exercises.find("21.1")[1]
    (tmp_path / place.file.name).write_text("mine")
    exercises.WORK.mkdir(parents=True)
    (exercises.WORK / "20_matmul_swizzle").symlink_to(tmp_path)
    said(learn("progress"), 0)
    assert [file.read_text() for file in (place.file, tmp_path / place.file.name) if file.exists()] == ["mine"]
    assert (exercises.WORK / "20_matmul_swizzle").is_symlink()


@pytest.mark.parametrize("marked", [
    lambda exercise, text: re.sub(r"(// \[(?:end )?)rounds\]", r"\1groups]", text),
    lambda exercise, text: with_older_marks(exercise, text, rounds="groups")], ids=["marks of today", "older marks"])
def test_lines_follow_a_regions_new_name(learn, marked):
    rounds = next(exercise for exercise in exercises.every() if exercise.id == "flash_scalar/rounds")
    learn("exercise", rounds.reference)
    older, around = marked(rounds, rounds.solution()), marked(rounds, rounds.outside(rounds.start()))
    assert "// [rounds]" not in older + around
    rounds.file.write_text(older)
    progress.change(outside={rounds.id: around})
    assert workbook.write(rounds) == "renewed" and rounds.file.read_text() == rounds.solution()


def test_a_file_with_older_marks_becomes_one_of_today(learn):
    """Also one that answers questions alone, which knows no program around them."""
    measure = next(exercise for exercise in exercises.every() if not exercise.asks_for_program)
    for exercise in (LOAD, measure):
        learn("exercise", exercise.reference)
        exercise.file.write_text(with_older_marks(exercise, exercise.solution()))
        progress.change(outside={exercise.id: with_older_marks(exercise, exercise.outside(exercise.start()))})
        said(learn("check", exercise.reference), 0, "The step's program has changed since", "Solved.")
        assert exercise.file.read_text() == exercise.solution()


def test_a_file_with_older_marks_that_the_reader_changed_is_judged_and_stays(learn):
    learn("exercise", "04.1")
    mine = with_older_marks(LOAD, LOAD.solution()).replace("float sum = 0;", "float sum = 0.0f;")
    LOAD.file.write_text(mine)
    said(learn("check", "04.1"), 0, "differs from the step's program outside the marks", "Solved.")
    assert "gives no credit" not in learn("check", "04.1")[1] and LOAD.file.read_text() == mine
    LOAD.file.write_text(mine.replace("// exercise: end load", ""))
    said(learn("check", "04.1"), 1, "✗ The marks are in place.", "`// [load]` and `// [end load]`")
    LOAD.file.write_text(mine.replace("threadIdx.x]) = a;", "threadIdx.x]) = nonsense;"))
    said(learn("check", "04.1"), 1, "✗ It compiles.", f"1_load.cu:{mine[:mine.index('threadIdx.x]) = a;')].count(chr(10)) + 1}")


def test_the_next_lesson_lies_ahead_or_is_called_the_first_unsolved():
    at = {steps.called(step): step for step in steps.load()}
    assert progress.next_lesson({}, at["02"]).startswith("Or go on to the next lesson: steps/")
    *_, last = at.values()
    assert progress.next_lesson({}, last) == "Or go on to the first lesson that you have not solved: steps/00_first_kernel/README.md"
