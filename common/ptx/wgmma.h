// Products of tiles in shared memory, which the tensor cores of a whole warpgroup compute while its threads go on.
//
// A warpgroup is four warps whose first has a number divisible by 4: 128 threads. All of them call each function here together, with
// the same operands. Its products belong to the async proxy: they read tiles that tensor copies have written and a thread has waited for,
// and nothing of what they compute is there before wgmma_wait_group.
#ifndef PTX_WGMMA_H
#define PTX_WGMMA_H

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdint.h>

// [swizzle] How vectors of 16 bytes have changed places within rows of so many bytes, as a descriptor says it.
enum wgmma_swizzle {
    WGMMA_SWIZZLE_NONE = 0,
    WGMMA_SWIZZLE_128B = 1,
    WGMMA_SWIZZLE_64B = 2,
    WGMMA_SWIZZLE_32B = 3,
};

// [descriptor] The matrix descriptor (PTX ISA, "Asynchronous Warpgroup Level Matrix Shared Memory Layout: Matrix Descriptor Format"): where an
// operand lies in shared memory, in 64 bits. Addresses and offsets are multiples of 16 bytes, and it has them divided by 16.
//   bits  0 to 13  the address of the operand's first element
//        16 to 29  the leading offset
//        32 to 45  the stride offset
//        49 to 51  the base offset: 0, because each pattern of a swizzle begins at a multiple of its own size, 1,024 bytes at most
//        62 to 63  the swizzle
// Between which of the operand's parts either offset lies depends on the swizzle, and on whether the operand is K-major or MN-major.
__device__ __forceinline__ uint64_t wgmma_descriptor(const void *first, unsigned leading_bytes, unsigned stride_bytes,
                                                     enum wgmma_swizzle swizzle)
{
    const uint64_t address = __cvta_generic_to_shared(first) &
                             0x3ffff;  // 18 bits: more would reach into the next field
    const uint64_t leading = leading_bytes, stride = stride_bytes, mode = swizzle;
    return address >> 4 | leading >> 4 << 16 | stride >> 4 << 32 | mode << 62;
}
// [end descriptor]

// [fence] wgmma.fence (PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions: wgmma.fence"): what the threads have done so far with their
// accumulators, and with registers that are an A operand, comes before what products do with them from here on. Called before the first
// product, and again after a thread has touched one of them. Products that follow one another on the same accumulators need none in between.
__device__ __forceinline__ void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

// [commit] wgmma.commit_group (PTX ISA, "wgmma.commit_group"): the products that were issued since the last group become a group.
__device__ __forceinline__ void wgmma_commit_group() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

// [wait] wgmma.wait_group (PTX ISA, "wgmma.wait_group"): waits until all but at most `pending` groups, the youngest, are done: they have
// read their tiles, and their sums are in the accumulators, an array of any shape. The empty statements are no instructions: they tell
// the compiler that the accumulators change here, so that it reads none of them earlier.
template <int pending, class Sums>
__device__ __forceinline__ void wgmma_wait_group(Sums &sums)
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(pending) : "memory");
    float *const sum = (float *)&sums;
#pragma unroll
    for (int i = 0; i < sizeof(Sums) / sizeof(float); i++)
        asm volatile("" : "+f"(sum[i])::"memory");
}
// [end wait]

// The accumulators of a thread, 4 in each of its tiles, as a statement lists them: in its text, and as operands that it reads and writes.
#define WGMMA_LIST_32 \
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define WGMMA_LIST_40 \
    WGMMA_LIST_32 \
    ", %32, %33, %34, %35, %36, %37, %38, %39"
#define WGMMA_LIST_64 \
    WGMMA_LIST_40 \
    ", %40, %41, %42, %43, %44, %45, %46, %47, " \
    "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define WGMMA_LIST_80 \
    WGMMA_LIST_64 \
    ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79"
#define WGMMA_96 \
    WGMMA_LIST_80 \
    ", %80, %81, %82, %83, %84, %85, %86, %87, " \
    "%88, %89, %90, %91, %92, %93, %94, %95"
#define WGMMA_128 \
    WGMMA_96 \
    ", %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, " \
    "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
#define WGMMA_4(x) "+f"(sum[x][0]), "+f"(sum[x][1]), "+f"(sum[x][2]), "+f"(sum[x][3])
#define WGMMA_32(x) \
    WGMMA_4(x), WGMMA_4(x + 1), WGMMA_4(x + 2), WGMMA_4(x + 3), WGMMA_4(x + 4), WGMMA_4(x + 5), WGMMA_4(x + 6), \
        WGMMA_4(x + 7)

// wgmma.mma_async.sync.aligned.m64n192k16 (PTX ISA, "wgmma.mma_async"): sum += A B, where A is [64, 16] and K-major: the elements of a row are
// neighbours; B is [16, 192] and MN-major: the elements of a row are neighbours there, too. Both are in shared memory, and a and b are
// their descriptors. sum is [64, 192] in tiles of 16 × 8, as those of mma: warp w of the warpgroup has rows 16 w to 16 w + 15, and of
// the 8 columns from 8 x on, lane l holds
//   sum[x][0], sum[x][1]  (16 w + l / 4, 8 x + l % 4 * 2) and its right neighbour      sum[x][2], sum[x][3]  the same, 8 rows further down
// The numbers behind the descriptors: 1, the products are added to the sums, which otherwise begin at 0; 1 and 1, neither A nor B
// is negated; 0 and 1, A is K-major and B is not.
//
// [fp16] fp16 products in fp32.
__device__ __forceinline__ void wgmma_m64n192k16(float sum[24][4], uint64_t a, uint64_t b, half)
{
    asm volatile("wgmma.mma_async.sync.aligned.m64n192k16.f32.f16.f16 {" WGMMA_96 "}, %96, %97, 1, 1, 1, 0, 1;"
                 : WGMMA_32(0), WGMMA_32(8), WGMMA_32(16)
                 : "l"(a), "l"(b));
}

// [bf16] bf16 products in fp32.
__device__ __forceinline__ void wgmma_m64n192k16(float sum[24][4], uint64_t a, uint64_t b, __nv_bfloat16)
{
    asm volatile("wgmma.mma_async.sync.aligned.m64n192k16.f32.bf16.bf16 {" WGMMA_96 "}, %96, %97, 1, 1, 1, 0, 1;"
                 : WGMMA_32(0), WGMMA_32(8), WGMMA_32(16)
                 : "l"(a), "l"(b));
}
// [end bf16]

// wgmma.mma_async.sync.aligned.m64n256k16: the same with B [16, 256] and sum [64, 256].
__device__ __forceinline__ void wgmma_m64n256k16(float sum[32][4], uint64_t a, uint64_t b, half)
{
    asm volatile("wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 {" WGMMA_128 "}, %128, %129, 1, 1, 1, 0, 1;"
                 : WGMMA_32(0), WGMMA_32(8), WGMMA_32(16), WGMMA_32(24)
                 : "l"(a), "l"(b));
}

__device__ __forceinline__ void wgmma_m64n256k16(float sum[32][4], uint64_t a, uint64_t b, __nv_bfloat16)
{
    asm volatile("wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {" WGMMA_128 "}, %128, %129, 1, 1, 1, 0, 1;"
                 : WGMMA_32(0), WGMMA_32(8), WGMMA_32(16), WGMMA_32(24)
                 : "l"(a), "l"(b));
}

// All accumulators of a thread in sums of 64, 80, 128 and 256 columns.
#define WGMMA_SUMS_32 WGMMA_32(0)
#define WGMMA_SUMS_40 WGMMA_SUMS_32, WGMMA_4(8), WGMMA_4(9)
#define WGMMA_SUMS_64 WGMMA_SUMS_32, WGMMA_32(8)
#define WGMMA_SUMS_80 WGMMA_SUMS_64, WGMMA_4(16), WGMMA_4(17), WGMMA_4(18), WGMMA_4(19)
#define WGMMA_SUMS_96 WGMMA_SUMS_64, WGMMA_32(16)
#define WGMMA_SUMS_128 WGMMA_SUMS_64, WGMMA_32(16), WGMMA_32(24)

// [forms] Three more forms, of fp16 and of bf16 in fp32, for each number n of columns. The size of sum, [64, n] as above, says which is meant. The numbers
// of its operands follow on those of the sums.
//
// wgmma_transposed: sum = A Bᵀ, or sum += A Bᵀ where `add`, a predicate of the instruction: without it, what sum held means nothing. A is
// [64, 16] and B [n, 16], so that Bᵀ is K-major as A is: 0 and 0 at the end. Both are in shared memory.
//
// wgmma_plain: sum += A B, A as above, B [16, n] and MN-major, both in shared memory: as the functions above, for each n.
//
// wgmma_registers: sum += A B, where A is [64, 16] in the warpgroup's registers, and B [16, n], in shared memory and MN-major. Lane l of warp w
// has of A what sums have of C, packed in pairs:
//   a[0]  (16 w + l / 4, l % 4 * 2) and its right neighbour      a[1]  the same, 8 rows further down      a[2], a[3]  8 columns further right
// Until the product is done, these registers belong to it as the sums do.
#define WGMMA_FORMS(T, type, n, list, sums, at, at_1, at_2, at_3, at_4) \
    __device__ __forceinline__ void wgmma_transposed(float(&sum)[n / 8][4], uint64_t a, uint64_t b, bool add, T) \
    { \
        asm volatile("{\n" \
                     ".reg .pred add;\n" \
                     "setp.ne.b32 add, " at_2 ", 0;\n" \
                     "wgmma.mma_async.sync.aligned.m64n" #n "k16.f32." type "." type " {" list "}, " at ", " at_1 \
                     ", add, 1, 1, 0, 0;\n" \
                     "}" \
                     : sums \
                     : "l"(a), "l"(b), "r"((int)add)); \
    } \
    __device__ __forceinline__ void wgmma_plain(float(&sum)[n / 8][4], uint64_t a, uint64_t b, T) \
    { \
        asm volatile("wgmma.mma_async.sync.aligned.m64n" #n "k16.f32." type "." type " {" list "}, " at ", " at_1 \
                     ", 1, 1, 1, 0, 1;" \
                     : sums \
                     : "l"(a), "l"(b)); \
    } \
    __device__ __forceinline__ void wgmma_registers(float(&sum)[n / 8][4], const uint32_t a[4], uint64_t b, T) \
    { \
        asm volatile("wgmma.mma_async.sync.aligned.m64n" #n "k16.f32." type "." type " {" list "}, {" at ", " at_1 \
                     ", " at_2 ", " at_3 "}, " at_4 ", 1, 1, 1, 1;" \
                     : sums \
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b)); \
    }
WGMMA_FORMS(half, "f16", 64, WGMMA_LIST_32, WGMMA_SUMS_32, "%32", "%33", "%34", "%35", "%36")
WGMMA_FORMS(half, "f16", 80, WGMMA_LIST_40, WGMMA_SUMS_40, "%40", "%41", "%42", "%43", "%44")
WGMMA_FORMS(half, "f16", 128, WGMMA_LIST_64, WGMMA_SUMS_64, "%64", "%65", "%66", "%67", "%68")
WGMMA_FORMS(half, "f16", 160, WGMMA_LIST_80, WGMMA_SUMS_80, "%80", "%81", "%82", "%83", "%84")
WGMMA_FORMS(half, "f16", 192, WGMMA_96, WGMMA_SUMS_96, "%96", "%97", "%98", "%99", "%100")
WGMMA_FORMS(half, "f16", 256, WGMMA_128, WGMMA_SUMS_128, "%128", "%129", "%130", "%131", "%132")
WGMMA_FORMS(__nv_bfloat16, "bf16", 64, WGMMA_LIST_32, WGMMA_SUMS_32, "%32", "%33", "%34", "%35", "%36")
WGMMA_FORMS(__nv_bfloat16, "bf16", 80, WGMMA_LIST_40, WGMMA_SUMS_40, "%40", "%41", "%42", "%43", "%44")
WGMMA_FORMS(__nv_bfloat16, "bf16", 128, WGMMA_LIST_64, WGMMA_SUMS_64, "%64", "%65", "%66", "%67", "%68")
WGMMA_FORMS(__nv_bfloat16, "bf16", 160, WGMMA_LIST_80, WGMMA_SUMS_80, "%80", "%81", "%82", "%83", "%84")
WGMMA_FORMS(__nv_bfloat16, "bf16", 192, WGMMA_96, WGMMA_SUMS_96, "%96", "%97", "%98", "%99", "%100")
WGMMA_FORMS(__nv_bfloat16, "bf16", 256, WGMMA_128, WGMMA_SUMS_128, "%128", "%129", "%130", "%131", "%132")
// [end forms]

#undef WGMMA_FORMS
#undef WGMMA_SUMS_128
#undef WGMMA_SUMS_96
#undef WGMMA_SUMS_80
#undef WGMMA_SUMS_64
#undef WGMMA_SUMS_40
#undef WGMMA_SUMS_32
#undef WGMMA_4
#undef WGMMA_32
#undef WGMMA_128
#undef WGMMA_96
#undef WGMMA_LIST_80
#undef WGMMA_LIST_64
#undef WGMMA_LIST_40
#undef WGMMA_LIST_32

#endif
