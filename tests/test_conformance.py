"""Tensor cores, integer instructions, tensor maps and clusters are as an H200's: tests/conformance/*.cu ran there, and what they printed
is kept beside them.

    nvcc -std=c++17 -gencode=arch=compute_90a,code=sm_90a lanes.cu -o lanes && ./lanes > lanes_h200.jsonl
    nvcc -std=c++17 -gencode=arch=compute_90a,code=sm_90a products.cu -o products && ./products > products_h200.jsonl

and so for attention.cu, cluster.cu, cluster_faults.cu, cluster_launch.cu, fragments.cu, integers.cu, tensor_map_encode.cu, tensor_tiles.cu and wgmma.cu.
"""

import json
import math
import re
import struct

import pytest

from conftest import COMPILERS, TESTS, Program, run

CONFORMANCE = TESTS / "conformance"


def lines_of(text):
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize("compiler", COMPILERS)
def test_lanes_hold_the_elements_that_they_hold_on_hardware(compile_cu, compiler):
    recorded = lines_of((CONFORMANCE / "lanes_h200.jsonl").read_text())
    done = run(compile_cu(Program(CONFORMANCE / "lanes.cu", compiler)))
    assert done.returncode == 0, done.stderr
    assert len(recorded) == 94
    assert lines_of(done.stdout) == recorded


def halves(words):
    """The 16-bit floats that stand in words of 32 bits, as numbers and as they are written."""
    bits = [half for word in words.split() for half in (word[4:], word[:4])]
    return [struct.unpack("<e", bytes.fromhex(half)[::-1])[0] for half in bits], bits


def floats(words):
    bits = words.split()
    return [struct.unpack(">f", bytes.fromhex(word))[0] for word in bits], bits


def differences(recorded, emulated):
    """Where the emulator's sums are not those of hardware but for their rounding: what is not finite is the same, and the
    rest differs by units of the last place of the sum of magnitudes."""
    of_half = " f16 f16 " in recorded["case"]
    read, unit = (halves, 2.0**-11) if of_half else (floats, 2.0**-23)
    wanted, wanted_bits = read(recorded["words"])
    got, got_bits = read(emulated["words"])
    scales, _ = read(recorded["scale"])
    assert len(wanted) == len(got) == len(scales)
    for i, (want, have, scale) in enumerate(zip(wanted, got, scales)):
        close = wanted_bits[i] == got_bits[i]
        if math.isfinite(want) and math.isfinite(scale):
            close = abs(have - want) <= UNITS * unit * scale
        if not close:
            yield f"{recorded['case']}: [{i}] is {got_bits[i]} = {have!r}, on hardware {wanted_bits[i]} = {want!r}"


UNITS = 2  # tensor cores cut off what lies below the largest of the products that they add at once


@pytest.mark.parametrize("compiler", COMPILERS)
def test_products_are_those_of_hardware(compile_cu, compiler):
    recorded = lines_of((CONFORMANCE / "products_h200.jsonl").read_text())
    done = run(compile_cu(Program(CONFORMANCE / "products.cu", compiler)))
    assert done.returncode == 0, done.stderr
    emulated = lines_of(done.stdout)
    assert [line["case"] for line in emulated] == [line["case"] for line in recorded] and len(recorded) == 94
    wrong = []
    for want, have in zip(recorded, emulated):
        if "hash" in want and want != have:
            wrong.append(f"{want['case']}: other bits than on hardware")
        if "words" in want:
            wrong += differences(want, have)
    assert not wrong, "\n".join(wrong[:40])


def test_products_of_warpgroups_are_those_of_hardware_by_all_bits(compile_cu):
    """From where wgmma reads, and its sums. By one compiler: they come from the runtime, and the program is large."""
    recorded = lines_of((CONFORMANCE / "wgmma_h200.jsonl").read_text())
    done = run(compile_cu(Program(CONFORMANCE / "wgmma.cu", COMPILERS[0])), timeout=300)
    assert done.returncode == 0, done.stderr
    emulated = lines_of(done.stdout)
    assert [want for want, have in zip(recorded, emulated) if want != have] == []
    assert len(emulated) == len(recorded) == 3226


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("name, n_lines", [("fragments", 55), ("integers", 859), ("tensor_map_encode", 2290),
                                           ("cluster", 2336), ("cluster_launch", 3187), ("attention", 245)])
def test_all_bits_are_those_of_hardware(compile_cu, compiler, name, n_lines):
    recorded = lines_of((CONFORMANCE / f"{name}_h200.jsonl").read_text())
    done = run(compile_cu(Program(CONFORMANCE / f"{name}.cu", compiler)))
    assert done.returncode == 0, done.stderr
    assert len(recorded) == n_lines
    emulated = lines_of(done.stdout)
    assert [want for want, have in zip(recorded, emulated) if want != have] == []
    assert len(emulated) == n_lines


@pytest.mark.parametrize("compiler", COMPILERS)
def test_copies_of_tensors_move_what_they_move_on_hardware(compile_cu, compiler):
    """Or are faults in both: hardware names an error, the emulator reports."""
    recorded = lines_of((CONFORMANCE / "tensor_tiles_h200.jsonl").read_text())
    done = run(compile_cu(Program(CONFORMANCE / "tensor_tiles.cu", compiler)), timeout=300)
    assert done.returncode == 0, done.stderr
    emulated = {line["case"]: line for line in lines_of(done.stdout)}
    assert len(recorded) == TILES
    for line in [*recorded, *emulated.values()]:
        line["fault"] = "fault" in line
    assert [want for want in recorded if want != emulated[want["case"]]] == []


TILES = 4247


# Where the program prints addresses, which are the GPU's own, so many words are compared.
WITH_ADDRESSES = {"mapa_of_absent_rank": 1, "plain_pointer_of_another": 2}
# What an H200 does not notice, in these programs at least, and the emulator reports: what is written goes nowhere or is not told of,
# or PTX leaves open what happens.
REPORTED_HERE = {
    "mapa_in_no_cluster", "store_of_ended", "arrival_at_ended", "arrive_twice", "wait_without_arrival", "wait_twice", "bulk_tells_own_barrier",
    "bulk_here_tells_others_barrier", "send_tells_own_barrier", "copy_tells_own_barrier"}


@pytest.mark.parametrize("compiler", COMPILERS)
def test_faults_of_clusters_that_hardware_finds_are_reported(compile_cu, compiler):
    recorded = lines_of((CONFORMANCE / "cluster_faults_h200.jsonl").read_text())
    program = compile_cu(Program(CONFORMANCE / "cluster_faults.cu", compiler))
    done = run(program, timeout=300)
    emulated = lines_of(done.stdout)
    assert [line["case"] for line in emulated] == [line["case"] for line in recorded] and len(recorded) == 67
    assert len(re.findall("^simt: ", done.stderr, re.M)) == sum("fault" in line for line in emulated)
    wrong = []
    for want, have in zip(recorded, emulated):
        words = WITH_ADDRESSES.get(want["case"])
        alike = ("fault" in want) == ("fault" in have) and want.get("words", "").split(" ")[:words] == have.get("words", "").split(" ")[:words]
        if alike == (want["case"] in REPORTED_HERE):
            wrong.append((want, have))
    assert wrong == []
