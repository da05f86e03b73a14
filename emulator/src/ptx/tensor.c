/* Inline PTX: copies and reductions of boxes of tensors, and the maps that describe these (PTX ISA, "Data Movement and Conversion
 * Instructions: Tensor copy", "tensormap.replace", "tensormap.cp_fenceproxy", "membar/fence"). */
#include "async/map.h"
#include "async/transfer.h"
#include "base/report.h"
#include "block/worker.h"
#include "order/access.h"
#include "ptx/memory.h"
#include "ptx/move.h"
#include "ptx/rows.h"

#define BOX_ALIGNMENT 128
#define CORNER_ALIGNMENT 16 /* of a row of the tensor */

/* ---- copies ---- */

static const char *name_of(const struct instruction *in)
{
    static const char *const names[][MOST_RANK] = {
        {"cp.async.bulk.tensor.1d", "cp.async.bulk.tensor.2d", "cp.async.bulk.tensor.3d", "cp.async.bulk.tensor.4d",
         "cp.async.bulk.tensor.5d"},
        {"cp.reduce.async.bulk.tensor.1d", "cp.reduce.async.bulk.tensor.2d", "cp.reduce.async.bulk.tensor.3d",
         "cp.reduce.async.bulk.tensor.4d", "cp.reduce.async.bulk.tensor.5d"}};
    return names[in->field[OPERATION] != OP_NONE][in->field[DIMENSIONS] - 1];
}

/* As an H200 has it. */
static void check_corner(const struct running *r, const struct tensor_map *m, const int *corner, bool stores)
{
    char did[96];
    unsigned bytes = tensor_types[m->type].bytes;
    if (corner[0] * (long)bytes % CORNER_ALIGNMENT) {
        snprintf(did, sizeof did, "begins a copy of a box from coordinate %d on, of elements of %u bytes", corner[0],
                 bytes);
        report_call("misaligned access", r->pc, did, "The first coordinate, in bytes, is a multiple of 16.");
    }
    for (unsigned i = 0; i < m->rank; i++)
        if (corner[i] < 0 && (stores || m->sizes[i] == TENSOR_MOST_SIZE)) {
            snprintf(did, sizeof did, "%s a box from coordinate %d on, in dimension %u of %llu elements",
                     stores ? "stores" : "loads", corner[i], i, (unsigned long long)m->sizes[i]);
            report_call("out of bounds", r->pc, did,
                        "Only loads may begin in front of a tensor, where the dimension has less than 2^32 elements.");
        }
}

/* The map, and the place in its tensor. */
static void read_place(const struct running *r, const struct instruction *in, unsigned i, struct tensor_map *m,
                       int *corner)
{
    bool stores = in->field[COMPLETION] == COMPLETES_GROUP;
    const struct ptx_operand *place = &in->operand[i];
    map_read(m, ptx_address(r, place, S_GENERIC), place->n, r->pc);
    for (unsigned k = 0; k < place->n; k++)
        corner[k] = (int)(uint32_t)ptx_get(r, &place->elements[k]);
    check_corner(r, m, corner, stores);
}

static void check_box(const struct running *r, const void *shared, unsigned bytes, enum access_kind kind)
{
    struct block *b = block_here();
    struct access a = access_of(b, r->pc, shared, bytes, kind);
    if (simt_shared_address(shared) % BOX_ALIGNMENT)
        report_access(&a, "misaligned access", "A box begins at a multiple of 128 bytes of shared memory.");
}

static void issue(struct running *r, const struct tensor_map *m, const int *corner, enum tensor_way way, void *shared,
                  struct transfer *t)
{
    u64 bytes = tensor_box_bytes(m);
    check_box(r, shared, (unsigned)bytes, way == TENSOR_LOAD ? ACCESS_STORE : ACCESS_LOAD);
    t->pc = r->pc;
    t->fill = m->fill ? TENSOR_NAN : 0;
    t->row_bytes = m->box[0] * tensor_types[m->type].bytes;
    t->rounds = way == TENSOR_LOAD &&
                (m->type == CU_TENSOR_MAP_DATA_TYPE_TFLOAT32 || m->type == CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ);
    t->n_pieces = tensor_pieces(m, corner, way, shared, (unsigned)simt_shared_address(shared), &t->pieces);
    transfer_issue(t);
}

static void copy(struct running *r, const struct instruction *in)
{
    bool loads = in->field[COMPLETION] == COMPLETES_BYTES;
    struct transfer t = {.call = name_of(in), .completed_by = loads ? BY_MBARRIER : BY_BULK_GROUP};
    struct tensor_map m;
    int corner[MOST_RANK];
    void *shared = ptx_address(r, &in->operand[!loads], loads ? in->field[SPACE] : in->field[SPACE2]);
    if (loads)
        t.mbarrier = ptx_address(r, &in->operand[2], S_CLUSTER);
    if (in->field[MULTICAST])
        ptx_multicast(r, &t, ptx_number(r, in, 3));
    read_place(r, in, loads, &m, corner);
    issue(r, &m, corner, loads ? TENSOR_LOAD : TENSOR_STORE, shared, &t);
}

/* As "cp.reduce.async.bulk" in the PTX ISA has them, and where only bits matter of signed numbers, too. */
static bool is_reduced(enum operation op, unsigned type)
{
#define OF(TYPE) (1u << CU_TENSOR_MAP_DATA_TYPE_##TYPE)
#define OF_INTEGERS (OF(UINT32) | OF(INT32) | OF(UINT64) | OF(INT64))
    static const unsigned types[] = {
        [OP_ADD] = OF_INTEGERS | OF(FLOAT16) | OF(FLOAT32) | OF(FLOAT32_FTZ) | OF(TFLOAT32) | OF(FLOAT64) |
                   OF(BFLOAT16),
        [OP_MIN] = OF_INTEGERS | OF(FLOAT16) | OF(BFLOAT16),
        [OP_MAX] = OF_INTEGERS | OF(FLOAT16) | OF(BFLOAT16),
        [OP_INC] = OF(UINT32),
        [OP_DEC] = OF(UINT32),
        [OP_AND] = OF_INTEGERS,
        [OP_OR] = OF_INTEGERS,
        [OP_XOR] = OF_INTEGERS,
    };
#undef OF_INTEGERS
#undef OF
    return types[op] >> type & 1;
}

static void reduce(struct running *r, const struct instruction *in)
{
    struct transfer t = {.call = name_of(in), .completed_by = BY_BULK_GROUP, .reduces = true, .op = ptx_atomic_op(in)};
    struct tensor_map m;
    int corner[MOST_RANK];
    void *shared = ptx_address(r, &in->operand[1], S_SHARED);
    read_place(r, in, 0, &m, corner);
    t.type = tensor_types[m.type].reduced_as;
    if (!is_reduced(in->field[OPERATION], m.type))
        report_call(
            "invalid reduction", r->pc, "reduces a tensor by an operation that its type has not",
            "There are .add of f32, tf32 and f64, .add, .min and .max of f16, bf16 and integers of 32 and 64 bits, .inc and .dec of "
            "u32, .and, .or and .xor of integers of 32 and 64 bits.");
    issue(r, &m, corner, TENSOR_STORE, shared, &t);
}

/* It changes nothing. */
static void prefetch(struct running *r, const struct instruction *in)
{
    struct transfer t = {.call = name_of(in), .pc = r->pc, .completed_by = BY_BULK_GROUP};
    struct tensor_map m;
    int corner[MOST_RANK];
    read_place(r, in, 0, &m, corner);
    t.n_pieces = tensor_pieces(&m, corner, TENSOR_PREFETCH, NULL, 0, &t.pieces);
    transfer_issue(&t);
}

/* Are the operands from the first on of those kinds: a address, k place? */
static bool are(const struct instruction *in, const char *kinds)
{
    unsigned n = 0;
    for (; kinds[n]; n++)
        if (n >= in->n || in->operand[n].kind != (kinds[n] == 'k' ? O_PLACE : O_ADDRESS))
            return false;
    return in->n == n + in->field[MULTICAST] + in->field[CACHE_POLICY];
}

static const char *check_modes(const struct instruction *in, const char *kinds)
{
    if (in->field[COPY_MODE] == MODE_OTHER)
        return "of tensors, only tiles (.tile) are supported, not .im2col and its like";
    if (in->field[MULTICAST] && in->field[SPACE] != S_CLUSTER)
        return ".multicast::cluster is of copies from .global to .shared::cluster";
    if (!in->field[DIMENSIONS])
        return "the number of dimensions, .1d to .5d, is missing";
    return are(in, kinds) ? NULL : "an operand is missing, or not of the kind that belongs there";
}

static const char *check_copy(struct instruction *in)
{
    enum ptx_space to = in->field[SPACE], from = in->field[SPACE2];
    bool loads = ptx_is_shared(to) && from == S_GLOBAL, stores = to == S_GLOBAL && from == S_SHARED;
    if (!loads && !stores)
        return "it goes from .global to .shared::cta or .shared::cluster, or from .shared::cta to .global";
    if (in->field[COMPLETION] != (loads ? COMPLETES_BYTES : COMPLETES_GROUP))
        return "out of shared memory it completes with .bulk_group, else with .mbarrier::complete_tx::bytes";
    return check_modes(in, loads ? "aka" : "ka");
}

static const char *check_reduction(struct instruction *in)
{
    enum operation o = in->field[OPERATION];
    if (in->field[SPACE] != S_GLOBAL || in->field[SPACE2] != S_SHARED || in->field[COMPLETION] != COMPLETES_GROUP)
        return "it goes from .shared::cta to .global, and completes with .bulk_group";
    if (o < OP_AND || o > OP_DEC || o == OP_POPC)
        return "there are .add, .min, .max, .inc, .dec, .and, .or and .xor";
    return check_modes(in, "ka");
}

static const char *check_prefetch(struct instruction *in)
{
    return in->field[SPACE] == S_GLOBAL && in->field[HINT] ? check_modes(in, "k") : "it goes from .global to .L2";
}

/* ---- maps ---- */

static void *map_of(const struct running *r, const struct instruction *in)
{
    return ptx_address(r, &in->operand[0], in->field[SPACE]);
}

static void replace(const struct running *r, const struct instruction *in, enum map_field field)
{
    const struct ptx_operand *last = &in->operand[in->n - 1];
    unsigned place = in->n > 2 ? (unsigned)in->operand[1].value : 0;
    map_replace(map_of(r, in), field, place, ptx_get(r, last), r->pc);
}
static void replace_address(struct running *r, const struct instruction *in) { replace(r, in, MAP_ADDRESS); }
static void replace_rank(struct running *r, const struct instruction *in) { replace(r, in, MAP_RANK); }
static void replace_box(struct running *r, const struct instruction *in) { replace(r, in, MAP_BOX); }
static void replace_size(struct running *r, const struct instruction *in) { replace(r, in, MAP_SIZE); }
static void replace_stride(struct running *r, const struct instruction *in) { replace(r, in, MAP_STRIDE); }
static void replace_step(struct running *r, const struct instruction *in) { replace(r, in, MAP_STEP); }
static void replace_type(struct running *r, const struct instruction *in) { replace(r, in, MAP_TYPE); }
static void replace_interleave(struct running *r, const struct instruction *in) { replace(r, in, MAP_INTERLEAVE); }
static void replace_swizzle(struct running *r, const struct instruction *in) { replace(r, in, MAP_SWIZZLE); }
static void replace_fill(struct running *r, const struct instruction *in) { replace(r, in, MAP_FILL); }

static const char *check_replace(struct instruction *in)
{
    if (!in->field[WHOLE_MAP] || (in->field[SPACE] != S_GLOBAL && in->field[SPACE] != S_SHARED))
        return "it is of a map of .b1024 in .global or .shared::cta";
    return NULL;
}

static const char *check_place(struct instruction *in)
{
    const struct ptx_operand *place = &in->operand[1];
    bool stride = in->type[0] == T_B64;
    if (place->kind != O_CONSTANT || place->value + stride >= MOST_RANK)
        return "which dimension it is of is a constant: 0 to 4, of a stride 0 to 3";
    return check_replace(in);
}

static const char *check_kind(struct instruction *in)
{
    return in->operand[1].kind == O_CONSTANT ? check_replace(in) : "the new value is a constant";
}

static void fence_release(struct running *r, const struct instruction *in) { map_release(ptx_scope_of(in), r->pc); }
static void fence_acquire(struct running *r, const struct instruction *in)
{
    map_acquire(map_of(r, in), ptx_scope_of(in), r->pc);
}

static void copy_map(struct running *r, const struct instruction *in)
{
    void *to = ptx_address(r, &in->operand[0], S_GLOBAL);
    map_copy(to, ptx_address(r, &in->operand[1], S_SHARED), ptx_scope_of(in), r->pc);
}

static const char *check_scope(struct instruction *in) { return in->field[SCOPE] ? NULL : "its scope is missing"; }

static const char *check_map_size(struct instruction *in)
{
    const struct ptx_operand *size = &in->operand[in->n - 1];
    if (size->kind != O_CONSTANT || size->value != sizeof(CUtensorMap))
        return "it is of 128 bytes, and the number is a constant";
    return check_scope(in);
}

static const char *check_map_copy(struct instruction *in)
{
    return in->field[SYNC] && in->field[ALIGNED] ? check_map_size(in) : ".sync.aligned is missing";
}

#define COPIED (HAS(SPACE) | HAS(SPACE2) | HAS(DIMENSIONS) | HAS(COPY_MODE) | HAS(COMPLETION) | HAS(CACHE_POLICY))
#define REPLACED (HAS(SPACE) | HAS(WHOLE_MAP))
#define REPLACE "tensormap.replace.tile."
#define PROXY "fence.proxy.tensormap::generic."

const struct row ptx_tensor_rows[] = {
    {"cp.async.bulk.tensor", copy, COPIED | HAS(MULTICAST), "kk?kh", 0, check_copy},
    {"cp.reduce.async.bulk.tensor", reduce, COPIED | HAS(OPERATION), "kk", 0, check_reduction},
    {"cp.async.bulk.prefetch.tensor", prefetch, COPIED | HAS(HINT), "k", 0, check_prefetch},
    {"prefetch.tensormap", ptx_nothing, 0, "a", 0, NULL},
    {"prefetch.const.tensormap", ptx_nothing, 0, "a", 0, NULL},
    {"prefetch.param.tensormap", ptx_nothing, 0, "a", 0, NULL},
    {REPLACE "global_address", replace_address, REPLACED, "as", TYPE(T_B64), check_replace},
    {REPLACE "rank", replace_rank, REPLACED, "as", TYPE(T_B32), check_replace},
    {REPLACE "box_dim", replace_box, REPLACED, "ans", TYPE(T_B32), check_place},
    {REPLACE "global_dim", replace_size, REPLACED, "ans", TYPE(T_B32), check_place},
    {REPLACE "global_stride", replace_stride, REPLACED, "ans", TYPE(T_B64), check_place},
    {REPLACE "element_stride", replace_step, REPLACED, "ans", TYPE(T_B32), check_place},
    {REPLACE "elemtype", replace_type, REPLACED, "as", TYPE(T_B32), check_kind},
    {REPLACE "interleave_layout", replace_interleave, REPLACED, "as", TYPE(T_B32), check_kind},
    {REPLACE "swizzle_mode", replace_swizzle, REPLACED, "as", TYPE(T_B32), check_kind},
    {REPLACE "fill_mode", replace_fill, REPLACED, "as", TYPE(T_B32), check_kind},
    {PROXY "release", fence_release, HAS(SCOPE), "", 0, check_scope},
    {PROXY "acquire", fence_acquire, HAS(SCOPE), "an", 0, check_map_size},
    {"tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release", copy_map,
     HAS(SCOPE) | HAS(SYNC) | HAS(ALIGNED), "aan", 0, check_map_copy},
    {0},
};
