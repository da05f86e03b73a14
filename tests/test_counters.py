"""Lanes that execute an access together make one request; lanes that part make one each way, each turn of a loop.

tests/counters/loops.cu says at the end of each line how many that are, and why; tests/counters/in_flight.cu, how many of
its requests find copies in flight; tests/counters/wgmma_in_flight.cu, the same of products of warpgroups;
tests/counters/bulk.cu, what bulk copies count; tests/counters/dsmem.cu, what accesses to other blocks' shared memory do."""

import json
import re
import sys

import pytest

from conftest import BUILD, COMPILERS, ROOT, TESTS, Program, run

SOURCE = TESTS / "counters" / "loops.cu"
PROGRAMS = [Program(SOURCE, compiler) for compiler in COMPILERS]
IN_FLIGHT = TESTS / "counters" / "in_flight.cu"
WGMMA_IN_FLIGHT = TESTS / "counters" / "wgmma_in_flight.cu"
BULK = TESTS / "counters" / "bulk.cu"
DSMEM = TESTS / "counters" / "dsmem.cu"
USES = ("shared_ld", "shared_ld_requests"), ("ldmatrix", "ldmatrix_requests"), ("shuffle", "shuffles"), ("mma", "mma")
ACCESSES = ("global_ld_requests", "global_st_requests")


def expected(source=SOURCE):
    """For each line that says so: its counts by name, "together" for the requests of all accesses."""
    lines = source.read_text().splitlines()
    said = {number: re.findall(r"(\d+) (\w+)", line.rpartition(" // ")[2])
            for number, line in enumerate(lines, 1) if re.search(r"[;)] +// \d", line)}
    return {number: {name: int(count) for count, name in counts} for number, counts in said.items()}


def requests(lines, source=SOURCE):
    """What `expected` names, as it was counted."""
    def value(entry, name):
        return sum(entry[access] for access in ACCESSES) if name == "together" else entry[name]

    return {number: {name: value(lines[number], name) for name in counts} for number, counts in expected(source).items()}


@pytest.fixture(scope="module")
def counted(compile_cu, tmp_path_factory):
    """counted(program) -> each line's counters, summed over the kernels."""

    def once(program):
        out = tmp_path_factory.mktemp("counters") / "profile.jsonl"
        done = run(compile_cu(program), SIMT_PROFILE_JSON=str(out))
        assert done.returncode == 0, done.stderr
        kernels = json.loads(out.read_text())["kernels"]
        return {entry["line"]: entry for kernel in kernels for entry in kernel["lines"]}

    return once


@pytest.mark.parametrize("program", PROGRAMS, ids=str)
def test_lanes_together(counted, program):
    assert requests(counted(program)) == expected()


@pytest.mark.parametrize("program", PROGRAMS, ids=str)
def test_calls_are_apart(counted, program):
    """The function's loop: 1 turn and 2 turns from the two branches, none from the loop around the third call. Its last
    load: once from each branch, and at each of the 31 turns."""
    source = SOURCE.read_text().splitlines()
    function = source.index("__device__ __noinline__ float called(const float *in, int n)")
    first = source.index("        x += in[i];", function)
    lines = counted(program)
    assert lines[first + 1]["global_ld_requests"] == 1 + 2
    assert lines[first + 2]["global_ld_requests"] == 1 + 1 + 31


@pytest.mark.parametrize("compiler", COMPILERS)
def test_copies_in_flight(counted, compiler):
    assert requests(counted(Program(IN_FLIGHT, compiler)), IN_FLIGHT) == expected(IN_FLIGHT)


@pytest.mark.parametrize("compiler", COMPILERS)
def test_bulk_copies_in_flight_during_wgmma(counted, compiler):
    assert requests(counted(Program(WGMMA_IN_FLIGHT, compiler)), WGMMA_IN_FLIGHT) == expected(WGMMA_IN_FLIGHT)


@pytest.mark.parametrize("compiler", COMPILERS)
def test_bulk_copies(counted, compiler):
    assert requests(counted(Program(BULK, compiler)), BULK) == expected(BULK)


@pytest.mark.parametrize("compiler", COMPILERS)
def test_shared_memory_of_other_blocks(counted, compiler):
    assert requests(counted(Program(DSMEM, compiler)), DSMEM) == expected(DSMEM)


def test_the_table_has_shared_memory_of_other_blocks_too(compile_cu):
    table = run(compile_cu(Program(DSMEM)), SIMT_PROFILE="1").stderr
    assert re.findall(r"^ +shared memory of other blocks: (.*)$", table, re.M)[-1] == "loads 12, sectors 148; stores 6, sectors 66; atomics 4, sectors 128"


def test_the_table_has_bulk_copies_too(compile_cu, tmp_path):
    """The last line of them, the total, is what the JSON says."""
    program, out = compile_cu(Program(BULK)), tmp_path / "profile.jsonl"
    table = run(program, SIMT_PROFILE="1").stderr
    run(program, SIMT_PROFILE="1", SIMT_PROFILE_JSON=str(out))
    total = json.loads(out.read_text())["kernels"][0]["total"]
    kinds = (("loads", "tma_ld"), ("stores", "tma_st"), ("reductions", "tma_red"))
    words = "; ".join(f"{name} {total[f'{kind}_requests']}, sectors {total[f'{kind}_sectors']}, bytes {total[f'{kind}_bytes']}"
                      for name, kind in kinds)
    assert re.findall(r"^ +(bulk copies: .*)$", table, re.M)[-1] == f"bulk copies: requests {total['tma_requests']}; {words}"
    assert re.findall(r"^ +mbarrier arrivals (\d+)$", table, re.M) == [str(total["mbarrier_arrivals"])] == ["4"]
    assert total["tma_requests"] == 2 + 64 + 24 + 2 + 1 + 1 + 1


@pytest.mark.parametrize("workers", ["1", "4"])
def test_a_block_in_the_place_of_another_has_none_of_its_mbarriers(compile_cu, workers, tmp_path):
    """Which lay at other addresses: with several workers, where its memory was none."""
    for _ in range(8):
        done = run(compile_cu(Program(IN_FLIGHT)), SIMT_WORKERS=workers, SIMT_PROFILE_JSON=str(tmp_path / "profile.jsonl"))
        assert (done.returncode, done.stderr) == (0, "")


def test_products_count_without_checks_too(counted):
    found = counted(Program(IN_FLIGHT, options=("--plain",)))
    wanted = {number: counts for number, counts in expected(IN_FLIGHT).items() if "mma" in counts}
    assert {number: {name: found[number][name] for name in counts} for number, counts in wanted.items()} == wanted and len(wanted) == 4


@pytest.mark.parametrize("compiler", COMPILERS)
def test_lines_in_a_shared_object(tmp_path, compiler):
    """A kernel in a library that another program loads: its lines and its loops are found there."""
    library, out = tmp_path / "loops.so", tmp_path / "profile.jsonl"
    done = run(ROOT / "emulator" / "simtcc", "-shared", "-Dmain=run_all", "-o", library, SOURCE, CXX=compiler,
               SIMT_BUILD=str(BUILD))
    assert done.returncode == 0, done.stderr
    call = f"import ctypes; library = ctypes.CDLL({str(library)!r}); raise SystemExit(library._Z7run_allv())"
    done = run(sys.executable, "-c", call, SIMT_PROFILE_JSON=str(out))
    assert done.returncode == 0, done.stderr
    lines = {entry["line"]: entry for kernel in json.loads(out.read_text())["kernels"] for entry in kernel["lines"]}
    assert requests(lines) == expected()


def test_the_table_has_copies_too(compile_cu, tmp_path):
    """Of each kernel the last line of copies, its total, is what the JSON says; kernels without copies have none."""
    program, out = compile_cu(Program(TESTS / "right" / "async.cu")), tmp_path / "profile.jsonl"
    table = run(program, SIMT_PROFILE="1").stderr
    run(program, SIMT_PROFILE="1", SIMT_PROFILE_JSON=str(out))
    pattern = (r"^ +copies: global requests (\d+), sectors (\d+), bytes (\d+); "
               r"shared requests (\d+), wavefronts (\d+), conflicts (\d+)$")
    names = ("copy_ld_requests", "copy_ld_sectors", "copy_ld_bytes", "copy_st_requests", "copy_st_wavefronts", "copy_st_conflicts")
    wanted, printed = [], []
    for kernel in json.loads(out.read_text())["kernels"]:
        counts = tuple(kernel["total"][name] for name in names)
        wanted += [counts] if any(counts) else []
    for part in re.split(r"^\S.*  \d+ launch(?:es)?, grid ", table, flags=re.M)[1:]:
        found = [tuple(map(int, numbers)) for numbers in re.findall(pattern, part, re.M)]
        assert not found or tuple(map(sum, zip(*found[:-1]))) == found[-1]
        printed += found[-1:]
    assert printed == wanted and len(wanted) > 3


def test_the_table_says_what_is_in_flight(compile_cu, tmp_path):
    """Of each kernel the last lines are what the JSON says; a kernel without copies has none, and one with synchronous ones has zeros."""
    wanted = {}
    for source in (IN_FLIGHT, SOURCE):
        program, out = compile_cu(Program(source)), tmp_path / f"{source.stem}.jsonl"
        table = run(program, SIMT_PROFILE="1").stderr
        run(program, SIMT_PROFILE="1", SIMT_PROFILE_JSON=str(out))
        for kernel in json.loads(out.read_text())["kernels"]:
            total, name = kernel["total"], kernel["kernel"]
            part = re.search(rf"^{name}  1 launch.*?^ total(.*?)(?=^\S|\Z)", table, re.M | re.S)[1]
            uses = [(use, requests) for use, requests in USES if total[requests]]
            wanted[name] = [(total[f"{use}_with_copies"], total[requests], f"{total[f'{use}_bytes_in_flight'] / total[requests]:.1f}")
                            for use, requests in uses if total["copy_st_requests"]]
            found = re.findall(r"^ +copies in flight during (\d+) of (\d+) (?:shared loads|ldmatrix|shuffles|products of fragments), (\S+) bytes on average$", part, re.M)
            assert [(int(some), int(of), average) for some, of, average in found] == wanted[name]
    assert wanted["synchronous"] == [(0, 8, "0.0")] and wanted["products"] == [(8, 12, "426.7")] and wanted["halves"] == []
