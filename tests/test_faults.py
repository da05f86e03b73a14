"""Every kind of fault is found, and the report names its lines: tests/faults/*.cu say in comments which."""

import dataclasses
import re

import pytest

from conftest import COMPILERS, ROOT, TESTS, Program, read_report, run

FAULTS = sorted((TESTS / "faults").glob("*.cu"))
UNSUPPORTED = sorted((TESTS / "faults" / "unsupported").glob("*.cu"))

# Faults between threads: the report must name every line marked `expect`, and no other but those marked `perhaps`.
OF_SEVERAL = {"race in shared memory", "race in global memory", "barrier deadlock", "register deadlock", "divergent barrier", "mixed barrier",
              "divergent collective", "copy still in flight", "source overwritten in flight", "target overwritten in flight",
              "access to an mbarrier", "block has left", "missing proxy fence", "stale tensor map", "race between streams",
              "race between host and stream", "accumulator in flight", "operand register in flight", "missing wgmma.fence"}

# Kernels that would not end on a GPU, or not surely: tests/sanitize.py leaves them out.
ENDLESS_ON_A_GPU = {"endless", "collectives-absent_lanes", "collectives-masks_differ", "turns-tail_of_a_block",
                    "turns-match_in_a_branch", "collectives-two_operations", "collectives-two_directions",
                    "collectives-two_widths", "collectives-two_votes", "collectives-two_reductions",
                    "barriers-two_instructions", "barriers-two_named", "barriers-in_a_helper", "roles-arrives_at_two_lines",
                    "roles-half_a_tile", "roles-polls_for_ever", "roles-counts_differ", "mbarriers-who_asks_for_what",
                    "mbarriers-parity_of_two_phases_ago", "wmma-half_a_warp", "wmma-in_a_branch", "wmma-in_two_branches",
                    "vectors-half_a_transpose", "vectors-half_a_product",
                    "matrices-half_a_warp", "ptx-nobody_arrives", "ptx-in_a_branch", "bulk_forms-to_no_block", "bulk_bytes",
                    "tma_tiles-inside_only", "tma_tiles-a_larger_box", "setmaxnreg-four_consumers", "setmaxnreg-producer_keeps_all",
                    "setmaxnreg-producer_leaves", "setmaxnreg-of_maxnreg", "setmaxnreg-an_odd_warp", "setmaxnreg-one_warp", "setmaxnreg-two_numbers",
                    "setmaxnreg-no_warpgroup", "setmaxnreg_numbers", "wgmma_meetings", "wgmma_roles", "warpgroup_turns",
                    "wgmma_rings-producer_begins_with_parity_0", "cluster_deadlocks", "cluster_rings", "cluster_mbarriers", "cluster_lifetimes"}


@dataclasses.dataclass
class Case:
    """One fault of a source: the lines that its report must name, those that it may, and a word it must hold."""

    kind: str
    must: set = dataclasses.field(default_factory=set)
    may: set = dataclasses.field(default_factory=set)
    word: str = ""


def expectations(source):
    """Name -> Case, from the comments `expect NAME: KIND` or `perhaps NAME: KIND`, then perhaps `, in WORD`; where NAME is
    `all`, the line may be named in every report."""
    cases, always = {}, set()
    for number, line in enumerate(source.read_text().splitlines(), 1):
        for mark, name, kind, word in re.findall(r"// (expect|perhaps) (\w+): ([^,]+)(?:, in (\w+))?$", line):
            if name == "all":
                always.add(number)
                continue
            case = cases.setdefault(name, Case(kind))
            assert kind == case.kind, f"{source.name}:{number}"
            (case.must if mark == "expect" else case.may).add(number)
            case.word = word or case.word
    for case in cases.values():
        case.may |= always
    return cases


def lines_accused(report, file):
    """The lines of `file` that a report names, but those where memory was declared, allocated or freed, or a function called,
    and those in brackets, of what leads from one access to the other."""
    innocent = r"declared|made|freed" if report.kind.startswith("race between") else r"declared|made|freed|launched"
    text = re.sub(rf"(({innocent}) at|in a call from) \S+:\d+|\(\S+:\d+\)", "", report.text)
    return {int(line) for name, line in re.findall(r"([^\s:]+):(\d+)", text) if name.endswith(file)}


CASES = [
    pytest.param(Program(source, compiler), name, case, id=f"{source.stem}-{name}-{compiler}")
    for compiler in COMPILERS
    for source in FAULTS
    for name, case in expectations(source).items()
]


@pytest.mark.parametrize("program, name, case", CASES)
def test_fault_is_found(compile_cu, program, name, case):
    done = run(compile_cu(program), name, timeout=30, SIMT_TIMEOUT="0.5" if case.kind == "endless kernel" else "25")
    assert done.returncode == 1, f"status {done.returncode}\n{done.stderr}"
    report = read_report(done.stderr)
    assert (report.kind, report.file) == (case.kind, program.source.name), report.text
    assert report.line in case.must | case.may, report.text
    if case.kind in OF_SEVERAL:
        named = lines_accused(report, program.source.name)
        assert case.must <= named <= case.must | case.may, report.text
    assert case.word in report.text
    if re.search(rf"__global__ void {name}\(", program.source.read_text()):
        index = r"\(\d+,\d+,\d+\)"
        where = "" if case.kind == "endless kernel" else rf", block {index}\n  thread {index}"
        assert re.search(rf"kernel {name}{where}", report.text), report.text


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("name, words", [("read_by_one", "behind the end of in, the"), ("write_by_one", "behind the end of out, the"),
                                         ("negative_index", "before in, the")])
def test_an_allocation_is_called_as_the_kernel_calls_it(compile_cu, compiler, name, words):
    report = read_report(run(compile_cu(Program(TESTS / "faults" / "bounds.cu", compiler)), name).stderr)
    assert f"{words} 392-byte allocation made at " in report.text, report.text


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("source, name", [("races", "in_a_function"), ("ptx", "in_a_function"), ("ptx", "in_a_branch"), ("barriers", "in_a_helper")])
def test_a_fault_in_a_function_names_the_call(compile_cu, compiler, source, name):
    """Where the kernel itself calls it, though functions in between may."""
    program = Program(TESTS / "faults" / f"{source}.cu", compiler)
    [line] = [n for n, text in enumerate(program.source.read_text().splitlines(), 1) if text.endswith(f"// {name} calls")]
    report = read_report(run(compile_cu(program), name).stderr)
    assert re.findall(r", in a call from \S*:(\d+)\n", report.text) == [str(line)], report.text


@pytest.mark.parametrize("compiler", COMPILERS)
def test_a_deadlock_says_which_phase_each_asks_for(compile_cu, compiler):
    text = run(compile_cu(Program(TESTS / "faults" / "mbarriers.cu", compiler)), "who_asks_for_what").stderr
    source = (TESTS / "faults" / "mbarriers.cu").read_text().splitlines()
    for who, name in (("thread (0,0,0) to (31,0,0)", "empty[1]"), ("thread (32,0,0) to (63,0,0)", "full[1]")):
        [line] = [n for n, code in enumerate(source, 1) if f"wait_for(&{name}" in code]
        words = rf"{re.escape(who)} wait in an mbarrier's wait on {re.escape(name)}, for phase 0 \(parity 0\) to end, where phase 0 lacks 32 of 32"
        assert re.search(rf"{words} arrivals, at \S+mbarriers.cu:\d+, in a call from \S+mbarriers.cu:{line}\n", text), text


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("name, blocks", [("each_waits_first", 2), ("one_block_has_more_turns", 2), ("four_kinds_of_waits", 4), ("in_a_circle", 4)])
def test_a_deadlock_of_a_cluster_names_the_waiters_of_every_block(compile_cu, compiler, name, blocks):
    text = run(compile_cu(Program(TESTS / "faults" / "cluster_deadlocks.cu", compiler)), name).stderr
    waiters = re.findall(rf"kernel {name}, block \((\d),0,0\)\n  thread \(0,0,0\) to \(\d+,0,0\) wait ", text)
    assert waiters == [str(block) for block in range(blocks)], text


@pytest.mark.parametrize("compiler", COMPILERS)
def test_warps_with_roles_are_not_told_to_use_syncthreads(compile_cu, compiler):
    text = run(compile_cu(Program(TESTS / "faults" / "roles.cu", compiler)), "refilled_too_early").stderr
    assert "barrier of these warps" in text and "__syncthreads" not in text, text


BARRIER = "Nothing orders the two: a __syncthreads() is missing between them."
OF_A_WARP = ("Nothing orders the two: a __syncthreads() is missing between them, or, if they are always threads of one warp, as they were "
             "here, a __syncwarp().")
ONE_PLACE = "Two threads write one place. If each is to have its own, the index is wrong; else use an atomic operation, or put a barrier between."
COPY_LAST = ("Either the thread waits until the copy is complete, or the copy begins behind a barrier, or an mbarrier's phase, that comes after "
             "the access of every such thread.")
TWO_BLOCKS = "Nothing orders two blocks of a launch but its end: use an atomic operation, or a second launch."
ADVICE = {("global_races", "reduction_without_barrier"): BARRIER, ("races", "reduction"): OF_A_WARP,
          ("races", "missing_first_barrier"): BARRIER, ("races", "missing_syncwarp"): OF_A_WARP,
          ("races", "syncwarp_of_halves"): OF_A_WARP, ("races", "syncwarp_for_block"): BARRIER,
          ("races", "last_writer"): ONE_PLACE, ("races", "not_atomic"): ONE_PLACE, ("races", "index_of_the_warp"): ONE_PLACE,
          ("global_races", "halo_of_the_neighbour"): TWO_BLOCKS,
          ("bulk_waits", "lane_zero_waits"): COPY_LAST, ("bulk_rings", "nobody_releases"): COPY_LAST,
          ("bulk_rings", "one_of_two_counts_as_both"): COPY_LAST,
          ("mbarriers", "initialised_too_late"): "Nothing holds the initialisation of an mbarrier and its use apart: a __syncthreads() is missing between them.",
          ("mbarriers", "by_all_threads"): "Two threads initialise one mbarrier: one thread alone does so, and all use it behind a barrier.",
          ("grid", "no_barrier"): "Nothing orders the two blocks: a barrier of the grid, grid.sync(), is missing between them."}


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("source, name", ADVICE)
def test_a_race_is_told_what_would_order_it(compile_cu, compiler, source, name):
    text = read_report(run(compile_cu(Program(TESTS / "faults" / f"{source}.cu", compiler)), name).stderr).text
    assert text.splitlines()[-1].strip() == ADVICE[source, name], text
    assert not re.search(r"\blanes?\b", text), text


@pytest.mark.parametrize("compiler", COMPILERS)
def test_a_race_is_judged_by_the_threads_furthest_apart(compile_cu, compiler):
    """The first page's: the first two threads found are of one warp, and others that race in the same lines are not."""
    text = read_report(run(compile_cu(Program(ROOT / "docs/examples/missing_barrier.cu", compiler))).stderr).text
    assert len({int(number) // 32 for number in re.findall(r"thread \((\d+),0,0\)", text)}) == 1, text
    assert text.splitlines()[-1].strip() == BARRIER, text


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("name, kind", [("races.cu", "race in shared memory"),
                                        ("uninitialised.cu", "uninitialised shared memory")])
def test_what_is_kept_is_reported_before_the_fault_that_ends_the_launch(compile_cu, name, kind, compiler):
    text = run(compile_cu(Program(TESTS / "faults" / name, compiler)), "and_another_fault").stderr
    assert re.findall(r"^simt: ([^:]+): ", text, re.MULTILINE) == [kind, "out of bounds"], text


def expect_note(compile_cu, name, kernel, compiler):
    """The program goes on, and one note names the lines of its source that say so."""
    done = run(compile_cu(Program(TESTS / "faults" / name, compiler)), kernel)
    assert done.returncode == 0, done.stderr
    source = (TESTS / "faults" / name).read_text().splitlines()
    lines = [n for n, code in enumerate(source, 1) if code.endswith("// noted")]
    assert lines and done.stderr.count("simt: note: ") == 1, done.stderr
    assert all(f"{name}:{line}" in done.stderr for line in lines), done.stderr


@pytest.mark.parametrize("compiler", COMPILERS)
def test_registers_that_ptxas_does_not_know_are_noted(compile_cu, compiler):
    expect_note(compile_cu, "setmaxnreg.cu", "one_number", compiler)


POOLS = {"four_consumers": "The block began with 5 warpgroups at 96 registers a thread, a pool of 480: warpgroup 0 has 24, warpgroup 1 has 120, "
                           "warpgroup 2 has 120, warpgroup 3 has 120, warpgroup 4 has 96 and asks for 120, together 504.",
         "producer_leaves": "began with 3 warpgroups at 168 registers a thread, a pool of 504: warpgroup 0 has 168, warpgroup 1 has 168 and asks for 240",
         "of_maxnreg": "began with 3 warpgroups at 128 registers a thread, a pool of 384", "an_odd_warp": "a pool of 336: warpgroup 0 has 104"}


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("name", POOLS)
def test_a_pool_of_registers_says_who_has_how_many(compile_cu, compiler, name):
    done = run(compile_cu(Program(TESTS / "faults" / "setmaxnreg.cu", compiler)), name)
    assert POOLS[name] in done.stderr, done.stderr


@pytest.mark.parametrize("compiler", COMPILERS)
def test_two_syncthreads_of_two_roles_are_noted(compile_cu, compiler):
    expect_note(compile_cu, "roles.cu", "two_syncthreads", compiler)


@pytest.mark.parametrize("compiler", COMPILERS)
def test_an_mbarrier_that_the_async_proxy_may_not_see_is_noted(compile_cu, compiler):
    expect_note(compile_cu, "transfers.cu", "barrier_not_fenced", compiler)


NOTED = [("bulk_notes", name) for name in ("no_fence", "of_one_thread", "fence_of_memory", "fence_before_it", "by_cuda_barrier")]
NOTED += [("cluster_barriers", "not_published")]
NOTED += [("wgmma_notes", name) for name in ("no_proxy_fence", "no_barrier")]
NOTED += [("cluster_mbarriers", "relaxed_without_the_fence")]


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("file, name", NOTED)
def test_what_the_async_proxy_may_not_see_is_noted(compile_cu, compiler, file, name):
    done = run(compile_cu(Program(TESTS / "faults" / f"{file}.cu", compiler)), name)
    assert done.returncode == 0, done.stderr
    source = (TESTS / "faults" / f"{file}.cu").read_text().splitlines()
    lines = [n for n, code in enumerate(source, 1) if code.endswith(f"// noted {name}")]
    assert lines and done.stderr.count("simt: note: ") == 1, done.stderr
    assert all(f"{file}.cu:{line}" in done.stderr for line in lines), done.stderr


@pytest.mark.parametrize("program", [Program(source) for source in UNSUPPORTED], ids=str)
def test_unsupported_is_named_with_its_line(compile_output, program):
    executable, done = compile_output(program)
    if done.returncode == 0:  # known only when it is reached
        done = run(executable)
    numbered = list(enumerate(program.source.read_text().splitlines(), 1))
    lines = {n: m[1] for n, text in numbered if (m := re.search(r"// expect: (.+)", text))}
    assert done.returncode == 2, done.stderr
    [line] = re.findall(rf"{program.source.name}:(\d+)\b", done.stderr.splitlines()[0])[:1]
    assert int(line) in lines, done.stderr
    assert lines[int(line)] in done.stderr, done.stderr


@pytest.mark.parametrize("options", [("--default-stream", "per-thread"), ("-default-stream=per-thread",)])
def test_the_default_stream_is_the_threads_own(compile_cu, options):
    """The same program, without them, is accused: tests/faults/default_stream.cu."""
    done = run(compile_cu(Program(TESTS / "faults" / "default_stream.cu", options=options)))
    assert (done.returncode, done.stdout, done.stderr) == (0, "5\n", "")
