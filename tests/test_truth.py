"""The emulator counts what an H200 counts, for every launch of tests/truth/banks.cu.

tests/truth/collect.py recorded h200.jsonl on the GPU; here the same program runs under the emulator, which appends one
line to SIMT_PROFILE_JSON for each launch between cudaProfilerStart and cudaProfilerStop."""

import json
import re
import sys

import pytest

from conftest import COMPILERS, TESTS, Program, run

TRUTH = TESTS / "truth"
sys.path.insert(0, str(TRUTH))
from collect import parameters  # noqa: E402

PROVENANCE, *ROWS = [json.loads(line) for line in (TRUTH / "h200.jsonl").read_text().splitlines()]
KERNELS = sorted({row["kernel"] for row in ROWS})
PROGRAMS = [Program(TRUTH / "banks.cu", compiler) for compiler in COMPILERS]


def split(row):
    """A row's counters, named as its kernel, and the parameters that identify the launch."""
    counters = {k: v for k, v in row.items() if k.startswith(row["kernel"])}
    return counters, {k: v for k, v in row.items() if k not in counters}


@pytest.fixture(scope="module")
def emulated(compile_cu, tmp_path_factory):
    """emulated(program) -> for each launch, its parameters and what the emulator counted."""
    runs = {}

    def once(program):
        if program not in runs:
            out = tmp_path_factory.mktemp("truth") / "profile.jsonl"
            done = run(compile_cu(program), SIMT_PROFILE_JSON=str(out))
            assert done.returncode == 0, done.stderr
            launches = [parameters(line) for line in done.stdout.splitlines() if line.startswith(tuple(KERNELS))]
            profiles = [json.loads(line) for line in out.read_text().splitlines()]
            assert len(launches) == len(profiles)
            runs[program] = [(launch, profile["kernels"][0]) for launch, profile in zip(launches, profiles)]
        return runs[program]

    return once


def test_table_is_whole():
    assert "H200" in PROVENANCE["gpu"] and PROVENANCE["ncu"]
    assert len(KERNELS) == 4 and {row["bytes"] for row in ROWS} == {1, 2, 4, 8, 16}
    assert all(value is not None for row in ROWS for value in row.values())


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("program", PROGRAMS, ids=str)
def test_counters_equal_the_hardware(emulated, program, kernel):
    launches = emulated(program)
    assert len(launches) == len(ROWS)
    wrong = []
    for row, (launch, profile) in zip(ROWS, launches):
        counters, described = split(row)
        assert launch == described
        counted = {name: profile["total"][name] for name in counters}
        if row["kernel"] == kernel and counted != counters:
            wrong.append(f"{described}\n    hardware {counters}\n    emulator {counted}")
    assert not wrong, f"{len(wrong)} launches differ:\n" + "\n".join(wrong[:20])


@pytest.mark.parametrize("program", PROGRAMS, ids=str)
def test_each_access_is_counted_on_its_line(emulated, program):
    source = program.source.read_text().splitlines()
    for launch, profile in emulated(program):
        counter = f"{launch['kernel']}_requests"
        places = [entry["line"] for entry in profile["lines"] if entry[counter]]
        assert [source[line - 1].count("element(p, lane)") for line in places] == [1], (launch, places)


@pytest.mark.parametrize("program", [Program(TRUTH / "divergence.cu", compiler) for compiler in COMPILERS], ids=str)
def test_requests_of_lanes_that_part(compile_cu, tmp_path, program):
    out = tmp_path / "profile.jsonl"
    done = run(compile_cu(program), SIMT_PROFILE_JSON=str(out))
    assert done.returncode == 0, done.stderr
    profiles = {kernel["kernel"]: kernel["total"] for line in out.read_text().splitlines()
                for kernel in json.loads(line)["kernels"]}
    said = re.findall(r"void (\w+)\(.*// shared_ld_requests (\d+), global_ld_requests (\d+)", program.source.read_text())
    assert len(said) == 2
    for name, shared, wide in said:
        counted = profiles[name]
        assert (counted["shared_ld_requests"], counted["global_ld_requests"]) == (int(shared), int(wide)), name
