/* __CUDA_ARCH__ is defined where code is compiled for a GPU, and only there. So a file that asks for it is preprocessed
 * twice, for the host and for the device, and the two texts are made one:
 *
 *   - what is the same in both stays;
 *   - functions and variables of the device's (`__global__`, `__device__`) are taken from the device's text;
 *   - a `__host__ __device__` function whose bodies differ gets both: { if (::simt::on_device()) … else … };
 *   - a constant that is `__device__` in one and constexpr in the other, of one value, is both;
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
    int name;        /* of a variable; 0: it is none */
    bool scope;      /* a namespace or a class: made of items itself */
    bool initialisers; /* a constructor's, in front of its body */
    bool global, device, host, constant;
    unsigned hash, head_hash, name_hash; /* of all its tokens, of those in front of the body, of the name */
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
    if (is(i + 1, "(") && is(i + 2, ")"))
        return i + 2;
    while (i < end && !is_any(i + 1, "( ;"))
        i++;
    return i;
}

/* Where the item that begins at i ends, and its body. The text of `active` source. */
static struct item read_item(int i, int limit)
{
    struct item item = {.first = i, .last = limit - 1};
    bool class_key = false, equals = false, name_space = false, variable = true;
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
            if (is_any(i, "using typedef friend namespace static_assert asm"))
                variable = false;
            if (variable && !class_key && !item.name && tokens[i].kind == NAME && is_any(i + 1, "= ; { ["))
                item.name = i;
            if (is(i, "(") && !item.name)
                variable = false;
            item.global |= is(i, "__global__");
            item.device |= is_any(i, "__device__ __constant__ __managed__ __shared__");
            item.host |= is(i, "__host__");
            item.constant |= is(i, "constexpr");
            class_key |= is_any(i, "struct class union enum");
            equals |= is(i, "=");
            name_space |= is(i, "namespace") || (is(i, "extern") && tokens[i + 1].kind == STRING && is(i + 2, "{"));
            if (is(i, ":") && is(i - 1, ")"))
                item.initialisers = true;
        }
        if (is(i, "<") && tokens[i - 1].kind == NAME && angle_close(i)) {
            i = angle_close(i);
        } else if (is_any(i, "( [")) {
            if (is(i, "(") && !equals)
                class_key = false; /* a function of that type */
            i = tokens[i].partner;
        } else if (is(i, "{")) {
            int close = tokens[i].partner;
            bool initialiser = item.initialisers && (tokens[i - 1].kind == NAME || is(i - 1, ">")) &&
                               is_any(close + 1, ", {");
            if (!initialiser && !item.body && !equals && !item.name) {
                item.body = i;
                item.scope = name_space || class_key;
                item.host |= item.constant;
            }
            i = close;
            if (initialiser || equals || item.name || (class_key && !name_space))
                continue;
            item.last = is(i + 1, ";") && i + 1 < limit ? i + 1 : i;
            return item;
        }
    }
    return item;
}

static struct item hashed(struct item item)
{
    for (int i = item.first; i <= item.last; i++) {
        if (i == item.body)
            item.head_hash = item.hash;
        if (i == item.name)
            item.name_hash = token_hash(i);
        item.hash = 31 * item.hash + token_hash(i);
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
        items.at[items.n] = hashed(read_item(first, limit));
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
    return h->hash == d->hash && same_range(h->first, h->last, d->first, d->last);
}

/* Do they declare the same thing, though their bodies differ? */
static bool same_head(const struct item *h, const struct item *d)
{
    return h->body && d->body && h->head_hash == d->head_hash &&
           same_range(h->first, h->body - 1, d->first, d->body - 1);
}

static bool same_variable(const struct item *h, const struct item *d)
{
    return h->name && d->name && same_token(h->name, d->name);
}

/* Up to the parameters' `)`: constructors that differ in what follows it. */
static bool same_signature(const struct item *h, const struct item *d)
{
    if (h->scope || d->scope || !h->body || !d->body || !(h->initialisers || d->initialisers))
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

/* The device's variable has other words or another value than the host's, which is not the device's. */
static void merge_variable(const struct item *h, const struct item *d)
{
    if (!same_range(h->name, h->last, d->name, d->last)) {
        source_use(&device);
        refuse(d->name, "`%s` has another value where __CUDA_ARCH__ is defined, which is not supported by the emulator",
               source_text(d->name, d->name));
        source_use(&host);
    }
    copy_host(h->first);
    if (d->device)
        fputs("__device__ ", merged);
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
    else if (h->name)
        merge_variable(h, d);
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
    for (int i = from; d->initialisers && i < to; i++) {
        if (!same_signature(&hs->at[i], d) || hs->at[i].global || !hs->at[i].device)
            continue;
        source_use(&device);
        refuse(d->first, "a constructor whose initialisers depend on __CUDA_ARCH__ is not supported by the emulator");
    }
}

/* ---- finding ---- */

/* Items by a hash, those of one hash in the order in which they stand. */
struct row {
    unsigned hash;
    int index;
};

static int compare_rows(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    return x->index - y->index;
}

/* What items have in common that are to be merged: a variable's name, what stands in front of a body, or all of it. */
static unsigned key_of(const struct item *item)
{
    return item->name ? item->name_hash : item->body ? item->head_hash : item->hash;
}

static struct row *table_of(const struct items *items, bool keys)
{
    struct row *rows = malloc(((size_t)items->n + 1) * sizeof *rows);
    if (!rows)
        abort();
    for (int i = 0; i < items->n; i++)
        rows[i] = (struct row){keys ? key_of(&items->at[i]) : items->at[i].hash, i};
    qsort(rows, (size_t)items->n, sizeof *rows, compare_rows);
    return rows;
}

/* The first row of that hash and of an item from `from` on; n where there is none. */
static int find_row(const struct row *rows, int n, unsigned hash, int from)
{
    int low = 0, high = n;
    while (low < high) {
        int middle = (low + high) / 2;
        if (compare_rows(&rows[middle], &(struct row){hash, from}) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < n && rows[low].hash == hash ? low : n;
}

/* The first of the device's items from `from` on that is the same as h; ds->n where there is none. */
static int next_same(const struct item *h, const struct items *ds, const struct row *rows, int from)
{
    for (int i = find_row(rows, ds->n, h->hash, from); i < ds->n && rows[i].hash == h->hash; i++)
        if (same(h, &ds->at[rows[i].index]))
            return rows[i].index;
    return ds->n;
}

/* The host's item from h up to h_end that is to be merged with d; h_end where there is none. */
static int partner_of(const struct item *d, const struct items *hs, const struct row *keys, int h, int h_end)
{
    unsigned key = key_of(d);
    for (int i = find_row(keys, hs->n, key, h); i < hs->n && keys[i].hash == key; i++) {
        const struct item *item = &hs->at[keys[i].index];
        if (keys[i].index >= h_end)
            return h_end;
        if (same(item, d) || same_head(item, d) || same_variable(item, d))
            return keys[i].index;
    }
    return h_end;
}

/* Items h to h_end of the host's, d to d_end of the device's, between two that are the same. */
static void merge_differing(const struct items *hs, const struct row *keys, int h, int h_end, const struct items *ds,
                            int d, int d_end, int h_limit)
{
    for (; d < d_end; d++) {
        int with = partner_of(&ds->at[d], hs, keys, h, h_end);
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

/* The nearest pair of items that are the same, from h and d on; or the ends of both. */
static void find_same(const struct items *hs, int *h, const struct items *ds, const struct row *rows, int *d)
{
    int h_best = hs->n, d_best = ds->n;
    for (int i = *h; i < hs->n && i - *h <= h_best - *h + d_best - *d; i++) {
        int j = next_same(&hs->at[i], ds, rows, *d);
        if (j == ds->n || i + j > h_best + d_best)
            continue;
        h_best = i;
        d_best = j;
    }
    *h = h_best;
    *d = d_best;
}

static void merge(int h_first, int h_limit, int d_first, int d_limit)
{
    source_use(&device);
    struct items ds = read_items(d_first, d_limit);
    struct row *rows = table_of(&ds, false);
    source_use(&host);
    struct items hs = read_items(h_first, h_limit);
    struct row *keys = table_of(&hs, true);
    for (int h = 0, d = 0; h < hs.n || d < ds.n;) {
        int h_end = h, d_end = d;
        find_same(&hs, &h_end, &ds, rows, &d_end);
        merge_differing(&hs, keys, h, h_end, &ds, d, d_end, h_limit);
        h = h_end + (h_end < hs.n);
        d = d_end + (d_end < ds.n);
    }
    free(rows);
    free(keys);
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
