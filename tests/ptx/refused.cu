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
REFUSED(unknown_special, "mov.u32 %0, %%pm0;")
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
REFUSED(acquiring_arrival, "mbarrier.arrive.acquire.cta.shared.b64 _, [%1]; mov.b32 %0, 1;")
REFUSED(releasing_wait, "{.reg .pred p; mbarrier.try_wait.parity.release.cta.shared.b64 p, [%1], 0; mov.b32 %0, 1;}")
REFUSED(relaxed_without_scope, "mbarrier.arrive.relaxed.shared.b64 _, [%1]; mov.b32 %0, 1;")
REFUSED(scope_without_order, "mbarrier.arrive.cta.shared.b64 _, [%1]; mov.b32 %0, 1;")
REFUSED(arrival_of_the_gpu, "mbarrier.arrive.release.gpu.shared.b64 _, [%1]; mov.b32 %0, 1;")
REFUSED(token_of_a_cluster, "{.reg .b64 t; mbarrier.arrive.shared::cluster.b64 t, [%1]; mov.b32 %0, 1;}")
REFUSED(relaxed_no_complete, "mbarrier.arrive.noComplete.relaxed.cta.shared.b64 _, [%1], 1; mov.b32 %0, 1;")
REFUSED(no_complete_of_one, "mbarrier.arrive.noComplete.shared.b64 _, [%1]; mov.b32 %0, 1;")
REFUSED(wait_of_a_cluster, "{.reg .pred p; mbarrier.test_wait.parity.shared::cluster.b64 p, [%1], 0; mov.b32 %0, 1;}")
REFUSED(init_of_a_cluster, "mbarrier.init.shared::cluster.b64 [%1], 1; mov.b32 %0, 1;")
REFUSED(releasing_expectation, "mbarrier.expect_tx.release.cta.shared.b64 [%1], 16; mov.b32 %0, 1;")
REFUSED(bytes_not_said, "mbarrier.arrive.expect_tx.shared.b64 _, [%1]; mov.b32 %0, 1;")
REFUSED(proxies_of_constants, "fence.proxy.async.const; mov.b32 %0, 1;")
REFUSED(bulk_to_global_by_bytes,
        "cp.async.bulk.global.shared::cta.mbarrier::complete_tx::bytes [%2], [%1], 16, [%1]; mov.b32 %0, 1;")
REFUSED(bulk_to_shared_by_group, "cp.async.bulk.shared::cluster.global.bulk_group [%1], [%2], 16; mov.b32 %0, 1;")
REFUSED(bulk_completes_nothing, "cp.async.bulk.global.shared::cta [%2], [%1], 16; mov.b32 %0, 1;")
REFUSED(bulk_within_a_block,
        "cp.async.bulk.shared::cta.shared::cta.mbarrier::complete_tx::bytes [%1], [%1], 16, [%1]; mov.b32 %0, 1;")
REFUSED(bulk_within_global, "cp.async.bulk.global.global.bulk_group [%2], [%2], 16; mov.b32 %0, 1;")
REFUSED(bulk_of_24_bytes, "cp.async.bulk.global.shared::cta.bulk_group [%2], [%1], 24; mov.b32 %0, 1;")
REFUSED(bulk_without_mbarrier,
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%1], [%2], 16; mov.b32 %0, 1;")
REFUSED(bulk_with_a_fourth, "cp.async.bulk.global.shared::cta.bulk_group [%2], [%1], 16, [%1]; mov.b32 %0, 1;")
REFUSED(bulk_policy_missing,
        "cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint [%2], [%1], 16; mov.b32 %0, 1;")
REFUSED(bulk_hint_within, "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.L2::cache_hint "
                          "[%1], [%1], 16, [%1], %2; mov.b32 %0, 1;")
REFUSED(bulk_multicast_to_itself,
        "{.reg .b16 m; cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes.multicast::cluster "
        "[%1], [%2], 16, [%1], m;} mov.b32 %0, 1;")
REFUSED(bulk_wide_mask, "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
                        "[%1], [%2], 16, [%1], %1; mov.b32 %0, 1;")
REFUSED(bulk_masked,
        "{.reg .b16 m; cp.async.bulk.global.shared::cta.bulk_group.cp_mask [%2], [%1], 16, m;} mov.b32 %0, 1;")
REFUSED(bulk_ignoring_bounds, "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes.ignore_oob "
                              "[%1], [%2], 16, [%1], 0, 0; mov.b32 %0, 1;")
REFUSED(bulk_prefetch_of_shared, "cp.async.bulk.prefetch.L2.shared::cta [%1], 16; mov.b32 %0, 1;")
REFUSED(bulk_groups_in_a_register, "cp.async.bulk.wait_group.read %1; mov.b32 %0, 1;")
REFUSED(bulk_wait_of_all, "cp.async.bulk.wait_all; mov.b32 %0, 1;")
REFUSED(bulk_sum_of_signed_64,
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.s64 [%2], [%1], 16; mov.b32 %0, 1;")
REFUSED(bulk_sum_of_halves_flushed,
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f16 [%2], [%1], 16; mov.b32 %0, 1;")
REFUSED(bulk_least_of_floats,
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.min.f32 [%2], [%1], 16; mov.b32 %0, 1;")
REFUSED(bulk_exchange, "cp.reduce.async.bulk.global.shared::cta.bulk_group.exch.b32 [%2], [%1], 16; mov.b32 %0, 1;")
REFUSED(bulk_floats_in_shared, "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.f32 "
                               "[%1], [%1], 16, [%1]; mov.b32 %0, 1;")
REFUSED(bulk_reduction_from_global, "cp.reduce.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.add.u32 "
                                    "[%1], [%2], 16, [%1]; mov.b32 %0, 1;")
REFUSED(store_that_nothing_counts, "st.async.shared::cluster.u32 [%1], %1, [%1]; mov.b32 %0, 1;")
REFUSED(store_without_mbarrier, "st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%1], %1; mov.b32 %0, 1;")
REFUSED(store_in_order,
        "st.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.u32 [%1], %1, [%1]; mov.b32 %0, 1;")
REFUSED(weak_store_in_a_scope,
        "st.async.weak.cluster.shared::cluster.mbarrier::complete_tx::bytes.u32 [%1], %1, [%1]; mov.b32 %0, 1;")
REFUSED(store_of_32_bytes, "{.reg .b64 w; st.async.shared::cluster"
                           ".mbarrier::complete_tx::bytes.v4.b64 [%1], {w, w, w, w}, [%1];} mov.b32 %0, 1;")
REFUSED(store_of_a_short_vector,
        "st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%1], {%1, %1}, [%1]; mov.b32 %0, 1;")
REFUSED(store_of_a_wide_register,
        "st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%1], %2, [%1]; mov.b32 %0, 1;")
REFUSED(store_of_halves,
        "{.reg .b16 h; st.async.shared::cluster.mbarrier::complete_tx::bytes.b16 [%1], h, [%1];} mov.b32 %0, 1;")
REFUSED(store_to_the_own_block, "st.async.shared::cta.mbarrier::complete_tx::bytes.u32 [%1], %1, [%1]; mov.b32 %0, 1;")
REFUSED(reduction_in_no_order,
        "red.async.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%1], %1, [%1]; mov.b32 %0, 1;")
REFUSED(reduction_of_a_block,
        "red.async.relaxed.cta.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%1], %1, [%1]; mov.b32 %0, 1;")
REFUSED(reduction_that_nothing_counts,
        "red.async.relaxed.cluster.shared::cluster.add.u32 [%1], %1, [%1]; mov.b32 %0, 1;")
REFUSED(reduction_without_operation,
        "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.u32 [%1], %1, [%1]; mov.b32 %0, 1;")
REFUSED(reduction_of_floats, "{.reg .f32 f; red.async.relaxed.cluster.shared::cluster"
                             ".mbarrier::complete_tx::bytes.add.f32 [%1], f, [%1];} mov.b32 %0, 1;")
REFUSED(reduction_of_64_bits,
        "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.max.u64 [%1], %2, [%1]; mov.b32 %0, 1;")
REFUSED(reduction_of_a_pattern,
        "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.b32 [%1], %1, [%1]; mov.b32 %0, 1;")
REFUSED(reduction_by_exchange, "red.async.relaxed.cluster.shared::cluster"
                               ".mbarrier::complete_tx::bytes.exch.b32 [%1], %1, [%1]; mov.b32 %0, 1;")
REFUSED(map_of_no_cluster, "mapa.shared::cta.u32 %0, %1, 0;")
REFUSED(narrow_map, "mapa.u32 %0, %1, 0;")
REFUSED(rows_of_a_cluster, "ldmatrix.sync.aligned.m8n8.x1.shared::cluster.b16 {%0}, [%1];")
REFUSED(fragment_of_a_cluster, "{.reg .b32 r<8>; wmma.load.a.sync.aligned.row.m16n16k16.shared::cluster.f16 "
                               "{r0, r1, r2, r3, r4, r5, r6, r7}, [%1], 16; mov.b32 %0, r0;}")
REFUSED(tensor_without_dimensions,
        "cp.async.bulk.tensor.global.shared::cta.bulk_group [%2, {%0}], [%1]; mov.b32 %0, 1;")
REFUSED(tensor_of_six, "cp.async.bulk.tensor.6d.global.shared::cta.bulk_group [%2, {%0}], [%1]; mov.b32 %0, 1;")
REFUSED(tensor_in_columns, "cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes "
                           "[%1], [%2, {%0, %0, %0}], [%1]; mov.b32 %0, 1;")
REFUSED(tensor_gathered, "cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes "
                         "[%1], [%2, {%0, %0}], [%1]; mov.b32 %0, 1;")
REFUSED(tensor_multicast,
        "{.reg .b16 m; cp.async.bulk.tensor.1d.shared::cta.global.mbarrier::complete_tx::bytes.multicast::cluster "
        "[%1], [%2, {%0}], [%1], m;} mov.b32 %0, 1;")
REFUSED(tensor_by_no_place, "cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [%2], [%1]; mov.b32 %0, 1;")
REFUSED(tensor_of_wide_corner, "cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [%2, {%2}], [%1]; mov.b32 %0, 1;")
REFUSED(tensor_to_global_by_bytes, "cp.async.bulk.tensor.1d.global.shared::cta.mbarrier::complete_tx::bytes "
                                   "[%2, {%0}], [%1], [%1]; mov.b32 %0, 1;")
REFUSED(tensor_within_shared, "cp.async.bulk.tensor.1d.shared::cluster.shared::cta.mbarrier::complete_tx::bytes "
                              "[%1], [%2, {%0}], [%1]; mov.b32 %0, 1;")
REFUSED(tensor_without_mbarrier,
        "cp.async.bulk.tensor.1d.shared::cta.global.mbarrier::complete_tx::bytes [%1], [%2, {%0}]; mov.b32 %0, 1;")
REFUSED(tensor_exchanged,
        "cp.reduce.async.bulk.tensor.1d.global.shared::cta.exch.bulk_group [%2, {%0}], [%1]; mov.b32 %0, 1;")
REFUSED(tensor_reduced_into_shared,
        "cp.reduce.async.bulk.tensor.1d.shared::cluster.global.add.bulk_group [%2, {%0}], [%1]; mov.b32 %0, 1;")
REFUSED(tensor_prefetched_to_l1, "cp.async.bulk.prefetch.tensor.1d.L1.shared::cta [%2, {%0}]; mov.b32 %0, 1;")
REFUSED(place_of_a_load, "ld.global.b32 %0, [%2, {%0}];")
REFUSED(map_of_no_size, "tensormap.replace.tile.rank.global.b32 [%2], %0; mov.b32 %0, 1;")
REFUSED(map_in_constants, "tensormap.replace.tile.rank.const.b1024.b32 [%2], %0; mov.b32 %0, 1;")
REFUSED(map_of_six_sizes, "tensormap.replace.tile.global_dim.global.b1024.b32 [%2], 5, %0; mov.b32 %0, 1;")
REFUSED(map_of_five_strides, "tensormap.replace.tile.global_stride.global.b1024.b64 [%2], 4, %2; mov.b32 %0, 1;")
REFUSED(map_of_any_type, "tensormap.replace.tile.elemtype.global.b1024.b32 [%2], %0; mov.b32 %0, 1;")
REFUSED(map_address_of_32_bits, "tensormap.replace.tile.global_address.global.b1024.b32 [%2], %0; mov.b32 %0, 1;")
REFUSED(map_fence_of_64_bytes, "fence.proxy.tensormap::generic.acquire.gpu [%2], 64; mov.b32 %0, 1;")
REFUSED(map_fence_without_scope, "fence.proxy.tensormap::generic.release; mov.b32 %0, 1;")
REFUSED(map_copied_by_a_thread,
        "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu [%2], [%1], 128; mov.b32 %0, 1;")
REFUSED(acquiring_cluster_arrival, "barrier.cluster.arrive.acquire.aligned; mov.b32 %0, 1;")
REFUSED(relaxed_cluster_wait, "barrier.cluster.wait.relaxed; mov.b32 %0, 1;")
REFUSED(sparse, "mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0}, {%1}, {%1}, {%1}, %1, 0;")

REFUSED(part_of_sum, "add.s32 %0, %1.h0, 1;")
REFUSED(part_written, "mov.b32 %0.h0, %1;")
REFUSED(minus_of_sum, "add.s32 %0, -%1, 1;")
REFUSED(no_such_part, "vadd.s32.s32.s32 %0, %1.h2, %1;")
REFUSED(unknown_part, "vadd.s32.s32.s32 %0, %1.q1, %1;")
REFUSED(part_and_operation, "vadd.s32.s32.s32.add %0.h0, %1, %1, %1;")
REFUSED(two_types_of_video, "vadd.s32.s32 %0, %1, %1;")
REFUSED(third_number_missing, "vadd.s32.s32.s32.min %0, %1, %1;")
REFUSED(shift_without_limit, "vshl.s32.s32.u32 %0, %1, %1;")
REFUSED(set_without_comparison, "vset.s32.s32 %0, %1, %1;")
REFUSED(minus_with_plus_one, "vmad.s32.s32.s32.po %0, -%1, %1, %1;")
REFUSED(two_minuses, "vmad.s32.s32.s32 %0, -%1, %1, -%1;")
REFUSED(bytes_of_halves, "vadd2.s32.s32.s32 %0, %1.b3210, %1, %1;")
REFUSED(mask_in_disorder, "vadd4.s32.s32.s32 %0.b01, %1, %1, %1;")
REFUSED(saturated_sum_of_parts, "vadd4.s32.s32.s32.sat.add %0, %1, %1, %1;")
REFUSED(minimum_of_parts, "vadd2.s32.s32.s32.min %0, %1, %1, %1;")
REFUSED(average_of_one, "vavrg.s32.s32.s32 %0, %1, %1;")
REFUSED(packed_without_sat, "cvt.pack.s16.s32 %0, %1, %1;")
REFUSED(packed_halves_of_three, "cvt.pack.sat.s16.s32.b32 %0, %1, %1, %1;")
REFUSED(packed_bytes_of_two, "cvt.pack.sat.s8.s32 %0, %1, %1;")
REFUSED(relu_of_unsigned, "max.relu.u32 %0, %1, 1;")
REFUSED(relu_of_unsigned_pair, "max.u16x2.relu %0, %1, 1;")
REFUSED(difference_of_pairs, "sub.s16x2 %0, %1, %1;")
REFUSED(sum_of_one_vector, "red.global.add.v3.f32 [%2], {%1, %1, %1}; mov.b32 %0, 1;")
REFUSED(vector_of_eight_floats, "{.reg .f32 f; red.global.add.v8.f32 [%2], {f, f, f, f, f, f, f, f}; mov.b32 %0, 1;}")
REFUSED(vector_of_integers, "red.global.add.v2.s32 [%2], {%1, %1}; mov.b32 %0, 1;")
REFUSED(least_of_floats, "{.reg .f32 f; red.global.min.v2.f32 [%2], {f, f}; mov.b32 %0, 1;}")
REFUSED(vector_of_shared, "{.reg .f32 f; red.shared.add.v2.f32 [%1], {f, f}; mov.b32 %0, 1;}")
REFUSED(too_few_in_the_vector, "{.reg .f32 f; red.global.add.v4.f32 [%2], {f, f}; mov.b32 %0, 1;}")
REFUSED(wide_in_the_vector, "{.reg .f64 f; red.global.add.v2.f32 [%2], {f, f}; mov.b32 %0, 1;}")
REFUSED(halves_flushed, "{.reg .b16 h; red.global.add.v2.f16 [%2], {h, h}; mov.b32 %0, 1;}")
REFUSED(numbers_not_flushed, "red.global.add.noftz.s32 [%2], %1; mov.b32 %0, 1;")
REFUSED(sum_of_sixteen_bytes, "{.reg .b128 w; atom.global.add.b128 w, [%2], w; mov.b32 %0, 1;}")
REFUSED(exchange_with_a_third, "atom.global.exch.b32 %0, [%2], %1, %1;")
REFUSED(policy_for_a_third, "{.reg .b64 p; atom.global.cas.L2::cache_hint.b32 %0, [%2], %1, p;}")
REFUSED(policy_for_nothing, "{.reg .b64 p; createpolicy.fractional.b64 p; mov.b32 %0, 1;}")
REFUSED(range_of_shared, "{.reg .b64 p; createpolicy.range.shared.L2::evict_last.b64 p, [%1], 64, 64; mov.b32 %0, 1;}")
REFUSED(wide_load_of_eight, "{.reg .b16 h; ld.global.v8.b16 {h, h, h, h, h, h, h, h}, [%2]; mov.b32 %0, 1;}")
REFUSED(transpose_of_x4, "movmatrix.sync.aligned.m8n8.x4.trans.b16 %0, %1;")
REFUSED(not_a_transpose, "movmatrix.sync.aligned.m8n8.b16 %0, %1;")
REFUSED(doubles_in_words, "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %0}, {%1}, {%1}, {%1, %1};")
REFUSED(bits_without_operation, "mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32 {%0, %0}, {%1}, {%1}, {%1, %1};")
REFUSED(bits_not_counted, "mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.xor {%0, %0}, {%1}, {%1}, {%1, %1};")
REFUSED(nibbles_counted, "mma.sync.aligned.m8n8k32.row.col.s32.s4.s4.s32.xor.popc {%0, %0}, {%1}, {%1}, {%1, %1};")
REFUSED(doubles_to_float, "{.reg .f64 d; mma.sync.aligned.m16n8k4.row.col.f32.f64.f64.f32 {%0}, {d}, {d}, {%0};}")
REFUSED(nibbles_by_bytes,
        "mma.sync.aligned.m16n8k32.row.col.s32.s4.s8.s32 {%0, %0, %0, %0}, {%1, %1}, {%1}, {%1, %1, %1, %1};")
REFUSED(nibbles_in_columns, "wmma.load.a.sync.aligned.col.m8n8k32.global.s4 {%0}, [%2];")
REFUSED(saturated_doubles, "{.reg .f64 d; mma.sync.aligned.m8n8k4.row.col.satfinite.f64.f64.f64.f64 "
                           "{d, d}, {d}, {d}, {d, d}; mov.b32 %0, 1;}")
REFUSED(mask_without_limit, "bmsk.b32 %0, %1, 3;")
REFUSED(reduced_floats, "{.reg .f32 f; redux.sync.min.f32 f, f, -1; mov.b32 %0, 1;}")
REFUSED(minimum_in_addition, "vadd.s32.s32.s32.min %0, %1, %1, %1;")
REFUSED(half_of_a_sum, "vadd.s32.s32.s32 %0.h1, %1, %1, %1;")
REFUSED(unsigned_saturated, "vadd.u32.s32.s32.sat %0, %1, %1;")
REFUSED(shift_saturated, "vshl.s32.s32.u32.sat.wrap %0, %1, %1;")
REFUSED(unsigned_scaled, "vmad.u32.u32.u32.shr7 %0, %1, %1, %1;")
REFUSED(decimal_in_a_vector, "{.reg .f32 f; red.global.add.v2.f32 [%2], {1.5, f}; mov.b32 %0, 1;}")
REFUSED(wgmma_sparse, "wgmma.mma_async.sp.sync.aligned.m64n8k32.f16.f16.f16 {%0, %0}, %2, %2, %1, 0, 1, 1, 1, 0, 0;")
REFUSED(wgmma_alone, "wgmma.fence.sync; mov.b32 %0, 1;")
REFUSED(wgmma_committed_alone, "wgmma.commit_group; mov.b32 %0, 1;")
REFUSED(wgmma_groups_in_a_register, "wgmma.wait_group.sync.aligned %1; mov.b32 %0, 1;")
REFUSED(wgmma_of_12_columns, "wgmma.mma_async.sync.aligned.m64n12k16.f16.f16.f16 {%0, %0}, %2, %2, 1, 1, 1, 0, 0;")
REFUSED(wgmma_of_40_columns_of_bytes, "wgmma.mma_async.sync.aligned.m64n40k32.s32.s8.s8 {%0, %0}, %2, %2, 1;")
REFUSED(wgmma_of_two_types, "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.bf16 {%0, %0}, %2, %2, 1, 1, 1, 0, 0;")
REFUSED(wgmma_of_four_types, "wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16.f16 {%0, %0}, %2, %2, 1, 1, 1, 0, 0;")
REFUSED(wgmma_of_too_few_registers,
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %0}, %2, %2, 1, 1, 1, 0, 0;")
REFUSED(wgmma_of_its_own_registers, "{.reg .b32 d<2>; wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16 {d0, d1}, "
                                    "%2, %2, 1, 1, 1, 0, 0; mov.b32 %0, d0;}")
REFUSED(wgmma_and_more,
        "wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16 {%0, %0}, %2, %2, 1, 1, 1, 0, 0; mov.b32 %0, 1;")
REFUSED(wgmma_by_a_narrow_descriptor,
        "wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16 {%0, %0}, %1, %2, 1, 1, 1, 0, 0;")
REFUSED(wgmma_of_two_registers_of_a,
        "wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16 {%0, %0}, {%1, %1}, %2, 1, 1, 1, 0;")
REFUSED(wgmma_scaled_by_a_register,
        "wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16 {%0, %0}, %2, %2, %1, 1, 1, 0, 0;")
REFUSED(wgmma_scaled_by_two, "wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16 {%0, %0}, %2, %2, 2, 1, 1, 0, 0;")
REFUSED(wgmma_into_inputs, "wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16 {%1, %1}, %2, %2, 0, 1, 1, 0, 0;")
REFUSED(wgmma_groups_below_none, "wgmma.wait_group.sync.aligned -1; mov.b32 %0, 1;")
REFUSED(registers_of_more_than_32_bits, "setmaxnreg.dec.sync.aligned.u32 4294967320; mov.b32 %0, 1;")
REFUSED(wgmma_times_two, "wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16 {%0, %0}, %2, %2, 1, 2, 1, 0, 0;")
REFUSED(wgmma_sign_in_a_register, "wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16 {%0, %0}, %2, %2, 1, %1, 1, 0, 0;")
REFUSED(wgmma_without_transposition, "wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16 {%0, %0}, %2, %2, 1, 1, 1;")
REFUSED(wgmma_fp8_transposed, "wgmma.mma_async.sync.aligned.m64n8k32.f16.e4m3.e4m3 {%0, %0}, %2, %2, 1, 1, 1, 0, 0;")
REFUSED(wgmma_saturated_floats,
        "wgmma.mma_async.sync.aligned.m64n8k16.satfinite.f16.f16.f16 {%0, %0}, %2, %2, 1, 1, 1, 0, 0;")
REFUSED(wgmma_of_bits_by_or, "wgmma.mma_async.sync.aligned.m64n8k256.s32.b1.b1.xor.popc {%0, %0}, %2, %2, 1;")

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
    RUN(acquiring_arrival);
    RUN(releasing_wait);
    RUN(relaxed_without_scope);
    RUN(scope_without_order);
    RUN(arrival_of_the_gpu);
    RUN(token_of_a_cluster);
    RUN(relaxed_no_complete);
    RUN(no_complete_of_one);
    RUN(wait_of_a_cluster);
    RUN(init_of_a_cluster);
    RUN(releasing_expectation);
    RUN(bytes_not_said);
    RUN(proxies_of_constants);
    RUN(bulk_to_global_by_bytes);
    RUN(bulk_to_shared_by_group);
    RUN(bulk_completes_nothing);
    RUN(bulk_within_a_block);
    RUN(bulk_within_global);
    RUN(bulk_of_24_bytes);
    RUN(bulk_without_mbarrier);
    RUN(bulk_with_a_fourth);
    RUN(bulk_policy_missing);
    RUN(bulk_hint_within);
    RUN(bulk_multicast_to_itself);
    RUN(bulk_wide_mask);
    RUN(bulk_masked);
    RUN(bulk_ignoring_bounds);
    RUN(bulk_prefetch_of_shared);
    RUN(bulk_groups_in_a_register);
    RUN(bulk_wait_of_all);
    RUN(bulk_sum_of_signed_64);
    RUN(bulk_sum_of_halves_flushed);
    RUN(bulk_least_of_floats);
    RUN(bulk_exchange);
    RUN(bulk_floats_in_shared);
    RUN(bulk_reduction_from_global);
    RUN(store_that_nothing_counts);
    RUN(store_without_mbarrier);
    RUN(store_in_order);
    RUN(weak_store_in_a_scope);
    RUN(store_of_32_bytes);
    RUN(store_of_a_short_vector);
    RUN(store_of_a_wide_register);
    RUN(store_of_halves);
    RUN(store_to_the_own_block);
    RUN(reduction_in_no_order);
    RUN(reduction_of_a_block);
    RUN(reduction_that_nothing_counts);
    RUN(reduction_without_operation);
    RUN(reduction_of_floats);
    RUN(reduction_of_64_bits);
    RUN(reduction_of_a_pattern);
    RUN(reduction_by_exchange);
    RUN(map_of_no_cluster);
    RUN(narrow_map);
    RUN(rows_of_a_cluster);
    RUN(fragment_of_a_cluster);
    RUN(tensor_without_dimensions);
    RUN(tensor_of_six);
    RUN(tensor_in_columns);
    RUN(tensor_gathered);
    RUN(tensor_multicast);
    RUN(tensor_by_no_place);
    RUN(tensor_of_wide_corner);
    RUN(tensor_to_global_by_bytes);
    RUN(tensor_within_shared);
    RUN(tensor_without_mbarrier);
    RUN(tensor_exchanged);
    RUN(tensor_reduced_into_shared);
    RUN(tensor_prefetched_to_l1);
    RUN(place_of_a_load);
    RUN(map_of_no_size);
    RUN(map_in_constants);
    RUN(map_of_six_sizes);
    RUN(map_of_five_strides);
    RUN(map_of_any_type);
    RUN(map_address_of_32_bits);
    RUN(map_fence_of_64_bytes);
    RUN(map_fence_without_scope);
    RUN(map_copied_by_a_thread);
    RUN(acquiring_cluster_arrival);
    RUN(relaxed_cluster_wait);
    RUN(sparse);
    RUN(part_of_sum);
    RUN(part_written);
    RUN(minus_of_sum);
    RUN(no_such_part);
    RUN(unknown_part);
    RUN(part_and_operation);
    RUN(two_types_of_video);
    RUN(third_number_missing);
    RUN(shift_without_limit);
    RUN(set_without_comparison);
    RUN(minus_with_plus_one);
    RUN(two_minuses);
    RUN(bytes_of_halves);
    RUN(mask_in_disorder);
    RUN(saturated_sum_of_parts);
    RUN(minimum_of_parts);
    RUN(average_of_one);
    RUN(packed_without_sat);
    RUN(packed_halves_of_three);
    RUN(packed_bytes_of_two);
    RUN(relu_of_unsigned);
    RUN(relu_of_unsigned_pair);
    RUN(difference_of_pairs);
    RUN(sum_of_one_vector);
    RUN(vector_of_eight_floats);
    RUN(vector_of_integers);
    RUN(least_of_floats);
    RUN(vector_of_shared);
    RUN(too_few_in_the_vector);
    RUN(wide_in_the_vector);
    RUN(halves_flushed);
    RUN(numbers_not_flushed);
    RUN(sum_of_sixteen_bytes);
    RUN(exchange_with_a_third);
    RUN(policy_for_a_third);
    RUN(policy_for_nothing);
    RUN(range_of_shared);
    RUN(wide_load_of_eight);
    RUN(transpose_of_x4);
    RUN(not_a_transpose);
    RUN(doubles_in_words);
    RUN(bits_without_operation);
    RUN(bits_not_counted);
    RUN(nibbles_counted);
    RUN(doubles_to_float);
    RUN(nibbles_by_bytes);
    RUN(nibbles_in_columns);
    RUN(saturated_doubles);
    RUN(mask_without_limit);
    RUN(reduced_floats);
    RUN(minimum_in_addition);
    RUN(half_of_a_sum);
    RUN(unsigned_saturated);
    RUN(shift_saturated);
    RUN(unsigned_scaled);
    RUN(decimal_in_a_vector);
    RUN(wgmma_sparse);
    RUN(wgmma_alone);
    RUN(wgmma_committed_alone);
    RUN(wgmma_groups_in_a_register);
    RUN(wgmma_of_12_columns);
    RUN(wgmma_of_40_columns_of_bytes);
    RUN(wgmma_of_two_types);
    RUN(wgmma_of_four_types);
    RUN(wgmma_of_too_few_registers);
    RUN(wgmma_of_its_own_registers);
    RUN(wgmma_and_more);
    RUN(wgmma_by_a_narrow_descriptor);
    RUN(wgmma_of_two_registers_of_a);
    RUN(wgmma_scaled_by_a_register);
    RUN(wgmma_scaled_by_two);
    RUN(wgmma_into_inputs);
    RUN(wgmma_groups_below_none);
    RUN(registers_of_more_than_32_bits);
    RUN(wgmma_times_two);
    RUN(wgmma_sign_in_a_register);
    RUN(wgmma_without_transposition);
    RUN(wgmma_fp8_transposed);
    RUN(wgmma_saturated_floats);
    RUN(wgmma_of_bits_by_or);
    return cudaDeviceSynchronize();
}
