"""The emulator counts what an H200 counts, for every launch of tests/truth/banks.cu and its like.

tests/truth/collect.py recorded h200*.jsonl on the GPU; here the same programs run under the emulator, which appends one
line to SIMT_PROFILE_JSON for each launch between cudaProfilerStart and cudaProfilerStop."""

import json
import re
import sys

import pytest

from conftest import COMPILERS, TESTS, Program, run

TRUTH = TESTS / "truth"
sys.path.insert(0, str(TRUTH))
from collect import parameters  # noqa: E402

# Launches that the rules of emulator/src/count/cost.c do not give, and the counters in which they differ.
UNEXPLAINED = [
    # What four blocks load from one place at once, each for itself, the request coalescer in front of L2 asks for once.
    *(({"kernel": kernel, "blocks": 4, "busy": 4, "bytes": n, "lanes": 1}, ["tma_ld_l2_sectors"])
      for kernel in ("cluster_bulk", "cluster_tile") for n in (16, 144, 1024, 4096)),
    # Of 1,256 copies by .cg the one where 32 lanes read eight pieces of 16 bytes in no order: an H200 takes 29 wavefronts, the rule 27.
    ({"kernel": "copy", "bytes": 16, "cg": 1, "mask": "ffffffff", "stride": 8, "scatter": 1}, ["copy_st_wavefronts"]),
]


def tables():
    """The name of a program -> where its recording comes from, and the rows."""
    read = [[json.loads(line) for line in path.read_text().splitlines()] for path in sorted(TRUTH.glob("h200*.jsonl"))]
    return {provenance.get("program", "banks"): (provenance, rows) for provenance, *rows in read}


TABLES = tables()
PROGRAMS = [Program(TRUTH / "banks.cu", compiler) for compiler in COMPILERS]


def kernels(name):
    return sorted({row["kernel"] for row in TABLES[name][1]})


def split(row):
    """A row's counters, and the parameters that identify the launch."""
    counters = {k: v for k, v in row.items() if k.endswith(("_requests", "_sectors", "_bytes", "_wavefronts", "_conflicts")) or k == "wgmma"}
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
            launches = [parameters(line) for line in done.stdout.splitlines()]
            profiles = [json.loads(line) for line in out.read_text().splitlines()]
            assert len(launches) == len(profiles)
            runs[program] = [(launch, profile["kernels"][0]) for launch, profile in zip(launches, profiles)]
        return runs[program]

    return once


@pytest.mark.parametrize("name", TABLES)
def test_table_is_whole(name):
    provenance, rows = TABLES[name]
    assert "H200" in provenance["gpu"] and provenance["ncu"]
    assert all(value is not None for row in rows for value in row.values())


def test_table_of_banks_has_every_size():
    assert len(kernels("banks")) == 4 and {row["bytes"] for row in TABLES["banks"][1]} == {1, 2, 4, 8, 16}


@pytest.mark.parametrize("program, kernel", [
    pytest.param(Program(TRUTH / f"{name}.cu", compiler), kernel, id=f"{name}-{compiler}-{kernel}")
    for name in TABLES for compiler in COMPILERS for kernel in kernels(name)])
def test_counters_equal_the_hardware(emulated, program, kernel):
    launches, rows = emulated(program), TABLES[program.source.stem][1]
    assert len(launches) == len(rows)
    wrong = []
    for row, (launch, profile) in zip(rows, launches):
        counters, described = split(row)
        assert launch == described
        counted = {name: profile["total"][name] for name in counters}
        for name in next((names for unexplained, names in UNEXPLAINED if described == unexplained), []):
            del counted[name], counters[name]
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


# ---- matrix.cu: what matrices are moved and multiplied by (collect_matrix.py recorded matrix_h200.jsonl) ----

_, *MATRIX_ROWS = [json.loads(line) for line in (TRUTH / "matrix_h200.jsonl").read_text().splitlines()]


def as_hardware_counts(counts, launch):
    """The emulator's counters, put together as ncu's metrics are: those of wavefronts and conflicts hold ldmatrix with the
    loads and stmatrix with the stores; and where ptxas could not prove that an address is shared memory's, as with bf16 and
    tf32, the load is a generic one."""
    found = dict(counts)
    generic = launch.startswith("wmma_ld ") and "space=shared" in launch and ("bf16" in launch or "tf32" in launch)
    for what in ("wavefronts", "conflicts"):
        found[f"shared_ld_{what}"] += counts[f"ldmatrix_{what}"]
        found[f"shared_st_{what}"] += counts[f"stmatrix_{what}"]
    if generic:
        found["smsp__inst_executed_op_generic_ld.sum"] = found["shared_ld_requests"]
        found["shared_ld_requests"] = 0
        del found["global_ld_bytes"]  # ncu counts the registers that a generic load fills as these
    if launch.startswith(("mma_", "wmma_mma")):  # of others ncu says 1 now and then, where the SASS holds none
        found["products"] = counts["mma"]
    return found


@pytest.mark.parametrize("compiler", COMPILERS)
def test_matrices_count_as_on_hardware(compile_cu, tmp_path, compiler):
    out = tmp_path / "profile.jsonl"
    done = run(compile_cu(Program(TRUTH / "matrix.cu", compiler)), SIMT_PROFILE_JSON=str(out))
    assert done.returncode == 0, done.stderr
    launches = done.stdout.splitlines()
    profiles = [json.loads(line)["kernels"][0]["total"] for line in out.read_text().splitlines()]
    assert launches == [row["launch"] for row in MATRIX_ROWS] and len(profiles) == len(launches) == 726
    wrong = []
    for row, counts in zip(MATRIX_ROWS, profiles):
        recorded = {**row, "products": row["hmma"] + row["imma"]}
        found = as_hardware_counts(counts, row["launch"])
        differ = [f"{name} {found[name]}, not {recorded[name]}" for name in recorded.keys() & found.keys()
                  if found[name] != recorded[name]]
        wrong += [f"{row['launch']}: {', '.join(differ)}"] * bool(differ)
    assert not wrong, f"{len(wrong)} launches differ:\n" + "\n".join(wrong[:20])
