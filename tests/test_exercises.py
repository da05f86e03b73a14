"""Every exercise: as it is handed out it fails, the author's lines pass, and each wrong answer is caught, with the sentence that the
reader sees."""

import itertools
import os
import re
import sys

import pytest
from conftest import BUILD, ROOT, Program, digest_of

sys.path.insert(0, str(ROOT))
from tools import exercises, judge, machine, run, source, steps  # noqa: E402

EVERY = exercises.every()
WRONG = [(exercise, name) for exercise in EVERY for name, _, _ in exercise.wrong()]
LEAST = 45  # exercises of part A
FUNCTION = re.compile(r"__device__[^;{}]*?\b(\w+)\([^{};]*\)\s*\{(?:[^\n]*\}\n|\n.*?^\})", re.MULTILINE | re.DOTALL)
WAIT = re.compile(r"cp_async_wait_group<.*?>\(\)")
DEFAULT_HEAD_DIM = "64"  # of the emulator's default shape
IN_FLIGHT = "_bytes_in_flight"  # how the counters that see an overlap end


def copying(program):
    """The functions that begin copies by cp.async, themselves or by one another."""
    names, found = set(), {"cp_async_16"}
    while names != found:
        names = found
        calls = re.compile(rf"\b({'|'.join(names)})\b")
        found = names | {function[1] for function in FUNCTION.finditer(program) if calls.search(program, function.end(1), function.end())}
    return names


def synchronous(exercise):
    """The author's regions, with each copy waited for before the next statement, and no group under way behind a wait."""
    begins = re.compile(rf"\b(?:{'|'.join(copying(exercise.program()))})\b[^;]*;")
    waited = {}
    for name, text in exercise.author().items():
        text = WAIT.sub("cp_async_wait_group<0>()", text)
        waited[name] = begins.sub(lambda call: f"{call[0]} cp_async_commit_group(); cp_async_wait_group<0>();", text)
    return waited


def overlap_counts(exercise):
    return [count for count in exercise.data["count"] if count["counter"].endswith(IN_FLIGHT)]


# In their author's lines copies are in flight, or may be. A report or a question is about something else.
OVERLAPS = [one for one in EVERY if one.data["kind"] != "break" and synchronous(one) != one.author()]


@pytest.fixture
def compiled(compile_output, monkeypatch):
    """compiled(exercise, path) as judge.compile_file, from the programs that the tests keep, without the kernels that no case of the
    exercise runs. Nothing is timed on a GPU."""
    monkeypatch.setattr(judge, "fast", lambda exercise, path: None)
    libraries = (str(BUILD / "common" / "libcommon.a"),)
    return lambda exercise, path: compile_output(Program(unanswered(exercise, path), options=judge.flags(exercise), libraries=libraries, **what_is_run(exercise)))


def what_is_run(exercise):
    """The head dimensions, the types and the variants of an exercise's cases."""
    data = exercise.data
    cases = [exercise.words(case.get("arguments", "")) for case in (*data.get("check", []), *data.get("count", []), data.get("report", {}))]

    def named(option, default):
        return tuple(sorted({words[words.index(option) + 1] if option in words else default for words in cases}))

    return {"head_dims": named("--head-dim", DEFAULT_HEAD_DIM) if exercise.step["operation"] == "attention" else (),
            "dtypes": named("--dtype", exercise.step["dtypes"][0]),
            "variants": () if "source" in exercise.data else named("--variant", exercise.step["variants"][-1])}


def written(exercise, name, text):
    """A file with this text, at a place that stays the same from run to run."""
    path = BUILD / "programs" / "exercises" / exercise.step["name"] / f"{exercise.name}-{name.replace(' ', '_')}"[:120] / f"{exercise.name}.cu"
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text() != text:
        new = path.with_name(f".{os.getpid()}.new")
        new.write_text(text)
        new.rename(path)  # another process may read it
    return path


def unanswered(exercise, path):
    """The file, or where it answers questions, one without the answers: they are comments, and all that differ in them are one program."""
    text = path.read_text()
    program = judge.ANSWER.sub(lambda found: found[0][:found.start("said") - found.start()], text)
    return path if program == text else written(exercise, f"unanswered-{digest_of([program])}", program)


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
             "names", "wrong", "gpu_speed", "grade", "hide", "advice", "was", "sms"}
    assert not data.keys() - known
    lines = exercise.outside(exercise.start()).splitlines()
    assert all(len(line) <= 130 for line in lines)


def strange_names(exercise):
    """The names that hints give to questions or regions that the exercise does not have."""
    named = {name for hint in exercise.data["hints"] for name in re.findall(r"(?:^|[.?;,] |\b[Ff]or |\band )`(\w+)`:", hint)}
    return named - {question["name"] for question in exercise.questions} - set(exercise.data.get("region", {}))


@pytest.mark.parametrize("exercise", EVERY, ids=ident)
def test_hints_name_what_the_exercise_asks(exercise):
    assert not strange_names(exercise)


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
    assert parts >= {(part, tool) for part in "ABC" for tool in ("ncu", "sass")}


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


@pytest.mark.parametrize("exercise", OVERLAPS, ids=ident)
def test_an_answer_without_overlap_is_caught(exercise, compiled):
    """Right results and as many copies and barriers as wanted are not enough where nothing is under way."""
    wanted = overlap_counts(exercise)
    assert wanted and all(count["if_wrong"] for count in wanted)
    path = written(exercise, "synchronous", exercise.with_regions(synchronous(exercise)))
    failure = first_failure(judge.judge(exercise, path, compiled))
    assert failure, "it was accepted"
    assert any(count["if_wrong"] in failure.detail for count in wanted), failure
    assert any(says in count["if_wrong"] for _, _, says in exercise.wrong() for count in wanted), "no wrong answer of its own is without overlap"


@pytest.mark.parametrize("exercise", OVERLAPS, ids=ident)
def test_most_of_the_overlap_is_wanted(exercise, compiled, tmp_path):
    """Two thirds of what the author's lines reach, or a little more: half of the copies under way are too few, while the order of the
    lines is free. And nobody gets there by copying something twice."""
    program, _ = compiled(exercise, written(exercise, "solution", exercise.solution()))
    for count in overlap_counts(exercise):
        counts = tmp_path / "counts.json"
        assert judge.execute(program, exercise, count["arguments"], counts).returncode == 0
        reached, _ = judge.count_of(exercise, run.last_json(counts), count, exercise.solution())
        assert 0.65 <= count["least"] / reached <= 0.8
    assert any(count["counter"] == "copy_st_requests" and {"most", "exactly"} & count.keys() for count in exercise.data["count"])


UNUSUAL = {
    "the wait at the end of the pass": ("flash_mma_stages/prefetch", {
        "ahead": "if (STAGES == 2)\n    copy_stage(&smem.stage[0], &K[head], &V[head], 0, n);\ncp_async_wait_group<0>();\n",
        "wait": "if (STAGES == 1)\n    cp_async_wait_group<0>();\n__syncthreads();\nif (STAGES == 2)\n"
                "    copy_stage(&smem.stage[1 - stage], &K[head], &V[head], tile + TILE<D>, n);\n",
        "next": "stage = STAGES - 1 - stage;\ncp_async_wait_group<0>();\n"}),
    "an empty group behind the copies": ("flash_mma_shared_kv/turns", {
        "turn_of_V": "cp_async_commit_group();\ncp_async_wait_group<1>();\n__syncthreads();\nif (BUFFERS == 2)\n"
                     "    copy_tile<TILE<D>, D>(K_smem, &K[head], tile + TILE<D>, n);\n"}),
    "nothing copied beyond the last key": ("flash_mma_shared_kv/turns", {
        "turn_of_V": "cp_async_wait_group<0>();\n__syncthreads();\nif (BUFFERS == 2 && tile + TILE<D> < n)\n"
                     "    copy_tile<TILE<D>, D>(K_smem, &K[head], tile + TILE<D>, n);\n"}),
    "all copies that are not the slice's": ("flash_mma_tiling_qk/slices", {
        "slice_of_QK": "cp_async_commit_group();\ncp_async_wait_group<STAGES - 1>();\n__syncthreads();\ncopy_next(smem, left);\n"
                       "auto &slice = smem.stage[stage];\n"}),
    "all parts before the first slice": ("matmul_cp_async/ring", {
        "copy": "if (STAGES > 1 && i == 0)\n    for (int part = 0; part < PARTS; part++)\n"
                "        copy_part(&smem[target], &from, part, A_pitch, B_pitch);\n"}),
    "a vector read before the next copy begins": ("matmul_cp_async/row_sums", {
        "pass": "cp_async_wait_group<STAGES - 2>();\nconst float4 v = ring[stage][threadIdx.x];\n"
                "cp_async_16(&ring[target][threadIdx.x], from, min(max(left, 0), VECTOR) * (int)sizeof(float));\n"
                "cp_async_commit_group();\nsum += (v.x + v.y) + (v.z + v.w);\n"}),
    "each tile of the warp in turn": ("flash_mma_stages/warps", {
        "wait": "asm volatile(\"cp.async.wait_all;\" ::: \"memory\");\n__syncwarp();\n"
                "if (tile + WARPS * TILE < n)\n    copy_stage(&ring[warp][1 - stage], K, V, tile + WARPS * TILE, n);\n"}),
}
# Few of the copies are under way and the others are waited for, or copies that nobody needs are under way.
CHEATS = {
    "a quarter of V left under way": ("flash_mma_shared_kv/turns", {
        "turn_of_K": "cp_async_wait_group<0>();\n__syncthreads();\n"
                     "for (int i = threadIdx.x; BUFFERS == 2 && i < TILE<D> * D / VECTOR; i += THREADS) {\n"
                     "    const int row = i / (D / VECTOR), col = i % (D / VECTOR) * VECTOR;\n"
                     "    cp_async_wait_group<0>();\n"
                     "    cp_async_16(&V_smem[row][col], &V[head + (size_t)(tile + row) * D + col], tile + row < n ? 16 : 0);\n"
                     "    cp_async_commit_group();\n}\n"}),
    "all of V once more": ("flash_mma_shared_kv/turns", {
        "turn_of_K": "cp_async_wait_group<0>();\n__syncthreads();\nif (BUFFERS == 2)\n    copy_tile<TILE<D>, D>(V_smem, &V[head], tile, n);\n"
                     "cp_async_wait_group<0>();\nif (BUFFERS == 2)\n    copy_tile<TILE<D>, D>(V_smem, &V[head], tile, n);\n"}),
}


def answered(answer, name, regions, compiled):
    """The finding that fails this answer to that exercise, or None."""
    exercise = next(one for one in EVERY if one.id == name)
    assert regions.keys() <= exercise.regions.keys()
    text = exercise.with_regions(exercise.author() | regions)
    return first_failure(judge.judge(exercise, written(exercise, answer, text), compiled))


@pytest.mark.parametrize("answer", UNUSUAL)
def test_other_ways_to_overlap_are_right(answer, compiled):
    assert answered(answer, *UNUSUAL[answer], compiled) is None


@pytest.mark.parametrize("answer", CHEATS)
def test_less_or_other_copies_under_way_are_no_overlap(answer, compiled):
    failure = answered(answer, *CHEATS[answer], compiled)
    assert failure and ("under way" in failure.detail or "once" in failure.requirement), failure


def test_exponentials_under_products():
    """Those between the issue of products and the wait that covers them, line by line; a wait may leave the youngest group."""
    runs = [["exp", 0, 1, 0, 0], ["wgmma", 2, 8, 0, 0], ["exp", 0, 2, 0, 0], ["wgmma_commit", 2, 1, 0, 0], ["wgmma", 2, 8, 0, 0], ["wgmma_commit", 2, 1, 0, 0],
            ["wgmma_wait", 2, 1, 1, 0], ["exp", 1, 4, 0, 0], ["shuffle", 1, 16, 0, 0], ["exp", 0, 8, 0, 0], ["wgmma_wait", 2, 1, 0, 0], ["exp", 1, 32, 0, 0]]
    found = judge.under_products({"places": [["a.cu", 1], ["a.cu", 2], ["a.cu", 3]], "warps": [runs, runs[6:], []]}, "exp_under_products")
    assert judge.counted(found, "exp_under_products", 1, 9) == {1: 10, 2: 4}


def test_overlap_is_asked_for():
    """Steps that copy ahead have such exercises, and those whose lines begin no copies have not."""
    assert {one.id for one in OVERLAPS} >= {
        "matmul_cp_async/ring", "matmul_cp_async/row_sums", "flash_mma_stages/prefetch", "flash_mma_stages/warps", "flash_mma_shared_kv/turns",
        "flash_mma_shared_kv/early", "flash_mma_shared_qkv/other_buffer", "flash_mma_tiling_qk/slices"}
    assert not {one.id for one in OVERLAPS} & {"flash_mma_shared_qkv/fragments", "matmul_vector/load", "flash_mma_swizzle/store"}


@pytest.mark.parametrize("exercise", EVERY, ids=ident)
def test_the_page_asks_for_it(exercise):
    page = (ROOT / exercise.step["dir"] / "README.md").read_text()
    assert exercise.data["task"].strip() in page


def in_a_line(lines):
    """What lines of // comments say, without marks."""
    words = " ".join(re.sub(r"^.*?// ?(\[\w+\])?", "", line) for line in lines).split()
    return " ".join(words)


def comments(exercise):
    """What the comments of the program that is handed out say, but for those that say the task."""
    program = exercise.outside(exercise.start()).removeprefix(exercise.heading())
    return in_a_line(line for line in program.splitlines() if "//" in line)


@pytest.mark.parametrize("exercise", [one for one in EVERY if "hide" in one.data], ids=ident)
def test_what_is_hidden_is_not_handed_out(exercise):
    """None of it, through all lines of a comment; and what is not hidden stays."""
    lines, handed = steps.source(exercise.step).read_text().splitlines(), comments(exercise)
    for hidden in exercise.data["hide"]:
        name, _, words = hidden.partition(": ")
        [first] = [number for number, line in enumerate(lines) if f"// [{name}]" in line]
        rest = itertools.takewhile(lambda line: re.match(r"\s*//(?! \[)", line), lines[first + 1:])
        said = in_a_line([lines[first], *rest])
        kept = said[:said.index(words)] if words else ""
        told = said.removeprefix(kept).split()
        runs = [" ".join(told[i:i + 8]) for i in range(max(1, len(told) - 7))]
        assert kept.strip() in handed and not [run for run in runs if run in handed]


PROGRAM = """// [top] One.
void f()
{
    // [a] Two
    // lines.
    x = 1;
    // [b]
    x = 2;
    // [end b]
}
"""


@pytest.mark.parametrize("regions, more, edits", [
    (["b"], [], [("[top] ", ""), ("[a] ", "")]),
    (["a"], [], [("[top] ", ""), ("// [a] Two", "// Two"), ("lines.\n", "lines.\n    // [a]\n"), ("    // [b]\n", ""), ("[end b]", "[end a]")]),
    (["b"], ["a"], [("[top] ", ""), ("// [a] Two", "// Two"), ("lines.\n", "lines.\n    // [a]\n"), ("[end b]\n}", "[end b]\n}\n    // [end a]")]),
], ids=["one in another", "one around another", "counted around another"])
def test_a_readers_file_has_the_marks_of_its_exercise_alone(regions, more, edits):
    """Those that open and those that close, each in a line of its own: what a sentence says stays above."""
    handed = PROGRAM
    for before, after in edits:
        assert handed.count(before) == 1
        handed = handed.replace(before, after)
    assert exercises.marked(PROGRAM, regions, more, "x.cu") == handed


def test_the_marks_of_every_source_fit_together():
    for path in [path for folder in ("steps", "common", "docs") for path in sorted((ROOT / folder).rglob("*.*")) if path.suffix in (".cu", ".h")]:
        text = path.read_text()
        assert not any(map(exercises.OLDER.fullmatch, text.split("\n"))), path
        source.pieces(text, path.relative_to(ROOT))


@pytest.mark.parametrize("text, regions, words", [
    (PROGRAM, ["c"], "x.cu has no piece // [c]. It has: top, a, b"),
    (PROGRAM.replace("x = 1;\n", "x = 1;\n\n"), ["a"], "x.cu has no `// [end a]`"),
    (PROGRAM, ["a", "b"], "x.cu: [b] is a part of [a]"),
    (PROGRAM.replace("[end b]", "[end c]"), ["a"], "x.cu:9: `// [end c]` closes what no mark above it opens")],
    ids=["unknown", "not closed", "nested", "closed by another name"])
def test_a_region_that_cannot_be_cut_out_is_said(text, regions, words, capsys):
    with pytest.raises(SystemExit) as stopped:
        exercises.marked(text, regions, [], "x.cu")
    assert stopped.value.code == 2 and words in " ".join(capsys.readouterr().err.split())


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
