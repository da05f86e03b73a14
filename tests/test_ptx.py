"""Inline PTX that is wrong or unknown is refused: by its text, its line, and what is the matter with it."""

import re

import pytest

from conftest import COMPILERS, TESTS, Program, run

PROGRAM = Program(TESTS / "ptx" / "refused.cu")

WHY = {
    "unknown_instruction": "the instruction is not known",
    "unknown_modifier": "no modifier .frob",
    "modifier_of_others": "no modifier .sat",
    "modifier_twice": "modifier .hi contradicts another",
    "unknown_type": "no modifier .s31",
    "no_type": "the type is missing",
    "wrong_type": "not known for the type .f32",
    "missing_operand": "an operand is missing",
    "too_many_operands": "too many operands",
    "no_such_operand": "no such operand",
    "unknown_register": "`r3` is not a register",
    "unknown_special": "`%pm0` is not a register",
    "constant_written": "operand 1 is not of the kind",
    "address_as_number": "operand 2 is not of the kind",
    "sum_of_registers": "must be a constant",
    "number_as_address": "operand 2 is not of the kind",
    "not_a_predicate": "operand 4 is not of the kind",
    "short_vector": "not as many elements",
    "too_wide": "at most 16 bytes",
    "no_scope": "need a scope",
    "no_label": "no label `NOWHERE`",
    "inner_label": "no label `IN`",
    "open_brace": "`{` is not closed",
    "no_semicolon": "`;` is missing",
    "out_of_scope": "`r` is not a register",
    "no_rounding": "its rounding is missing",
    "returns": "a statement cannot end its thread",
    "of_parameters": "no modifier .param",
    "shape_of_mma": "no such product",
    "floats_as_tf32": "all else needs .b32",
    "registers_of_ldmatrix": "as many registers as matrices",
    "copied_bytes": "it copies 16 bytes, or with .ca 4 or 8",
    "no_satfinite": ".satfinite is missing",
    "narrow_target": "operand 1 is a register of 32 bits; at least 64 are needed",
    "narrow_result": "operand 1 is a register of 32 bits; 64 are needed",
    "wide_source": "operand 3 is a register of 64 bits; 32 are needed",
    "wide_amount": "operand 3 is a register of 64 bits; 32 are needed",
    "narrow_part": "operand 1 is a register of 32 bits; 16 are needed",
    "narrow_product": "operand 1 is a register of 32 bits; 64 are needed",
    "wide_register_of_mma": "operand 1 is a register of 64 bits; 32 are needed",
    "narrow_whole": "operand 2 is a register of 32 bits; at least 128 are needed",
    "part_of_whole": "operand 1 is a register of 128 bits; 32 are needed",
    "choice_of_whole": "not known for the type .b128",
    "narrow_policy": "operand 3 is a register of 32 bits; 64 are needed",
    "bulk_to_global_by_bytes": "completes with .bulk_group",
    "bulk_to_shared_by_group": "completes with .bulk_group",
    "bulk_completes_nothing": "completes with .bulk_group",
    "bulk_within_a_block": "it goes from .global",
    "bulk_within_global": "it goes from .global",
    "bulk_of_24_bytes": "a multiple of 16 bytes",
    "bulk_without_mbarrier": "an operand is missing",
    "bulk_with_a_fourth": "there are too many",
    "bulk_policy_missing": "an operand is missing",
    "bulk_hint_within": "has a hint",
    "bulk_multicast_to_itself": ".multicast::cluster is of",
    "bulk_wide_mask": "16 are needed",
    "bulk_masked": "no modifier .cp_mask",
    "bulk_ignoring_bounds": "no modifier .ignore_oob",
    "bulk_prefetch_of_shared": "of .global memory",
    "bulk_groups_in_a_register": "may be left is a constant",
    "bulk_wait_of_all": "no modifier .wait_all",
    "bulk_sum_of_signed_64": "no such operation of that type",
    "bulk_sum_of_halves_flushed": ".noftz is for",
    "bulk_least_of_floats": "no such operation of that type",
    "bulk_exchange": "no such operation of that type",
    "bulk_floats_in_shared": "no such operation of that type",
    "bulk_reduction_from_global": "it goes from .shared::cta",
    "store_that_nothing_counts": "it completes with .mbarrier::complete_tx::bytes",
    "store_without_mbarrier": "an operand is missing",
    "store_in_order": "it is .weak, or of scope .cluster",
    "weak_store_in_a_scope": "it is .weak, or of scope .cluster",
    "store_of_32_bytes": "it stores at most 16 bytes",
    "store_of_a_short_vector": "a vector has not as many",
    "store_of_a_wide_register": "a register is not as wide as the type",
    "store_of_halves": "the instruction is not known for the type .b16",
    "store_to_the_own_block": "it goes to .shared::cluster",
    "reduction_in_no_order": "it is .relaxed.cluster",
    "reduction_of_a_block": "it is .relaxed.cluster",
    "reduction_that_nothing_counts": "it completes with .mbarrier::complete_tx::bytes",
    "reduction_without_operation": "there is no such operation of that type",
    "reduction_of_floats": "the instruction is not known for the type .f32",
    "reduction_of_64_bits": "there is no such operation of that type",
    "reduction_of_a_pattern": "there is no such operation of that type",
    "reduction_by_exchange": "there is no such operation of that type",
    "map_of_no_cluster": "the space is .shared::cluster",
    "narrow_map": "a generic address is of type .u64",
    "rows_of_a_cluster": "the space is .shared::cta",
    "fragment_of_a_cluster": "the space is .shared::cta",
    "tensor_without_dimensions": "of dimensions, .1d to .5d, is missing",
    "tensor_of_six": "no modifier .6d",
    "tensor_in_columns": "not .im2col and its like",
    "tensor_gathered": "not .im2col and its like",
    "tensor_multicast": ".multicast::cluster is of copies from .global to .shared::cluster",
    "tensor_by_no_place": "not of the kind that belongs there",
    "tensor_of_wide_corner": "operand 1 is a register of 64 bits; 32 are needed",
    "tensor_to_global_by_bytes": "completes with .bulk_group",
    "tensor_within_shared": "it goes from .global",
    "tensor_without_mbarrier": "an operand is missing",
    "tensor_exchanged": "there are .add, .min",
    "tensor_reduced_into_shared": "it goes from .shared::cta",
    "tensor_prefetched_to_l1": "it goes from .global to .L2",
    "place_of_a_load": "operand 2 is not of the kind",
    "map_of_no_size": "a map of .b1024",
    "map_in_constants": "in .global or .shared::cta",
    "map_of_six_sizes": "0 to 4, of a stride 0 to 3",
    "map_of_five_strides": "0 to 4, of a stride 0 to 3",
    "map_of_any_type": "the new value is a constant",
    "map_address_of_32_bits": "not known for the type .b32",
    "map_fence_of_64_bytes": "it is of 128 bytes",
    "map_fence_without_scope": "its scope is missing",
    "map_copied_by_a_thread": ".sync.aligned is missing",
    "acquiring_cluster_arrival": "it is .release or .relaxed",
    "relaxed_cluster_wait": "it is .acquire",
    "sparse": "sparse products are not supported",
    "groups_in_a_register": "may be left is a constant",
    "declared_twice": "a name is declared twice",
    "acquiring_arrival": "an arrival is .release or .relaxed",
    "releasing_wait": "a wait is .acquire or .relaxed",
    "relaxed_without_scope": "need a scope",
    "scope_without_order": "need a scope",
    "arrival_of_the_gpu": "its scope is .cta or .cluster",
    "token_of_a_cluster": "has no token",
    "relaxed_no_complete": ".noComplete is .release.cta",
    "no_complete_of_one": "an operand is missing",
    "wait_of_a_cluster": "the block's own shared memory",
    "init_of_a_cluster": "the block's own shared memory",
    "releasing_expectation": "it is .relaxed",
    "bytes_not_said": "an operand is missing",
    "proxies_of_constants": "global and shared memory",
    "part_of_sum": "operand 2 is not of the kind",
    "part_written": "operand 1 is not of the kind",
    "minus_of_sum": "operand 2 is not of the kind",
    "no_such_part": "b0 to .b3, .h0 or .h1",
    "unknown_part": "parts of a register are chosen by",
    "part_and_operation": "do not go together",
    "two_types_of_video": "those of both operands are needed",
    "third_number_missing": "a third number is for",
    "shift_without_limit": ".clamp or .wrap is needed",
    "set_without_comparison": "the comparison is missing",
    "minus_with_plus_one": ".po and a minus",
    "two_minuses": "either the product",
    "bytes_of_halves": "halves are chosen by .h",
    "mask_in_disorder": "no such choice of parts",
    "saturated_sum_of_parts": "without .sat",
    "minimum_of_parts": "the second operation is .add",
    "average_of_one": "the instruction is not known",
    "packed_without_sat": ".sat is missing",
    "packed_halves_of_three": "its types are",
    "packed_bytes_of_two": "its types are",
    "relu_of_unsigned": ".relu is for",
    "relu_of_unsigned_pair": ".relu is for",
    "difference_of_pairs": "not known for the type .s16x2",
    "sum_of_one_vector": "no modifier .v3",
    "vector_of_eight_floats": "no such vector",
    "vector_of_integers": "no such vector",
    "least_of_floats": "no such operation of vectors",
    "vector_of_shared": "vectors are of global memory",
    "too_few_in_the_vector": "as many as the instruction says",
    "wide_in_the_vector": "not as wide as the type",
    "halves_flushed": ".noftz is for",
    "numbers_not_flushed": ".noftz is for",
    "sum_of_sixteen_bytes": "no such operation of that type",
    "exchange_with_a_third": "an operand is missing, or there are too many",
    "policy_for_a_third": "an operand is missing, or there are too many",
    "policy_for_nothing": "is missing",
    "range_of_shared": "the range is of global memory",
    "wide_load_of_eight": "vectors of eight are for atomic operations",
    "transpose_of_x4": "no modifier .x4",
    "not_a_transpose": "sync.aligned.m8n8.trans",
    "doubles_in_words": "stands in a register of 64 bits",
    "bits_without_operation": ".and.popc or .xor.popc",
    "bits_not_counted": ".and.popc or .xor.popc",
    "nibbles_counted": "is for .b1",
    "doubles_to_float": "no such product",
    "nibbles_by_bytes": "no such product",
    "nibbles_in_columns": "A is .row and B is .col",
    "saturated_doubles": ".satfinite is for integers",
    "mask_without_limit": ".clamp or .wrap is missing",
    "minimum_in_addition": "hardware does not do what the PTX ISA says",
    "half_of_a_sum": "hardware does not do what the PTX ISA says",
    "unsigned_saturated": "hardware does not do what the PTX ISA says",
    "shift_saturated": "hardware does not do what the PTX ISA says",
    "unsigned_scaled": "hardware does not do what the PTX ISA says",
    "decimal_in_a_vector": "write it as 0f",
    "reduced_floats": "not known for the type .f32",
    "wgmma_sparse": "sparse products are not supported",
    "wgmma_alone": ".sync.aligned is needed",
    "wgmma_committed_alone": ".sync.aligned is needed",
    "wgmma_groups_in_a_register": "a constant",
    "wgmma_of_12_columns": "no such product",
    "wgmma_of_40_columns_of_bytes": "no such product",
    "wgmma_of_two_types": "no such product",
    "wgmma_of_four_types": "three types",
    "wgmma_of_too_few_registers": "not as many registers",
    "wgmma_of_its_own_registers": "when the statement is over",
    "wgmma_and_more": "another of its instructions",
    "wgmma_by_a_narrow_descriptor": "a descriptor of 64 bits",
    "wgmma_of_two_registers_of_a": "not as many registers",
    "wgmma_scaled_by_a_register": "scale-d is a predicate",
    "wgmma_scaled_by_two": "scale-d is a predicate, or the constant 0 or 1",
    "wgmma_into_inputs": "are outputs of it",
    "wgmma_groups_below_none": "how many groups may be left is 0 or more",
    "registers_of_more_than_32_bits": "a constant of 32 bits",
    "wgmma_times_two": "a sign is 1 or -1",
    "wgmma_sign_in_a_register": "are constants",
    "wgmma_without_transposition": "an operand is missing",
    "wgmma_fp8_transposed": "too many",
    "wgmma_saturated_floats": ".satfinite is for",
    "wgmma_of_bits_by_or": ".and.popc is for .b1",
}


@pytest.mark.parametrize("name", WHY)
def test_refused_with_its_text_and_line(compile_cu, name):
    done = run(compile_cu(PROGRAM), name)
    assert done.returncode == 2, done.stderr
    lines = PROGRAM.source.read_text().splitlines()
    [line] = [n for n, text in enumerate(lines, 1) if text.startswith(f"REFUSED({name},")]
    assert re.search(rf"not supported: \S*refused.cu:{line}\n.* inline PTX `.+`: ", done.stderr), done.stderr
    assert WHY[name] in done.stderr


OPERANDS = [("h", "short"), ("r", "int"), ("r", "unsigned"), ("l", "float *"), ("l", "long long"), ("f", "float"), ("d", "double")]
WRONG = [("h", "int"), ("r", "float *"), ("r", "float"), ("r", "signed char"), ("l", "int"), ("l", "double"), ("f", "int"),
         ("d", "float"), ("x", "int")]


@pytest.mark.parametrize("compiler", COMPILERS)
def test_types_of_operands_as_nvcc_asks_for_them(tmp_path, compiler):
    """A line for each letter and type, that goes in and comes out."""
    source = tmp_path / "operands.cu"
    source.write_text("".join(f'__global__ void k{i}({t} x) {{ asm volatile("" : "+{letter}"(x)); asm volatile("" :: "{letter}"(x)); }}\n'
                              for i, (letter, t) in enumerate(OPERANDS + WRONG)))
    _, done = Program(source, compiler).compile(tmp_path)
    refused = re.findall(r"operands.cu:(\d+): error: the type of an `asm` operand is not", done.stderr)
    lines = range(len(OPERANDS) + 1, len(OPERANDS + WRONG) + 1)
    assert done.returncode == 2
    assert sorted(map(int, refused)) == sorted([*lines, *lines]), done.stderr
    assert "simt" not in done.stderr


UNLOADED = [Program(TESTS / "ptx" / "unloaded.cu", compiler, options) for compiler in COMPILERS for options in ((), ("--plain",))]


@pytest.mark.parametrize("program", UNLOADED)
def test_registers_that_nobody_loaded_are_not_zero(compile_cu, program):
    def product(left_out):
        return float(run(compile_cu(program), left_out).stdout)

    assert product("-") == 16
    for left_out, if_zero in {"A": 8, "B": 0, "C": 16}.items():
        assert product(left_out) != if_zero, left_out


@pytest.mark.parametrize("compiler", COMPILERS)
def test_one_lane_is_elected(tmp_path, compiler):
    """By cuda::ptx::elect_sync(), which newer versions of libcu++ have."""
    source = tmp_path / "elect.cu"
    source.write_text("""#include <cuda/ptx>
#include <stdio.h>
__global__ void elect()
{
    if (threadIdx.x >= 5 && cuda::ptx::elect_sync(0xffffffe0))
        printf("%d\\n", threadIdx.x);
}
int main() { elect<<<1, 32>>>(); return cudaDeviceSynchronize(); }
""")
    program, done = Program(source, compiler).compile(tmp_path)
    assert done.returncode == 0, done.stderr
    done = run(program)
    assert (done.returncode, done.stdout, done.stderr) == (0, "5\n", "")
