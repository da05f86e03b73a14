/* An opcode, "ld.global.v4.f32": which row of which table, and what its modifiers say. */
#include "ptx/words.h"
#include "ptx/rows.h"
#include <string.h>

const struct type_info ptx_types[TYPES] = {
    [T_NONE] = {"", 0, false},       [T_PRED] = {"pred", 1, false},     [T_B8] = {"b8", 1, false},
    [T_B16] = {"b16", 2, false},     [T_B32] = {"b32", 4, false},       [T_B64] = {"b64", 8, false},
    [T_B128] = {"b128", 16, false},  [T_B1] = {"b1", 1, false},         [T_U2] = {"u2", 1, false},
    [T_S2] = {"s2", 1, true},        [T_U4] = {"u4", 1, false},         [T_S4] = {"s4", 1, true},
    [T_U16X2] = {"u16x2", 4, false}, [T_S16X2] = {"s16x2", 4, false},   [T_U8] = {"u8", 1, false},
    [T_U16] = {"u16", 2, false},     [T_U32] = {"u32", 4, false},       [T_U64] = {"u64", 8, false},
    [T_S8] = {"s8", 1, true},        [T_S16] = {"s16", 2, true},        [T_S32] = {"s32", 4, true},
    [T_S64] = {"s64", 8, true},      [T_F16] = {"f16", 2, false},       [T_F16X2] = {"f16x2", 4, false},
    [T_BF16] = {"bf16", 2, false},   [T_BF16X2] = {"bf16x2", 4, false}, [T_TF32] = {"tf32", 4, false},
    [T_F32] = {"f32", 4, false},     [T_F64] = {"f64", 8, false},       [T_E4M3] = {"e4m3", 1, false},
    [T_E5M2] = {"e5m2", 1, false},   [T_E4M3X2] = {"e4m3x2", 2, false}, [T_E5M2X2] = {"e5m2x2", 2, false},
};

static const struct word {
    const char *text;
    enum field field;
    uint8_t value;
} words[] = {
    {"rn", ROUNDING, R_RN},
    {"rz", ROUNDING, R_RZ},
    {"rm", ROUNDING, R_RM},
    {"rp", ROUNDING, R_RP},
    {"rni", ROUNDING, R_RNI},
    {"rzi", ROUNDING, R_RZI},
    {"rmi", ROUNDING, R_RMI},
    {"rpi", ROUNDING, R_RPI},
    {"rna", ROUNDING, R_RNA},
    {"ftz", FTZ, 1},
    {"sat", SATURATE, 1},
    {"satfinite", FINITE, 1},
    {"approx", APPROXIMATE, 1},
    {"full", APPROXIMATE, 1},
    {"relu", RELU, 1},
    {"NaN", NAN_WINS, 1},
    {"cc", CARRY, 1},
    {"uni", UNIFORM, 1},
    {"sync", SYNC, 1},
    {"aligned", ALIGNED, 1},
    {"trans", TRANSPOSED, 1},
    {"to", TOWARD, 1},
    {"global", SPACE, S_GLOBAL},
    {"shared", SPACE, S_SHARED},
    {"shared::cta", SPACE, S_SHARED},
    {"shared::cluster", SPACE, S_CLUSTER},
    {"local", SPACE, S_LOCAL},
    {"const", SPACE, S_CONST},
    {"weak", SEMANTICS, ORDER_WEAK},
    {"relaxed", SEMANTICS, ORDER_RELAXED},
    {"acquire", SEMANTICS, ORDER_ACQUIRE},
    {"release", SEMANTICS, ORDER_RELEASE},
    {"acq_rel", SEMANTICS, ORDER_ACQ_REL},
    {"sc", SEMANTICS, ORDER_SC},
    {"volatile", SEMANTICS, ORDER_VOLATILE},
    {"cta", SCOPE, SCOPE_CTA},
    {"cluster", SCOPE, SCOPE_CLUSTER},
    {"gpu", SCOPE, SCOPE_GPU},
    {"gl", SCOPE, SCOPE_GPU},
    {"sys", SCOPE, SCOPE_SYS},
    {"ca", CACHE, CACHE_ANY},
    {"cg", CACHE, CACHE_GLOBAL},
    {"cs", CACHE, CACHE_ANY},
    {"lu", CACHE, CACHE_ANY},
    {"cv", CACHE, CACHE_ANY},
    {"wb", CACHE, CACHE_ANY},
    {"wt", CACHE, CACHE_ANY},
    {"nc", READ_ONLY, 1},
    {"L1", HINT, 1},
    {"L2", HINT, 1},
    {"L1::evict_normal", HINT, 1},
    {"L1::evict_unchanged", HINT, 1},
    {"L1::evict_first", HINT, 1},
    {"L1::evict_last", HINT, 1},
    {"L1::no_allocate", HINT, 1},
    {"L2::64B", HINT, 1},
    {"L2::128B", HINT, 1},
    {"L2::256B", HINT, 1},
    {"L2::evict_normal", HINT, 1},
    {"L2::evict_first", HINT, 1},
    {"L2::evict_last", HINT, 1},
    {"L2::evict_unchanged", HINT, 1},
    {"L2::cache_hint", CACHE_POLICY, 1},
    {"v2", VECTOR, 2},
    {"v4", VECTOR, 4},
    {"v8", VECTOR, 8},
    {"eq", COMPARISON, C_EQ},
    {"ne", COMPARISON, C_NE},
    {"lt", COMPARISON, C_LT},
    {"le", COMPARISON, C_LE},
    {"gt", COMPARISON, C_GT},
    {"ge", COMPARISON, C_GE},
    {"ls", COMPARISON, C_LS},
    {"hs", COMPARISON, C_HS},
    {"equ", COMPARISON, C_EQU},
    {"neu", COMPARISON, C_NEU},
    {"ltu", COMPARISON, C_LTU},
    {"leu", COMPARISON, C_LEU},
    {"gtu", COMPARISON, C_GTU},
    {"geu", COMPARISON, C_GEU},
    {"num", COMPARISON, C_NUM},
    {"nan", COMPARISON, C_NAN},
    {"lo", PART, PART_LO},
    {"hi", PART, PART_HI},
    {"wide", PART, PART_WIDE},
    {"and", OPERATION, OP_AND},
    {"or", OPERATION, OP_OR},
    {"xor", OPERATION, OP_XOR},
    {"popc", OPERATION, OP_POPC},
    {"add", OPERATION, OP_ADD},
    {"min", OPERATION, OP_MIN},
    {"max", OPERATION, OP_MAX},
    {"inc", OPERATION, OP_INC},
    {"dec", OPERATION, OP_DEC},
    {"exch", OPERATION, OP_EXCH},
    {"cas", OPERATION, OP_CAS},
    {"l", MODE, M_LEFT},
    {"r", MODE, M_RIGHT},
    {"wrap", LIMIT, M_WRAP},
    {"clamp", LIMIT, M_CLAMP},
    {"up", MODE, M_UP},
    {"down", MODE, M_DOWN},
    {"bfly", MODE, M_BFLY},
    {"idx", MODE, M_IDX},
    {"all", MODE, M_ALL},
    {"any", MODE, M_ANY},
    {"ballot", MODE, M_BALLOT},
    {"f4e", MODE, M_F4E},
    {"b4e", MODE, M_B4E},
    {"rc8", MODE, M_RC8},
    {"ecl", MODE, M_ECL},
    {"ecr", MODE, M_ECR},
    {"rc16", MODE, M_RC16},
    {"shiftamt", MODE, M_SHIFTAMT},
    {"x1", COUNT, 1},
    {"x2", COUNT, 2},
    {"x4", COUNT, 4},
    {"row", LAYOUT, MAJOR_ROW},
    {"col", LAYOUT, MAJOR_COLUMN},
    {"noinc", NO_INCREMENT, 1},
    {"noComplete", NO_COMPLETE, 1},
    {"noftz", NO_FTZ, 1},
    {"po", PLUS_ONE, 1},
    {"shr7", SCALE, 7},
    {"shr15", SCALE, 15},
    {"bulk_group", COMPLETION, COMPLETES_GROUP},
    {"mbarrier::complete_tx::bytes", COMPLETION, COMPLETES_BYTES},
    {"multicast::cluster", MULTICAST, 1},
    {"1d", DIMENSIONS, 1},
    {"2d", DIMENSIONS, 2},
    {"3d", DIMENSIONS, 3},
    {"4d", DIMENSIONS, 4},
    {"5d", DIMENSIONS, 5},
    {"tile", COPY_MODE, MODE_TILE},
    {"tile::gather4", COPY_MODE, MODE_OTHER},
    {"tile::scatter4", COPY_MODE, MODE_OTHER},
    {"im2col", COPY_MODE, MODE_OTHER},
    {"im2col_no_offs", COPY_MODE, MODE_OTHER},
    {"im2col::w", COPY_MODE, MODE_OTHER},
    {"im2col::w::128", COPY_MODE, MODE_OTHER},
    {"b1024", WHOLE_MAP, 1},
};

#define MOST_MODIFIER 32

static const struct row *const tables[] = {
    ptx_move_rows, ptx_integer_rows,  ptx_float_rows, ptx_convert_rows, ptx_memory_rows, ptx_warp_rows, ptx_matrix_rows,
    ptx_sync_rows, ptx_mbarrier_rows, ptx_bulk_rows,  ptx_tensor_rows,  ptx_video_rows,  ptx_wgmma_rows};

/* Is the opcode that stem, or does it go on from it? */
static bool begins(const char *opcode, const char *stem)
{
    size_t n = strlen(stem);
    return strncmp(opcode, stem, n) == 0 && (opcode[n] == 0 || opcode[n] == '.');
}

/* Not supported, each as an instruction of its own: some begin as others do. */
static const struct {
    const char *stem, *why;
} refused[] = {
    {"ret", "a statement cannot end its thread"},
    {"exit", "a statement cannot end its thread"},
    {"wgmma.mma_async.sp", "sparse products are not supported"},
    {"mma.sp", "sparse products are not supported"},
    {"tcgen05", "tensor memory is not supported"},
};

static const char *why_refused(const char *opcode)
{
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (begins(opcode, refused[i].stem))
            return refused[i].why;
    return NULL;
}

static enum type find_type(const char *text, size_t n)
{
    for (enum type t = T_PRED; t < TYPES; t++)
        if (strlen(ptx_types[t].name) == n && strncmp(text, ptx_types[t].name, n) == 0)
            return t;
    return T_NONE;
}

static enum type first_type(const char *opcode)
{
    enum type t = T_NONE;
    for (const char *dot = strchr(opcode, '.'); dot && !t; dot = strchr(dot + 1, '.'))
        t = find_type(dot + 1, strcspn(dot + 1, "."));
    return t;
}

/* The longest stem; of the same stem in several tables, the one that knows the type. */
static const struct row *find_row(const char *opcode)
{
    const struct row *found = NULL;
    u64 type = TYPE(first_type(opcode));
    size_t longest = 0;
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        for (const struct row *row = tables[i]; row->name; row++) {
            size_t n = strlen(row->name);
            if (!begins(opcode, row->name) || n < longest || (n == longest && !(row->types & type)))
                continue;
            found = row;
            longest = n;
        }
    return found;
}

/* "m16n8k16"; "m8n8", of ldmatrix, has no k. */
static bool read_shape(const char *text, struct instruction *in)
{
    int end = 0;
    struct product *p = &in->product;
    p->k = 0;
    if (sscanf(text, "m%un%u%n", &p->m, &p->n, &end) == 2 && text[end])
        if (sscanf(text, "m%un%uk%u%n", &p->m, &p->n, &p->k, &end) != 3)
            return false;
    in->field[SHAPE] = 1;
    return end && !text[end];
}

static const char *set_field(struct instruction *in, const struct word *word)
{
    enum field f = word->field;
    if (in->field[f] && (f == SPACE || f == LAYOUT || (f == OPERATION && in->row->fields & HAS(OPERATION2))))
        f++;
    if (!(in->row->fields & HAS(f)))
        return "the instruction has no modifier .%s";
    if (in->field[f] && f != HINT)
        return "the modifier .%s contradicts another, or is said twice";
    in->field[f] = word->value;
    return NULL;
}

static const char *read_modifier(const char *text, struct instruction *in)
{
    enum type t = find_type(text, strlen(text));
    if (t) {
        if (!(in->row->types & TYPE(t)))
            return "the instruction is not known for the type .%s";
        if (in->n_types == sizeof in->type)
            return "there are too many types; one is .%s";
        in->type[in->n_types++] = (uint8_t)t;
        return NULL;
    }
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(text, words[i].text) == 0)
            return set_field(in, &words[i]);
    if (in->row->fields & HAS(SHAPE) && !in->field[SHAPE] && read_shape(text, in))
        return NULL;
    return "there is no modifier .%s that the emulator knows";
}

const char *ptx_read_opcode(const char *opcode, struct instruction *in)
{
    static __thread char wrong[128];
    const char *why = why_refused(opcode);
    if (why)
        return why;
    in->row = find_row(opcode);
    if (!in->row)
        return "the instruction is not known";
    in->run = in->row->run;
    for (const char *at = opcode + strlen(in->row->name); *at;) {
        char word[MOST_MODIFIER];
        size_t n = strcspn(++at, ".");
        if (n >= sizeof word)
            return "a modifier is too long";
        memcpy(word, at, n);
        word[n] = 0;
        at += n;
        why = read_modifier(word, in);
        if (why) {
            snprintf(wrong, sizeof wrong, why, word);
            return wrong;
        }
    }
    if (in->row->types && !in->n_types)
        return "the type is missing";
    return NULL;
}
