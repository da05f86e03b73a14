"""The pictures of attention, drawn from made-up records of steps that may not be there yet: what they show, and that no text of
theirs is cut off or lies upon another."""
import itertools
import math

import pytest

from plots import attention, attention_beside, attention_shapes, attention_sweep, ladder, machine_roofs, roofline, softmax_sweep, style, wide_sweep
from tools import results, steps
from tools import roofline as room

LADDER = results.LADDER_SHAPE["attention"]
FP32 = "12_attention_naive", "13_flash_scalar"
FP16 = ("15_flash_wmma", "16_flash_wmma_warp_max", "24_flash_mma_split_kv", "25_flash_mma_split_q", "26_flash_mma_stages",
        "27_flash_mma_shared_kv", "28_flash_mma_shared_qkv", "29_flash_mma_collective_store", "30_flash_mma_swizzle",
        "31_flash_mma_warp_rows")
STEPS = [{"name": name, "number": name[:2], "operation": "attention", "dtypes": [dtype], "variants": ["first", "tuned"], "arch": "80"}
         for dtype, names in (("fp32", FP32), ("fp16", FP16)) for name in names]
FA2, CUDNN, SDPA = "PyTorch SDPA fp16, flash", "PyTorch SDPA fp16, cuDNN", "PyTorch SDPA fp32, efficient"
CHOICE, UNFUSED = "PyTorch SDPA fp16, its own choice", "PyTorch unfused fp16 (baddbmm, softmax, bmm)"


def line(name, tflops, variant=None, dtype="fp16", **shape):
    """Of a step, or of a peer."""
    step = name if name[0].isdigit() else None
    return {"step": step, "peer": None if step else name, "variant": variant, "operation": "attention", "dtype": dtype,
            "device": "NVIDIA H200", "shape": LADDER | shape, "tflops": tflops, "time": {"median_ms": 1000 / tflops}}


@pytest.fixture
def recorded(monkeypatch):
    """{step's name, or sweep.jsonl: lines}, to be changed by the test: of steps whose rates rise from 4 to 300, and of peers, two
    of each type nearly as fast as one another."""
    found = {}
    for place, step in enumerate(STEPS):
        rate = (4, 33)[place] if step["dtypes"] == ["fp32"] else 100 + 20 * place
        found[step["name"]] = [line(step["name"], rate - fewer, variant, step["dtypes"][0])
                               for variant, fewer in (("first", 2), ("tuned", 0))]
    for name in FP16:
        found[name] += [line(FA2, 300), line(CUDNN, 486)]
    found[FP32[1]] += [line(SDPA, 34, dtype="fp32"), line("PyTorch SDPA fp32, math", 33, dtype="fp32")]
    monkeypatch.setattr(steps, "load", lambda: STEPS)
    monkeypatch.setattr(steps, "recorded", lambda step, name=None: found.get(name or step["name"], []))
    return found


@pytest.fixture
def drawn(monkeypatch):
    """drawn(module): the figure that it would have written."""
    def draw(module):
        kept = []
        monkeypatch.setattr(style, "save", lambda figure, *_: kept.append(figure))
        module.write()
        return kept[0]

    yield draw
    style.pyplot().close("all")


def texts(figure):
    """(words, box in pixels) of all that is written."""
    from matplotlib.text import Text
    renderer = figure.canvas.get_renderer()
    figure.canvas.draw()
    shown = [text for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip()]
    return [(text.get_text(), Text.get_window_extent(text, renderer)) for text in shown]  # without the arrow of an annotation


def expect_legible(figure):
    written = texts(figure)
    for words, box in written:
        assert box.x0 >= 0 and box.y0 >= 0 and box.x1 <= figure.bbox.x1 and box.y1 <= figure.bbox.y1, f"'{words}' is cut off"
    for (words, box), (other, its) in itertools.combinations(written, 2):
        assert not box.overlaps(its), f"'{words}' and '{other}' lie upon each other"
    return {words for words, _ in written}


# ---- the staircase ----

def test_each_step_by_its_fastest_variant_and_each_type_with_its_peers(recorded):
    content = attention.data()
    assert [(bar["step"][:2], bar["dtype"], bar["value"]) for bar in content["bars"]] == [
        (name[:2], dtype, recorded[name][1]["tflops"]) for dtype, names in (("fp32", FP32), ("fp16", FP16)) for name in names]
    assert [(peer["name"], peer["dtype"], peer["elsewhere"]) for peer in content["peers"]] == [
        ("PyTorch SDPA fp32, math", "fp32", False), ("PyTorch SDPA fp32, efficient", "fp32", False),
        ("FlashAttention-2 (PyTorch)", "fp16", False), ("cuDNN (PyTorch)", "fp16", False), ("FlashAttention-3", "fp16", True)]
    recorded[FP16[2]] = []
    assert len(attention.data()["bars"]) == len(STEPS) - 1
    recorded.clear()
    assert attention.data() is None and attention.write() == []


def test_the_staircase_is_legible(recorded, drawn):
    written = expect_legible(drawn(attention))
    assert {"12", "31", "in fp32", "inputs in fp16, sums in fp32"} <= written
    assert "dotted: FlashAttention-3, of another run (2026-11-21)" in written
    for name in FP16[2:]:
        recorded[name] = []
    expect_legible(drawn(attention))


HOPPER = "45_flash_wgmma", "46_flash_pingpong"


@pytest.fixture
def hopper(recorded, monkeypatch):
    """Steps for Hopper alone, as fast as the peers, and timed at no other head dimensions than 64, 128 and 256."""
    monkeypatch.setattr(steps, "load", lambda: [*STEPS, *(STEPS[-1] | {"name": name, "number": name[:2], "arch": "90a"} for name in HOPPER)])
    for name, rate in zip(HOPPER, (484, 489)):
        recorded[name] = [line(name, rate, "tuned", seqlen=n) for n in (512, 1024, 2048, 4096, 8192, 16384)] + [
            line(name, rate, "tuned", head_dim=d) for d in (128, 256)]
        recorded[name] += [line(peer, rate, head_dim=d) for peer, rate in ((FA2, 300), (CUDNN, 486)) for d in (64, 128, 256)]
    return recorded


def test_the_staircase_with_steps_for_hopper_is_legible(hopper, drawn):
    assert [bar["step"] for bar in attention.data()["bars"][-2:]] == ["45 flash wgmma", "46 flash pingpong"]
    assert {"45", "46"} <= expect_legible(drawn(attention))


def test_the_shapes_have_a_curve_for_any_gpu_and_one_for_hopper(hopper, drawn):
    hopper[FP16[-1]] = everywhere(FP16[-1], 350, "tuned") + everywhere(FA2, 300) + everywhere(CUDNN, 486)
    curves = attention_shapes.data()["curves"]
    assert list(curves) == ["31 flash mma warp rows, tuned", "46 flash pingpong, tuned", "FlashAttention-2 (PyTorch)", "cuDNN (PyTorch)"]
    assert curves["46 flash pingpong, tuned"]["head_dim"] == [[64, 489], [128, 489], [256, 489]]
    figure = drawn(attention_shapes)
    assert {"46 flash pingpong, tuned", "256"} <= expect_legible(figure)
    lines = {each.get_label(): each.get_color() for each in figure.axes[0].lines}
    assert lines["46 flash pingpong, tuned"] != lines["31 flash mma warp rows, tuned"]
    hopper |= dict.fromkeys(HOPPER, [])
    assert len(attention_shapes.data()["curves"]) == 3


BESIDE = "32_flash_mma_causal", "33_flash_mma_gqa", "35_flash_mma_tiling_qk"


@pytest.fixture
def beside(recorded, monkeypatch):
    """Steps whose figures are of another shape, recorded at that one and at the ladder's."""
    monkeypatch.setattr(steps, "load", lambda: [*STEPS, *(STEPS[-1] | {"name": name, "number": name[:2]} for name in BESIDE)])
    for place, name in enumerate(BESIDE[:2]):
        recorded[name] = [line(name, rate, "tuned", causal=causal) for rate, causal in ((320 + place, True), (330, False))]
        recorded[name] += [line(peer, rate - 90 * causal, causal=causal) for peer, rate in ((FA2, 370), (CUDNN, 490)) for causal in (True, False)]
    recorded[BESIDE[2]] = [line(BESIDE[2], 151, "tuned", head_dim=512), line(BESIDE[2], 150, "tuned"),
                           *(line(peer, rate, head_dim=512) for peer, rate in ((CHOICE, 136), (UNFUSED, 133), ("PyTorch SDPA fp16, efficient", 135)))]
    return recorded


def test_steps_of_another_shape_have_a_picture_with_their_own_peers(beside):
    content = attention.data()
    assert len(content["bars"]) == len(STEPS) and not {peer["value"] for peer in content["peers"]} & {370, 490}
    shown = [(panel["title"], [bar["step"][:2] for bar in panel["bars"]], [bar["value"] for bar in panel["bars"]],
              {peer["name"]: peer["value"] for peer in panel["peers"]}) for panel in attention_beside.data()]
    assert shown == [
        ("B1 H8 N8192 D64 causal, on an H200", ["32", "33"], [320, 321], {"FlashAttention-2 (PyTorch)": 280, "cuDNN (PyTorch)": 400}),
        ("B1 H8 N8192 D512, on an H200", ["35"], [151], {"PyTorch, unfused": 133, "PyTorch SDPA, its choice": 136})]
    beside[BESIDE[2]] = []
    assert [panel["title"] for panel in attention_beside.data()] == ["B1 H8 N8192 D64 causal, on an H200"]
    beside |= dict.fromkeys(BESIDE, [])
    assert attention_beside.data() is None and attention_beside.write() == []


@pytest.mark.parametrize("place", range(3))
def test_a_title_longer_than_its_panel_hides_none(beside, drawn, monkeypatch, place):
    long = "B1 H32/8 D128, 1 query, 32768 keys"
    panels = attention_beside.data()
    panels.insert(place, panels[-1] | {"title": f"{long}, on an H200"})
    monkeypatch.setattr(attention_beside, "data", lambda: panels)
    assert f"{long}, on an H200" in expect_legible(drawn(attention_beside))


def test_they_are_legible(beside, drawn):
    assert {"32", "33", "35", "B1 H8 N8192 D64 causal, on an H200", "PyTorch, unfused: 133"} <= expect_legible(drawn(attention_beside))
    assert "31" in expect_legible(drawn(attention))
    beside[BESIDE[0]] = []
    expect_legible(drawn(attention_beside))


def test_peers_of_another_run_say_whence_they_are():
    found = attention.elsewhere()
    assert {each["peer"] for each in found} == {"FlashAttention-3"}
    for each in found:
        assert results.on_h200(each) and each["step"] is None
        assert each["source"] and {"gpu_driver", "cuda", "torch", "date"} <= each["env"].keys()
        shape = each["shape"]
        operations = 4 * shape["batch"] * shape["heads"] * shape["seqlen"]**2 * shape["head_dim"]
        assert math.isclose(1e-9 * operations / each["time"]["median_ms"], each["tflops"], rel_tol=1e-6)


# ---- one record of each peer ----

def test_each_peer_has_one_figure_wherever_steps_are_compared(recorded):
    """That of the run in which most steps were timed, and of equals the last; whichever steps a picture shows."""
    for name in FP16[-2:]:  # timed in a run of their own
        recorded[name] = [line(name, 170), line(FA2, 302), line(CUDNN, 470), line("PyTorch unfused", 52)]
    kind = "attention", "fp16"
    figures = lambda found: {name: each["tflops"] for name, each in found.items()}
    assert figures(results.peer_records(kind, LADDER)) == {FA2: 300, CUDNN: 486, "PyTorch unfused": 52}
    panel = next(panel for panel in ladder.data() if "fp16" in panel["title"])
    assert {peer["value"] for peer in panel["peers"]} == {300, 486, 52}
    assert {peer["name"]: peer["value"] for peer in attention.data()["peers"]}["FlashAttention-2 (PyTorch)"] == 300
    assert attention_shapes.data()["curves"]["FlashAttention-2 (PyTorch)"]["seqlen"] == [[8192, 300]]
    assert figures(results.peers(STEPS[-1])) == {FA2: 302, CUDNN: 470, "PyTorch unfused": 52}  # a lesson compares within its run
    for name in FP16[2:-2]:
        recorded[name] = [line(name, 170)]
    assert figures(results.peer_records(kind, LADDER))[FA2] == 302  # as many steps as in the first run
    assert results.peer_records(kind, LADDER | {"head_dim": 7}) == {}


def test_the_recorded_peers_have_one_figure_in_all_pictures():
    """ladder.svg, attention.svg, attention_shapes.svg and roofline.svg, as they are drawn from the records."""
    shown = {}
    for panel in ladder.data():
        if panel["title"].startswith("attention"):
            shown |= {peer["name"]: round(peer["value"], 4) for peer in panel["peers"]}
    names = {full: short for full, short in attention.PEERS.items()}
    for peer in attention.data()["peers"]:
        if not peer["elsewhere"]:
            full = next(full for full, short in names.items() if short == peer["name"])
            assert shown[full] == round(peer["value"], 4), peer["name"]
    for name, curve in attention_shapes.data()["curves"].items():
        if name in names.values():
            full = next(full for full, short in names.items() if short == name)
            assert {round(rate, 4) for n, rate in curve["seqlen"] if n == LADDER["seqlen"]} == {shown[full]}
    marks = [mark for mark in room.data()["points"] if mark["peer"] and mark["operation"] == "attention"]
    assert marks and all(shown[mark["name"].split(" (")[0]] == mark["tflops"] for mark in marks)


# ---- the roofline ----

def test_the_roofline_has_one_point_a_step_and_no_name_hides_another(drawn):
    content = room.data()
    ours = [mark["name"] for mark in content["points"] if not mark["peer"]]
    assert len(ours) == len(set(ours)) == len({name[:2] for name in ours})
    expected = {steps.caption(step) for step in steps.load()
                if step["operation"] != "device" and results.headline(step) == results.LADDER_SHAPE[step["operation"]] and results.best(step)}
    assert expected - {"00 first kernel"} <= set(ours) <= expected
    written = expect_legible(drawn(roofline))
    assert all(any(words.startswith(name + "  ") for words in written) for name in ours)


def test_a_crowded_roofline_is_legible(drawn, monkeypatch):
    """More steps than there are, all as fast as one another."""
    roofs = {"DRAM": {"rate": 4274.0, "published": 4814.0}, "tensor": {"rate": 647.0, "published": 989.4}}
    marks = [{"name": f"{n} flash mma warp specialised", "operation": "attention", "dtype": "fp16", "shape": "", "peer": n > 40, "least": 4000.0,
              "measured": None if n > 40 else 5000.0 + n, "tflops": 300 + n / 10} for n in range(45)]
    monkeypatch.setattr(room, "data", lambda: {"roofs": roofs, "points": marks})
    written = expect_legible(drawn(roofline))
    assert {"0 flash mma warp specialised  300", "44 flash mma warp specialised  304"} <= written


def test_the_lesson_of_the_machine_shows_five_points_at_most(drawn):
    content = machine_roofs.data()
    assert list(content["roofs"]) == ["DRAM", "fp32"] and 1 <= len(content["points"]) <= 5
    assert "ridge: 15.4" in expect_legible(drawn(machine_roofs))


@pytest.mark.parametrize("wanted, gap, low, high, places", [
    ([1, 5, 9], 2, 0, 10, [1, 5, 9]), ([5, 5], 2, 0, 10, [4, 6]), ([0, 0, 0], 2, 0, 10, [0, 2, 4]), ([9, 10, 10], 2, 0, 10, [6, 8, 10]),
    ([1, 1, 9, 9], 1, 0, 10, [0.5, 1.5, 8.5, 9.5]), ([3], 2, 4, 10, [4]), ([], 2, 0, 10, [])])
def test_names_stand_a_gap_apart_as_near_as_they_can(wanted, gap, low, high, places):
    assert roofline.spread(wanted, gap, low, high) == pytest.approx(places)


# ---- over shapes ----

def everywhere(name, tflops, variant=None):
    return [line(name, tflops, variant, seqlen=n) for n in (512, 1024, 2048, 4096, 8192, 16384)] + [
        line(name, tflops, variant, head_dim=d) for d in (32, 96, 128)]


def test_the_variant_that_was_timed_at_most_shapes_and_then_the_fastest_is_shown(recorded):
    assert list(attention_shapes.data()["curves"])[0] == "31 flash mma warp rows, tuned"  # all at one shape: the fastest
    recorded[FP16[3]] = [*everywhere(FP16[3], 50, "first"), *everywhere(FP16[3], 49, "tuned"), *everywhere(FA2, 300),
                         *everywhere("another", 1)]
    content = attention_shapes.data()
    assert list(content["curves"]) == ["25 flash mma split q, first", "FlashAttention-2 (PyTorch)", "cuDNN (PyTorch)"]
    assert content["curves"]["FlashAttention-2 (PyTorch)"] == {"seqlen": [[n, 300] for n in (512, 1024, 2048, 4096, 8192, 16384)],
                                                               "head_dim": [[d, 300] for d in (32, 64, 96, 128)]}
    assert content["curves"]["cuDNN (PyTorch)"] == {"seqlen": [[8192, 486]], "head_dim": [[64, 486]]}  # of the other steps' run
    rate = pytest.approx(487.068, abs=1e-3)
    assert content["points"]["FlashAttention-3"] == {"seqlen": [[8192, rate]], "head_dim": [[64, rate]]}
    recorded.clear()
    assert attention_shapes.data() is None and attention_shapes.write() == []


def test_the_shapes_are_legible(recorded, drawn):
    assert {"B1 H8 D64", "B1 H8 N8192", "FlashAttention-3 (of another run)"} <= expect_legible(drawn(attention_shapes))
    recorded[FP16[-1]] = everywhere(FP16[-1], 350, "tuned") + everywhere(FA2, 300) + everywhere(CUDNN, 486)
    assert "cuDNN (PyTorch)" in expect_legible(drawn(attention_shapes))


# ---- sweeps ----

def test_the_sweep_shows_how_many_times_as_fast(recorded, drawn):
    assert attention_sweep.data() is None and attention_sweep.write() == []
    sizes = [(h, n, d) for d in (64, 128) for h in (1, 2, 4, 8, 16, 32, 64) for n in (128, 256, 512, 1024, 2048, 4096, 8192)]
    shape = lambda h, n, d: {"heads": h, "kv_heads": h, "seqlen": n, "head_dim": d}
    timed = lambda heads: ((FP16[-1], 100 + heads, "tuned"), (FA2, 120), (CUDNN, 1))
    lines = [line(*each, **shape(*size)) for size in sizes for each in timed(size[0])]
    missing = LADDER | shape(64, 8192, 64)
    recorded["sweep.jsonl"] = [each for each in lines if each["shape"] != missing or not each["peer"]]
    few, many = attention_sweep.data()["panels"]
    assert (few["head_dim"], many["head_dim"], few["heads"][0], few["lengths"][-1]) == (64, 128, 1, 8192)
    assert few["ratio"][0][0] == round(101 / 120, 3) and few["ratio"][-1] == [round(164 / 120, 3)] * 6 + [None]
    figure = drawn(attention_sweep)
    assert {"0.84", "1.37", "–"} <= expect_legible(figure)


def test_the_sweep_of_large_heads_has_a_panel_for_each_peer(recorded, drawn, monkeypatch):
    monkeypatch.setattr(steps, "load", lambda: [*STEPS, STEPS[-1] | {"name": BESIDE[2], "number": "35"}])
    assert wide_sweep.data() is None and wide_sweep.write() == []
    sizes = [(h, n) for h in (1, 2, 4, 8, 16, 48) for n in (128, 256, 512, 1024, 2048, 4096)]
    recorded["sweep.jsonl"] = [line(*each, heads=h, kv_heads=h, seqlen=n, head_dim=512) for h, n in sizes
                               for each in ((BESIDE[2], 100 + h, "tuned"), (CHOICE, 110), (UNFUSED, 50))]
    panels = wide_sweep.data()["panels"]
    assert [(panel["peer"], panel["head_dim"], panel["ratio"][0][0], panel["ratio"][-1][-1]) for panel in panels] == [
        (CHOICE, 512, round(101 / 110, 3), round(148 / 110, 3)), (UNFUSED, 512, 2.02, 2.96)]
    assert {"0.92", "2.02", "than what PyTorch's SDPA chooses"} <= expect_legible(drawn(wide_sweep))


def test_the_recorded_sweep_of_softmax(drawn):
    """Of every row length that was swept, the copy's line and those of the step; none of them stands among its results."""
    step = next(step for step in steps.load() if step["number"] == softmax_sweep.STEP)
    assert all("threads_per_row" in each["shape"] for each in steps.recorded(step, "sweep.jsonl"))
    assert not any("threads_per_row" in each["shape"] for each in steps.recorded(step))
    expect_legible(drawn(softmax_sweep))
