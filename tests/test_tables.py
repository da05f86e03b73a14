"""Tables of READMEs that compare steps and types, of made-up records."""
import pytest

from conftest import ROOT
from tools import analyze, docs, results, run, steps

BASE = ROOT / "steps" / "13_flash_scalar"  # its variants are one_row and two_rows
SHAPE = {"batch": 2, "heads": 4, "kv_heads": 4, "seqlen": 64, "head_dim": 64, "causal": False}


def line(variant, ms, n=64, peer=None, dtype="fp32", **shape):
    return {"variant": variant, "peer": peer, "dtype": dtype, "device": "NVIDIA H200", "time": {"median_ms": ms},
            "shape": SHAPE | {"seqlen": n} | shape}


@pytest.fixture
def recorded(monkeypatch):
    """{step's number: its lines}, to be changed by the test."""
    found = {}
    monkeypatch.setattr(steps, "recorded", lambda step, name=None: found.get(name or step["number"], []))
    return found


@pytest.mark.parametrize("more, words", [
    ({}, "B2 H4 N64 D64"), ({"causal": True}, "B2 H4 N64 D64 causal"), ({"kv_heads": 1}, "B2 H4/1 N64 D64"), ({"kv_seqlen": 64}, "B2 H4 N64 D64"),
    ({"kv_heads": 2, "seqlen": 512, "kv_seqlen": 8192, "causal": True}, "B2 H4/2 D64 causal, 512 queries, 8192 keys"),
    ({"seqlen": 1, "kv_seqlen": 2}, "B2 H4 D64, 1 query, 2 keys"), ({"kv_seqlen": 1}, "B2 H4 D64, 64 queries, 1 key")])
def test_shapes_in_words(more, words):
    assert run.shape_words(SHAPE | more) == words


def cells(text):
    return [row.strip("| ").split(" | ") for row in text.splitlines() if row.startswith("| ") and "---" not in row]


def test_lengths_are_rows_with_the_fastest_peer_of_each_type(recorded):
    assert "Not measured" in docs.generate("lengths B2 H4 D64", BASE)
    recorded["13"] = [line("one_row", 0.016, 128), line("one_row", 0.008), line("two_rows", 0.004), line("one_row", 9, causal=True),
                      line(None, 0.010, peer="SDPA fp32, math"), line(None, 0.006, peer="SDPA fp32, efficient"),
                      line(None, 0.002, peer="SDPA fp16, flash", dtype="fp16"), line(None, 9, heads=8, kv_heads=8, peer="SDPA fp32, math")]
    text = docs.generate("lengths B2 H4 D64", BASE)
    assert cells(text)[1:] == [["64", "8.00", "4.00", "6.00", "2.00", "1.50"], ["128", "16.0", "–", "–", "–", "–"]]
    assert "SDPA fp32, efficient at N 64; SDPA fp16, flash at N 64." in text


@pytest.mark.parametrize("ms, words", [(0.0391, "39.1 µs"), (0.0999, "99.9 µs"), (0.1, "0.10 ms"), (0.2126, "0.21 ms"), (15.84, "15.8 ms")])
def test_a_short_time_is_said_in_microseconds(recorded, ms, words):
    recorded["13"] = [line("two_rows", ms) | {"shape": results.LADDER_SHAPE["attention"], "operation": "attention", "tflops": 34.5}]
    assert f": **`two_rows` takes {words}, 34.5 TFLOPS**." in docs.generate("speed", BASE)


def test_variants_at_each_head_dimension(recorded):
    assert "Not measured" in docs.generate("head_dims fp32 B2 H4 N64", BASE)
    timed = lambda name, tflops, **more: line(None if name == "SDPA" else name, 1, **{"head_dim": 64} | more) | {
        "tflops": tflops, **({"peer": name} if name == "SDPA" else {})}
    recorded["13"] = [timed("one_row", 3.2, head_dim=128), timed("one_row", 5.4), timed("two_rows", 4.4), timed("SDPA", 6.1), timed("one_row", 99, seqlen=128),
                      timed("one_row", 299, head_dim=256), timed("two_rows", 300.6, head_dim=256), timed("SDPA", 301, head_dim=256),
                      timed("one_row", 99, dtype="fp16"), timed("SDPA", 7, head_dim=128), timed("two_rows", 99, causal=True)]
    text = docs.generate("head_dims fp32 B2 H4 N64", BASE)
    assert cells(text) == [["D", "`one_row`", "`two_rows`", "SDPA"], ["64", "**5**", "4", "6"], ["128", "**3**", "–", "7"], ["256", "**299**", "**301**", "301"]]


def test_the_last_variant_in_each_type(recorded):
    step = steps.find("13") | {"dtypes": ["fp16", "bf16"]}
    assert "Not measured" in docs.types(step, "B2", "H4", "N64")
    of = lambda variant, dtype, tflops, error, **more: line(variant, 1, dtype=dtype, **more) | {"tflops": tflops, "check": {"error": error}}
    recorded["13"] = [of("two_rows", "fp16", 300, 2e-4), of("two_rows", "bf16", 297, 1.8e-3), of("one_row", "bf16", 1, 9),
                      of("two_rows", "fp16", 200, 3e-4, head_dim=128), of("two_rows", "bf16", 9, 9, seqlen=128)]
    assert cells(docs.types(step, "B2", "H4", "N64")) == [
        ["D", "fp16, TFLOPS", "bf16, TFLOPS", "bf16, × as fast as fp16", "fp16, error", "bf16, error"],
        ["64", "300", "297", "0.99", "2.0e-04", "1.8e-03"]]


def test_two_steps_at_every_shape_that_both_were_timed_at(recorded):
    assert "Not measured" in docs.generate("against 12", BASE)
    recorded["13"] = [line("one_row", 2), line("two_rows", 1), line("one_row", 3, 128), line(None, 0.1, peer="x")]
    recorded["12"] = [line("pre_transposed", 5), line("pre_transposed", 0.01, dtype="fp16")]
    assert cells(docs.generate("against 12", BASE))[1:] == [["B2 H4 N64 D64", "`two_rows` 1.00 ms", "`pre_transposed` 5.00 ms", "5.00"]]


# ---- steps whose figures are of a shape of their own ----

@pytest.fixture
def headlined(recorded, monkeypatch):
    """Steps 12 and 13 as if 13's figures were causal: recorded at the ladder's shape and at that one."""
    monkeypatch.setitem(results.HEADLINE, "13_flash_scalar", {"causal": True})
    plain = results.LADDER_SHAPE["attention"]
    timed = lambda variant, ms, causal, **more: line(variant, ms, **plain | {"causal": causal}, **more) | {
        "operation": "attention", "step": "13_flash_scalar", "time": dict.fromkeys(("median_ms", "p10_ms", "p90_ms"), ms), "tflops": 8 / ms, "gbps": 1.0, "floor_ms": 0.5 * ms, "of_floor": 0.5, "flops": 8e9, "bytes": 4,
        "check": {"error": 1e-6, "bound": 1e-5}, "env": {"gpu_driver": "1", "cuda": "2", "temperature_c": 3, "date": "4"}}
    recorded["13"] = [timed(*each) for each in (("one_row", 3, True), ("two_rows", 2, True), ("one_row", 6, False), ("two_rows", 5, False))]
    recorded["13"] += [timed(None, ms, causal, peer="SDPA") for ms, causal in ((4, True), (7, False))]
    recorded["12"] = [timed("pre_transposed", 8, False)]
    return recorded, timed("pre_transposed", 10, True)


def test_a_steps_figures_are_of_its_own_shape(headlined):
    recorded, before = headlined
    step = steps.find("13")
    assert results.headline_flags(step) == ["--causal"] and results.headline_flags(steps.find("12")) == []
    text = docs.generate("speed", BASE)
    assert "B1 H8 N8192 D64 causal in fp32: **`two_rows` takes 2.00 ms, 4.00 TFLOPS**; it is 1.50 × as fast as `one_row`, 2.00 × as fast as SDPA." in text
    assert [row[:2] for row in cells(docs.generate("results", BASE))[1:]] == [["one_row", "3.000"], ["two_rows", "2.000"], ["SDPA", "4.000"]]
    assert docs.fastest(step) == "`two_rows`: 4.00 TFLOPS at B1 H8 N8192 D64 causal" and results.gain(step) is None
    assert results.best(step)["time"]["median_ms"] == 2
    assert results.best(step, results.LADDER_SHAPE["attention"])["time"]["median_ms"] == 5  # where all steps are compared
    recorded["12"].append(before)
    assert "5.00 × as fast as step 12's `pre_transposed`" in docs.generate("speed", BASE) and results.gain(step)[0] == 5
    recorded["13"] = recorded["13"][2:4]
    assert "Not measured" in docs.generate("speed", BASE) and docs.fastest(step) == "–"


def test_a_steps_gain_is_its_ideas_and_not_its_tunings(recorded, monkeypatch):
    """Where the fastest variant is called `tuned`, in the step or in the one before, another stands for the idea."""
    plain = results.LADDER_SHAPE["attention"]
    monkeypatch.setattr(steps, "variants", lambda step: {"12": ["plain", "tuned"], "13": ["one_row", "two_rows", "tuned"]}.get(step["number"], [None]))
    recorded["12"] = [line("plain", 8, **plain), line("tuned", 1, **plain)]
    recorded["13"] = [line("one_row", 5, **plain), line("two_rows", 4, **plain), line("tuned", 0.5, **plain)]
    step = steps.find("13")
    assert results.of_its_idea(step)["variant"] == "two_rows" and results.best(step)["variant"] == "tuned"
    assert results.gain(step)[0] == 2 and results.gain(step)[1]["variant"] == "plain"
    recorded["12"] = recorded["12"][1:]
    assert results.gain(step) is None


def test_flags_of_a_size():
    assert results.headline_flags({"name": "35_flash_mma_tiling_qk"}) == ["--head-dim", "512"]


def test_an_analysis_is_of_the_shape_of_its_last_step(headlined):
    plain = results.LADDER_SHAPE["attention"]
    causal, small = plain | {"causal": True}, plain | {"seqlen": 128}
    find = lambda *numbers: [(steps.find(number), []) for number in numbers]
    assert analyze.usual(find("12", "13"), [small, plain, causal]) == [causal] and analyze.usual(find("12", "13"), [small, plain]) == [plain]
    assert analyze.usual(find("13", "12"), [small, plain, causal]) == [plain] and analyze.usual(find("12", "13"), [small]) == [small]


def test_the_shapes_of_a_step_with_other_lengths(headlined):
    recorded, _ = headlined
    recorded["13"].append(recorded["13"][0] | {"shape": recorded["13"][0]["shape"] | {"seqlen": 512, "kv_seqlen": 8192}})
    assert cells(docs.generate("shapes", BASE)) == [
        ["B1 H8 N8192 D64 causal", "B1 H8 N8192 D64", "B1 H8 D64 causal, 512 queries, 8192 keys"],
        ["one_row", "2.67 TFLOPS (1.33)", "1.33 TFLOPS (1.17)", "2.67 TFLOPS"], ["two_rows", "4.00 TFLOPS (2.00)", "1.60 TFLOPS (1.40)", "–"],
        ["SDPA", "2.00 TFLOPS (1.00)", "1.14 TFLOPS (1.00)", "–"]]


def test_many_shapes_are_rows(headlined):
    recorded, _ = headlined
    of = lambda n: [each | {"shape": each["shape"] | {"seqlen": n}} for each in recorded["13"] if each["shape"]["causal"]]
    recorded["13"] = [each for n in range(1, docs.MOST_SHAPES + 2) for each in of(n)]
    found = cells(docs.generate("shapes", BASE))
    assert len(found) == docs.MOST_SHAPES + 2 and found[0] == ["one_row", "two_rows", "SDPA"]
    assert found[1] == ["B1 H8 N1 D64 causal", "2.67 TFLOPS (1.33)", "4.00 TFLOPS (2.00)", "2.00 TFLOPS (1.00)"]


def test_the_matrix_by_its_tests(recorded):
    assert "Not tried" in docs.generate("matrix", BASE)
    check = lambda error, lse, right=True: {"right": right, "error": error, "bound": 2e-3, "lse_error": lse}
    of = lambda test, check: {"variant": "two_rows", "device": "NVIDIA H200", "dtype": "fp16", "test": test, "check": check}
    recorded["matrix.jsonl"] = [of("test_a", check(1e-3, 1e-7)), of("test_a", check(0.0, 3e-7)), of("lengths of ours", check(1.5e-3, 0.0)),
                                of("lengths of ours", check(None, None, False))]
    text = docs.generate("matrix", BASE)
    assert cells(text)[1:] == [["`test_a`", "2", "2", "0.50", "3.0e-07"], ["lengths of ours", "2", "1", "0.75", "0.0e+00"],
                               ["together", "4", "3", "0.75", "3.0e-07"]]
    assert text.startswith("`two_rows` on an NVIDIA H200, fp16:")
    recorded["matrix.jsonl"] += [of("test_b", check(1e-3, 0.0)) | {"dtype": "bf16"}]
    before, narrow = docs.generate("matrix", BASE).split("\n\n`two_rows` on an NVIDIA H200, bf16:")
    assert before == text and cells(narrow)[1:] == [[name, "1", "1", "0.50", "0.0e+00"] for name in ("`test_b`", "together")]


def test_shared_memory_by_head_dimension():
    """Step 27 has Q beside its buffers of 64 keys, or 32 at D256; step 28 has its buffers alone, and refuses D256."""
    rows = lambda tiles, *dims: [f"{2 * rows * (d + 8):,}" for d, rows in zip(dims, tiles)]
    found = {row[0].split(", ", 1)[0][:2] + row[0].rsplit(", ", 1)[1]: row[1:] for row in cells(docs.generate("shared_memory 27 28", BASE))[1:]}
    assert found == {"27`one_buffer`": rows((128, 128, 128, 128, 96), 32, 64, 96, 128, 256),
                     "27`two_buffers`": rows((192, 192, 192, 192, 128), 32, 64, 96, 128, 256),
                     "28`one_buffer`": [*rows((64,) * 4, 32, 64, 96, 128), "–"],
                     "28`two_buffers`": [*rows((128,) * 4, 32, 64, 96, 128), "–"]}
    alike = cells(docs.generate("shared_memory 25", BASE))
    assert alike[0] == ["D32", "D64", "D96", "D128", "D256"]
    assert [row[0] for row in alike[1:]] == ["25 flash_mma_split_q, `heads_first`, `rows_first`"]
    with pytest.raises(SystemExit):
        docs.generate("shared_memory", BASE)


def test_what_ncu_counted_of_several_kernels():
    """Shares of clocks are of all kernels together, and percentages by how long each took."""
    line = {"kernels": [{"cycles": {"active_avg": 30, "elapsed": 100}, "percent": {"occupancy": 20}, "launch": {"registers": 40, "duration_ns": 1}},
                        {"cycles": {"active_avg": 270, "elapsed": 300}, "percent": {"occupancy": 60}, "launch": {"registers": 90, "duration_ns": 3}}]}
    assert [docs.OF_NCU[name][1](line) for name in ("active", "occupancy", "registers")] == [75, 50, 90]


@pytest.mark.parametrize("change", [{"device": 7}, {"device": None}, {"shape": []}, {"time": 3}, {"check": "right"}, {"variant": {}},
                                    {"env": None}], ids=str)
def test_a_line_of_results_holds_what_its_readers_take_for_granted(change):
    step = steps.load()[0]
    line = steps.recorded(step)[0]
    assert steps.is_line(line) and not steps.is_line(line | change)
    assert not steps.is_line({name: value for name, value in line.items() if name != next(iter(change))})


# ---- lines of programs ----

def test_lines_that_a_page_shows_have_the_numbers_of_the_source():
    main, extern = (places("16_flash_wmma_warp_max/fp16_range.cu", words) for words in ("int main(", "#include"))
    text = "```\nfp16_range.cu:16  int main(…\n    sum 16\nfp16_range.cu:1  #include <…\nfp16_range.cu:999  #include\n```\nat fp16_range.cu:16  no\n"
    fresh, pictures, changed = docs.renew(text, BASE)
    assert fresh == text.replace(":16  int", f":{main[0]}  int").replace(":1  #", f":{extern[0]}  #").replace(":999  ", f":{extern[-1]}  ")
    assert (pictures, changed) == ({}, ["fp16_range.cu:16", "fp16_range.cu:1", "fp16_range.cu:999"]) and len(extern) > 1
    assert docs.renew(fresh, BASE) == (fresh, {}, [])


def places(path, words):
    """The numbers of the lines of a step's file that begin with these words."""
    return [number for number, line in enumerate((ROOT / "steps" / path).read_text().splitlines(), 1) if line.startswith(words)]
