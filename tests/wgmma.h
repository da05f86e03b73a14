// Products of warpgroups, for the programs that test them. Each instruction is a macro, so that a report names the line of
// the program that uses it. D has REGISTERS variables a thread, which CONSTRAINT binds: "+f" for f32, "+r" for packed f16 and
// s32. SHAPE is the text behind .aligned, with the types; TAIL holds the immediate operands, each behind a comma.
#pragma once

#include "hopper.h"

#define WGMMA_FENCE() asm volatile("wgmma.fence.sync.aligned;" ::: "memory")
#define WGMMA_COMMIT() asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory")
#define WGMMA_WAIT(GROUPS) asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(GROUPS) : "memory")

#define SETMAXNREG_INC(COUNT) asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(COUNT))
#define SETMAXNREG_DEC(COUNT) asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(COUNT))

#define NAMED_SYNC(ID, COUNT) asm volatile("bar.sync %0, %1;" ::"r"(ID), "r"(COUNT) : "memory")
#define NAMED_ARRIVE(ID, COUNT) asm volatile("bar.arrive %0, %1;" ::"r"(ID), "r"(COUNT) : "memory")

#define CP_ASYNC(TO, FROM) \
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(in_shared(TO)), "l"(FROM) : "memory")
#define CP_ASYNC_WAIT() asm volatile("cp.async.wait_all;" ::: "memory")

#define STMATRIX_4(TO, R0, R1, R2, R3) \
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(TO), "r"(R0), "r"(R1), \
                 "r"(R2), "r"(R3) \
                 : "memory")

#define TEXT_2 "%0, %1"
#define TEXT_4 TEXT_2 ", %2, %3"
#define TEXT_8 TEXT_4 ", %4, %5, %6, %7"
#define TEXT_12 TEXT_8 ", %8, %9, %10, %11"
#define TEXT_16 TEXT_12 ", %12, %13, %14, %15"
#define TEXT_32 TEXT_16 ", %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define TEXT_40 TEXT_32 ", %32, %33, %34, %35, %36, %37, %38, %39"
#define TEXT_48 TEXT_32 ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47"
#define TEXT_64 TEXT_48 ", %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define TEXT_68 TEXT_64 ", %64, %65, %66, %67"
#define TEXT_88 \
    TEXT_68 ", %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, %86, %87"
#define TEXT_96 TEXT_88 ", %88, %89, %90, %91, %92, %93, %94, %95"
#define TEXT_128 \
    TEXT_96 ", %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, %112, " \
            "%113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"

#define VARIABLES_2(C, D, I) C((D)[I]), C((D)[(I) + 1])
#define VARIABLES_4(C, D, I) VARIABLES_2(C, D, I), VARIABLES_2(C, D, (I) + 2)
#define VARIABLES_8(C, D, I) VARIABLES_4(C, D, I), VARIABLES_4(C, D, (I) + 4)
#define VARIABLES_12(C, D, I) VARIABLES_8(C, D, I), VARIABLES_4(C, D, (I) + 8)
#define VARIABLES_16(C, D, I) VARIABLES_8(C, D, I), VARIABLES_8(C, D, (I) + 8)
#define VARIABLES_32(C, D, I) VARIABLES_16(C, D, I), VARIABLES_16(C, D, (I) + 16)
#define VARIABLES_40(C, D, I) VARIABLES_32(C, D, I), VARIABLES_8(C, D, (I) + 32)
#define VARIABLES_48(C, D, I) VARIABLES_32(C, D, I), VARIABLES_16(C, D, (I) + 32)
#define VARIABLES_64(C, D, I) VARIABLES_32(C, D, I), VARIABLES_32(C, D, (I) + 32)
#define VARIABLES_68(C, D, I) VARIABLES_64(C, D, I), VARIABLES_4(C, D, (I) + 64)
#define VARIABLES_88(C, D, I) VARIABLES_64(C, D, I), VARIABLES_16(C, D, (I) + 64), VARIABLES_8(C, D, (I) + 80)
#define VARIABLES_96(C, D, I) VARIABLES_64(C, D, I), VARIABLES_32(C, D, (I) + 64)
#define VARIABLES_128(C, D, I) VARIABLES_64(C, D, I), VARIABLES_64(C, D, (I) + 64)

#define NEXT_2(X, ...) X(__VA_ARGS__, "%2", "%3", "%4", "%5", "%6", "%7")  // the operands behind those of D
#define NEXT_4(X, ...) X(__VA_ARGS__, "%4", "%5", "%6", "%7", "%8", "%9")
#define NEXT_8(X, ...) X(__VA_ARGS__, "%8", "%9", "%10", "%11", "%12", "%13")
#define NEXT_12(X, ...) X(__VA_ARGS__, "%12", "%13", "%14", "%15", "%16", "%17")
#define NEXT_16(X, ...) X(__VA_ARGS__, "%16", "%17", "%18", "%19", "%20", "%21")
#define NEXT_32(X, ...) X(__VA_ARGS__, "%32", "%33", "%34", "%35", "%36", "%37")
#define NEXT_40(X, ...) X(__VA_ARGS__, "%40", "%41", "%42", "%43", "%44", "%45")
#define NEXT_48(X, ...) X(__VA_ARGS__, "%48", "%49", "%50", "%51", "%52", "%53")
#define NEXT_64(X, ...) X(__VA_ARGS__, "%64", "%65", "%66", "%67", "%68", "%69")
#define NEXT_68(X, ...) X(__VA_ARGS__, "%68", "%69", "%70", "%71", "%72", "%73")
#define NEXT_88(X, ...) X(__VA_ARGS__, "%88", "%89", "%90", "%91", "%92", "%93")
#define NEXT_96(X, ...) X(__VA_ARGS__, "%96", "%97", "%98", "%99", "%100", "%101")
#define NEXT_128(X, ...) X(__VA_ARGS__, "%128", "%129", "%130", "%131", "%132", "%133")

#define TEXT_SS(SHAPE, LIST, TAIL, A, B, SCALE, ...) \
    "{ .reg .pred p; setp.ne.b32 p, " SCALE ", 0; wgmma.mma_async.sync.aligned." SHAPE " {" LIST "}, " A ", " B \
    ", p" TAIL "; }"
#define TEXT_RS(SHAPE, LIST, TAIL, A0, A1, A2, A3, B, SCALE) \
    "{ .reg .pred p; setp.ne.b32 p, " SCALE ", 0; wgmma.mma_async.sync.aligned." SHAPE " {" LIST "}, {" A0 ", " A1 \
    ", " A2 ", " A3 "}, " B ", p" TAIL "; }"

// D = A B, + D where SCALE is not 0: A by a descriptor, or in 4 registers a thread.
#define WGMMA_SS(SHAPE, REGISTERS, CONSTRAINT, TAIL, D, A, B, SCALE) \
    asm volatile(NEXT_##REGISTERS(TEXT_SS, SHAPE, TEXT_##REGISTERS, TAIL) \
                 : VARIABLES_##REGISTERS(CONSTRAINT, D, 0) \
                 : "l"(A), "l"(B), "r"((int)(SCALE)) \
                 : "memory")
#define WGMMA_RS(SHAPE, REGISTERS, CONSTRAINT, TAIL, D, A, B, SCALE) \
    asm volatile(NEXT_##REGISTERS(TEXT_RS, SHAPE, TEXT_##REGISTERS, TAIL) \
                 : VARIABLES_##REGISTERS(CONSTRAINT, D, 0) \
                 : "r"((A)[0]), "r"((A)[1]), "r"((A)[2]), "r"((A)[3]), "l"(B), "r"((int)(SCALE)) \
                 : "memory")

enum swizzle { PLAIN, SWIZZLE_128, SWIZZLE_64, SWIZZLE_32 };  // as bits 62 and 63 of a descriptor say it

// Of a matrix in shared memory: where it begins, and its leading and stride offsets, in bytes.
static __device__ __forceinline__ uint64_t descriptor(const void *start, unsigned leading, unsigned stride,
                                                      enum swizzle swizzle)
{
    return (uint64_t)((in_shared(start) & 0x3ffff) >> 4) | (uint64_t)(leading >> 4) << 16 |
           (uint64_t)(stride >> 4) << 32 | (uint64_t)swizzle << 62;
}

// Of rows of 128 bytes, swizzled, 8 of which are 1024 bytes: k runs along a row.
static __device__ __forceinline__ uint64_t descriptor_128(const void *start)
{
    return descriptor(start, 16, 1024, SWIZZLE_128);
}

// Keeps the compiler from moving what it does to these registers across this place.
template <typename T, int COUNT> static __device__ __forceinline__ void stay(T (&d)[COUNT])
{
#pragma unroll
    for (int i = 0; i < COUNT; i++)
        if constexpr (sizeof(T) == 4 && (T)0.5f != 0)
            asm volatile("" : "+f"(d[i])::"memory");
        else
            asm volatile("" : "+r"(d[i])::"memory");
}

// Where element i of a thread's accumulators of 32 bits lies in D.
static __device__ __forceinline__ int row_of(int i)
{
    return threadIdx.x % 128 / 32 * 16 + threadIdx.x % 32 / 4 + i / 2 % 2 * 8;
}
static __device__ __forceinline__ int column_of(int i) { return i / 4 * 8 + threadIdx.x % 4 * 2 + i % 2; }
