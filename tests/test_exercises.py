"""Every exercise: as it is handed out it fails, the author's lines pass, and each wrong answer is caught, with the sentence that the
reader sees."""

import itertools
import re
import sys

import pytest
from conftest import BUILD, ROOT, Program

sys.path.insert(0, str(ROOT))
from tools import exercises, judge, machine, steps  # noqa: E402

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
             "wrong", "gpu_speed", "grade", "hide", "advice"}
    assert not data.keys() - known
    lines = exercises.outside(exercise.start()).splitlines()
    assert all(len(line) <= 130 for line in lines)


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


ENUMERATORS = re.compile(r"^enum \w+ \{([^}]*)\}", re.MULTILINE)


def tells_variants_apart(exercise):
    """Whether the author's lines choose by an enumerator that a kernel is made for."""
    program = exercise.program()
    names = {name for found in ENUMERATORS.findall(program) for name in re.findall(r"\w+", found)}
    made_for = {name for name in names if re.search(rf"<[^<>;]*\b{name}\b[^<>;]*>", program)}
    return bool(made_for & set(re.findall(r"\w+", " ".join(exercise.author().values()))))


@pytest.mark.parametrize("exercise", [one for one in EVERY if one.data["kind"] != "break" and tells_variants_apart(one)], ids=ident)
def test_an_answer_is_judged_in_every_variant_that_it_tells_apart(exercise):
    """Else `SWIZZLED ? … : …` would pass, whose condition always holds."""
    cases = exercise.data.get("check", []) + exercise.data["count"]
    judged = {words[words.index("--variant") + 1] for words in (exercise.words(case.get("arguments", "")) for case in cases)}
    assert len(judged) >= 2, judged


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


def in_a_line(lines):
    """What lines of // comments say, without the anchors."""
    words = " ".join(re.sub(r"^.*?// ?(\[\w+\])?", "", line) for line in lines).split()
    return " ".join(words)


def comments(exercise):
    """What the comments of the program that is handed out say, but for those that say the task."""
    program = exercises.outside(exercise.start()).removeprefix(exercise.heading())
    return in_a_line(line for line in program.splitlines() if "//" in line)


@pytest.mark.parametrize("exercise", [one for one in EVERY if "hide" in one.data], ids=ident)
def test_what_is_hidden_is_not_handed_out(exercise):
    """None of it, through all lines of a comment; and what is not hidden stays."""
    lines, handed = steps.source(exercise.step).read_text().splitlines(), comments(exercise)
    for hidden in exercise.data["hide"]:
        anchor, _, words = hidden.partition(": ")
        [first] = [number for number, line in enumerate(lines) if f"// [{anchor}]" in line]
        rest = itertools.takewhile(lambda line: re.match(r"\s*//(?! \[| exercise:)", line), lines[first + 1:])
        said = in_a_line([lines[first], *rest])
        kept = said[:said.index(words)] if words else ""
        told = said.removeprefix(kept).split()
        runs = [" ".join(told[i:i + 8]) for i in range(max(1, len(told) - 7))]
        assert kept.strip() in handed and not [run for run in runs if run in handed]


@pytest.mark.parametrize("exercise", [one for one in EVERY if one.data["kind"] != "break"], ids=ident)
def test_no_comment_has_a_line_of_the_answer(exercise):
    told = comments(exercise)
    lines = [re.sub(r"//.*", "", line).strip(" ;{}") for text in exercise.author().values() for line in text.splitlines()]
    formulas = [right for line in lines for right in re.findall(r"= (.+)", line)]
    assert not [line for line in lines + formulas if len(line) >= 12 and line in told]


@pytest.mark.parametrize("exercise", [one for one in EVERY if one.data["kind"] == "rebuild"], ids=ident)
def test_solving_only_adds_lines(exercise):
    """Where a region was taken out, the author's program is the handed-out one with lines more."""
    handed = [line for line in exercise.start().splitlines() if not exercises.COMMENT.match(line)]
    solved = iter(exercise.solution().splitlines())
    assert all(line in solved for line in handed)
