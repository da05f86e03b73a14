"""What the tests share: what compiles is compiled once, and so is what is refused for its text, until anything that went into it changes.
A program that did not compile for another reason is compiled again when it is next asked for."""

import dataclasses
import re
import subprocess

import pytest

import conftest
from conftest import Program


@dataclasses.dataclass(frozen=True)
class Counted(Program):
    """A program whose compiler ends as was told, and which counts how often it was asked."""

    ends: list = dataclasses.field(default_factory=list, compare=False, repr=False)
    words: str = "words"

    def key(self):
        return "counted"

    def compile(self, folder):
        return folder / "program", subprocess.CompletedProcess(["g++"], self.ends.pop(0), "", self.words)


@pytest.mark.parametrize("failure", [1, 2, -9, -15])
def test_a_failure_that_may_not_come_again_is_not_kept(compile_output, monkeypatch, tmp_path, failure):
    monkeypatch.setattr(conftest, "KEPT", tmp_path)
    program = Counted(tmp_path / "a.cu", ends=[failure, 0, 7])
    assert [compile_output(program)[1].returncode for _ in range(4)] == [failure, 0, 0, 0]
    assert program.ends == [7]


REFUSED = "a.cu:3: error: no such word\nIn file included from a.cu:1:\na.cu:5: error: nor this\n"


@pytest.mark.parametrize("status, words, kept", [
    (2, REFUSED, True), (2, "/tmp/a.cu:3:7: error: no such word\n", True), (1, REFUSED, False), (-9, REFUSED, False),
    (2, "simtcc: a.cu: no such file\n", False), (2, "a.cu:1:10: fatal error: b.h: No such file or directory\n", False), (2, "", False),
    (2, f"{REFUSED}b.h:1: error: a header's\n", False), (2, f"{REFUSED}a.cu:9: internal compiler error: Killed\n", False),
    (2, f"{REFUSED}g++: fatal error: Killed signal terminated program cc1plus\n", False),
    (2, f"{REFUSED}/tmp/a.s: error writing: No space left on device\n", False), (2, f"{REFUSED}extra.cu:3: error: another file's\n", False)])
def test_what_is_refused_for_its_text_is_kept(compile_output, monkeypatch, tmp_path, status, words, kept):
    monkeypatch.setattr(conftest, "KEPT", tmp_path)
    program = Counted(tmp_path / "a.cu", ends=[status, 0], words=words)
    first, second = (compile_output(program)[1] for _ in range(2))
    assert (first.returncode, second.returncode) == (status, status if kept else 0)
    assert first.stderr == second.stderr == words


def test_what_was_found_is_kept_until_a_part_changes(monkeypatch, tmp_path):
    monkeypatch.setattr(conftest, "KEPT", tmp_path)
    found = iter([["one"], [], ["three"], ["four"], ["five"]])

    def ask(name, *parts):
        return conftest.kept(name, parts, lambda: next(found))

    assert [ask("a", "x", "y"), ask("a", "x", "y"), ask("a", "x", "z"), ask("a", "xy"), ask("b", "x", "y")] == [
        ["one"], ["one"], [], ["three"], ["four"]]
    with pytest.raises(ZeroDivisionError):
        conftest.kept("c", ["x"], lambda: 1 / 0)
    assert ask("c", "x") == ["five"] and ask("a", "x", "z") == []


@dataclasses.dataclass(frozen=True)
class Watched(Program):
    """A program that counts how often it is compiled."""

    compiled: list = dataclasses.field(default_factory=list, compare=False, repr=False)

    def compile(self, folder):
        self.compiled.append(folder.name)
        return super().compile(folder)


def test_any_change_compiles_it_again(compile_output, monkeypatch, tmp_path):
    """What is refused for its text, by the compiler itself."""
    monkeypatch.setattr(conftest, "KEPT", tmp_path / "kept")
    source, header, compiled = tmp_path / "a.cu", tmp_path / "b.h", []
    source.write_text('#include "b.h"\n__global__ void k() { nothing = LIMIT; }\n')
    header.write_text("#define LIMIT 1\n")

    def times(**how):
        compiled.clear()
        for _ in range(2):
            done = compile_output(Watched(source, compiled=compiled, **how))[1]
            assert done.returncode == 2 and "a.cu:" in done.stderr and "error: " in done.stderr, done.stderr
        return len(compiled)

    assert [times(), times()] == [1, 0]
    beside = "-I", str(tmp_path)
    assert [times(options=("-DMORE",)), times(options=beside, edit=lambda text: text + "\n"), times(options=beside, edit=lambda text: text)] == [1, 1, 1]
    assert times(compiler=conftest.COMPILERS[-1]) == (len(conftest.COMPILERS) > 1)
    header.write_text("#define LIMIT 2\n")
    assert [times(), times()] == [1, 0]
    source.write_text(source.read_text() + "int more;\n")
    assert [times(), times()] == [1, 0]
    monkeypatch.setattr(conftest, "emulator_key", lambda: "another libsimt.a, header, driver or compiler")
    assert [times(), times()] == [1, 0]


def test_an_edit_of_a_header_is_in_the_program(compile_cu):
    """And in no other: each edit of it makes a program of its own."""
    plain = Program(conftest.source_of("18_matmul_mma"), options=("-I", str(conftest.ROOT / "common")),
                    libraries=(str(conftest.BUILD / "common" / "libcommon.a"),))
    other = dataclasses.replace(plain, edit=("pair[0];", "T(7);"), header="ptx/pair.h")
    third = dataclasses.replace(other, edit=("pair[0];", "pair[1];"))
    assert len({plain.key(), other.key(), third.key()}) == 3
    done = conftest.run(compile_cu(other), "--variant", "padded", "-m", "1", "-n", "1", "-k", "1")
    assert done.returncode == 1 and "element 0: 7, should be" in done.stdout, done.stdout


@pytest.mark.parametrize("step, head_dims, dtypes, left", [
    ("16_flash_wmma_warp_max", (16, 64), ("fp16",), {f"choose<{size}>" for size in (16, 32, 48, 64, 80)}),
    ("28_flash_mma_shared_qkv", ("64",), ("fp16",), {"start<64, 1>", "start<64, 2>"}),
    ("33_flash_mma_gqa", (96,), ("bf16",), {"start<T, 96, 2, 64, true>", "start_type<__nv_bfloat16>"}),
    ("35_flash_mma_tiling_qk", (80,), ("fp16",), {"OF<T, 128, WIDTH>", "OF<T, 256, WIDTH>", "start<half>"}),
    ("38_matmul_wgmma", (), ("bf16",), {"launch_of<__nv_bfloat16>", *(f"start<T, {swizzle}>" for swizzle in (8, 16, 32, 64))})], ids=lambda value: value if isinstance(value, str) else None)
def test_only_the_kernels_that_are_run_are_compiled(step, head_dims, dtypes, left):
    """Each line stays where it is."""
    program = Program(conftest.source_of(step), head_dims=head_dims, dtypes=dtypes)
    text = program.edited()
    assert text.count("\n") == program.source.read_text().count("\n")
    assert set(re.findall(r"\b(?:choose<\d+>|start<\w+>|start<[\w, ]+>(?=\(args)|OF<T, \d+, WIDTH>|(?:start_type|launch_of)<(?!T)\w+>)", text)) == left
    assert dataclasses.replace(program, head_dims=(), dtypes=()).edited() == program.source.read_text()


@pytest.mark.parametrize("step", ["45_flash_wgmma", "46_flash_pingpong", "47_flash_overlap"])
def test_a_table_of_shapes_keeps_those_of_the_head_dimension(step):
    program = Program(conftest.source_of(step), head_dims=(128,), dtypes=("fp16",))
    assert {*re.findall(r"\bSHAPE<(\d+),", program.edited())} == {"128"} < {*re.findall(r"\bSHAPE<(\d+),", program.source.read_text())}


def test_a_table_of_shapes_keeps_those_of_the_variants():
    program = Program(conftest.source_of("47_flash_overlap"), head_dims=(128,), variants=("overlap", "both"))
    assert re.findall(r"\bSHAPE<[\d, ]*, (\w+, \w+)>", program.edited()) == ["true, false", "true, true"]
    assert program.edited().count("\n") == program.source.read_text().count("\n")


@pytest.mark.parametrize("step, variants, left", [
    ("16_flash_wmma_warp_max", ("coalesced", "two_warps"), {"<D, 1, 0, true>", "<D, 2, VECTOR, true>"}),
    ("31_flash_mma_warp_rows", ("rows_32",), {"<T, D, ROWS, TILE, Q_STAYS>"}),
    ("41_matmul_multicast", ("four_share_b", "share_a"), {"<T, 4, 1>", "<T, 1, 2>"}), ("38_matmul_wgmma", ("swizzle_64",), {"<T, 32>"})])
def test_a_choice_of_kernels_keeps_those_of_the_variants(step, variants, left):
    program = Program(conftest.source_of(step), variants=variants)
    assert {*re.findall(r"[ {]start(<[\w, ]+>)", program.edited())} == left
    assert program.edited().count("\n") == program.source.read_text().count("\n")


def test_a_table_of_forms_keeps_those_of_the_head_dimension():
    assert {*re.findall(r"form_of<T, (\d+)", Program(conftest.source_of("49_flash_capstone"), head_dims=(64,)).edited())} == {"64"}


@pytest.mark.parametrize("variants, left", [(("speculative",), ["1"]), (("exact", "near"), ["0"]), (("exact", "speculative"), ["0", "1"]), ((), ["0", "1"])])
def test_a_kernel_that_bets_is_kept_where_it_is_run(variants, left):
    assert re.findall(r"form\.start\[(\d)\] =", Program(conftest.source_of("49_flash_capstone"), variants=variants).edited()) == left


def test_a_header_is_edited_beside_a_source_that_keeps_what_is_run():
    """Of shapes in a choice, too."""
    program = Program(conftest.source_of("48_flash_hopper_causal"), edit=("d > 0, T()", "true, T()"), header="hopper_attention.h", head_dims=(128,), dtypes=("fp16",))
    assert program.edited().count("true, T()") == 1
    text = program.trimmed(program.source.read_text())
    assert re.findall(r"&SHAPE<T, (\d+),", text) == ["128"] and re.findall(r"\bshape_of_type<(\w+)>", text) == ["half"]
    assert text.count("\n") == program.source.read_text().count("\n")
    other = dataclasses.replace(program, head_dims=(64,))
    assert other.key() != program.key()


@pytest.mark.parametrize("step, head_dim", [("16_flash_wmma_warp_max", 40), ("35_flash_mma_tiling_qk", 80)])
def test_a_table_without_the_others_has_the_kernel_that_is_run(compile_cu, step, head_dim):
    program = Program(conftest.source_of(step), options=("-I", str(conftest.ROOT / "common")),
                      libraries=(str(conftest.BUILD / "common" / "libcommon.a"),), head_dims=(head_dim,), dtypes=("fp16",))
    done = conftest.run(compile_cu(program), "--all-variants", "--seqlen", 33, "--head-dim", head_dim)
    assert done.returncode == 0 and "right: error" in done.stdout, done.stdout + done.stderr


def test_the_emulator_is_known_by_all_that_goes_into_a_program(monkeypatch, tmp_path):
    def key():
        conftest.emulator_key.cache_clear()
        return conftest.emulator_key()

    monkeypatch.setattr(conftest, "BUILD", tmp_path)
    keys = [key()]
    for file in ("libsimt.a", "simt-translate", "common/libcommon.a"):
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text("one")
        keys.append(key())
        (tmp_path / file).write_text("two")
        keys.append(key())
    for name in conftest.READ_BY_COMPILERS:
        monkeypatch.setenv(name, "elsewhere")
        keys.append(key())
    assert len(set(keys)) == len(keys)
    conftest.emulator_key.cache_clear()
