// Inline PTX that no GPU would take, or that the emulator does not know: each kernel is refused when a thread comes to it.
#include <string.h>

#define REFUSED(NAME, TEXT) \
    __global__ void NAME(int *out) \
    { \
        int x = threadIdx.x, y = 0; \
        asm volatile(TEXT : "=r"(y) : "r"(x), "l"(out) : "memory"); \
        *out = y; \
    }

REFUSED(unknown_instruction, "frobnicate.b32 %0, %1;")
REFUSED(unknown_modifier, "add.frob.s32 %0, %1, 1;")
REFUSED(modifier_of_others, "and.sat.b32 %0, %1, 1;")
REFUSED(modifier_twice, "mul.lo.hi.s32 %0, %1, 1;")
REFUSED(unknown_type, "add.s31 %0, %1, 1;")
REFUSED(no_type, "add %0, %1, 1;")
REFUSED(wrong_type, "popc.f32 %0, %1;")
REFUSED(missing_operand, "add.s32 %0, %1;")
REFUSED(too_many_operands, "add.s32 %0, %1, 1, 2;")
REFUSED(no_such_operand, "add.s32 %0, %7, 1;")
REFUSED(unknown_register, "add.s32 %0, %1, r3;")
REFUSED(unknown_special, "mov.u32 %0, %%clusterid.x;")
REFUSED(constant_written, "add.s32 3, %1, 1;")
REFUSED(address_as_number, "add.s32 %0, [%2], 1;")
REFUSED(sum_of_registers, "ld.global.s32 %0, [%2 + %1];")
REFUSED(number_as_address, "ld.global.s32 %0, %2;")
REFUSED(not_a_predicate, "selp.s32 %0, 1, 2, %1;")
REFUSED(short_vector, "{.reg .b32 r<4>; ld.global.v4.b32 {r0, r1, r2}, [%2]; mov.b32 %0, r0;}")
REFUSED(too_wide, "{.reg .b64 r<4>; ld.global.v4.b64 {r0, r1, r2, r3}, [%2]; mov.b32 %0, 1;}")
REFUSED(no_scope, "ld.acquire.global.s32 %0, [%2];")
REFUSED(no_label, "bra NOWHERE; mov.b32 %0, 1;")
REFUSED(inner_label, "{ {IN: mov.b32 %0, 1;} bra IN; }")
REFUSED(open_brace, "{ mov.b32 %0, 1;")
REFUSED(no_semicolon, "mov.b32 %0, 1")
REFUSED(out_of_scope, "{ .reg .b32 r; } mov.b32 %0, r;")
REFUSED(no_rounding, "{.reg .f32 f; cvt.f32.s32 f, %1; mov.b32 %0, f;}")
REFUSED(returns, "mov.b32 %0, 1; ret;")
REFUSED(of_parameters, "ld.param.s32 %0, [%2];")
REFUSED(of_cluster, "fence.acq_rel.cluster; mov.b32 %0, 1;")
REFUSED(shape_of_mma, "mma.sync.aligned.m16n8k3.row.col.f32.f16.f16.f32 {%0}, {%1}, {%1}, {%1};")
REFUSED(registers_of_ldmatrix,
        "{.reg .b32 r<4>; ldmatrix.sync.aligned.m8n8.x4.shared.b16 {r0, r1}, [%1]; mov.b32 %0, r0;}")
REFUSED(floats_as_tf32, "{.reg .f32 f<4>; mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 "
                        "{f0, f1, f2, f3}, {f0, f1}, {%1}, {f0, f1, f2, f3};}")
REFUSED(copied_bytes, "cp.async.cg.shared.global [%1], [%2], 8; mov.b32 %0, 1;")
REFUSED(no_satfinite, "{.reg .b16 h; cvt.rn.e4m3x2.f32 h, %1, %1; mov.b32 %0, 1;}")
REFUSED(narrow_target, "ld.global.u64 %0, [%2];")
REFUSED(narrow_result, "mov.u64 %0, %2;")
REFUSED(wide_source, "add.s32 %0, %1, %2;")
REFUSED(wide_amount, "shl.b32 %0, %1, %2;")
REFUSED(narrow_part, "{.reg .b16 h; mov.b32 {h, %0}, %1;}")
REFUSED(narrow_product, "mad.wide.s32 %0, %1, %1, %2;")
REFUSED(wide_register_of_mma, "{.reg .b64 w; ldmatrix.sync.aligned.m8n8.x1.shared.b16 {w}, [%1]; mov.b32 %0, 1;}")
REFUSED(narrow_whole, "st.global.b128 [%2], %1; mov.b32 %0, 1;")
REFUSED(part_of_whole, "{.reg .b128 w; ld.global.b32 w, [%2]; mov.b32 %0, 1;}")
REFUSED(choice_of_whole, "{.reg .b128 w; .reg .pred p; selp.b128 w, w, w, p; mov.b32 %0, 1;}")
REFUSED(narrow_policy, "ld.global.L2::cache_hint.b32 %0, [%2], %1;")
REFUSED(groups_in_a_register, "cp.async.wait_group %1; mov.b32 %0, 1;")
REFUSED(declared_twice, "{.reg .b32 r; { .reg .b32 r; } .reg .b32 r; mov.b32 %0, 1;}")
REFUSED(relaxed_arrival, "mbarrier.arrive.relaxed.cta.shared.b64 _, [%1]; mov.b32 %0, 1;")
REFUSED(relaxed_wait, "{.reg .pred p; mbarrier.try_wait.parity.relaxed.cta.shared.b64 p, [%1], 0; mov.b32 %0, 1;}")
REFUSED(bulk_copy, "cp.async.bulk.commit_group; mov.b32 %0, 1;")
REFUSED(bytes_expected, "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%1], 8; mov.b32 %0, 1;")
REFUSED(cluster_barrier, "barrier.cluster.arrive.aligned; mov.b32 %0, 1;")
REFUSED(sparse, "mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0}, {%1}, {%1}, {%1}, %1, 0;")

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    int *out;
    cudaMalloc(&out, 128);
#define RUN(NAME) \
    if (!strcmp(name, #NAME)) \
    NAME<<<1, 32>>>(out)
    RUN(unknown_instruction);
    RUN(unknown_modifier);
    RUN(modifier_of_others);
    RUN(modifier_twice);
    RUN(unknown_type);
    RUN(no_type);
    RUN(wrong_type);
    RUN(missing_operand);
    RUN(too_many_operands);
    RUN(no_such_operand);
    RUN(unknown_register);
    RUN(unknown_special);
    RUN(constant_written);
    RUN(address_as_number);
    RUN(sum_of_registers);
    RUN(number_as_address);
    RUN(not_a_predicate);
    RUN(short_vector);
    RUN(too_wide);
    RUN(no_scope);
    RUN(no_label);
    RUN(inner_label);
    RUN(open_brace);
    RUN(no_semicolon);
    RUN(out_of_scope);
    RUN(no_rounding);
    RUN(returns);
    RUN(of_parameters);
    RUN(of_cluster);
    RUN(shape_of_mma);
    RUN(floats_as_tf32);
    RUN(registers_of_ldmatrix);
    RUN(copied_bytes);
    RUN(no_satfinite);
    RUN(narrow_target);
    RUN(narrow_result);
    RUN(wide_source);
    RUN(wide_amount);
    RUN(narrow_part);
    RUN(narrow_product);
    RUN(wide_register_of_mma);
    RUN(narrow_whole);
    RUN(part_of_whole);
    RUN(choice_of_whole);
    RUN(narrow_policy);
    RUN(groups_in_a_register);
    RUN(declared_twice);
    RUN(relaxed_arrival);
    RUN(relaxed_wait);
    RUN(bulk_copy);
    RUN(bytes_expected);
    RUN(cluster_barrier);
    RUN(sparse);
    return cudaDeviceSynchronize();
}
