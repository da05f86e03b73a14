"""Every exercise: as it is handed out it fails, the author's lines pass, and each wrong answer is caught, with the sentence that the
reader sees."""

import itertools
import re
import sys

import pytest
from conftest import BUILD, ROOT, Program

sys.path.insert(0, str(ROOT))
from tools import exercises, judge, machine  # noqa: E402

EVERY = exercises.every()
WRONG = [(exercise, name) for exercise in EVERY for name, _, _ in exercise.wrong()]
LEAST = 45  # exercises of part A


@pytest.fixture
def compiled(compile_output, monkeypatch):
    """compiled(exercise, path) as judge.compile_file, from the programs that the tests keep. Nothing is timed on a GPU."""
    monkeypatch.setattr(judge, "fast", lambda exercise, path: None)
    libraries = (str(BUILD / "common" / "libcommon.a"),)
    return lambda exercise, path: compile_output(Program(path, options=judge.flags(exercise), libraries=libraries))


def written(exercise, name, text):
    """A file with this text, at a place that stays the same from run to run."""
    path = BUILD / "programs" / "exercises" / exercise.step["name"] / f"{exercise.name}-{name.replace(' ', '_')}"[:120] / f"{exercise.name}.cu"
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)
    return path


def ident(value):
    return value.reference if isinstance(value, exercises.Exercise) else str(value).replace(" ", "_")


def first_failure(found):
    return next((finding for finding in found if not finding.holds), None)


def test_there_are_enough():
    assert len(EVERY) >= LEAST
    fewest = min((len(list(group)), name) for name, group in itertools.groupby(EVERY, lambda exercise: exercise.step["name"]))
    assert fewest[0] >= 3, fewest


@pytest.mark.parametrize("exercise", EVERY, ids=ident)
def test_says_what_a_reader_needs(exercise):
    data = exercise.data
    assert data["kind"] in exercises.KINDS
    assert len(data["hints"]) == 3
    assert 1 <= data["minutes"] <= 60
    assert data.get("check") or data.get("count") or data.get("report") or data.get("question")
    assert len(data.get("wrong", [])) >= 2
    known = {"title", "kind", "minutes", "variant", "task", "source", "hints", "after", "region", "check", "count", "report", "question",
             "names", "wrong", "gpu_speed", "grade", "hide", "advice"}
    assert not data.keys() - known
    lines = exercises.outside(exercise.start()).splitlines()
    assert all(len(line) <= 130 for line in lines)


MEASURE = [exercise for exercise in EVERY if not exercise.asks_for_program]


@pytest.mark.parametrize("exercise", MEASURE, ids=ident)
def test_questions_about_a_tool_are_whole(exercise):
    """Each says what is asked and what to look at; a number that a known mistake leads to is neither right nor another mistake's."""
    assert "region" not in exercise.data and 3 <= len(exercise.questions) <= 6
    assert re.search(r"\./learn (sass|profile) \d+ (--ncu )?--recorded|\./learn sass \d+ \w+ --recorded", exercise.data["task"])
    for question in exercise.questions:
        number = "actual" in question
        assert question.keys() <= {"name", "ask", "if_wrong"} | ({"unit", "within", "actual", "mistake"} if number else {"answers"})
        assert question["ask"] and question["if_wrong"].endswith(".")
        if number:
            figures = [exercise.value(each["actual"]) for each in (question, *question.get("mistake", []))]
            within = question.get("within", 0) / 100
            assert all(abs(one - other) > within * max(one, other) for one, other in itertools.combinations(figures, 2)), figures


def test_each_part_reads_sass_and_runs_ncu():
    parts = {(exercise.step["chapter"][:1], "ncu" if "--ncu" in exercise.data["task"] else "sass") for exercise in MEASURE}
    assert parts == {(part, tool) for part in "ABC" for tool in ("ncu", "sass")}


@pytest.mark.parametrize("exercise", EVERY, ids=ident)
def test_as_handed_out_it_fails(exercise, compiled):
    path = written(exercise, "start", exercise.start())
    found = list(judge.judge(exercise, path, compiled))
    assert [finding.holds for finding in found] == [False] and re.search("is where your (lines|changes) belong", found[0].detail)
    assert first_failure(judge.findings(exercise, path, path.read_text(), compiled)), "the cases themselves accept it"


@pytest.mark.parametrize("exercise", EVERY, ids=ident)
def test_the_authors_lines_pass(exercise, compiled):
    path = written(exercise, "solution", exercise.solution())
    failure = first_failure(judge.judge(exercise, path, compiled))
    assert failure is None, failure


@pytest.mark.gpu
@pytest.mark.parametrize("exercise", [one for one in EVERY if "gpu_speed" in one.data], ids=ident)
def test_the_authors_lines_are_fast_enough(exercise):
    where, why = machine.choose(exercise.step)
    if where != "cuda":
        pytest.skip(why)
    finding = judge.fast(exercise, written(exercise, "solution", exercise.solution()))
    assert finding and finding.holds, finding


@pytest.mark.parametrize("exercise, name", WRONG, ids=ident)
def test_a_wrong_answer_is_caught(exercise, name, compiled):
    text, says = next((text, says) for wrong, text, says in exercise.wrong() if wrong == name)
    failure = first_failure(judge.judge(exercise, written(exercise, name, text), compiled))
    assert failure, "it was accepted"
    assert says in f"{failure.requirement}\n{failure.detail}"


@pytest.mark.parametrize("exercise", EVERY, ids=ident)
def test_the_page_asks_for_it(exercise):
    page = (ROOT / exercise.step["dir"] / "README.md").read_text()
    assert exercise.data["task"].strip() in page


@pytest.mark.parametrize("exercise", [one for one in EVERY if one.data["kind"] == "rebuild"], ids=ident)
def test_solving_only_adds_lines(exercise):
    """Where a region was taken out, the author's program is the handed-out one with lines more."""
    handed = [line for line in exercise.start().splitlines() if not exercises.COMMENT.match(line)]
    solved = iter(exercise.solution().splitlines())
    assert all(line in solved for line in handed)
