"""Step 00 on the emulator: it measures nothing there, says so, and shows what was recorded and published."""

import json
import re

import pytest

from conftest import BUILD, ROOT, run

STEP = next((step for step in json.loads((ROOT / "build" / "steps.json").read_text())["steps"]
             if step["operation"] == "device"), None)
pytestmark = pytest.mark.skipif(STEP is None, reason="no step of that operation")


def device(*arguments, **environment):
    return run(BUILD / STEP["name"], *arguments, **environment)


@pytest.mark.parametrize("rounds", [1, 2, 33])
@pytest.mark.parametrize("words", [1, 2, 3, 4, 5, 127, 1023, 1024, 1025, 4099])
def test_right_at_every_size(words, rounds):
    done = device("-n", words, "--rounds", rounds)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("right: error ") == len(STEP["variants"])


def test_all_variants_are_the_default():
    done = device("-n", 100)
    assert [line.split(":")[0] for line in done.stdout.splitlines() if line.split(":")[0] in STEP["variants"]] == STEP["variants"]
    assert device("-n", 100, "--variant", "copy").stdout.count("right: ") == 1


def test_other_words_for_another_seed():
    assert all(device("-n", 1000, "--seed", seed).returncode == 0 for seed in (0, 7))


def test_the_emulator_tells_no_time():
    said = device().stdout
    assert "published: DRAM" in said and "the ridge is at" in said
    assert not re.search(r"\d (ns|µs|ms)\b|measured", said), said


@pytest.mark.parametrize("gpu, fp32, sms", [("h200", "66.9", 132), ("a100", "19.5", 108), ("t4", "8.1", 40)])
def test_published_rates_are_those_of_the_gpu_asked_for(gpu, fp32, sms):
    said = device("-n", 100, SIMT_GPU=gpu).stdout
    assert f"fp32 {fp32} TFLOPS" in said and f"{sms} SMs" in said


def test_json_lines(tmp_path):
    out = tmp_path / "lines.jsonl"
    assert device("-n", 1001, "--json", out).returncode == 0
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert list(dict.fromkeys(line["variant"] for line in lines)) == STEP["variants"]
    for line in lines:
        assert line["operation"] == "device" and line["backend"] == "emulator"
        assert line["check"]["right"] and line["time"] is None and line["figure"]["value"] is None
        assert line["figure"]["unit"] and line["shape"]
    copies = [line for line in lines if line["variant"] == "copy"]
    assert [line.get("peer") for line in copies] == [None, "cudaMemcpyAsync"]
    assert all(line["shape"] == {"bytes": 4004} and line["bytes"] == 8008 for line in copies)
    rings = [line["shape"]["bytes"] for line in lines if line["variant"] == "latency"]
    assert rings == sorted(rings) and len(rings) > 2
    assert {(line["shape"]["bytes"], line["shape"]["loads"]) for line in lines if line["variant"] == "littles_law"} == \
        {(4, 1), (16, 1), (16, 4)}


@pytest.mark.parametrize("arguments, names", [(["-n", "0"], "-n 0"), (["--rounds", "0"], "--rounds 0"), (["-n", "x"], "-n x"),
                                              (["--variant", "speed"], "speed"), (["-m", "3"], "--help")])
def test_mistakes(arguments, names):
    done = device(*arguments)
    assert done.returncode == 2 and names in done.stderr, done.stderr


def test_too_large_is_refused():
    done = device("-n", 1 << 36)
    assert done.returncode == 2 and "memory" in done.stderr, done.stderr
