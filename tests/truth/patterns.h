// The ways in which a warp's lanes spread their accesses, and the printed words for them: what banks.cu and copies.cu
// have in common.
#ifndef TRUTH_PATTERNS_H
#define TRUTH_PATTERNS_H

#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

enum { ELEMENTS = 2048 };  // every pattern stays below: 32 KiB of the widest type

struct pattern {
    unsigned mask;  // active lanes
    int stride;     // elements from one lane to the next
    int offset;     // elements
    int group;      // 2^group neighbouring lanes share an element
    int same;       // lanes that differ in these bits of their number alone share an element
    int shift;      // xor swizzle: (lane >> shift) * factor
    int factor;
    unsigned scatter;  // not 0: the seed of pseudo-random elements below `stride`, in place of all of these
};

__device__ int element(struct pattern p, int lane)
{
    if (p.scatter)
        return (int)(((lane + 1) * 2654435761u * p.scatter >> 12) % (unsigned)p.stride);
    return (((lane & ~p.same) >> p.group) * p.stride + p.offset) ^ ((lane >> p.shift) * p.factor);
}

static struct pattern patterns[256];
static int pattern_count;

static void add(struct pattern p) { patterns[pattern_count++] = p; }

static void list_patterns(void)
{
    const unsigned ALL = 0xffffffff;
    const int strides[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 17, 24, 31, 32, 33, 64};
    for (int stride : strides)
        add({ALL, stride, 0, 0, 0, 0, 0, 0});

    const int backwards[] = {1, 2, 8};
    for (int stride : backwards)
        add({ALL, -stride, 31 * stride, 0, 0, 0, 0, 0});

    const int offsets[] = {1, 3, 8, 31};  // 1 and 3: across 32-byte sectors, at every size
    for (int offset : offsets) {
        add({ALL, 1, offset, 0, 0, 0, 0, 0});
        add({ALL, 2, offset, 0, 0, 0, 0, 0});
    }

    for (int group = 1; group <= 4; group++) {
        add({ALL, 1, 0, group, 0, 0, 0, 0});
        add({ALL, 32, 0, group, 0, 0, 0, 0});
    }

    const int swizzles[][3] = {{32, 0, 1}, {32, 1, 1}, {16, 1, 1}, {8, 0, 1}, {8, 2, 1}, {64, 0, 2}, {1, 2, 8}};
    for (auto s : swizzles)
        add({ALL, s[0], 0, 0, 0, s[1], s[2], 0});

    const unsigned masks[] = {0x0000ffff, 0xffff0000,                          // halves
                              0x000000ff, 0x00ff0000, 0x00ff00ff, 0xff00ff00,  // quarters
                              0x55555555, 0xaaaaaaaa, 0x0f0f0f0f, 0x00000001,
                              0x80000000, 0x9e3779b9, 0x40101004};  // any
    for (unsigned mask : masks) {
        add({mask, 1, 0, 0, 0, 0, 0, 0});
        add({mask, 8, 0, 0, 0, 0, 0, 0});
        add({mask, 64, 0, 0, 0, 0, 0, 3});
    }

    // An access of 8 or 16 bytes may take fewer phases when of each pair of lanes, l and l ^ 1, or l and l ^ 2, one is
    // inactive or both want the same: so everywhere, and in a part of the warp.
    const int sames[] = {1, 2, 4, 8, 3, 5};
    for (int same : sames) {
        add({ALL, 1, 0, 0, same, 0, 0, 0});
        add({ALL, 8, 0, 0, same, 0, 0, 0});
        add({ALL, 33, 0, 0, same, 0, 0, 0});
    }
    const unsigned parts[] = {0x33333333, 0xcccccccc, 0x5555ffff, 0xffff5555, 0x3333ffff, 0xffff3333, 0x33335555,
                              0x55553333, 0x33555533, 0x55ff55ff, 0x00005555, 0x00ff5555, 0x33333337, 0x12481248};
    for (unsigned mask : parts) {
        add({mask, 1, 0, 0, 0, 0, 0, 0});
        add({mask, 8, 0, 0, 0, 0, 0, 0});
        add({mask, 64, 0, 0, 0, 0, 0, 3});
    }

    const int windows[] = {8, 32, 64, 256, ELEMENTS};
    for (int window : windows)
        for (unsigned seed = 1; seed <= 2; seed++)
            add({ALL, window, 0, 0, 0, 0, 0, seed});
}

static void check(cudaError_t error)
{
    if (error) {
        fprintf(stderr, "%s\n", cudaGetErrorString(error));
        exit(1);
    }
}

static void print_pattern(struct pattern p)
{
    printf(" mask=%08x stride=%d offset=%d group=%d same=%d shift=%d factor=%d scatter=%u\n", p.mask, p.stride,
           p.offset, p.group, p.same, p.shift, p.factor, p.scatter);
}

#endif
