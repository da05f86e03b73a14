#include "device_input.h"

#include "exit.h"
#include "report.h"

#include <cuda_profiler_api.h>
#include <stdlib.h>
#include <string.h>

const char *size_words(size_t bytes)
{
    static char words[32];
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB"};
    int unit = 0;
    while (unit < 3 && bytes >= 1024 && bytes % 1024 == 0) {
        bytes /= 1024;
        unit++;
    }
    snprintf(words, sizeof words, "%zu %s", bytes, units[unit]);
    return words;
}

static int pick(const struct session *session, int gpu, int emulator)
{
    return session->device.emulated ? emulator : gpu;
}

static int pick_rounds(const struct session *session, int gpu, int emulator)
{
    return session->rounds ? session->rounds : pick(session, gpu, emulator);
}

// As many blocks as fill every SM.
static int full_grid(const struct session *session, int threads)
{
    return pick(session, session->device.sms * (session->device.threads_per_sm / threads), 2);
}

static void measure_copy(struct session *session)
{
    const size_t n = session->words;
    struct buffer in;
    uint32_t *words = random_input(session, n, &in);
    double bytes = 2.0 * n * sizeof *words;
    struct point point = {
        .args = {.n = n, .variant = COPY},
        .in = &in,
        .outputs = n,
        .want = words,
        .period = n,
        .bytes = bytes,
        .figure = {.unit = "GB/s", .work = 1e-9 * bytes, .published = 1e-9 * session->device.dram_bytes},
    };
    snprintf(point.shape, sizeof point.shape, "{\"bytes\":%zu}", n * sizeof *words);
    snprintf(point.label, sizeof point.label, "%s", size_words(n * sizeof *words));
    session->copy_gbps = run_point(session, &point);
    point.peer = "cudaMemcpyAsync";
    snprintf(point.label, sizeof point.label, "by cudaMemcpyAsync");
    run_point(session, &point);
    buffer_free(&in);
    free(words);
}

static void measure_fma(struct session *session)
{
    const int rounds = pick_rounds(session, 1 << 15, 5), blocks = full_grid(session, TILE);
    const double flops = 2.0 * blocks * TILE * CHAINS * rounds;
    uint32_t want[LANES];
    chains_of_lanes(want, rounds, false);
    struct point point = {
        .args = {.variant = FMA, .blocks = blocks, .threads = TILE, .rounds = rounds, .a = CHAIN_A, .b = CHAIN_B},
        .outputs = (size_t)blocks * TILE,
        .want = want,
        .period = LANES,
        .flops = flops,
        .figure = {.unit = "TFLOPS", .work = 1e-12 * flops, .published = 1e-12 * session->device.fp32_flops},
    };
    snprintf(point.shape, sizeof point.shape, "{\"rounds\":%d}", rounds);
    snprintf(point.label, sizeof point.label, "%d chains a thread", CHAINS);
    session->fma_tflops = run_point(session, &point);
}

static void measure_tensor(struct session *session)
{
    const int asked = pick_rounds(session, PRODUCT_ROUNDS, 5), rounds = asked < PRODUCT_ROUNDS ? asked : PRODUCT_ROUNDS;
    const int blocks = full_grid(session, TILE), warps = blocks * (TILE / LANES);
    const double flops = 2.0 * FRAGMENT * FRAGMENT * FRAGMENT * PRODUCTS * warps * rounds;
    uint32_t want[FRAGMENT * FRAGMENT];
    struct buffer in = tiles_input(session, rounds, want);
    struct point point = {
        .args = {.variant = TENSOR, .blocks = blocks, .threads = TILE, .rounds = rounds},
        .in = &in,
        .outputs = (size_t)warps * FRAGMENT * FRAGMENT,
        .want = want,
        .period = FRAGMENT * FRAGMENT,
        .flops = flops,
        .dtype = FP16,
        .figure = {.unit = "TFLOPS", .work = 1e-12 * flops, .published = 1e-12 * session->device.tensor_flops},
    };
    snprintf(point.shape, sizeof point.shape, "{\"rounds\":%d}", rounds);
    snprintf(point.label, sizeof point.label, "%d sums a warp", PRODUCTS);
    run_point(session, &point);
    buffer_free(&in);
}

static void measure_exp2(struct session *session)
{
    const int rounds = pick_rounds(session, 1 << 12, 5), blocks = full_grid(session, TILE);
    uint32_t want[LANES];
    chains_of_lanes(want, rounds, true);
    struct point point = {
        .args = {.variant = EXP2, .blocks = blocks, .threads = TILE, .rounds = rounds},
        .outputs = (size_t)blocks * TILE,
        .want = want,
        .period = LANES,
        .bound = (rounds + CHAINS + 8) *
                 0x1p-24,  // a rounding for each term of the sum, and the last power's own error
        .figure = {.unit = "T/s",
                   .work = 1e-12 * blocks * TILE * CHAINS * rounds,
                   .published = 1e-12 * SFU_RESULTS * session->device.sms * session->device.clock},
    };
    snprintf(point.shape, sizeof point.shape, "{\"rounds\":%d}", rounds);
    snprintf(point.label, sizeof point.label, "%d chains a thread", CHAINS);
    run_point(session, &point);
}

static void measure_shared(struct session *session)
{
    const int rounds = pick_rounds(session, 1 << 11, 3), blocks = full_grid(session, TILE);
    struct buffer in;
    uint32_t *words = random_input(session, TILE * 4, &in);
    for (int bytes = 4; bytes <= 16; bytes *= 4) {
        const uint32_t want = (uint32_t)blocks * rounds * READS * sum_of_words(words, TILE * (size_t)bytes / 4);
        struct point point = {
            .args = {.variant = SHARED, .blocks = blocks, .threads = TILE, .rounds = rounds, .bytes = bytes},
            .in = &in,
            .outputs = (size_t)blocks * TILE,
            .want = &want,
            .total = true,
            .figure = {.unit = "TB/s",
                       .work = 1e-12 * blocks * TILE * READS * rounds * bytes,
                       .published = 1e-12 * SHARED_BYTES * session->device.sms * session->device.clock},
        };
        snprintf(point.shape, sizeof point.shape, "{\"bytes\":%d}", bytes);
        snprintf(point.label, sizeof point.label, "loads of %d bytes", bytes);
        run_point(session, &point);
    }
    buffer_free(&in);
    free(words);
}

static void measure_ring(struct session *session, size_t bytes, int rounds)
{
    const size_t places = bytes / LINE;
    uint32_t *ring = ring_order(places, session->options->seed);
    struct buffer in = ring_input(session, ring, places);
    const char *const end = in.first + (size_t)LINE * ring[(size_t)rounds % places];
    uint32_t want[sizeof end / sizeof(uint32_t)];
    memcpy(want, &end, sizeof end);
    struct point point = {
        .args = {.variant = LATENCY, .rounds = rounds},
        .in = &in,
        .ring = ring,
        .places = places,
        .outputs = sizeof want / sizeof *want,
        .want = want,
        .period = sizeof want / sizeof *want,
        .figure = {.unit = "ns", .work = 1e-9 * rounds, .inverse = true},
    };
    snprintf(point.shape, sizeof point.shape, "{\"bytes\":%zu}", bytes);
    snprintf(point.label, sizeof point.label, "%s", size_words(bytes));
    run_point(session, &point);
    buffer_free(&in);
    free(ring);
}

static void measure_latency(struct session *session)
{
    static const int kib[] = {8,        16,       32,       64,       128,       192,       256,       384,
                              512,      1 << 10,  2 << 10,  4 << 10,  8 << 10,   16 << 10,  24 << 10,  32 << 10,
                              40 << 10, 48 << 10, 64 << 10, 96 << 10, 128 << 10, 256 << 10, 512 << 10, 1 << 20};
    const int sizes = pick(session, sizeof kib / sizeof *kib, 4);
    // In a ring that L1 holds, so many rounds that the first, which has to fill it, does not count.
    for (int i = 0; i < sizes; i++)
        measure_ring(session, (size_t)kib[i] << 10, pick_rounds(session, kib[i] <= 256 ? 1 << 19 : 1 << 17, 100 << i));
}

static void measure_littles_law(struct session *session)
{
    static const struct {
        int bytes, loads;
    } kinds[] = {{4, 1}, {16, 1}, {16, 4}};
    const size_t n = session->words / 4 * 4;
    const int most = pick(session, session->device.threads_per_sm / 32, 8), sms = pick(session, session->device.sms, 2);
    struct buffer in;
    uint32_t *words = random_input(session, session->words, &in);
    const uint32_t want = sum_of_words(words, n);
    for (int kind = 0; kind < 3; kind++)
        for (int warps = 1; warps <= most; warps *= 2) {
            const int blocks_of_sm = warps > 32 ? 2 : 1, bytes = kinds[kind].bytes, loads = kinds[kind].loads;
            struct point point = {
                .args = {.variant = LITTLES_LAW,
                         .n = n,
                         .blocks = sms * blocks_of_sm,
                         .threads = 32 * warps / blocks_of_sm,
                         .bytes = bytes,
                         .loads = loads},
                .in = &in,
                .outputs = (size_t)sms * 32 * warps,
                .want = &want,
                .total = true,
                .bytes = (double)n * sizeof *words,
                .figure = {.unit = "GB/s",
                           .work = 1e-9 * n * sizeof *words,
                           .published = 1e-9 * session->device.dram_bytes},
            };
            snprintf(point.shape, sizeof point.shape, "{\"bytes\":%d,\"loads\":%d,\"warps\":%d,\"sms\":%d}", bytes,
                     loads, warps, sms);
            snprintf(point.label, sizeof point.label, "%2d warp%s, %d of %2d bytes", warps, warps == 1 ? " " : "s",
                     loads, bytes);
            run_point(session, &point);
        }
    buffer_free(&in);
    free(words);
}

static void measure_divergence(struct session *session)
{
    enum { THREADS = 1024 };  // 32 warps, so that each of 32 paths has one
    const int rounds = pick_rounds(session, 1 << 12, 3), blocks = full_grid(session, THREADS);
    const double flops = 2.0 * blocks * THREADS * CHAINS * rounds;
    uint32_t want[LANES];
    chains_of_lanes(want, rounds, false);
    for (int width = 1; width <= LANES; width *= LANES)
        for (int paths = 1; paths <= LANES; paths *= 2) {
            struct point point = {
                .args = {.variant = DIVERGENCE,
                         .blocks = blocks,
                         .threads = THREADS,
                         .rounds = rounds,
                         .paths = paths,
                         .width = width,
                         .a = CHAIN_A,
                         .b = CHAIN_B},
                .outputs = (size_t)blocks * THREADS,
                .want = want,
                .period = LANES,
                .flops = flops,
                .figure = {.unit = "TFLOPS", .work = 1e-12 * flops, .published = 1e-12 * session->device.fp32_flops},
            };
            snprintf(point.shape, sizeof point.shape, "{\"paths\":%d,\"width\":%d}", paths, width);
            snprintf(point.label, sizeof point.label, "%2d path%s by %s", paths, paths == 1 ? " " : "s",
                     width == 1 ? "lane" : "warp");
            run_point(session, &point);
        }
}

static void measure_empty(struct session *session, int blocks, bool waited)
{
    uint32_t *want = allocate_words((size_t)blocks);
    for (int block = 0; block < blocks; block++)
        want[block] = (uint32_t)block;
    struct point point = {
        .args = {.variant = LAUNCH, .blocks = blocks, .threads = LANES},
        .waited = waited,
        .outputs = (size_t)blocks,
        .want = want,
        .period = (size_t)blocks,
        .figure = {.unit = "µs", .work = 1e-6, .inverse = true},
    };
    snprintf(point.shape, sizeof point.shape, "{\"blocks\":%d,\"how\":\"%s\"}", blocks, waited ? "waited" : "queued");
    snprintf(point.label, sizeof point.label, "%6d block%s, %s", blocks, blocks == 1 ? " " : "s",
             waited ? "waited" : "queued");
    run_point(session, &point);
    free(want);
}

static void measure_launch(struct session *session)
{
    const int most = pick(session, 1 << 18, 8);
    for (int blocks = 1; blocks <= most; blocks *= 8)
        measure_empty(session, blocks, false);
    measure_empty(session, 1, true);
}

bool measure(struct session *session, enum measurement measurement)
{
    static void (*const each[MEASUREMENTS])(struct session *) = {
        [COPY] = measure_copy,
        [FMA] = measure_fma,
        [TENSOR] = measure_tensor,
        [EXP2] = measure_exp2,
        [SHARED] = measure_shared,
        [LATENCY] = measure_latency,
        [LITTLES_LAW] = measure_littles_law,
        [DIVERGENCE] = measure_divergence,
        [LAUNCH] = measure_launch,
    };
    const struct options *options = session->options;
    const bool count = options->profile && session->device.emulated;
    if (options->json)
        session->environment = environment_now(&session->device);
    struct job job = {.work = {.variant = measurement}};
    snprintf(job.shape_flags, sizeof job.shape_flags, "-n %zu", session->words);
    report_variant(&job, &session->device, options);
    session->points = session->wrong = 0;
    session->error = session->bound = 0;
    if (count)
        CUDA(cudaProfilerStart());
    each[measurement](session);
    if (count)
        CUDA(cudaProfilerStop());
    if (!options->check)
        puts("not checked");
    else if (session->wrong == 0)
        printf("right: error %.1e ≤ %.1e, %d point%s\n", session->error, session->bound, session->points,
               session->points == 1 ? "" : "s");
    fflush(stdout);
    return session->wrong == 0;
}
