"""./learn sass: what nvdisasm prints is read, loops are found, the main one is chosen and counted; records are what the sources make."""
import json
import re
import sys

import pytest
from conftest import ROOT, included, kept
from markdown_it import MarkdownIt

sys.path.insert(0, str(ROOT))
from tools import actual, cli, exercises, machine, results, sass, steps  # noqa: E402
from tools.guard import guarded  # noqa: E402

OWN = "/clone/steps/05_x/x.cu"
# A kernel with a loop in a loop, and a piece of the inner one that ptxas has moved behind the end.
DISASSEMBLY = f"""
	.section	.text._Z1xPf,"ax",@progbits
_Z1xPf:
.text._Z1xPf:
	//## File "{OWN}", line 3
        /*0000*/                   LDC R1, c[0x0][0x28] ;
        /*0010*/                   HFMA2.MMA R2, -RZ, RZ, 1.875, 0 ;
.L_x_1:
	//## File "/clone/common/ptx/mma.h", line 22 inlined at "{OWN}", line 7
	//## File "{OWN}", line 7 inlined at "{OWN}", line 9
	//## File "{OWN}", line 9
        /*0020*/                   LDG.E.128 R4, desc[UR4][R2.64] ;
	//## File "{OWN}", line 5
        /*0030*/                   MOV R3, RZ ;
.L_x_2:
	//## File "{OWN}", line 6
        /*0040*/                   LDS.128 R8, [R3] ;
        /*0050*/              @!P1 BRA `(.L_x_4) ;
.L_x_3:
        /*0060*/                   FFMA R12, R8, R4, R12 ;
        /*0070*/                   FFMA R13, R9, R5.reuse, R13 ;
        /*0080*/               @P0 BRA `(.L_x_2) ;
	//## File "/usr/include/other.h", line 1
        /*0090*/                   IMAD.MOV.U32 R0, RZ, RZ, R5 ;
        /*00a0*/                   BRA.U UP0, `(.L_x_1) ;
        /*00b0*/                   EXIT ;
.L_x_4:
	//## File "{OWN}", line 8
        /*00c0*/                   STL [R1], R12 ;
        /*00d0*/                   BRA `(.L_x_3) ;
.L_x_5:
        /*00e0*/                   BRA `(.L_x_5);
        /*00f0*/                   BRA `(.L_x_3);
.L_x_6:


//--------------------- .nv.shared.reserved.0 --------------------------
	.section	.nv.shared.reserved.0,"aw",@nobits
"""
RECORDED = [step for step in steps.load() if sass.record_path(step).exists()]
ident = lambda step: step["name"]


@pytest.fixture
def loops():
    return sass.find_loops(sass.parse(DISASSEMBLY, OWN)["_Z1xPf"])


def learn(capsys, *words):
    """(status, what it prints, what it complains of)"""
    with pytest.raises(SystemExit) as ended, guarded():
        cli.app(list(words), prog_name="./learn", standalone_mode=True)
    said = capsys.readouterr()
    return ended.value.code or 0, said.out, said.err


@pytest.fixture
def no_nvcc(monkeypatch):
    monkeypatch.setattr(machine, "nvcc", lambda: None)


# ---- the parser ----

def test_an_instruction_comes_from_the_innermost_line_of_the_steps_own_source():
    found = sass.parse(DISASSEMBLY, OWN)["_Z1xPf"]
    assert [one.line for one in found] == [3, 3, 7, 5, 6, 6, 6, 6, 6, 0, 0, 0, 8, 8, 8, 8]


def test_a_branch_names_the_address_that_it_goes_to():
    found = sass.parse(DISASSEMBLY, OWN)["_Z1xPf"]
    assert [(one.text, one.target) for one in found if one.target is not None] == [
        ("@!P1 BRA 0xc0", 12), ("@P0 BRA 0x40", 4), ("BRA.U UP0, 0x20", 2), ("BRA 0x60", 6), ("BRA 0xe0", 14), ("BRA 0x60", 6)]


def test_what_follows_a_branch():
    found = sass.parse(DISASSEMBLY, OWN)["_Z1xPf"]
    assert [sass.successors(found, place) for place in (0, 5, 8, 10, 11, 13)] == [[1], [12, 6], [4, 9], [2, 11], [], [6]]


def test_loops_are_natural_ones(loops):
    """The outer has the inner's instructions not as its own, the inner what was moved behind the end. What waits there is no loop, and what
    nothing comes to belongs to none."""
    assert [(list(loop.own), loop.inner) for loop in loops] == [([2, 3, 9, 10], 7), ([4, 5, 6, 7, 8, 12, 13], 0)]


def test_the_main_loop_has_most_work_itself(loops):
    """But one of a kernel that takes longer goes before."""
    first, second = (sass.Kernel(name, [None], 16, {}, loops) for name in ("first", "second"))
    found = [(first, loops[0]), (first, loops[1]), (second, loops[0])]
    assert sass.main_loop(found, {}) == 1 and sass.main_loop(found, {"first": 1, "second": 2}) == 2
    assert [loop.work for loop in loops] == [(0, 0, 0, 1), (0, 2, 0, 0)]


def test_of_several_kernels_the_longest_has_the_main_loop(capsys, no_nvcc):
    said = learn(capsys, "sass", "12", "transposed_read")[1]
    took = sass.durations(steps.find("12"), "transposed_read")
    assert took.keys() == {"scores<0>", "softmax", "output"}
    assert f", in {max(took, key=took.get)}." in said and "is of the kernel that takes longest" in said


def test_instructions_have_classes(loops):
    counts = {name: dict(counter) for name, counter in sass.by_class(loops[1].instructions).items() if counter}
    assert counts == {"fp32": {"FFMA": 2}, "shared memory, load": {"LDS.128": 1}, "local memory": {"STL": 1}, "control": {"BRA": 3}}
    kinds = [one.kind for one in sass.parse(DISASSEMBLY, OWN)["_Z1xPf"]]
    assert kinds[1] == kinds[9] == "move", "a constant by HFMA2, and an IMAD that multiplies nothing"
    assert sass.Instruction("FROBNICATE R1", 1).kind == "other"


def test_instructions_of_warpgroups():
    """A product names its shape, a fence and a wait which they are; setmaxnreg is found wherever it stands."""
    texts = ["USETMAXREG.DEALLOC.CTAPOOL 0x28", "USETMAXREG.TRY_ALLOC.CTAPOOL UP0, 0xe8", "WARPGROUP.ARRIVE", "WARPGROUP.DEPBAR.LE gsb0, 0x0",
             "HGMMA.64x256x16.F32.BF16 R24, gdesc[UR4], R24, gsb0", "QGMMA.64x64x32.F32.E4M3.E4M3 R24, gdesc[UR4], R24", "@P0 UTMALDG.2D [UR8], [UR4]",
             "SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [R2+URZ], R3", "IGMMA.64x8x32.S8.S8 R4, gdesc[UR4], R4"]
    found = [sass.Instruction(text, 1) for text in texts]
    assert [(one.kind, one.name) for one in found] == [
        ("barrier and wait", "USETMAXREG.DEALLOC.CTAPOOL"), ("barrier and wait", "USETMAXREG.TRY_ALLOC.CTAPOOL"),
        ("barrier and wait", "WARPGROUP.ARRIVE"), ("barrier and wait", "WARPGROUP.DEPBAR.LE"), ("tensor cores", "HGMMA.64x256x16.F32.BF16"),
        ("tensor cores", "QGMMA.64x64x32.F32.E4M3.E4M3"), ("asynchronous copy", "UTMALDG.2D"), ("barrier and wait", "SYNCS"),
        ("tensor cores", "IGMMA.64x8x32.S8.S8")]
    kernel = sass.Kernel("k", [None], 9, {}, [], sass.find_setmaxnreg(found))
    assert sass.setmaxnreg_words(kernel) == "; then USETMAXREG.DEALLOC to 40, USETMAXREG.TRY_ALLOC to 232"
    assert sass.setmaxnreg_words(sass.Kernel("k", [None], 9, {}, [])) == ""


def test_no_opcode_is_in_two_classes():
    assert len(sass.CLASS_OF) == sum(len(opcodes.split()) for opcodes in sass.CLASSES.values())


# ---- the records ----

@pytest.mark.parametrize("step", RECORDED, ids=ident)
def test_a_record_is_of_the_source_as_it_stands(step):
    """Without a compiler: the lines of code are those that were compiled. To mend it: ./learn docs, with nvcc and nvdisasm."""
    assert sass.recorded(step).source == sass.code_digest(step), f"./learn sass {steps.called(step)} --record"


@pytest.mark.parametrize("step", RECORDED, ids=ident)
def test_a_record_is_of_what_nvcc_makes(step):
    program = sass.recorded(step)
    if not machine.nvcc():
        pytest.skip("there is no nvcc")
    if sass.nvcc_version() != program.nvcc:
        pytest.skip(f"this nvcc is {sass.nvcc_version()}, and {program.nvcc} was recorded")
    source = steps.source(step)
    text = source.read_text()
    parts = [program.nvcc, program.arch, str(source), text, *included(text, [source.parent, ROOT / "common"])]
    made = kept(f"ptx-{step['name']}", parts, lambda: sass.ptx_digest(step, program.arch))
    assert program.ptx == made, f"./learn sass {steps.called(step)} --record"


@pytest.mark.parametrize("step", RECORDED, ids=ident)
def test_a_record_is_whole(step):
    program = sass.recorded(step)
    assert {variant for kernel in program.kernels for variant in kernel.variants} == set(steps.variants(step))
    text = steps.source(step).read_text().splitlines()
    for kernel in program.kernels:
        assert kernel.reported["registers"] > 0
        for one in (one for loop in kernel.loops for one in loop.instructions):
            assert one.kind != "other", f"{one.text}: which class has it?"
            assert one.line == 0 or text[one.line - 1].strip(), "an instruction of an empty line"


def test_the_records_are_small():
    assert sum(sass.record_path(step).stat().st_size for step in RECORDED) < 3 << 19


def test_what_exercises_read_is_recorded():
    named = {steps.find(number)["name"] for exercise in exercises.every() for number in re.findall(r"./learn sass (\d+)", exercise.data["task"])}
    assert named and named <= {step["name"] for step in RECORDED}


def constants(step):
    """{name: value} of the constexpr numbers of a step's source."""
    text = steps.source(step).read_text()
    return {name: int(value) for name, value in re.findall(r"\b(\w+) = (\d+)[,;]", text)}


@pytest.mark.parametrize("number, variant, products, loads", [
    ("05", "register", lambda c: ("FFMA", c["THREAD_TILE"] ** 2), lambda c: ("LDS", 2 * c["THREAD_TILE"])),
    ("18", "padded", lambda c: ("HMMA", c["WARP_M"] * c["WARP_N"] * c["TILE_K"] // (c["MMA_M"] * c["MMA_N"] * c["MMA_K"])),
     lambda c: ("LDSM", (c["WARP_M"] // c["MMA_M"] + c["WARP_N"] // (2 * c["MMA_N"])) * c["TILE_K"] // c["MMA_K"])),
    ("28", "two_buffers", lambda c: ("HMMA", 2 * 16 * c["TILE"] * 64 // (c["MMA_M"] * c["MMA_N"] * c["MMA_K"])),
     lambda c: ("LDSM", 2 * c["TILE"] * 64 // (16 * 16))),
    ("31", "rows_32", lambda c: ("HMMA", 2 * 32 * 64 * 64 // (c["MMA_M"] * c["MMA_N"] * c["MMA_K"])),
     lambda c: ("LDSM", 2 * 64 * 64 // (16 * 16))),
    ("38", "swizzle_128", lambda c: ("HGMMA", c["TILE_M"] * c["TILE_K"] // (c["WGMMA_M"] * c["WGMMA_K"])), lambda c: ("LDSM", 0))])
def test_the_main_loop_has_the_products_and_loads_that_the_source_names(number, variant, products, loads):
    step = steps.find(number)
    if step not in RECORDED:
        pytest.skip(f"nothing is recorded of {number}")
    found = actual.sass(step, variant)
    for word, wanted in (products(constants(step)), loads(constants(step))):
        assert found.count(word) == wanted
    assert found.spills == found.count("local memory") == 0


def quoted(page):
    """The instructions that a README shows as ./learn sass lists them, in blocks of code that name no language."""
    lines = (line for token in MarkdownIt("commonmark").parse(page) if token.type == "fence" and not token.info for line in token.content.splitlines())
    return [line for line in lines if (found := sass.OPCODE.match(line)) and found["opcode"].split(".")[0] in sass.CLASS_OF]


@pytest.mark.parametrize("step", RECORDED, ids=ident)
def test_what_a_page_quotes_is_recorded(step):
    path = steps.directory(step) / "README.md"
    known = {one.text for kernel in sass.recorded(step).kernels for loop in kernel.loops for one in loop.instructions}
    assert not set(quoted(path.read_text()) if path.exists() else ()) - known


def test_an_excerpt_has_the_loops_instructions_in_order(capsys):
    step = steps.find("39")
    found = sass.excerpt(step, "two_stages", "HGMMA", "WARPGROUP", "UTMALDG")
    assert [one.opcode for _, one in found] == ["WARPGROUP", *["HGMMA"] * 8, "WARPGROUP", *["UTMALDG"] * 4]
    assert [place for place, _ in found] == sorted(place for place, _ in found)
    for words, said in ((("two_stages", "HGMMA", "LDSM"), "two_stages has no LDSM"), (("no_stage", "HGMMA"), "no_stage")):
        with pytest.raises(SystemExit):
            sass.excerpt(step, *words)
        assert said in capsys.readouterr().err


def test_quotes_are_found():
    assert quoted("```\nBAR.SYNC 0x0\n…\n$ ls\n```\n\nBAR.SYNC 1\n\n```cuda\nBAR.SYNC 2\n```\n") == ["BAR.SYNC 0x0"]
    assert quoted((ROOT / "steps" / "38_matmul_wgmma" / "README.md").read_text())


def letter(name, question):
    exercise = exercises.find(name)[1]
    return next(each["answers"] for each in exercise.questions if each["name"] == question)


def test_letters_are_right_for_what_is_recorded():
    """The answers of exercises that are no numbers."""
    main, before, after = (actual.sass(steps.find(number), variant) for number, variant in
                           (("15", "pad_8"), ("27", "two_buffers"), ("28", "two_buffers")))
    classes = {"a": ["integer and address"], "b": ["shared memory, load", "shared memory, store"], "c": ["fp32"]}
    assert letter("15.loop", "largest") == [max(classes, key=lambda each: main.count(*classes[each]))]
    classes = dict(zip("abcd", ("integer and address", "fp32", "asynchronous copy", "barrier and wait")))
    assert letter("28.loop", "grown") == [max(classes, key=lambda each: after.count(classes[each]) - before.count(classes[each]))]
    for name, question, step, variant, units in (("14.counted", "busiest", "14", "wmma", ("tensor", "data_stage", "fma", "issue_active")),
                                                 ("30.counted", "binds", "30", "swizzled", ("tensor", "data_stage", "issue_active"))):
        percent = results.counted(steps.find(step), variant, results.headline(steps.find(step)))["kernels"][0]["percent"]
        units = dict(zip("abcd", units))
        assert letter(name, question) == [max(units, key=lambda each: percent[units[each]])]
    for question, step, variant in (("before", "21", "swizzled"), ("after", "22", "three_stages")):
        order = [each.name for each in actual.sass(steps.find(step), variant).instructions]
        behind = order[next(at for at, name in enumerate(order) if name.startswith("BAR")):]
        loads = sum("LDSM" in name for name in behind[:next(at for at, name in enumerate(behind) if name.startswith("HMMA"))])
        assert letter("22.order", question) == [{0: "a", 8: "b", 32: "c"}[loads]]


def test_what_is_compiled_here_is_what_was_recorded():
    step = steps.find("05")
    if why := sass.missing_tool():
        pytest.skip(why)
    kept, made = sass.recorded(step), sass.compiled(step, sass.RECORDED_ARCH)
    if made.nvcc != kept.nvcc:
        pytest.skip(f"this nvcc is {made.nvcc}, and {kept.nvcc} was recorded")
    assert made.kernels == kept.kernels


def test_what_is_recorded_is_what_was_compiled(monkeypatch):
    step = steps.find("15")
    made, path = sass.recorded(step), ROOT / "build" / "recorded.json"
    monkeypatch.setattr(sass, "record_path", lambda step: path)
    monkeypatch.setattr(sass, "compiled", lambda step, arch: made)
    monkeypatch.setattr(sass, "ptx_digest", lambda step, arch: made.ptx)
    assert sass.record(step) is made and sass.recorded(step) == made
    assert path.read_bytes() == (steps.directory(step) / sass.NAME).read_bytes()


def test_a_comment_makes_no_record_stale(tmp_path, monkeypatch):
    step = steps.find("05")
    text = steps.source(step).read_text()
    before, mine = sass.code_digest(step), tmp_path / "matmul_register.cu"
    monkeypatch.setattr(steps, "source", lambda step: mine)
    mine.write_text("// A line more.\n/* And\n two. */\n" + text)
    assert sass.code_digest(step) == before
    moved = {one.line - 3 for kernel in sass.recorded(step).kernels for loop in kernel.loops for one in loop.instructions if one.line}
    mine.write_text(text)
    assert moved == {one.line for kernel in sass.recorded(step).kernels for loop in kernel.loops for one in loop.instructions if one.line}
    mine.write_text(text.replace("i < TILE_K; i++", "i < TILE_K; ++i", 1))
    assert sass.code_digest(step) != before


def test_docs_renews_a_stale_record(capsys, monkeypatch, no_nvcc):
    one, path, made = steps.find("05"), ROOT / "build" / "stale.json", []
    path.write_text(sass.record_path(one).read_text().replace(sass.code_digest(one), "0" * 16))
    monkeypatch.setattr(steps, "load", lambda: [one])
    monkeypatch.setattr(sass, "record_path", lambda step: path)
    assert sass.renew(True) == [("build/stale.json", "record")]
    with pytest.raises(SystemExit):
        sass.renew(False)
    assert "build/stale.json is stale. There is no nvcc here." in capsys.readouterr().err
    monkeypatch.setattr(sass, "missing_tool", lambda: None)
    monkeypatch.setattr(sass, "record", made.append)
    assert sass.renew(False) == [("build/stale.json", "record")] and made == [one]
    path.write_text(path.read_text().replace("0" * 16, sass.code_digest(one)))
    assert sass.renew(True) == []


# ---- what is printed ----

def test_without_nvcc_it_shows_what_is_recorded(capsys, no_nvcc):
    status, said, complaint = learn(capsys, "sass", "05")
    assert status == 0 and not complaint and re.search(r"recorded of nvcc [\d.]+ for sm_90a\. There is no nvcc here\.", said)
    for words in ("matmul_register.cu:", "sum[y][x] += a[y] * b[x];\n    FFMA 64\n", "124 registers a thread; nothing is spilled", "→ 3  lines"):
        assert words in said
    assert re.search(r"^fp32 +64 +FFMA 64 *$", said, re.MULTILINE) and re.search(r"^local memory +0 *$", said, re.MULTILINE)


def test_each_instruction_in_order(capsys, no_nvcc):
    status, said, _ = learn(capsys, "sass", "05", "--all")
    places = [int(place, 16) for place in re.findall(r"^    ([0-9a-f]{4})  [A-Z@]", said, re.MULTILINE)]
    assert status == 0 and len(places) == 86 and places == sorted(places)


def test_another_loop(capsys, no_nvcc):
    status, said, _ = learn(capsys, "sass", "15", "pad_8", "--loop", "2")
    assert status == 0 and "Loop 2 of 2" in said and re.search(r"^tensor cores +8 ", said, re.MULTILINE)
    assert "Not counted are the 24 instructions of the loops inside it" in learn(capsys, "sass", "15", "pad_8")[1]


def test_a_record_of_another_source_says_so(capsys, no_nvcc, monkeypatch):
    monkeypatch.setattr(sass, "code_digest", lambda step: "of another day")
    assert "The source has changed since" in learn(capsys, "sass", "05")[1]


@pytest.mark.parametrize("words, said", [
    (["05", "nothing"], "has no variant 'nothing'"), (["05", "--loop", "9"], "There is no loop 9"), (["05", "--loop", "0"], "There is no loop 0"),
    (["05", "--arch", "80"], "Recorded is only what was compiled for sm_90a"), (["05", "--arch", "ninety"], "'ninety' is no architecture"),
    (["28", "--arch", "75"], "needs compute capability 8.0"), (["05", "--record"], "There is no nvcc here"), (["05", "--record", "--recorded"], "give one of them"), (["99"], "There is no step '99'")])
def test_what_was_asked_wrongly_is_said(capsys, no_nvcc, words, said):
    status, _, complaint = learn(capsys, "sass", *words)
    assert status == 2 and said in complaint and len(complaint.strip().splitlines()) == 1


def test_of_what_is_not_recorded_it_says_so(capsys, no_nvcc, monkeypatch, tmp_path):
    monkeypatch.setattr(sass, "record_path", lambda step: ROOT / "steps" / "no such file")
    status, _, complaint = learn(capsys, "sass", "05")
    assert status == 2 and "Nothing is recorded of 05_matmul_register" in complaint


def record_with(**more):
    """A record of one kernel, with something else in place of what stands there."""
    run = more.pop("run", [0, 1, "FFMA R1, R2, R3, R4"])
    kernel = {"name": "x", "variants": ["register"], "size": 1, "reported": {}, "loops": [{"inner": 0, "sass": [run]}]}
    return json.dumps([{"arch": "90a", "nvcc": "13"}, kernel | more])


def test_a_record_as_it_is_written_is_whole():
    head, *rows = json.loads(record_with())
    assert sass.is_whole(head, rows)
    head, *rows = json.loads(record_with(setmaxnreg=["USETMAXREG.DEALLOC.CTAPOOL 0x18"]))
    assert sass.is_whole(head, rows)


@pytest.mark.parametrize("text", ["", "{}", "[1]", "[]", '[{"arch": "90a"}, null]', "not JSON", '[{"arch": "90a", "nvcc": "13"}]',
                                  record_with(reported={"registers": 1}), record_with(reported=[]), record_with(variants=5),
                                  record_with(size="1"), record_with(loops=[{"inner": 0, "sass": []}]), record_with(run=[0, "1", "FFMA"]),
                                  record_with(loops=[{"inner": "a", "sass": [[0, 1, "FFMA"]]}]), record_with(run=[0, 1, ""]),
                                  record_with(setmaxnreg=5), record_with(setmaxnreg=["NOP"]), record_with(setmaxnreg=[5])])
def test_a_broken_record_is_said(capsys, no_nvcc, monkeypatch, tmp_path, text):
    broken = ROOT / "build" / "broken.json"
    broken.write_text(text)
    monkeypatch.setattr(sass, "record_path", lambda step: broken)
    status, _, complaint = learn(capsys, "sass", "05")
    assert status == 2 and "is not as ./learn sass 05 --record writes it" in complaint


def test_nvcc_without_nvdisasm(capsys, monkeypatch):
    monkeypatch.setattr(machine, "nvcc", lambda: "/nowhere/nvcc")
    monkeypatch.setattr(machine, "nvdisasm", lambda: None)
    status, said, complaint = learn(capsys, "sass", "05")
    assert status == 0 and "pip install nvidia-cuda-nvdisasm" in said and "recorded of nvcc" in said


def test_a_source_that_nvcc_refuses(capsys, monkeypatch):
    monkeypatch.setattr(sass, "missing_tool", lambda: None)
    monkeypatch.setattr(sass.ptxas, "compile_source", lambda *arguments: (1, "x.cu(1): error\n"))
    status, _, complaint = learn(capsys, "sass", "05")
    assert status == 1 and "nvcc cannot compile steps/05_matmul_register/matmul_register.cu for sm_90a:\nx.cu(1): error" in complaint


def test_an_architecture_that_nvcc_does_not_know(capsys, monkeypatch):
    monkeypatch.setattr(sass, "missing_tool", lambda: None)
    monkeypatch.setattr(sass.ptxas, "compile_source", lambda *arguments: (1, "nvcc fatal   : Unsupported gpu architecture 'compute_999'\n"))
    status, _, complaint = learn(capsys, "sass", "05", "--arch", "999")
    assert status == 2 and "cannot compile for sm_999" in complaint and len(complaint.strip().splitlines()) == 1


def test_an_nvcc_that_says_no_text(capsys, monkeypatch, tmp_path):
    """Bytes that are no UTF-8, or nothing at all."""
    nvcc = tmp_path / "nvcc"
    monkeypatch.setattr(sass, "missing_tool", lambda: None)
    monkeypatch.setattr(machine, "nvcc", lambda: str(nvcc))
    for words, said in ("printf '\\377'", "\ufffd"), ("true", "it said nothing, and ended with status 3."):
        nvcc.write_text(f"#!/bin/sh\n{words}\nexit 3\n")
        nvcc.chmod(0o755)
        status, _, complaint = learn(capsys, "sass", "05")
        assert status == 1 and complaint.rstrip().endswith(said)
