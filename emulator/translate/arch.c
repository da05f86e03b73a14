/* __CUDA_ARCH__ is defined where code is compiled for a GPU, and only there. So a file that asks for it is preprocessed
 * twice, for the host and for the device, and the two texts are made one:
 *
 *   - what is the same in both stays;
 *   - functions and variables of the device's (`__global__`, `__device__`) are taken from the device's text;
 *   - a `__host__ __device__` function whose bodies differ gets both: { if (::simt::on_device()) … else … };
 *   - anything else is taken from the host's text, and added from the device's where only that has it.
 *
 * Both texts are cut into items: declarations, and what stands in namespaces and classes around them. */
#define _GNU_SOURCE
#include "rewrite.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct item {
    int first, last; /* tokens */
    int body;        /* the `{` of a function, namespace or class; 0: none */
    bool scope;      /* a namespace or a class: made of items itself */
    bool global, device, host;
};
struct items {
    struct item *at;
    int n;
};

static struct source host, device;
static FILE *merged;

/* ---- items ----------------------------------------------------------------------------------------------- */

/* The last token of `operator+=`, `operator()`, `operator T *`. */
static int operator_end(int i)
{
    i++;
    if (is(i, "(") && is(i + 1, ")"))
        return i + 1;
    while (!is_any(i + 1, "( ;"))
        i++;
    return i;
}

/* Where the item that begins at i ends, and its body. The text of `active` source. */
static struct item read_item(int i, int limit)
{
    struct item item = {.first = i, .last = limit - 1};
    bool class_key = false, equals = false, initialisers = false, name_space = false, constant = false;
    for (; i < limit; i++) {
        int attribute = skip_attribute(i);
        if (attribute >= i) {
            i = attribute;
            continue;
        }
        if (is(i, ";")) {
            item.last = i;
            return item;
        }
        if (is(i, "operator") && !item.body) {
            i = operator_end(i);
            continue;
        }
        if (!item.body) {
            item.global |= is(i, "__global__");
            item.device |= is_any(i, "__device__ __constant__ __managed__ __shared__");
            item.host |= is(i, "__host__");
            constant |= is(i, "constexpr");
            class_key |= is_any(i, "struct class union enum");
            equals |= is(i, "=");
            name_space |= is(i, "namespace") || (is(i, "extern") && tokens[i + 1].kind == STRING && is(i + 2, "{"));
            if (is(i, ":") && is(i - 1, ")"))
                initialisers = true;
        }
        if (is(i, "<") && tokens[i - 1].kind == NAME && angle_close(i)) {
            i = angle_close(i);
        } else if (is_any(i, "( [")) {
            if (is(i, "(") && !equals)
                class_key = false; /* a function of that type */
            i = tokens[i].partner;
        } else if (is(i, "{")) {
            int close = tokens[i].partner;
            bool initialiser = initialisers && (tokens[i - 1].kind == NAME || is(i - 1, ">")) &&
                               is_any(close + 1, ", {");
            if (!initialiser && !item.body && !equals) {
                item.body = i;
                item.scope = name_space || class_key;
                item.host |= constant;
            }
            i = close;
            if (initialiser || equals || (class_key && !name_space))
                continue;
            item.last = is(i + 1, ";") && i + 1 < limit ? i + 1 : i;
            return item;
        }
    }
    return item;
}

static struct items read_items(int first, int limit)
{
    struct items items = {0};
    for (int room = 0; first < limit; first = items.at[items.n++].last + 1) {
        if (items.n == room) {
            room = room ? 2 * room : 64;
            items.at = realloc(items.at, (size_t)room * sizeof *items.at);
            if (!items.at)
                abort();
        }
        items.at[items.n] = read_item(first, limit);
    }
    return items;
}

/* ---- comparing ------------------------------------------------------------------------------------------- */

static bool same_token(int h, int d)
{
    const struct token *a = &host.tokens[h], *b = &device.tokens[d];
    return a->length == b->length && !memcmp(host.text + a->start, device.text + b->start, a->length);
}

static bool same_range(int h, int h_last, int d, int d_last)
{
    if (h_last - h != d_last - d)
        return false;
    for (; h <= h_last; h++, d++)
        if (!same_token(h, d))
            return false;
    return true;
}

static bool same(const struct item *h, const struct item *d)
{
    return same_range(h->first, h->last, d->first, d->last);
}

/* Do they declare the same thing, though their bodies differ? */
static bool same_head(const struct item *h, const struct item *d)
{
    return h->body && d->body && same_range(h->first, h->body - 1, d->first, d->body - 1);
}

/* Up to the parameters' `)`: constructors that differ in what follows it. */
static bool same_signature(const struct item *h, const struct item *d)
{
    if (h->scope || d->scope || !h->body || !d->body)
        return false;
    int i = h->first, j = d->first;
    while (i < h->body && j < d->body && same_token(i, j)) {
        i++;
        j++;
    }
    for (int k = h->first; k < i; k++)
        if (host.text[host.tokens[k].start] == ':' && host.text[host.tokens[k - 1].start] == ')')
            return true;
    return i > h->first && host.text[host.tokens[i - 1].start] == ')' && host.text[host.tokens[i].start] == ':';
}

/* ---- writing --------------------------------------------------------------------------------------------- */

static int written; /* of the host's text: the next byte to copy */

static const char *file_in(const struct source *s, int i) { return source_file(s->tokens[i].file); }

/* The host's text up to a token, with the line markers and the headers in between. */
static void copy_host(int token)
{
    int to = token < host.end ? (int)host.tokens[token].start : (int)host.length;
    if (to > written)
        fwrite(host.text + written, 1, (size_t)(to - written), merged);
    if (to > written)
        written = to;
}

static void skip_host(int last) { written = (int)(host.tokens[last].start + host.tokens[last].length); }

static void resume_host(int token)
{
    if (token < host.end)
        fprintf(merged, "\n# %d \"%s\"\n", host.tokens[token].line, file_in(&host, token));
}

static void write_device(int first, int last)
{
    const struct token *a = &device.tokens[first], *b = &device.tokens[last];
    fprintf(merged, "\n# %d \"%s\"\n", a->line, file_in(&device, first));
    fwrite(device.text + a->start, 1, b->start + b->length - a->start, merged);
}

/* Where the host's text goes on behind a token of it. */
static void go_on(int last)
{
    skip_host(last);
    fprintf(merged, "\n# %d \"%s\"\n", host.tokens[last].line, file_in(&host, last));
}

static void replace_with_device(const struct item *h, const struct item *d)
{
    copy_host(h->first);
    write_device(d->first, d->last);
    go_on(h->last);
}

#define IF_ON_DEVICE "{ if (!__builtin_is_constant_evaluated() && ::simt::on_device()) "
static void write_both(int h_body, int d_body)
{
    copy_host(h_body);
    fputs(IF_ON_DEVICE, merged);
    write_device(d_body, device.tokens[d_body].partner);
    fputs(" else ", merged);
    resume_host(h_body);
    copy_host(host.tokens[h_body].partner);
    fputs("}}", merged);
    skip_host(host.tokens[h_body].partner);
}

/* ---- merging --------------------------------------------------------------------------------------------- */

/* The body of the next lambda marked __device__ from i on, 0 where there is none; in the active source. */
static int next_lambda(int i, int limit, bool *of_both)
{
    for (; i < limit; i++) {
        if (!is(i, "__device__") || !is_any(i - 1, "] ) __host__"))
            continue;
        int brace = i;
        *of_both = is(i - 1, "__host__");
        while (brace < limit && !is_any(brace, "{ ;")) {
            *of_both |= is(brace, "__host__");
            brace = is(brace, "(") ? tokens[brace].partner + 1 : brace + 1;
        }
        if (brace < limit && is(brace, "{"))
            return brace;
    }
    return 0;
}

/* A function of the host's: only its device lambdas can matter to a kernel. */
static void merge_lambdas(const struct item *h, const struct item *d)
{
    int from_h = h->body, from_d = d->body;
    for (;;) {
        bool both = false;
        source_use(&device);
        int d_body = next_lambda(from_d, d->last, &both);
        source_use(&host);
        int h_body = next_lambda(from_h, h->last, &both);
        if (!h_body || !d_body)
            return;
        from_h = host.tokens[h_body].partner;
        from_d = device.tokens[d_body].partner;
        if (same_range(h_body, from_h, d_body, from_d))
            continue;
        if (both) {
            write_both(h_body, d_body);
        } else {
            copy_host(h_body);
            write_device(d_body, from_d);
            go_on(from_h);
        }
    }
}

static void merge(int h_first, int h_limit, int d_first, int d_limit);

static void merge_pair(const struct item *h, const struct item *d)
{
    if (same(h, d))
        return;
    if (h->scope)
        merge(h->body + 1, host.tokens[h->body].partner, d->body + 1, device.tokens[d->body].partner);
    else if (h->global || (h->device && !h->host))
        replace_with_device(h, d);
    else if (h->device || h->host)
        write_both(h->body, d->body);
    else
        merge_lambdas(h, d);
}

/* An item that only one of the texts has. */
static void merge_single(const struct item *h)
{
    if (!h->global && !(h->device && !h->host))
        return;
    copy_host(h->first);
    go_on(h->last);
}

static void add_device(const struct item *d, int before)
{
    copy_host(before);
    write_device(d->first, d->last);
    fprintf(merged, "\n");
    resume_host(before);
}

static void refuse_lists(const struct items *hs, int from, int to, const struct item *d)
{
    for (int i = from; i < to; i++) {
        if (!same_signature(&hs->at[i], d) || hs->at[i].global || !hs->at[i].device)
            continue;
        source_use(&device);
        refuse(d->first, "a constructor whose initialisers depend on __CUDA_ARCH__ is not supported by the emulator");
    }
}

/* Items h to h_end of the host's, d to d_end of the device's, between two that are the same. */
static void merge_differing(const struct items *hs, int h, int h_end, const struct items *ds, int d, int d_end,
                            int h_limit)
{
    for (; d < d_end; d++) {
        int with = h;
        while (with < h_end && !same(&hs->at[with], &ds->at[d]) && !same_head(&hs->at[with], &ds->at[d]))
            with++;
        if (with == h_end) {
            refuse_lists(hs, h, h_end, &ds->at[d]);
            add_device(&ds->at[d], h < hs->n ? hs->at[h].first : h_limit);
            continue;
        }
        for (; h < with; h++)
            merge_single(&hs->at[h]);
        merge_pair(&hs->at[h++], &ds->at[d]);
    }
    for (; h < h_end; h++)
        merge_single(&hs->at[h]);
}

/* The nearest pair of items that are the same, from h and d on. */
static void find_same(const struct items *hs, int *h, const struct items *ds, int *d)
{
    int rest_h = hs->n - *h, rest_d = ds->n - *d;
    for (int sum = 0; sum <= rest_h + rest_d; sum++)
        for (int i = sum < rest_h ? sum : rest_h; i >= 0 && sum - i <= rest_d; i--) {
            bool ends = i == rest_h && sum - i == rest_d;
            if (!ends && (i == rest_h || sum - i == rest_d || !same(&hs->at[*h + i], &ds->at[*d + sum - i])))
                continue;
            *h += i;
            *d += sum - i;
            return;
        }
}

static void merge(int h_first, int h_limit, int d_first, int d_limit)
{
    source_use(&device);
    struct items ds = read_items(d_first, d_limit);
    source_use(&host);
    struct items hs = read_items(h_first, h_limit);
    for (int h = 0, d = 0; h < hs.n || d < ds.n;) {
        int h_end = h, d_end = d;
        find_same(&hs, &h_end, &ds, &d_end);
        merge_differing(&hs, h, h_end, &ds, d, d_end, h_limit);
        h = h_end + (h_end < hs.n);
        d = d_end + (d_end < ds.n);
    }
}

void arch_merge(const char *host_path, const char *device_path, const char *runtime)
{
    char *text;
    size_t length;
    source_read(device_path);
    source_lex(runtime);
    device = source_take();
    source_read(host_path);
    source_lex(runtime);
    host = source_take();
    merged = open_memstream(&text, &length);
    if (!merged)
        abort();
    merge(1, host.end, 1, device.end);
    copy_host(host.end);
    fclose(merged);
    source_set(text, length);
    source_lex(runtime);
}
