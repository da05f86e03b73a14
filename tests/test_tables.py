"""Tables of READMEs that compare steps and types, of made-up records."""
import pytest

from conftest import ROOT
from tools import docs, steps

BASE = ROOT / "steps" / "13_flash_scalar"  # its variants are one_row and two_rows
SHAPE = {"batch": 2, "heads": 4, "kv_heads": 4, "seqlen": 64, "head_dim": 64, "causal": False}


def line(variant, ms, n=64, peer=None, dtype="fp32", **shape):
    return {"variant": variant, "peer": peer, "dtype": dtype, "device": "NVIDIA H200", "time": {"median_ms": ms},
            "shape": SHAPE | {"seqlen": n} | shape}


@pytest.fixture
def recorded(monkeypatch):
    """{step's number: its lines}, to be changed by the test."""
    found = {}
    monkeypatch.setattr(steps, "recorded", lambda step: found.get(step["number"], []))
    return found


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


def test_two_steps_at_every_shape_that_both_were_timed_at(recorded):
    assert "Not measured" in docs.generate("against 12", BASE)
    recorded["13"] = [line("one_row", 2), line("two_rows", 1), line("one_row", 3, 128), line(None, 0.1, peer="x")]
    recorded["12"] = [line("pre_transposed", 5), line("pre_transposed", 0.01, dtype="fp16")]
    assert cells(docs.generate("against 12", BASE))[1:] == [["B2 H4 N64 D64", "`two_rows` 1.00 ms", "`pre_transposed` 5.00 ms", "5.00"]]


def test_shared_memory_by_head_dimension():
    """Step 25 has Q beside its stages of 64 keys, or 32 at D256; step 26 has its stages alone, and refuses D256."""
    rows = lambda tiles, *dims: [f"{2 * rows * (d + 8):,}" for d, rows in zip(dims, tiles)]
    found = {row[0].split(", ", 1)[0][:2] + row[0].rsplit(", ", 1)[1]: row[1:] for row in cells(docs.generate("shared_memory 25 26", BASE))[1:]}
    assert found == {"25`one_stage`": rows((128, 128, 128, 128, 96), 32, 64, 96, 128, 256),
                     "25`two_stages`": rows((192, 192, 192, 192, 128), 32, 64, 96, 128, 256),
                     "26`one_stage`": [*rows((64,) * 4, 32, 64, 96, 128), "–"],
                     "26`two_stages`": [*rows((128,) * 4, 32, 64, 96, 128), "–"]}
    alike = cells(docs.generate("shared_memory 23", BASE))
    assert alike[0] == ["D32", "D64", "D96", "D128", "D256"]
    assert [row[0] for row in alike[1:]] == ["23 flash_mma_split_q, `heads_first`, `rows_first`"]
    with pytest.raises(SystemExit):
        docs.generate("shared_memory", BASE)
