/* What was counted, kernel by kernel and line by line: as a table for people, as JSON for programs.
 *
 * cudaProfilerStart and cudaProfilerStop switch counting on and off; Stop prints the table on stdout and, where
 * SIMT_PROFILE_JSON names a file, appends one line of JSON. SIMT_PROFILE=1 counts the whole program and prints the
 * table on stderr at its end. */
#include "count/profile.h"
#include "base/gpu.h"
#include "base/lines.h"
#include "block/launch.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct kernel {
    struct simt_kernel *made; /* identifies the kernel, template instances apart */
    char name[128], demangled[256];
    unsigned long launches;
    unsigned grid[3], block[3], shared_static;
    size_t shared_dynamic;
    struct line_counts *places; /* per code address, then per line */
    struct source_line *lines;
    unsigned n_places, room;
};

static struct kernel *kernels;
static unsigned n_kernels;
static bool whole_program;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct kernel *kernel_of(const struct launch *l)
{
    for (unsigned i = 0; i < n_kernels; i++)
        if (kernels[i].made == l->kernel)
            return &kernels[i];
    kernels = realloc(kernels, (n_kernels + 1) * sizeof *kernels);
    if (!kernels)
        perror("simt"), exit(2);
    kernels[n_kernels] = (struct kernel){.made = l->kernel};
    snprintf(kernels[n_kernels].name, sizeof kernels->name, "%s", l->kernel->name);
    return &kernels[n_kernels++];
}

void profile_launch(const struct launch *l)
{
    struct kernel *k = kernel_of(l);
    k->launches++;
    memcpy(k->grid, l->asked->grid, sizeof k->grid);
    memcpy(k->block, l->asked->block, sizeof k->block);
    k->shared_static = l->static_bytes;
    k->shared_dynamic = l->asked->dynamic_shared;
}

void profile_add(const struct launch *l, const struct line_counts *lines, unsigned n)
{
    pthread_mutex_lock(&lock);
    struct kernel *k = kernel_of(l);
    for (unsigned i = 0; i < n; i++) {
        unsigned at = 0;
        while (at < k->n_places && k->places[at].pc != lines[i].pc)
            at++;
        if (at == k->n_places) {
            if (k->n_places == k->room) {
                k->room = k->room ? 2 * k->room : 32;
                k->places = realloc(k->places, k->room * sizeof *k->places);
                if (!k->places)
                    perror("simt"), exit(2);
            }
            k->places[k->n_places++] = (struct line_counts){.pc = lines[i].pc};
        }
        counters_merge(&k->places[at].counts, &lines[i].counts);
    }
    pthread_mutex_unlock(&lock);
}

/* Code addresses of one source line become one row; rows are put in the order of the source. */
static int by_line(const void *a, const void *b)
{
    const struct source_line *x = a, *y = b;
    int files = strcmp(x->file, y->file);
    return files ? files : x->line - y->line;
}

static void fold_lines(struct kernel *k)
{
    const void **pcs = malloc((k->n_places + 1) * sizeof *pcs);
    struct source_line *lines = malloc((k->n_places + 1) * sizeof *lines),
                       *unique = malloc((k->n_places + 1) * sizeof *unique);
    struct line_counts *folded = calloc(k->n_places + 1, sizeof *folded);
    if (!pcs || !lines || !unique || !folded)
        perror("simt"), exit(2);
    for (unsigned i = 0; i < k->n_places; i++)
        pcs[i] = k->places[i].pc;
    lines_resolve(pcs, k->n_places, lines);
    size_t base = strcspn(k->name, "<( ");
    for (unsigned i = 0; i < k->n_places; i++) { /* "void k<true, 1>(float*)": the instance's own name */
        char head[sizeof k->name];
        snprintf(head, sizeof head, "%.*s", (int)base, k->name);
        const char *at = strstr(lines[i].function, head), *end = at + base;
        if (!at || k->demangled[0])
            continue;
        if (*end == '<')
            for (int depth = 0; *end; end++) {
                depth += (*end == '<') - (*end == '>');
                if (!depth) {
                    end++;
                    break;
                }
            }
        snprintf(k->demangled, sizeof k->demangled, "%.*s", (int)(end - at), at);
    }
    memcpy(unique, lines, k->n_places * sizeof *lines);
    qsort(unique, k->n_places, sizeof *unique, by_line);
    unsigned n = 0;
    for (unsigned i = 0; i < k->n_places; i++)
        if (!i || by_line(&unique[i], &unique[n - 1]))
            unique[n++] = unique[i];
    for (unsigned i = 0; i < k->n_places; i++)
        for (unsigned u = 0; u < n; u++)
            if (!by_line(&unique[u], &lines[i]))
                counters_merge(&folded[u].counts, &k->places[i].counts);
    free(pcs), free(lines), free(k->places);
    k->places = folded;
    k->lines = unique;
    k->n_places = n;
}

static struct counts total_of(const struct kernel *k)
{
    struct counts total = {0};
    for (unsigned i = 0; i < k->n_places; i++)
        counters_merge(&total, &k->places[i].counts);
    return total;
}

static const char *title(const struct kernel *k) { return k->demangled[0] ? k->demangled : k->name; }

/* ---- the table ---- */

static void source_text(const struct source_line *l, char *out, size_t size)
{
    FILE *f = fopen(l->file, "r");
    char text[1024];
    out[0] = 0;
    for (int n = 0; f && n < l->line; n++)
        if (!fgets(text, sizeof text, f))
            text[0] = 0;
    if (f && l->line) {
        const char *start = text + strspn(text, " \t");
        snprintf(out, size, "%.*s", (int)strcspn(start, "\n"), start);
    }
    if (f)
        fclose(f);
}

static void table_row(FILE *f, const char *name, const struct counts *c, const char *text)
{
    u64 shared = c->access[SHARED_LD].requests + c->access[SHARED_ST].requests;
    u64 waves = c->access[SHARED_LD].wavefronts + c->access[SHARED_ST].wavefronts;
    u64 conflicts = c->access[SHARED_LD].conflicts + c->access[SHARED_ST].conflicts;
    u64 global = c->access[GLOBAL_LD].requests + c->access[GLOBAL_ST].requests;
    u64 sectors = c->access[GLOBAL_LD].sectors + c->access[GLOBAL_ST].sectors;
    char per[32] = "";
    if (global)
        snprintf(per, sizeof per, "%.2f", (double)sectors / (double)global);
    fprintf(f, "%6s %11llu %11llu %11llu %11llu %11llu %7s %9llu  %s\n", name, shared, waves, conflicts, global,
            sectors, per, c->event[EVENT_BARRIER], text);
}

static u64 tma_requests(const struct counts *c)
{
    return c->access[TMA_LD].requests + c->access[TMA_ST].requests + c->access[TMA_RED].requests +
           c->access[TMA_OTHER].requests + c->access[DSHARED_TMA_ST].requests + c->access[DSHARED_TMA_RED].requests;
}

/* Copies by cp.async, of which most lines have none. */
static void print_copies(FILE *f, const struct counts *c)
{
    const struct access_counts *load = &c->access[COPY_LD], *store = &c->access[COPY_ST];
    if (load->requests + store->requests)
        fprintf(f,
                "       copies: global requests %llu, sectors %llu, bytes %llu; shared requests %llu, wavefronts %llu, "
                "conflicts %llu\n",
                load->requests, load->sectors, load->bytes, store->requests, store->wavefronts, store->conflicts);
}

/* Bulk copies and copies of tensors. */
static void print_bulk(FILE *f, const struct counts *c)
{
    static const struct {
        enum counted what;
        const char *words;
    } kinds[] = {{TMA_LD, "loads"}, {TMA_ST, "stores"}, {TMA_RED, "reductions"}};
    if (!tma_requests(c))
        return;
    fprintf(f, "       bulk copies: requests %llu", tma_requests(c));
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const struct access_counts *a = &c->access[kinds[i].what];
        if (a->requests)
            fprintf(f, "; %s %llu, sectors %llu, bytes %llu", kinds[i].words, a->requests, a->sectors, a->bytes);
        if (kinds[i].what == TMA_LD && a->l2_sectors != a->sectors)
            fprintf(f, ", sectors asked of L2 %llu", a->l2_sectors);
    }
    fprintf(f, "\n");
}

/* Shared memory of other blocks. */
static void print_distributed(FILE *f, const struct counts *c)
{
    static const struct {
        enum counted what;
        const char *words;
    } kinds[] = {{DSHARED_LD, "loads"},       {DSHARED_ST, "stores"},          {DSHARED_ATOMIC, "atomics"},
                 {DSHARED_RED, "reductions"}, {DSHARED_TMA_ST, "bulk copies"}, {DSHARED_TMA_RED, "bulk reductions"}};
    const char *between = "       shared memory of other blocks:";
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const struct access_counts *a = &c->access[kinds[i].what];
        if (!a->requests)
            continue;
        fprintf(f, "%s %s %llu, sectors %llu", between, kinds[i].words, a->requests, a->sectors);
        between = ";";
    }
    if (*between == ';')
        fprintf(f, "\n");
}

/* What the warps do while copies are in flight: those by cp.async, or, of products of warpgroups, bulk loads. Of a kernel without
 * such copies nothing. */
static void print_in_flight(FILE *f, const struct counts *c, const struct counts *of_kernel)
{
    const struct {
        const char *words;
        u64 requests;
    } uses[USES] = {
        [USE_SHARED_LD] = {"shared loads", c->access[SHARED_LD].requests},
        [USE_LDMATRIX] = {"ldmatrix", c->access[MATRIX_LD].requests},
        [USE_SHUFFLE] = {"shuffles", c->event[EVENT_SHUFFLE]},
        [USE_MMA] = {"products of fragments", c->event[EVENT_MMA]},
        [USE_WGMMA] = {"products of warpgroups", c->event[EVENT_WGMMA]},
    };
    for (int i = 0; i < USES; i++)
        if (uses[i].requests && of_kernel->access[i == USE_WGMMA ? TMA_LD : COPY_ST].requests)
            fprintf(f, "       copies in flight during %llu of %llu %s, %.1f bytes on average\n",
                    c->in_flight[i].requests, uses[i].requests, uses[i].words,
                    (double)c->in_flight[i].bytes / (double)uses[i].requests);
}

/* What a kernel does with matrices, below its lines. */
static void print_matrices(FILE *f, const struct counts *total)
{
    const struct access_counts *load = &total->access[MATRIX_LD], *store = &total->access[MATRIX_ST];
    if (load->requests)
        fprintf(f, "       ldmatrix: requests %llu, wavefronts %llu, conflicts %llu\n", load->requests,
                load->wavefronts, load->conflicts);
    if (store->requests)
        fprintf(f, "       stmatrix: requests %llu, wavefronts %llu, conflicts %llu\n", store->requests,
                store->wavefronts, store->conflicts);
    if (total->event[EVENT_MMA])
        fprintf(f, "       products of fragments %llu\n", total->event[EVENT_MMA]);
    if (total->event[EVENT_WGMMA])
        fprintf(f, "       products of warpgroups, by warp %llu; shared memory: wavefronts %llu, bytes %llu\n",
                total->event[EVENT_WGMMA], total->access[WGMMA_LD].wavefronts, total->access[WGMMA_LD].bytes);
}

static void print_table(FILE *f)
{
    for (unsigned i = 0; i < n_kernels; i++) {
        const struct kernel *k = &kernels[i];
        struct counts total = total_of(k);
        fprintf(f, "\n%s  %lu launch%s, grid (%u,%u,%u), block (%u,%u,%u), shared %u + %zu bytes\n", title(k),
                k->launches, k->launches == 1 ? "" : "es", k->grid[0], k->grid[1], k->grid[2], k->block[0], k->block[1],
                k->block[2], k->shared_static, k->shared_dynamic);
        fprintf(f, "%6s %11s %11s %11s %11s %11s %7s %9s\n%6s %11s %11s %11s %11s %11s %7s %9s\n", "line", "shared",
                "shared", "bank", "global", "global", "sectors", "barriers", "", "requests", "wavefronts", "conflicts",
                "requests", "sectors", "a req.", "");
        for (unsigned n = 0; n < k->n_places; n++) {
            char text[80], line[16];
            if (!n || strcmp(k->lines[n].file, k->lines[n - 1].file))
                fprintf(f, "%s\n", k->lines[n].file);
            source_text(&k->lines[n], text, sizeof text);
            snprintf(line, sizeof line, "%d", k->lines[n].line);
            table_row(f, line, &k->places[n].counts, text);
            print_copies(f, &k->places[n].counts);
            print_bulk(f, &k->places[n].counts);
            print_distributed(f, &k->places[n].counts);
            print_in_flight(f, &k->places[n].counts, &total);
        }
        table_row(f, "total", &total, "");
        const u64 *e = total.event;
        if (e[EVENT_SHUFFLE] + e[EVENT_VOTE] + e[EVENT_WARP_BARRIER] + e[EVENT_ATOMIC])
            fprintf(f, "       shuffles %llu, votes %llu, warp barriers %llu, atomics %llu\n", e[EVENT_SHUFFLE],
                    e[EVENT_VOTE], e[EVENT_WARP_BARRIER], e[EVENT_ATOMIC]);
        if (e[EVENT_ARRIVE])
            fprintf(f, "       mbarrier arrivals %llu\n", e[EVENT_ARRIVE]);
        print_copies(f, &total);
        print_bulk(f, &total);
        print_distributed(f, &total);
        print_matrices(f, &total);
        print_in_flight(f, &total, &total);
    }
}

/* ---- JSON ---- */

static void json_counts(FILE *f, const struct counts *c)
{
    static const struct {
        const char *name;
        enum counted what;
        bool shared;
    } accesses[] = {
        {"shared_ld", SHARED_LD, true},
        {"shared_st", SHARED_ST, true},
        {"ldmatrix", MATRIX_LD, true},
        {"stmatrix", MATRIX_ST, true},
        {"wgmma_ld", WGMMA_LD, true},
        {"copy_st", COPY_ST, true},
        {"global_ld", GLOBAL_LD, false},
        {"global_st", GLOBAL_ST, false},
        {"copy_ld", COPY_LD, false},
        {"tma_ld", TMA_LD, false},
        {"tma_st", TMA_ST, false},
        {"tma_red", TMA_RED, false},
        {"dshared_ld", DSHARED_LD, false},
        {"dshared_st", DSHARED_ST, false},
        {"dshared_atom", DSHARED_ATOMIC, false},
        {"dshared_red", DSHARED_RED, false},
        {"dshared_tma_st", DSHARED_TMA_ST, false},
        {"dshared_tma_red", DSHARED_TMA_RED, false},
    };
    static const char *const events[] = {"barriers", "warp_barriers", "shuffles", "votes",
                                         "atomics",  "mma",           "wgmma",    "mbarrier_arrivals"};
    static const char *const uses[USES] = {"shared_ld", "ldmatrix", "shuffle", "mma", "wgmma"};
    for (size_t i = 0; i < sizeof accesses / sizeof *accesses; i++) {
        const struct access_counts *a = &c->access[accesses[i].what];
        const char *name = accesses[i].name;
        fprintf(f, "\"%s_requests\":%llu,\"%s_%s\":%llu,\"%s_%s\":%llu,", name, a->requests, name,
                accesses[i].shared ? "wavefronts" : "sectors", accesses[i].shared ? a->wavefronts : a->sectors, name,
                accesses[i].shared ? "conflicts" : "bytes", accesses[i].shared ? a->conflicts : a->bytes);
    }
    fprintf(f, "\"tma_requests\":%llu,\"tma_ld_l2_sectors\":%llu,", tma_requests(c), c->access[TMA_LD].l2_sectors);
    for (int i = 0; i < COUNTED_EVENTS; i++)
        fprintf(f, "\"%s\":%llu,", events[i], i == EVENT_MMA ? c->event[i] + c->event[EVENT_WGMMA] : c->event[i]);
    for (int i = 0; i < USES; i++)
        fprintf(f, "\"%s_with_copies\":%llu,\"%s_bytes_in_flight\":%llu%s", uses[i], c->in_flight[i].requests, uses[i],
                c->in_flight[i].bytes, i + 1 < USES ? "," : "");
}

static void write_json(const char *path)
{
    const struct gpu *g = gpu_described();
    FILE *f = fopen(path, "a");
    if (!f) {
        fprintf(stderr, "simt: cannot write SIMT_PROFILE_JSON=%s\n", path);
        exit(2);
    }
    fprintf(
        f,
        "{\"gpu\":{\"name\":\"%s\",\"title\":\"%s\",\"sms\":%d,\"clock_ghz\":%g,\"fp32_lanes_per_sm\":%d,\"tensor_fp16_tflops\":%g,\"dram_gbps\":%.1f,\"source\":",
        g->name, g->title, g->sms, g->clock_ghz, g->fp32_lanes_per_sm, g->tensor_fp16_tflops, gpu_dram_gbps());
    base_json_string(f, g->source);
    fprintf(f, "},\"kernels\":[");
    for (unsigned i = 0; i < n_kernels; i++) {
        const struct kernel *k = &kernels[i];
        struct counts total = total_of(k);
        fprintf(f, "%s{\"kernel\":", i ? "," : "");
        base_json_string(f, title(k));
        fprintf(
            f,
            ",\"launches\":%lu,\"grid\":[%u,%u,%u],\"block\":[%u,%u,%u],\"shared_static\":%u,\"shared_dynamic\":%zu,\"total\":{",
            k->launches, k->grid[0], k->grid[1], k->grid[2], k->block[0], k->block[1], k->block[2], k->shared_static,
            k->shared_dynamic);
        json_counts(f, &total);
        fprintf(f, "},\"lines\":[");
        for (unsigned n = 0; n < k->n_places; n++) {
            fprintf(f, "%s{\"file\":", n ? "," : "");
            base_json_string(f, k->lines[n].file);
            fprintf(f, ",\"line\":%d,", k->lines[n].line);
            json_counts(f, &k->places[n].counts);
            fprintf(f, "}");
        }
        fprintf(f, "]}");
    }
    fprintf(f, "]}\n");
    fclose(f);
}

/* ---- on and off ---- */

static void finish(FILE *table)
{
    const char *json = getenv("SIMT_PROFILE_JSON");
    for (unsigned i = 0; i < n_kernels; i++)
        fold_lines(&kernels[i]);
    if (!simt_checked && n_kernels)
        fprintf(table, "simt: this is a plain build: accesses are not counted.\n");
    if (json)
        write_json(json);
    else
        print_table(table);
    for (unsigned i = 0; i < n_kernels; i++)
        free(kernels[i].places), free(kernels[i].lines);
    free(kernels);
    kernels = NULL;
    n_kernels = 0;
}

cudaError_t cudaProfilerStart(void)
{
    counters_on = true;
    return cudaSuccess;
}

cudaError_t cudaProfilerStop(void)
{
    if (!counters_on || whole_program)
        return cudaSuccess;
    counters_on = false;
    finish(stdout);
    return cudaSuccess;
}

static void at_end(void) { finish(stderr); }

__attribute__((constructor)) static void begin(void)
{
    const char *wish = getenv("SIMT_PROFILE");
    if (!wish || !strcmp(wish, "0"))
        return;
    counters_on = whole_program = true;
    atexit(at_end);
}
