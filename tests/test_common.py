"""What common/ offers, whether or not a step uses it yet: element types, gaps between rows, B transposed, masks, shared
heads, lengths that differ, log-sum-exp, prepare() and workspaces, by the plainest kernels there are; and the mistakes that
its checks have to see, planted in those."""

import ctypes
import json
import math
import struct
import subprocess
import sys

import pytest

from conftest import BUILD, ROOT, TESTS, Program, run

COMMON = TESTS / "common"
INCLUDE, LIBRARY = ("-I", str(ROOT / "common")), (str(BUILD / "common" / "libcommon.a"),)


def program(name, *edit, plain=False):
    return Program(COMMON / name, "g++", (*(["--plain"] if plain else []), *INCLUDE), LIBRARY, edit)


MATMUL, SOFTMAX, ATTENTION = (program(f"{name}_plain.cu") for name in ("matmul", "softmax", "attention"))
DTYPES = ["fp32", "fp16", "bf16"]
SIZES = {MATMUL: ("-m", 37, "-n", 21, "-k", 45), SOFTMAX: ("--rows", 37, "--cols", 77), ATTENTION: ("--seqlen", 37)}


def line_of(path, *command):
    done = run(*command, "--json", path)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(path.read_text().splitlines()[-1])


# ---- element types ----

def float_of(bits):
    return struct.unpack("<f", struct.pack("<I", bits))[0]


def bits_of(value):
    return struct.unpack("<I", struct.pack("<f", value))[0]


def fp16(value):
    """The bits of the nearest fp16, by Python's own conversion, which refuses what is too large."""
    try:
        return struct.unpack("<H", struct.pack("<e", value))[0]
    except OverflowError:
        return 0x7C00 if value > 0 else 0xFC00


def bf16(bits):
    """The nearest, of two equally near the even, of the two bf16 between which a float lies."""
    below, rest = bits >> 16, bits & 0xFFFF
    return below + (rest > 0x8000 or rest == 0x8000 and below & 1)


def patterns():
    """Every sign and exponent with mantissas around what is dropped; the edges of fp16; NaN and infinity."""
    mantissas = [0, 1, 0x0FFF, 0x1000, 0x1001, 0x2000, 0x3000, 0x7FFF, 0x8000, 0x8001, 0x18000, 0x7FEFFF, 0x7FF000, 0x7FFFFF]
    found = [sign << 31 | exponent << 23 | mantissa for sign in (0, 1) for exponent in range(256) for mantissa in mantissas]
    return found + [bits_of(value) for value in (65503.9, 65504, 65519.99, 65520, 2**-24, 2**-25, 2**-25 * 1.001, 2**-14)]


@pytest.fixture(scope="session")
def dtype_program(tmp_path_factory):
    output = tmp_path_factory.mktemp("dtype") / "dtype"
    subprocess.run(["cc", "-std=c11", "-O2", "-ffp-contract=off", *INCLUDE, COMMON / "dtype.c", ROOT / "common" / "dtype.c",
                    "-lm", "-o", output], check=True)
    return output


def test_rounding_to_16_bits(dtype_program):
    asked = patterns()
    done = subprocess.run([dtype_program], input="\n".join(f"{bits:x}" for bits in asked), capture_output=True, text=True)
    lines = done.stdout.splitlines()
    assert len(lines) == len(asked)
    for bits, line in zip(asked, lines):
        half, half_back, half_rounded, brain, brain_back, brain_rounded = (int(word, 16) for word in line.split())
        value = float_of(bits)
        if math.isnan(value):
            assert math.isnan(float_of(half_back)) and math.isnan(float_of(brain_back)), f"{bits:08x}"
            continue
        assert half == fp16(value) and brain == bf16(bits), f"{bits:08x}: {line}"
        assert half_back == half_rounded == bits_of(struct.unpack("<e", struct.pack("<H", half))[0]), f"{bits:08x}: {line}"
        assert brain_back == brain_rounded == brain << 16, f"{bits:08x}: {line}"


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("program", [MATMUL, SOFTMAX, ATTENTION])
def test_every_type(compile_cu, program, dtype, tmp_path):
    line = line_of(tmp_path / "line", compile_cu(program), *SIZES[program], "--dtype", dtype)
    check = line["check"]
    assert line["dtype"] == dtype and "out_dtype" not in line and check["right"]
    row = {"fp32": check["bound"], "fp16": 2**-9, "bf16": 2**-7}[dtype]
    least, most = {"fp32": (2**-20, 2**-19), "fp16": (2**-12, 2**-11), "bf16": (2**-10, 2**-8)}[dtype]
    assert check["worst_row_bound"] == pytest.approx(row) and least <= check["bound"] * 1.000001 <= most


@pytest.mark.parametrize("program", [MATMUL])
@pytest.mark.parametrize("dtype", ["fp16", "bf16"])
def test_another_type_out(compile_cu, program, dtype, tmp_path):
    line = line_of(tmp_path / "line", compile_cu(program), *SIZES[program], "--dtype", dtype, "--out-dtype", "fp32")
    assert (line["dtype"], line["out_dtype"]) == (dtype, "fp32")
    assert line["bytes"] == 2 * (37 * 45 + 45 * 21) + 4 * 37 * 21
    assert line["check"]["bound"] == pytest.approx(2**-20)


@pytest.mark.parametrize("dtype", ["fp16", "bf16"])
def test_long_sums_and_large_rows_stay_finite(compile_cu, dtype):
    for arguments in (("-k", 5000), ("-k", 3000, "--input", "scaled")):
        done = run(compile_cu(MATMUL), "-m", 9, "-n", 5, *arguments, "--dtype", dtype)
        assert done.returncode == 0, done.stdout + done.stderr


# ---- gaps between rows, B transposed ----

@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("padding", [(), ("--row-padding", 8), ("--row-padding", 24)], ids=str)
@pytest.mark.parametrize("program", [MATMUL, SOFTMAX, ATTENTION])
def test_gaps_between_rows(compile_cu, program, padding, dtype):
    more = ("--head-dim", 12) if program is ATTENTION else ()
    done = run(compile_cu(program), *SIZES[program], *more, *padding, "--dtype", dtype)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("program", [MATMUL])
def test_B_transposed(compile_cu, program, tmp_path):
    for more in ((), ("--row-padding", 8), ("--dtype", "fp32")):
        line = line_of(tmp_path / "line", compile_cu(program), *SIZES[program], "--b-transposed", *more)
        assert line["shape"]["b_transposed"] is True


# ---- attention: masks, heads, lengths, log-sum-exp ----

CASES = [(), ("--causal",), ("--heads", 6, "--kv-heads", 2), ("--heads", 4, "--kv-heads", 1), ("--kv-seqlen", 50),
         ("--kv-seqlen", 9), ("--kv-seqlen", 50, "--causal"), ("--kv-seqlen", 36, "--causal"), ("--kv-seqlen", 1, "--causal"),
         ("--batch", 2, "--heads", 6, "--kv-heads", 3, "--causal"),
         ("--batch", 2, "--heads", 4, "--kv-heads", 2, "--kv-seqlen", 20, "--causal"),
         ("--batch", 2, "--heads", 4, "--kv-heads", 2, "--kv-seqlen", 90, "--causal", "--row-padding", 8, "--head-dim", 12)]


@pytest.mark.parametrize("arguments", CASES, ids=lambda words: " ".join(map(str, words)))
@pytest.mark.parametrize("program", [ATTENTION])
def test_attention_of_every_kind(compile_cu, program, arguments):
    for place, kind in enumerate(("normal", "scaled", "huge", "equal")):
        done = run(compile_cu(program), "--seqlen", 37, "--head-dim", 12, "--input", kind, "--lse", *arguments,
                   "--dtype", DTYPES[(place + len(arguments)) % 3])
        assert done.returncode == 0 and done.stdout.count("\nright: error ") == 1, done.stdout + done.stderr


@pytest.mark.parametrize("program", [ATTENTION])
def test_operations_and_bytes_of_attention(compile_cu, program, tmp_path):
    def of(*arguments):
        return line_of(tmp_path / "line", compile_cu(program), "--seqlen", 9, "--head-dim", 32, "--heads", 1, *arguments)

    whole, half, more, lse = of(), of("--causal"), of("--causal", "--kv-seqlen", 20), of("--lse")
    assert whole["flops"] == 4 * 9 * 9 * 32 == 2 * half["flops"]
    assert half["shape"]["causal"] and "kv_seqlen" not in half["shape"]
    assert more["flops"] == 4 * 32 * 9 * (20 - 4.5) and more["shape"]["kv_seqlen"] == 20
    assert of("--causal", "--kv-seqlen", 4)["flops"] == 4 * 32 * 4 * (4 - 2)  # five queries see no key
    assert lse["bytes"] == whole["bytes"] + 4 * 9 and lse["shape"]["lse"] is True


# ---- what a step cannot do is told ----

@pytest.mark.parametrize("program, arguments, names", [
    (MATMUL, ("--dtype", "fp64"), "one of fp16 bf16 fp32"), (MATMUL, ("--out-dtype", "int8"), "one of"),
    (MATMUL, ("--row-padding", 3), "multiple of 8"), (MATMUL, ("--row-padding", -8), "from 1 to"),
    (ATTENTION, ("--head-dim", 16), "12 32 64"),
    (ATTENTION, ("--out-dtype", "fp32"), "--help")], ids=str)
def test_mistakes(compile_cu, program, arguments, names):
    done = run(compile_cu(program), *SIZES[program], *arguments)
    assert done.returncode == 2 and names in done.stderr, done.stdout + done.stderr


@pytest.mark.parametrize("takes, sentence, taken, refused", [
    (".max_head_dim = 64,", "this step takes 1 to 64", (1, 13, 64), (65, 128)),
    (".max_head_dim = 64, .head_dim_unit = 16,", "this step takes multiples of 16 up to 64", (16, 48, 64), (1, 8, 24, 65, 72, 80))])
def test_head_dimensions_up_to_one(compile_cu, takes, sentence, taken, refused):
    executable = compile_cu(program("attention_plain.cu", ".head_dims = {12, 32, 64},", takes))
    for size in taken:
        done = run(executable, "--seqlen", 9, "--head-dim", size)
        assert done.returncode == 0 and "\nright: error " in done.stdout, done.stdout + done.stderr
    for size in refused:
        done = run(executable, "--seqlen", 9, "--head-dim", size)
        assert done.returncode == 2 and f"--head-dim {size}: {sentence}\n" in done.stderr, done.stdout + done.stderr


def test_a_step_says_in_how_many_parts_the_keys_are(compile_cu, tmp_path):
    plain = program("attention_plain.cu")
    divided = program("attention_plain.cu", ".prepare = prepare,",
                      ".parts = [](const attention_args *args) { return args->kv_seqlen / 4; }, "
                      ".blocks = [](const attention_args *args) { return args->heads * 7; }, .prepare = prepare,")
    for source, keys, parts in ((plain, 12, None), (divided, 12, 3), (divided, 4, 1)):
        lines = tmp_path / f"{keys} {parts}"
        done = run(compile_cu(source), "--seqlen", 2, "--kv-seqlen", keys, "--head-dim", 12, "--json", lines)
        line = json.loads(lines.read_text())
        assert done.returncode == 0 and (line.get("parts"), line.get("blocks")) == (parts, parts and 14)
        assert ("\nkeys in 3 parts, 14 blocks\n" in done.stdout) == (parts == 3) and ("parts" in done.stdout) == (parts == 3)


@pytest.mark.parametrize("arguments", [("--dtype", "fp16"), ("--row-padding", 8), ("--b-transposed",), ("--lse",)], ids=str)
@pytest.mark.parametrize("step", ["03_matmul_naive", "08_softmax_naive", "12_attention_naive"])
def test_a_step_offers_only_what_it_can(step, arguments):
    done = run(BUILD / step, *arguments)
    assert done.returncode == 2 and "--help" in done.stderr
    assert arguments[0] not in run(BUILD / step, "--help").stdout


# ---- an output in a file: one process computes, another checks ----

WRITERS = [(MATMUL, ()), (MATMUL, ("--dtype", "bf16", "--out-dtype", "fp32", "--b-transposed", "--row-padding", 8)),
           (SOFTMAX, ("--dtype", "fp16", "--row-padding", 8)), (ATTENTION, ("--lse", "--causal", "--dtype", "fp16", "--head-dim", 12))]
STEPS = {"00_first_kernel": ("-n", 300), "01_block_sum": ("-n", 300), "machine": ("-n", 300, "--variant", "copy")}
STEPS["machine "] = ("--rounds", 3, "--variant", "latency")  # leaves addresses, which differ from process to process


@pytest.mark.parametrize("program, arguments", WRITERS + [(BUILD / name.strip(), words) for name, words in STEPS.items()], ids=str)
def test_an_output_is_written_and_checked_elsewhere(compile_cu, program, arguments, tmp_path):
    command = (compile_cu(program), *SIZES[program], *arguments) if isinstance(program, Program) else (program, *arguments)
    output = tmp_path / "output"

    def checked(*more):
        done = run(*command, "--check-output", output, *more)
        return done.returncode, done.stdout + done.stderr

    done = run(*command, "--seed", 7, "--write-output", output)
    assert done.returncode == 0 and "right" not in done.stdout, done.stdout + done.stderr
    status, said = checked("--seed", 7)
    assert status == 0 and "\nright: error " in said, said
    whole = output.read_bytes()
    for wrong in (b"", whole[:-1], b"\xff" * len(whole), whole[:-4] + b"\xff" * 4, bytes(len(whole))):
        output.write_bytes(wrong)
        status, said = checked("--seed", 7)
        assert status == 1 and "WRONG" in said, said
    output.write_bytes(whole)
    if "copy" not in arguments:
        assert checked("--seed", 8)[0] == 1
    if "machine" not in str(program):
        output.write_bytes(whole + b"0")
        status, said = checked("--seed", 7)
        assert status == 1 and "the file goes on behind the last element" in said, said


@pytest.mark.parametrize("arguments, names", [
    (("--write-output", "x", "--check-output", "y"), "contradict"), (("--check-output", "x", "--no-check"), "contradict"),
    (("--check-output", "/no/such"), "No such file"), (("--write-output", "/no/such"), "No such file"),
    (("--write-output", "x", "--all-variants"), "one variant"), (("--write-output", "/dev/full"), "No space left")], ids=str)
def test_an_output_that_cannot_be_written_or_checked(arguments, names, tmp_path):
    done = subprocess.run([BUILD / "04_matmul_tiled", "-m", "5", "-n", "4", "-k", "3", *arguments], cwd=tmp_path, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert done.returncode == 2 and names in done.stderr, done


OWN = """
#include "exit.h"
#include "program.h"
int main(int argc, char **argv)
{
    struct number numbers[] = {{"n", "a number", 5, 1, 9}, {"cols", "another", 2, 0, 9}, {0}};
    const struct program program = program_begin(argc, argv, "Two numbers.", numbers);
    int results[] = {numbers[0].value, numbers[1].value};
    program_output(&program, results, sizeof *results);
    program_output(&program, results + 1, sizeof *results);
    printf("%d %d seed %d", results[0], results[1], (int)program.seed);
    return program_end(&program, EXIT_RIGHT);
}
"""


@pytest.fixture(scope="session")
def own_program(tmp_path_factory):
    place = tmp_path_factory.mktemp("own")
    (place / "own.c").write_text(OWN)
    subprocess.run(["cc", *INCLUDE, "-I", ROOT / "emulator" / "include", place / "own.c", *LIBRARY, BUILD / "libsimt.a", "-lm", "-lpthread",
                    "-ldl", "-o", place / "own"], check=True)
    return place / "own"


def test_a_program_with_a_check_of_its_own_exchanges_its_output(own_program, tmp_path):
    output = tmp_path / "output"
    assert run(own_program).stdout == "5 2 seed 1"
    assert run(own_program, "-n", 7, "--cols=0", "--seed", 3, "--write-output", output).stdout == "7 0 seed 3"
    assert output.read_bytes() == struct.pack("ii", 7, 0)
    assert run(own_program, "-n", 9, "--check-output", output).stdout == "7 0 seed 1"
    output.write_bytes(b"\5\0\0\0\2")
    assert run(own_program, "--check-output", output).stdout == f"5 {-254} seed 1"
    output.write_bytes(struct.pack("iii", 7, 0, 0))
    done = run(own_program, "--check-output", output)
    assert done.returncode == 1 and "goes on behind the output" in done.stdout


@pytest.mark.parametrize("arguments, names", [(["-n", "0"], "-n 0: a whole number from 1 to 9"), (["-n", "5x"], "-n 5x"), (["--cols", ""], "--cols :"),
                                              (["--seed", "-1"], "--seed -1"), (["x"], "what is 'x'?"), (["--rows", "3"], "--rows"),
                                              (["--check-output", "none"], "--check-output none: No such file")])
def test_such_a_program_asked_wrongly(own_program, arguments, names):
    done = run(own_program, *arguments)
    assert done.returncode == 2 and names in done.stderr, done.stderr


# ---- the checks see mistakes ----

def mistake(name, before, after, *arguments):
    return pytest.param(program(f"{name}_plain.cu", before, after), arguments, id=f"{name}-{after[:30]}")


@pytest.mark.parametrize("program, arguments", [
    mistake("matmul", "row * shape.A_pitch", "row * shape.k"),
    mistake("matmul", "row * shape.C_pitch", "row * shape.n"),
    mistake("matmul", "i * shape.B_pitch + col", "i * shape.n + col"),
    mistake("matmul", "shape.B_transposed ?", "false ?", "--b-transposed"),
    mistake("matmul", "cols = shape.n;", "cols = shape.C_pitch;"),  # what is between the rows of C is not ours
    mistake("matmul", "for (int i = 0; i < shape.k; i++)", "for (int i = 0; i < shape.A_pitch; i++)"),
    mistake("matmul", "    float sum = 0;", "    T sum = 0;"),  # sums in 16 bits
    mistake("matmul", "{args->A, args->B}", "{args->B, args->A}"),
    mistake("matmul", ".prepare = prepare,", ".prepare = NULL,"),
    mistake("softmax", "row * shape.Y_pitch", "row * shape.cols", "--dtype", "bf16"),
    mistake("attention", "keys = args.causal ? row + 1 + args.kv_seqlen - args.seqlen", "keys = args.causal ? row + 1",
            "--causal", "--kv-seqlen", 50),
    mistake("attention", "keys = args.causal ? row + 1 + args.kv_seqlen - args.seqlen",
            "keys = args.causal ? min(row + 1, args.kv_seqlen)", "--causal", "--kv-seqlen", 20),
    mistake("attention", "row + 1 + args.kv_seqlen", "row + 2 + args.kv_seqlen - (row + 1 == args.seqlen)", "--causal"),
    mistake("attention", "kv_head = head / (args.heads / args.kv_heads)", "kv_head = head % args.kv_heads", "--heads", 4,
            "--kv-heads", 2),
    mistake("attention", "head * args.O_strides.head", "head * args.seqlen * args.head_dim", "--head-dim", 12,
            "--dtype", "bf16"),
    mistake("attention", "m * scale + logf(l)", "m * scale + log2f(l)", "--lse"),
    mistake("attention", "m * scale + logf(l)", "(m * scale + logf(l)) * (1 + 1e-5f)", "--lse", "--seqlen", 2, "--kv-seqlen", 8192),
    mistake("attention", "if (args.lse)", "if (args.lse && row + 1 < args.seqlen)", "--lse"),
    mistake("attention", "*(float *)args->prepared = args->scale;", "*(float *)args->prepared = 1;"),
    mistake("attention", "? sum / l :", "? (float)T(sum / l) * 1.002f :", "--dtype", "fp16"),
])
def test_planted_mistake_is_seen(compile_cu, program, arguments):
    size = next(words for plain, words in SIZES.items() if plain.source == program.source)
    done = run(compile_cu(program), *size, *arguments)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "WRONG" in done.stdout or "simt: " in done.stderr, done.stdout + done.stderr


ELEMENT, QUOTIENT = "sums[(size_t)row * shape.n + col]", "keys > 0 ? sum / l : 0"
PRODUCT = "sum += expf((score(q, K + key * args.K_strides.row, d) - m) * scale)"
DROPPED = {"fp16": 13, "bf16": 16}  # bits of an fp32 that the type has no room for


def cut(value, dtype, added="0"):
    """A float without those bits. added: what is added to the bits first."""
    return f"__uint_as_float((__float_as_uint({value}) + {added}) >> {DROPPED[dtype]} << {DROPPED[dtype]})"


def cut_weights(added):
    return "attention", PRODUCT, f"sum += {cut(PRODUCT.removeprefix('sum += '), 'bf16', added)}", "bf16"


@pytest.mark.parametrize("name, before, after, dtype, said", [
    ("matmul", f"T({ELEMENT})", f"T({cut(ELEMENT, 'bf16')})", "bf16", "WRONG: "),
    ("attention", f"T({QUOTIENT})", f"T({cut(QUOTIENT, 'fp16')})", "fp16", "WRONG: "),
    (*cut_weights("0"), "too small: numbers are cut off"), (*cut_weights("0xffff"), "too large: numbers are rounded up"),
    (*cut_weights("0x8000"), "right: error "),
], ids=lambda value: value[-30:])
def test_numbers_cut_off_in_place_of_rounded(compile_cu, name, before, after, dtype, said):
    """Of an output, and of attention's weights. To round those to nearest is right. The check alone is asked: without the emulator's."""
    sizes = {"matmul": ("-m", 70, "-n", 31), "attention": ("--seqlen", 130)}
    done = run(compile_cu(program(f"{name}_plain.cu", before, after, plain=True)), *sizes[name], "--dtype", dtype)
    assert done.returncode == (0 if "right" in said else 1) and said in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize("dtype", DROPPED)
def test_numbers_that_are_all_rounded_to_one_side(compile_cu, dtype):
    """Every element is 1 / 300, and so is every error."""
    done = run(compile_cu(SOFTMAX), "--rows", 80, "--cols", 300, "--input", "equal", "--dtype", dtype)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("before, after, fault", [
    ("keys > 0 ? sum / l : 0", "keys > 0 ? sum / l : 1e-45f * (head == 1 && row == 3)", "head 1, row 3, column 0: 1.4"),
    ("keys > 0 ? sum / l : 0", "sum / l", "head 0, row 0, column 0 is NaN"),
    ("keys > 0 ? sum / l : 0", "keys > 0 ? sum / l : -INFINITY", "head 0, row 0, column 0 is infinite"),
    ("= m * scale + logf(l)", "= keys > 0 || head == 0 ? m * scale + logf(l) : 0",
     "head 1, element 0 is not −∞, although its row sees no key"),
    ("= m * scale + logf(l)", "= row != 16 ? m * scale + logf(l) : -3e38f",
     "head 0, element 16 is not −∞, although its row sees no key"),
    ("= m * scale + logf(l)", "= keys > 0 ? m * scale + logf(l) : INFINITY", "head 0, element 0 is infinite"),
    ("= m * scale + logf(l)", "= keys > 0 ? m * scale + logf(l) : NAN", "head 0, element 0 is NaN"),
    ("if (args.lse)", "if (args.lse && (keys > 0 || row < 9))", "head 0, element 9 was never written"),
    ("= m * scale + logf(l)", "= row != 17 ? m * scale + logf(l) : -INFINITY", "head 0, element 17 is infinite"),
    ("= m * scale + logf(l)", "= head == 0 || row != 36 ? m * scale + logf(l) : -INFINITY", "head 1, element 36 is infinite"),
])
def test_what_a_row_that_sees_no_key_has_is_exact(compile_cu, before, after, fault):
    """The last of 37 queries sees all 20 keys, the first 17 see none: there O is 0, the log-sum-exp −∞, and nowhere else."""
    arguments = "--seqlen", 37, "--kv-seqlen", 20, "--head-dim", 12, "--causal", "--lse", "--dtype", "fp32"
    done = run(compile_cu(program("attention_plain.cu", before, after)), *arguments)
    assert done.returncode == 1 and "WRONG: " in done.stdout and fault in done.stdout, done.stdout + done.stderr


# ---- the arguments of a launch, as bench/peers.py passes them ----

@pytest.mark.parametrize("operation", ["axpy", "sum", "scale", "matmul", "softmax", "attention"])
def test_peers_pass_the_arguments_that_the_header_declares(operation, tmp_path):
    sys.path.insert(0, str(ROOT / "bench"))
    from peers import ENUM_DTYPE, OPERATIONS

    args = OPERATIONS[operation].Args
    fields = [name for name, _ in args._fields_]
    source = tmp_path / "offsets.c"
    offsets = "".join(f'printf("%zu ", offsetof(struct {operation}_args, {field}));' for field in fields)
    offsets += 'printf("%d %d %d ", FP32, FP16, BF16);'
    source.write_text(f'#include <stddef.h>\n#include <stdio.h>\n#include "{operation}.h"\n'
                      f'int main(void) {{ {offsets} printf("%zu", sizeof(struct {operation}_args)); }}')
    subprocess.run(["cc", *INCLUDE, "-I", ROOT / "emulator" / "include", source, "-o", tmp_path / "offsets"], check=True)
    said = [int(word) for word in run(tmp_path / "offsets").stdout.split()]
    assert said == [*(getattr(args, field).offset for field in fields), *map(ENUM_DTYPE.get, DTYPES), ctypes.sizeof(args)]


def test_the_first_wrong_element_and_the_largest_difference_are_named(compile_cu):
    """Row 2, column 3 is a little wrong, row 5, column 0 very wrong; a difference that rounding could explain is neither."""
    store = "C[(size_t)row * shape.C_pitch + col] = T(sums[(size_t)row * shape.n + col]);"
    error = "(row == 2 && col == 3 ? 1.0f : row == 5 && col == 0 ? 100.0f : row == 1 && col == 1 ? 1e-5f : 0)"
    done = run(compile_cu(program("matmul_plain.cu", store, store.replace("T(sums", f"T({error} + sums"))),
               "-m", 9, "-n", 7, "-k", 5, "--dtype", "fp32")
    assert done.returncode == 1
    assert "WRONG: the first wrong element is row 2, column 3: " in done.stdout
    assert "; the largest difference is in row 5, column 0: " in done.stdout


def test_a_wrong_row_of_attention_is_named_by_its_head(compile_cu):
    """Head 1 of the second of two batches of two heads is head 3."""
    edit = "? sum / l :", "? sum / l + (batch == 1 && head == 1 && row == 7 && col == 5) :"
    done = run(compile_cu(program("attention_plain.cu", *edit)), "--batch", 2, "--heads", 2, "--seqlen", 9, "--head-dim", 12)
    assert done.returncode == 1 and "element is head 3, row 7, column 5: " in done.stdout, done.stdout
