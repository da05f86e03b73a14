"""The notebooks run from the first cell to the last, on the GPU or the emulator, and are kept without what they print."""

import base64
import json
import os
import pathlib
import re
import sys
import time

import pytest

from conftest import ROOT

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
SECONDS = 90
# The chapters that a notebook covers, and a section that stands before that of a step.
CHAPTERS = {"01_memory_system": "A", "02_tensor_cores": "BC", "03_hopper": "D"}
BEFORE = {"01_memory_system": ("The machine", "03")}
# What a cell must show, by a word of its source: what the compiler, the emulator or a program's own check complains of.
SHOWN = {"01_memory_system": {"void fill(": "yours.cu:2: error: expected",
                              "void reverse(": "race in shared memory: yours.cu:5",
                              "every thread has read both tiles": "race in shared memory: matmul_tiled.cu",
                              '"run", "03"': "right: error"},
         "02_tensor_cores": {'edited("25", "ldmatrix_x4_trans': "WRONG: the first wrong element",
                             'edited("26", "cp_async_wait': "copy still in flight: flash_mma_stages.cu",
                             'edited("30", "[place': "WRONG: the first wrong element"},
         "03_hopper": {"row_bytes=96": "row_bytes=96: a row has a multiple of 64 bytes up to 512",
                       'edited("40", "mbarrier_wait': "copy still in flight: matmul_warp_specialized.cu",
                       'edited("38", "W == 32': "out of bounds: matmul_wgmma.cu"}}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_kept_without_output(path):
    nbformat = pytest.importorskip("nbformat")
    for cell in nbformat.read(path, 4).cells:
        assert not cell.get("outputs") and cell.get("execution_count") is None


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_follows_the_steps(path):
    """A section for every step of its chapters, in order; 14 to 16 is one for each, and 46 and later is one for all from there on. Nothing
    names a step by an old number."""
    text = ["".join(cell["source"]) for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "markdown"]
    headings = re.findall(r"^## (.*)", "\n".join(text), re.MULTILINE)
    numbers = []
    for first, last in re.findall(r"\b(\d\d)\b(?: to (\d\d)\b)?", "\n".join(headings)):
        numbers += [f"{number:02}" for number in range(int(first), int(last or first) + 1)]
    assert numbers == sorted(set(numbers))
    later = next(iter(re.findall(r"^(\d\d) and later", "\n".join(headings), re.MULTILINE)), "99")
    covered = {file.parent.name[:2] for file in (ROOT / "steps").glob("[0-9]*/CMakeLists.txt")
               if re.search(f'CHAPTER "[{CHAPTERS[path.stem]}][.]', file.read_text())}
    assert len(covered) > 6 and {number for number in covered if number <= later} <= set(numbers)
    if path.stem in BEFORE:
        section, step = BEFORE[path.stem]
        assert headings.index(section) < next(i for i, heading in enumerate(headings) if heading.startswith(step))


def test_predictions(capsys, monkeypatch):
    pytest.importorskip("IPython")
    monkeypatch.syspath_prepend(str(ROOT / "notebooks"))
    import lesson

    held = []
    monkeypatch.setattr(lesson, "display", lambda shown: held.append(shown.data))
    lesson.predict("speed", ..., "×")
    lesson.compare("speed", 2.0, "measured")
    lesson.predict("speed", 1, "×")
    lesson.compare("speed", 2.0, "measured")
    lesson.compare("speed", None, "measured")
    lesson.predict("speed", 1.9, "×")
    lesson.compare("speed", 2.0, "measured")
    lesson.predict("speed", 0, "×")
    lesson.compare("speed", 2.0, "measured")
    lesson.predict("lane", 20)
    lesson.compare("lane", 21, "measured", exact=True)
    lesson.compare("lane", 20, "measured", exact=True)
    said = capsys.readouterr().out
    assert "no prediction yet: speed" in said and "predicted: speed: 1 ×" in said and "speed: not measured yet" in said
    assert [text.split("(measured). ")[1] for text in held] == [
        "You made no prediction.", "You said 1: off by a factor of 2.", "You said 1.9: right, within a tenth.", "You said 0.",
        "You said 20.", "You said 20: exactly."]
    assert held[-1].startswith("lane: **20** (measured)")


@pytest.mark.parametrize("name, own", [("31_flash_mma_warp_rows", {}), ("32_flash_mma_causal", {"causal": True}),
                                       ("35_flash_mma_tiling_qk", {"head_dim": 512})])
def test_times_are_of_the_lesson_s_shape(monkeypatch, name, own):
    """Once a step has results they are shown, and the peers at the same shape."""
    pytest.importorskip("IPython")
    monkeypatch.syspath_prepend(str(ROOT / "notebooks"))
    import lesson

    step = {"name": name, "number": name[:2], "operation": "attention", "dtypes": ["fp16"], "variants": ["last"]}
    ladder = lesson.results.LADDER_SHAPE["attention"]
    line = {"step": name, "variant": "last", "operation": "attention", "dtype": "fp16", "device": "NVIDIA H200",
            "shape": ladder | own, "time": {"median_ms": 1.0}}
    peer = line | {"step": "", "variant": "", "peer": "a library"}
    elsewhere = [each | {"shape": ladder | {"seqlen": 512}} for each in (line, peer)]
    monkeypatch.setattr(lesson, "here", lambda *names: [step])
    monkeypatch.setattr(lesson.machine, "choose", lambda step: ("cpu", ""))
    monkeypatch.setattr(lesson.steps, "recorded", lambda step: [])
    assert lesson.times(name[:2]) == []
    monkeypatch.setattr(lesson.steps, "recorded", lambda step: [line, peer, *elsewhere])
    assert lesson.times(name[:2]) == [line, peer]


@pytest.fixture
def execute(monkeypatch):
    """Executes a notebook in a folder, or only its first cells of code."""
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    monkeypatch.setenv("PATH", f"{pathlib.Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")

    def executed(path, folder, cells=None):
        notebook = nbformat.read(path, 4)
        notebook.cells = [cell for cell in notebook.cells if cell.cell_type == "code"][:cells]
        return nbclient.NotebookClient(notebook, timeout=SECONDS, resources={"metadata": {"path": str(folder)}}).execute()

    return executed


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_begins_in_the_root_too(execute, path):
    (cell,) = execute(path, ROOT, cells=1).cells
    assert "Steps run on the" in "".join(output.get("text", "") for output in cell.outputs)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_runs(execute, path):
    begin = time.monotonic()
    notebook = execute(path, path.parent)
    assert time.monotonic() - begin < SECONDS
    said = {cell.source: "".join(output.get("text", "") for output in cell.outputs) for cell in notebook.cells}
    for word, expected in SHOWN[path.stem].items():
        (text,) = [text for source, text in said.items() if word in source]
        assert expected in text, text
    for text in said.values():  # nobody wrote a number: no answer stands there, and that is said
        assert "predicted: " not in text
    asked = [cell.source for cell in notebook.cells if cell.source.startswith("predict(")]
    assert len(asked) > 10 and all("no prediction yet: " in said[source] for source in asked)
    held = [output["data"]["text/markdown"] for cell in notebook.cells for output in cell.get("outputs", [])
            if "text/markdown" in output.get("data", {})]
    assert len(held) >= 5 and all("You made no prediction." in text for text in held)
    shown = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert not [output for output in shown if output.output_type == "error"]
    assert sum(any(kind.startswith("image/") for kind in output.get("data", {})) for output in shown) >= 10


def test_an_exercise_in_a_cell(capsys, monkeypatch):
    """It is written, linked from the folder of the notebook, and judged."""
    pytest.importorskip("IPython")
    monkeypatch.syspath_prepend(str(ROOT / "notebooks"))
    import lesson

    asked, shown = [], []
    monkeypatch.setattr(lesson, "learn", lambda *words: asked.append(words))
    monkeypatch.setattr(lesson, "display", lambda text: shown.append(text.data))
    lesson.exercise("04.1")
    lesson.check("04.1")
    assert asked == [("exercise", "04.1"), ("check", "04.1")]
    assert shown == ["[exercises/04_matmul_tiled/1_load.cu](../exercises/04_matmul_tiled/1_load.cu)"]


@pytest.fixture
def tensor_cores(monkeypatch):
    pytest.importorskip("IPython")
    monkeypatch.syspath_prepend(str(ROOT / "notebooks"))
    import tensor_cores
    return tensor_cores


def test_lanes_are_those_of_the_manual(tensor_cores):
    """PTX ISA, the fragments of m16n8k16. The notebook reads them from what lanes.cu prints."""
    assert tensor_cores.lanes() == {"A": [[row % 8 * 4 + col % 8 // 2 for col in range(16)] for row in range(16)],
                                    "B": [[col * 4 + row % 8 // 2 for col in range(8)] for row in range(16)],
                                    "C": [[row % 8 * 4 + col // 2 for col in range(8)] for row in range(16)]}


def test_dealt_reads_any_program_of_the_reader(tensor_cores, monkeypatch, capsys):
    """An element that no lane got has none; what is no line of elements is shown."""
    printed = f"hello: 1\nback: {' '.join(map(str, range(63, -1, -1)))}\none: {'9 ' * 64}\n"
    monkeypatch.setattr(tensor_cores, "compile_and_run", lambda *arguments, run: printed)
    found = tensor_cores.dealt("")
    assert list(found) == ["back", "one"] and capsys.readouterr().out == "hello: 1\n"
    assert found["back"][0][0] == 31 and found["back"][7][7] == 0
    assert found["one"][1][1] == 31 and found["one"][0][0] is None


def test_banks_as_drawn_are_those_counted(tensor_cores):
    """The banks come from --layout, the wavefronts from the counters: four matrices in an ldmatrix.x4."""
    from lesson import counters

    counted = counters("21")
    for variant, rows in tensor_cores.layouts("21").items():
        worst = max(column.count(group) for column in zip(*rows) for group in column)
        assert tensor_cores.per_ldmatrix(counted[variant]) == 4 * worst


def test_blocks_by_their_limits(tensor_cores):
    """By hand, in lessons 25 and 26; of what was not recorded there is a bound, and of what a step refuses nothing."""
    found = tensor_cores.blocks(["26:two_stages", "28:two_buffers", "29:collective"], (64, 128, 256), ("h200", "rtx4090"))
    assert found["26 two_stages"][64] == {"bytes": 46080, "H200": (4, ["registers", "shared memory"], 0.25),
                                          "RTX 4090": (2, ["shared memory"], 2 * 4 / 48)}
    assert found["28 two_buffers"][64]["RTX 4090"] == (4, ["registers"], 4 * 4 / 48)
    assert found["28 two_buffers"].keys() == {64, 128}


def test_blocks_where_registers_are_not_recorded(tensor_cores, monkeypatch):
    monkeypatch.setattr(tensor_cores.analyze, "counted", lambda step: [])
    found = tensor_cores.blocks(["26:two_stages"], (64,), ("h200", "rtx4090"))["26 two_stages"][64]
    assert found == {"bytes": 46080, "H200": (4, None, 0.25), "RTX 4090": (2, None, 2 * 4 / 48)}
    assert tensor_cores.what_binds(None).startswith("registers not recorded")


@pytest.mark.parametrize("variant, under", [("one_stage", {0}), ("two_stages", {0, 64})])
def test_products_under_copies(tensor_cores, monkeypatch, variant, under):
    """16 rows × 64 keys × D 64, twice, by mma of 16 × 8 × 16; with the first group of copies nothing can be multiplied."""
    shown = []
    monkeypatch.setattr(tensor_cores, "display", lambda html: shown.append(html.data))
    found = tensor_cores.mma_in_flight(tensor_cores.timelines("26", (variant,))[variant])
    assert set(found) == under and found[0] == 0
    (picture,) = re.findall(r'<img [^>]*alt="the order of (\w+)" src="data:image/svg\+xml;base64,([^"]+)"', shown[0])
    assert picture[0] == variant and f"26_flash_mma_stages {variant}</text>" in base64.b64decode(picture[1]).decode()


@pytest.fixture
def hopper(monkeypatch):
    pytest.importorskip("IPython")
    monkeypatch.syspath_prepend(str(ROOT / "notebooks"))
    import hopper
    return hopper


# Of each swizzle: which bits of a row's number, divided by how much, a vector's place in its row is XORed with (step 37's page).
XORED = {0: (1, 1), 32: (2, 4), 64: (4, 2), 128: (8, 1)}
TILES = [{"rows": rows, "row_bytes": row_bytes, "swizzle": swizzle, "element_bytes": element_bytes, "start": start, "major": major, "slice": number}
         for swizzle in XORED for rows, row_bytes, element_bytes, start, major, number in
         ((64, 128, 2, 1024, "K", 0), (128, 256, 2, 9216, "K", 5), (256, 128, 2, 2048, "K", 3), (16, 128, 2, 1024, "MN", 0), (48, 256, 2, 3072, "MN", 2),
          (64, 512, 2, 5120, "MN", 1), (40, 128, 4, 1024, "K", 2), (8, 128, 2, 221184, "K", 1))]


@pytest.mark.parametrize("given", TILES, ids=lambda given: "-".join(map(str, given.values())))
def test_a_tile_and_its_descriptor_are_those_of_the_manual(hopper, given):
    """PTX ISA, the shared memory layouts of wgmma's operands, worked out anew: where each vector lies, what stands in each field, and which
    elements the product of the slice reads."""
    rows, row_bytes, swizzle, element_bytes, start, major, number = given.values()
    tile, width = hopper.lay_out(**given), swizzle or 16
    places, divisor = XORED[swizzle]
    assert tile.addresses == [
        start + vector * 16 // width * rows * width + row * width + (vector % (width // 16) ^ row // divisor % places) * 16
        for row in range(rows) for vector in range(row_bytes // 16)]
    panel, core = rows * width, 8 * width
    first, leading, stride = {
        "K": (number * 32 // width * panel + number * 32 % width, panel, core),
        "MN": (number * 16 * width, panel if swizzle else core, core if swizzle else panel)}[major]
    mode = {0: 0, 128: 1, 64: 2, 32: 3}[swizzle]
    assert tile.descriptor == (start + first) // 16 + (leading // 16 << 16) + (stride // 16 << 32) + (mode << 62)
    assert [hopper.field(tile, name) for name in hopper.FIELDS] == [(start + first) // 16, leading // 16, stride // 16, 0, mode]
    lines = rows if major == "K" else row_bytes // 2
    most = max((n for n in (64, 128, 256) if n <= lines and element_bytes == 2), default=0)
    element = (lambda k, line: (line, number * 16 + k)) if major == "K" else (lambda k, line: (number * 16 + k, line))
    wanted = [[row * (row_bytes // 16) + col // 8 for row, col in (element(k, line) for line in range(most))] for k in range(16 if most else 0)]
    assert tile.read == wanted
    assert tile.reads_right() == ((16 * most, 16 * most) if most else None) and hopper.read_rightly(tile) == (16 * most or None)


@pytest.mark.parametrize("before, after, given", [
    ("swizzled ? panel : rows, swizzled ? rows : panel", "swizzled ? rows : panel, swizzled ? panel : rows", {"major": "MN", "row_bytes": 256}),
    ("const unsigned panel = tile->rows * width, rows = CORE_ROWS * width;", "const unsigned panel = tile->rows * width, rows = 4 * width;", {}),
    ("first + at / width * panel + at % width", "first + at", {"slice": 1, "swizzle": 32})])
def test_a_wrong_descriptor_is_seen_in_what_the_product_reads(hopper, monkeypatch, tmp_path, before, after, given):
    source = ROOT / "notebooks/hopper_tile.cu"
    assert source.read_text().count(before) == 1
    (tmp_path / source.name).write_text(source.read_text().replace(before, after))
    program = hopper.compiled(tmp_path / source.name, tmp_path)
    monkeypatch.setattr(hopper, "tile_program", lambda: (None, program))
    right, of = hopper.lay_out(**given).reads_right()
    assert right < of


def test_another_swizzle_than_the_map_s_is_read_wrongly(hopper, capsys):
    """By hand: at a pitch of 64 or 32 bytes, only the first row of a core matrix is where it is read, 16 elements of each of eight. Without a
    swizzle the second half of k lies a leading offset further on, outside of shared memory."""
    assert [hopper.read_rightly(hopper.lay_out(says=says)) for says in (128, 64, 32)] == [1024, 128, 128]
    assert [[line // 8 for line in k[:8]] for k in hopper.lay_out(says=64).read[::8]] == [[0, 0, 1, 1, 2, 2, 3, 3]] * 2
    assert hopper.lay_out(says=0) is None
    printed = capsys.readouterr().out
    assert printed.startswith("simt: out of bounds: notebooks/hopper_tile.cu") and "descriptor:" not in printed


@pytest.mark.parametrize("given, said", [
    ({"rows": 60}, "rows=60: rows are a multiple of 8 from 8 to 256"), ({"rows": 264}, "rows=264"), ({"rows": 0}, "rows=0"),
    ({"rows": 24, "major": "MN"}, "rows=24: rows are a multiple of 16"), ({"rows": "64"}, "rows='64' is no whole number."), ({"slice": True}, "slice=True"),
    ({"row_bytes": 192}, "row_bytes=192: a row has a multiple of 128 bytes"), ({"row_bytes": 48, "swizzle": 0}, "row_bytes=48: a row has a multiple of 32"),
    ({"row_bytes": 640}, "row_bytes=640"), ({"rows": 256, "row_bytes": 256}, "are 65,536 bytes"), ({"swizzle": 16}, "swizzle=16: a swizzle is of 32, 64 or 128"),
    ({"says": 1}, "says=1: a swizzle"), ({"element_bytes": 1}, "element_bytes=1: elements here have 2 bytes, fp16, or 4"),
    ({"element_bytes": 4, "major": "MN"}, "only operands of 2 bytes"), ({"major": "N"}, "major='N': an operand is \"K\"-major"),
    ({"start": 1536}, "start=1536: the tile's address is a multiple of 1,024"), ({"start": 1088, "swizzle": 0}, "a multiple of 128, because a tensor copy"),
    ({"start": 0}, "start=0"), ({"start": 222208}, "to 221,184, from where it still fits"), ({"slice": 4}, "slice=4: this tile has 4 slices"),
    ({"slice": -1}, "slice=-1")])
def test_a_tile_that_cannot_be_is_refused_in_words(hopper, capsys, monkeypatch, given, said):
    monkeypatch.setattr(hopper, "tile_program", lambda: pytest.fail("it ran"))
    assert hopper.lay_out(**given) is None
    printed = capsys.readouterr().out
    assert said in printed and printed.endswith(".\n") and printed.count("\n") == 1
    assert hopper.field(None, "swizzle") is None and hopper.read_rightly(None) is None and hopper.show_tile(None) is None


def test_the_picture_of_a_tile_says_what_lies_where(hopper, monkeypatch):
    """Row 1's vector 0 lies in vector 1's place, at banks 4 to 7; what the product reads has a border in both halves; the bits are the descriptor's."""
    shown = []
    monkeypatch.setattr(hopper, "show", shown.append)
    hopper.show_tile(hopper.lay_out(slice=1))
    by_row, by_bank, bits = shown[0].axes
    cells = lambda axes: [text.get_text() for text in axes.texts]
    assert cells(by_row)[8:10] == ["4", "0"] and cells(by_bank)[8:10] == ["1.1", "1.0"]
    bordered = lambda axes: {(patch.get_y() + 0.5, patch.get_x() + 0.5) for patch in axes.patches if not patch.get_fill()}
    assert bordered(by_row) == {(row, vector) for row in range(16) for vector in (2, 3)}
    assert (1, 3) in bordered(by_bank) and (0, 2) in bordered(by_bank) and len(bordered(by_bank)) == 32
    assert "".join(cells(bits)[:64]) == f"{0x4000004002000042:064b}"[::-1] and "64 · 16 = 1,024 bytes" in "".join(cells(bits)[64:])


def test_who_works_under_whom(hopper, monkeypatch):
    import tensor_cores
    monkeypatch.setattr(tensor_cores, "display", lambda html: None)
    shape = "-m 128 -n 192 -k 512".split()
    loads = {variant: hopper.loads_under_products(order) for variant, order in tensor_cores.timelines("39", ("one_stage", "two_stages"), *shape).items()}
    assert loads == {"one_stage": (0, 8), "two_stages": (7, 8)}
    turns = tensor_cores.timelines("46", ("together", "pingpong"), *"--heads 1 --seqlen 384 --head-dim 128".split())
    assert {variant: hopper.softmaxes_under_products(order) for variant, order in turns.items()} == {"together": (0, 6), "pingpong": (5, 6)}
    assert [list(hopper.consumers(order)) for order in turns.values()] == [[0, 1], [0, 1]]


def made_up(step=None, peer=None, ms=1.0, variant="last", heat=None, **shape):
    whole = {"batch": 16, "heads": 16, "kv_heads": 16, "seqlen": 1024, "head_dim": 128, "causal": False} | shape
    return {"step": step, "peer": peer, "variant": None if peer else variant, "operation": "attention", "dtype": "fp16", "device": "NVIDIA H200", "shape": whole,
            "time": {"median_ms": ms}, "tflops": 100 / ms, "check": None, "env": {}} | ({"heat": heat} if heat else {})


@pytest.fixture
def later_steps(hopper, monkeypatch):
    """Steps 46 and 48, and one for all GPUs, with lines of theirs."""
    common = {"operation": "attention", "dtypes": ["fp16"], "variants": ["first", "last"], "chapter": "D. Hopper"}
    found = [common | {"name": "30_old", "number": "30", "arch": "80", "from": [], "chapter": "C"},
             common | {"name": "46_flash_a", "number": "46", "arch": "90a", "from": []},
             common | {"name": "48_flash_b", "number": "48", "arch": "90a", "from": ["46_flash_a"]}]
    cudnn = lambda ms, **more: made_up(peer=hopper.CUDNN, ms=ms, **more)
    lines = {
        ("30_old", "results.jsonl"): [made_up("30_old"), cudnn(1.0)],
        ("46_flash_a", "results.jsonl"): [made_up("46_flash_a", ms=2.0, variant="first"), made_up("46_flash_a", ms=1.0), cudnn(1.5),
                                          made_up("46_flash_a", seqlen=512), cudnn(1.0, seqlen=512)],  # B · N is another there
        ("48_flash_b", "results.jsonl"): [made_up("48_flash_b", ms=2.0, causal=True), cudnn(1.0, causal=True), made_up("48_flash_b", ms=9.0), cudnn(9.0)],
        ("48_flash_b", "heat.jsonl"): [each for heat, slow in (("rested", 1), ("hot", 2)) for each in (
            made_up("48_flash_b", ms=slow * slow, heat=heat), made_up("46_flash_a", ms=2.0 * slow, heat=heat), cudnn(1.0 * slow, heat=heat),
            made_up("99_of_nobody", heat=heat))]}
    monkeypatch.setattr(hopper.steps, "load", lambda: found)
    monkeypatch.setattr(hopper.steps, "find", lambda name: next(step for step in found if name in (step["name"], step["number"])))
    monkeypatch.setattr(hopper.steps, "recorded", lambda step, file="results.jsonl": lines.get((step["name"], file), []))
    return lines


def test_the_ladder_of_attention_takes_up_every_step_for_hopper(hopper, later_steps):
    """A ratio is of one run; one in turns with cuDNN on a hot GPU counts, and else the fastest variant in the step's own run."""
    found = hopper.against_cudnn()
    assert found[128, False]["48 flash b"] == {1024: 0.5} and found[128, False]["46 flash a"] == {1024: 0.5}
    assert found[128, True]["48 flash b"] == {1024: 0.5} and "46 flash a" not in found[128, True]
    del later_steps["48_flash_b", "heat.jsonl"]
    found = hopper.against_cudnn()
    assert found[128, False]["46 flash a"] == {1024: 1.5} and found[128, False]["48 flash b"] == {1024: 1.0}
    assert not any(name.startswith(("30", "99")) for panel in found.values() for name in panel)


def test_flash_attention_3_is_held_against_cudnn_of_its_own_run(hopper):
    found = hopper.against_cudnn()
    assert found.keys() == {(head_dim, causal) for head_dim in (64, 128, 256) for causal in (False, True)}
    lines = [json.loads(text) for text in (ROOT / "docs/h200_flash_attention_3.jsonl").read_text().splitlines()]
    for (head_dim, causal), panel in found.items():
        of_peer = {peer: {line["shape"]["seqlen"]: line["tflops"] for line in lines if line["peer"] == peer and line["shape"]["head_dim"] == head_dim
                          and line["shape"]["causal"] == causal} for peer in (hopper.FLASH_3, hopper.CUDNN)}
        assert panel[hopper.FLASH_3] == {n: pytest.approx(rate / of_peer[hopper.CUDNN][n]) for n, rate in of_peer[hopper.FLASH_3].items()}
        assert len(panel[hopper.FLASH_3]) == 6


def test_what_a_step_gained_is_of_one_run(hopper, later_steps):
    """On a rested GPU, where both took turns; else of one run, which has the same lines of peers; else through a peer."""
    gain = lambda: hopper.gains()[-1]
    usual = {"batch": 1, "heads": 8, "kv_heads": 8, "seqlen": 8192, "head_dim": 64}
    assert (gain().step, gain().over, gain().ratios, gain().through) == ("48 flash b", "46", {"B16 H16 N1024 D128": 2.0}, "")
    del later_steps["48_flash_b", "heat.jsonl"]
    assert gain().ratios == {"B16 H16 N1024 D128": pytest.approx((9 / 9) / (1.5 / 1))} and gain().through == "cuDNN"
    for name, ms in (("46_flash_a", 3.0), ("48_flash_b", 2.0)):
        later_steps[name, "results.jsonl"] += [made_up(name, ms=ms, **usual), made_up(peer=hopper.CUDNN, ms=1.0, **usual)]
    assert (gain().ratios, gain().usual, gain().through) == ({"B1 H8 N8192 D64": 1.5}, "B1 H8 N8192 D64", "")
    later_steps["48_flash_b", "results.jsonl"][-1]["time"]["median_ms"] = 1.1  # another run
    assert gain().through == "cuDNN" and gain().ratios["B1 H8 N8192 D64"] == pytest.approx(1.65)


def test_the_road_is_held_against_cublas_of_the_same_run(hopper):
    road = hopper.matmul_road()
    lines = [json.loads(text) for text in next((ROOT / "steps").glob("43_*/road.jsonl")).read_text().splitlines()]
    ms = {(line["step"], line["heat"], line["shape"]["n"]): line["time"]["median_ms"] for line in lines}
    assert road.keys() == {"rested", "hot"} and {"38 wgmma", "43 overlapped store", "cuBLAS"} <= road["hot"].keys()
    for size in (1024, 16384):
        assert hopper.share(road, "hot", "39 ring", size) == pytest.approx(ms[None, "hot", size] / ms["39_matmul_ring", "hot", size])
    assert hopper.share(road, "hot", "39 ring", 77) is None and hopper.share({}, "hot", "39 ring", 1024) is None


def recorded_at_44(name):
    lines = [json.loads(text) for text in next((ROOT / "steps").glob("44_*")).joinpath(name).read_text().splitlines()]
    return [line for line in lines if line["heat"] == "rested"]


def test_a_chain_is_held_against_cublas_of_the_same_run(hopper, monkeypatch):
    links, shown = hopper.chain("44"), []
    size = lambda line: line["shape"]["m"] if len(set(line["shape"].values())) == 1 else None
    ms = {(line["variant"], size(line)): line["time"]["median_ms"] for line in recorded_at_44("chain.jsonl")}
    assert {f"{n}³" for n in (1024, 2048, 4096, 8192, 16384)} <= links.keys()
    for n in (1024, 16384):
        rates = links[f"{n}³"]
        assert list(rates) == ["43 overlapped store", "shaped", "deferred", "to_and_fro", "in_step", "divided", "early", "cuBLAS"]
        assert hopper.over(rates, "early") == pytest.approx(ms[None, n] / ms["early", n])
        assert hopper.over(rates, "shaped", "43 overlapped store") == pytest.approx(ms["overlapped", n] / ms["shaped", n])
    monkeypatch.setattr(hopper, "show", shown.append)
    hopper.show_chain(links | {"m 1, n 2, k 3": {"shaped": 3.0, "early": 1.0, "cuBLAS": 4.0}})
    panels = shown[0].axes
    assert len(panels) == len(links) + 1 and [text.get_text() for text in panels[-1].texts] == ["–", "0.75", "–", "–", "–", "–", "0.25"]


def test_a_layer_is_held_against_cublas_and_the_fastest_copy(hopper, monkeypatch):
    """Of the copies at its N and K; where A has many rows none was timed."""
    shapes, shown = hopper.layers("44"), []
    of = lambda line: line["variant"] or line["peer"].split()[0].strip(",")
    lines = {(*line["shape"].values(), of(line)): line for line in recorded_at_44("layers.jsonl")}
    assert shapes.keys() == {key[:3] for key in lines}
    for (m, n, k), layer in shapes.items():
        mine, cublas = (lines[m, n, k, name]["time"]["median_ms"] for name in ("early", "cuBLAS"))
        assert layer.ratio == pytest.approx(cublas / mine)
        copies = [line["gbps"] for (_, *size, name), line in lines.items() if name == hopper.COPY and size == [n, k]]
        assert layer.moved == (pytest.approx(lines[m, n, k, "early"]["gbps"] / max(copies)) if m <= 64 else None)
    assert hopper.moved_at(shapes, 1, 4096, 4096) == shapes[1, 4096, 4096].moved and hopper.moved_at(shapes, 1, 2, 3) is None
    assert hopper.faster_at(shapes) == sum(layer.ratio > 1 for layer in shapes.values()) / len(shapes) and hopper.faster_at({}) is None
    monkeypatch.setattr(hopper, "show", shown.append)
    hopper.show_layers({(1, 2, 3): hopper.Layer(1.5, 0.75), (128, 2, 3): hopper.Layer(0.5, None), (128, 4, 3): hopper.Layer(0.25, None)})
    assert [[text.get_text() for text in axes.texts] for axes in shown[0].axes] == [["1.50", "0.50", "–", "0.25"], ["0.75", "–"]]


@pytest.mark.parametrize("name, data, arguments", [("show_road", "matmul_road", ()), ("show_chain", "chain", ("44",)), ("show_layers", "layers", ("44",)),
                                                   ("show_attention", "against_cudnn", ()), ("show_gains", "gains", ())])
def test_nothing_recorded_is_said(hopper, monkeypatch, capsys, name, data, arguments):
    monkeypatch.setattr(hopper.steps, "recorded", lambda step, file="": [])
    monkeypatch.setattr(hopper.steps, "lines_of", lambda text, path: ())
    getattr(hopper, name)(getattr(hopper, data)(*arguments))
    assert capsys.readouterr().out == "Nothing is recorded yet.\n"
