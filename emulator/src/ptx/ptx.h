/* Inline PTX. A text is read once, into a program: instructions whose modifiers are numbers and whose operands are slots
 * (read.h, words.h). assembly.c runs it. What the instructions do is written by subject, each in a file that offers a table
 * of rows (rows.h). */
#ifndef SIMT_PTX_H
#define SIMT_PTX_H

#include "base/base.h"
#include "../../include/simt/matrix.h"
#include "run/special.h"
#include "block/worker.h"

/* ---- types and modifiers ---- */

enum type {
    T_NONE,
    T_PRED,
    T_B8,
    T_B16,
    T_B32,
    T_B64,
    T_B128,
    T_B1,
    T_U2,
    T_S2,
    T_U4,
    T_S4,
    T_U8,
    T_U16,
    T_U32,
    T_U64,
    T_S8,
    T_S16,
    T_S32,
    T_S64,
    T_U16X2,
    T_S16X2,
    T_F16,
    T_F16X2,
    T_BF16,
    T_BF16X2,
    T_TF32,
    T_F32,
    T_F64,
    T_E4M3,
    T_E5M2,
    T_E4M3X2,
    T_E5M2X2,
    TYPES
};

extern const struct type_info {
    const char *name;
    unsigned bytes; /* of less than a byte, as it stands in a register by itself */
    bool is_signed;
} ptx_types[TYPES];

/* What a modifier says. One word says one thing; said twice is wrong, but for a second space, layout or operation, which
 * is the field after the first. */
enum field {
    ROUNDING,
    FTZ,
    SATURATE,
    FINITE, /* .satfinite */
    APPROXIMATE,
    RELU,
    NAN_WINS, /* .NaN of min and max */
    CARRY,
    UNIFORM,
    SYNC,
    ALIGNED,
    TRANSPOSED,
    TOWARD, /* cvta.to */
    SPACE,
    SPACE2,
    SEMANTICS,
    SCOPE,
    CACHE,
    READ_ONLY, /* .nc */
    HINT,
    CACHE_POLICY, /* .L2::cache_hint: one operand more */
    VECTOR,
    COMPARISON,
    PART, /* .lo, .hi, .wide */
    OPERATION,
    OPERATION2, /* .popc behind .and or .xor, of mma */
    MODE,       /* of shifts, shuffles, votes, prmt */
    LIMIT,      /* .wrap, .clamp */
    COUNT,
    LAYOUT,
    LAYOUT2,
    SHAPE,
    NO_INCREMENT,
    NO_COMPLETE,
    NO_FTZ,
    PLUS_ONE,   /* .po */
    SCALE,      /* .shr7, .shr15 */
    COMPLETION, /* of bulk copies: .bulk_group, or .mbarrier::complete_tx::bytes */
    MULTICAST,  /* .multicast::cluster: one operand more */
    DIMENSIONS, /* of a tensor: .2d */
    COPY_MODE,  /* .tile and others */
    WHOLE_MAP,  /* .b1024 */
    FIELDS
};
#define HAS(FIELD) (1ull << (FIELD))

enum ptx_rounding { R_NONE, R_RN, R_RZ, R_RM, R_RP, R_RNI, R_RZI, R_RMI, R_RPI, R_RNA };
enum ptx_space {
    S_GENERIC,
    S_GLOBAL,
    S_SHARED,
    S_CLUSTER, /* shared memory of the cluster's blocks */
    S_LOCAL,
    S_CONST
};
enum semantics {
    ORDER_NONE,
    ORDER_WEAK,
    ORDER_RELAXED,
    ORDER_ACQUIRE,
    ORDER_RELEASE,
    ORDER_ACQ_REL,
    ORDER_SC,
    ORDER_VOLATILE
};
enum ptx_scope { SCOPE_NONE, SCOPE_CTA, SCOPE_CLUSTER, SCOPE_GPU, SCOPE_SYS };
enum ptx_copy_mode { MODE_NONE, MODE_TILE, MODE_OTHER };
enum ptx_completion { COMPLETES_NOTHING, COMPLETES_GROUP, COMPLETES_BYTES };
enum comparison {
    C_NONE,
    C_EQ,
    C_NE,
    C_LT,
    C_LE,
    C_GT,
    C_GE,
    C_LS,
    C_HS,
    C_EQU,
    C_NEU,
    C_LTU,
    C_LEU,
    C_GTU,
    C_GEU,
    C_NUM,
    C_NAN
};
enum cache { CACHE_NONE, CACHE_ANY, CACHE_GLOBAL /* .cg */ };
enum major { MAJOR_NONE, MAJOR_ROW, MAJOR_COLUMN };
enum part { PART_NONE, PART_LO, PART_HI, PART_WIDE };
enum operation { OP_NONE, OP_AND, OP_OR, OP_XOR, OP_POPC, OP_ADD, OP_MIN, OP_MAX, OP_INC, OP_DEC, OP_EXCH, OP_CAS };
enum mode {
    M_NONE,
    M_LEFT,
    M_RIGHT,
    M_WRAP,
    M_CLAMP,
    M_UP,
    M_DOWN,
    M_BFLY,
    M_IDX,
    M_ALL,
    M_ANY,
    M_BALLOT,
    M_F4E,
    M_B4E,
    M_RC8,
    M_ECL,
    M_ECR,
    M_RC16,
    M_SHIFTAMT
};

/* ---- a program ---- */

enum operand_kind { O_NONE, O_SLOT, O_CONSTANT, O_SPECIAL, O_SINK, O_VECTOR, O_ADDRESS, O_PLACE };

struct selection {           /* r.h1, r.b3210: which parts of a register, the lowest place first */
    uint8_t bytes, n, at[4]; /* n 0: all of it */
};

struct ptx_operand {
    uint8_t kind;
    uint8_t n;       /* elements of a vector; coordinates of a place */
    uint8_t bytes;   /* of the register */
    bool negated;    /* !p */
    bool minus;      /* -r, of a register */
    bool decimal;    /* a constant that is written as 1.5: its type comes from the instruction */
    bool predicate;  /* the register is one */
    bool floating;   /* the register is of type .f32 or .f64 */
    bool enters;     /* it is the statement's, and has a value before it; of a vector: all of them */
    bool in_order;   /* of a vector: its elements are operands of the statement, one behind the other */
    uint16_t slot;   /* of the register, also of an address's; NO_SLOT: the address is a number */
    uint16_t second; /* q of p|q; NO_SLOT: none */
    struct selection selection;
    u64 value; /* a register: which bits it has; a constant; an address: what is added to the register */
    special_register *special;
    const struct ptx_operand *elements;
};
#define NO_SLOT 0xffffu
#define MOST_OPERANDS 8

struct running;
struct row;

struct instruction {
    const struct row *row;
    void (*run)(struct running *r, const struct instruction *in);
    uint8_t field[FIELDS]; /* 0: not said */
    uint8_t n_types, n;
    bool guarded, guard_negated;
    uint16_t guard;  /* slot of @p */
    uint32_t target; /* of a branch: the instruction's number */
    uint8_t type[4];
    struct ptx_operand operand[MOST_OPERANDS];
    struct product product; /* of mma and wmma */
};

/* Letters of operands: d a register that is written, s a number, both of the instruction's type, or predicates where that
 * is .pred; t a number of its last type; w one register or a vector that is written, v one number or a vector, which
 * together have the type's width; n a number of 32 bits, m one that is written, h a number of 16 bits; p a predicate that is written, q a
 * predicate, x a number of 32 bits or a predicate; a an address, k an address or a place in a tensor: a map's address and
 * coordinates;
 * e and f a register of 32 bits that is written and one that is read, of which parts may be selected, f and c also with a
 * minus; l one of 64 bits. Capitals: D, T, W and V may be registers wider than the
 * type; M and N are one or several of 32 bits,
 * G and H a fragment, of which the row looks at the registers; L one that is written, and read, when the statement is over: variables of
 * the program's, which no other instruction of the statement has. */
struct row {
    const char *name; /* the stem, "ld"; the longest that fits is meant. NULL ends a table */
    void (*run)(struct running *r, const struct instruction *in);
    u64 fields;           /* that it may have */
    const char *operands; /* a letter for each, above; behind a `?`, those that may be missing */
    u64 types;            /* that it may have, a bit for each; 0: it has none */
    /* What is wrong with it, in a few words, else NULL; may complete the instruction. NULL: nothing more to look at. */
    const char *(*prepare)(struct instruction *in);
};

#define TYPE(T) (1ull << (T))
#define BYTES (TYPE(T_U8) | TYPE(T_S8))
#define WIDE (TYPE(T_U32) | TYPE(T_U64) | TYPE(T_S32) | TYPE(T_S64))
#define INTEGERS (TYPE(T_U16) | TYPE(T_S16) | WIDE)
#define BITS (TYPE(T_B16) | TYPE(T_B32) | TYPE(T_B64))
#define HALVES (TYPE(T_F16) | TYPE(T_BF16))
#define PAIRS (TYPE(T_F16X2) | TYPE(T_BF16X2))
#define FULL (TYPE(T_F32) | TYPE(T_F64))
#define FLOATS (HALVES | FULL)

struct program {
    unsigned n, n_slots, n_arguments;
    bool variables; /* are there any among the operands? */
    bool *late;     /* of each argument: it is one of L */
    struct instruction *instructions;
    struct ptx_operand *elements; /* of vectors */
};

struct running {
    u64 *slots;
    void **places; /* of each operand of the statement: the variable that stands for the register; NULL: a value */
    unsigned n_places;
    const void *pc; /* where the program continues behind the statement */
    unsigned next;  /* instruction */
    unsigned carry; /* CC.CF, of add.cc and its like */
};

/* ---- values ---- */

static inline u64 ptx_bits(unsigned bytes) { return bytes >= 8 ? ~0ull : (1ull << 8 * bytes) - 1; }

static inline u64 ptx_get(const struct running *r, const struct ptx_operand *o)
{
    if (o->kind == O_SLOT)
        return r->slots[o->slot];
    return o->kind == O_CONSTANT ? o->value : o->special(block_here());
}

static inline void ptx_set(const struct running *r, const struct ptx_operand *o, u64 value)
{
    if (o->kind == O_SLOT)
        r->slots[o->slot] = value & o->value;
}

/* Registers of 128 bits are two slots, of which the first is the low half; mov, ld and st alone have them. */
static inline u128 ptx_get_wide(const struct running *r, const struct ptx_operand *o)
{
    bool wide = o->kind == O_SLOT && o->bytes == 16;
    return ptx_get(r, o) | (wide ? (u128)r->slots[o->slot + 1] << 64 : 0);
}

static inline void ptx_set_wide(const struct running *r, const struct ptx_operand *o, u128 value)
{
    ptx_set(r, o, (u64)value);
    if (o->kind == O_SLOT && o->bytes == 16)
        r->slots[o->slot + 1] = (u64)(value >> 64);
}

/* The variable that stands for a register, where the statement is one of those whose registers are read and written late
 * (wgmma.mma_async); NULL: it has none. */
static inline void *ptx_place(const struct running *r, const struct ptx_operand *o)
{
    return o->kind == O_SLOT && o->slot < r->n_places ? r->places[o->slot] : NULL;
}

/* Of p|q, q. */
static inline void ptx_set_second(const struct running *r, const struct ptx_operand *o, bool value)
{
    if (o->second != NO_SLOT)
        r->slots[o->second] = value;
}

/* Operand i, of 32 bits; 0 where there is none. */
static inline unsigned ptx_number(const struct running *r, const struct instruction *in, unsigned i)
{
    return i < in->n ? (unsigned)ptx_get(r, &in->operand[i]) : 0;
}

/* Of the waits for groups of copies. */
static inline const char *ptx_check_groups(struct instruction *in)
{
    if (in->operand[0].kind != O_CONSTANT)
        return "how many groups may be left is a constant, of constraint \"n\"";
    return (long long)in->operand[0].value < 0 ? "how many groups may be left is 0 or more" : NULL;
}

static inline bool ptx_get_predicate(const struct running *r, const struct ptx_operand *o)
{
    return (ptx_get(r, o) != 0) != o->negated;
}

/* As the type has it: with the bits above it zero, or those of a signed one copies of the sign. */
static inline u64 ptx_extend(u64 value, enum type t)
{
    unsigned unused = 64 - 8 * ptx_types[t].bytes;
    return ptx_types[t].is_signed ? (u64)((long long)(value << unused) >> unused) : value << unused >> unused;
}

static inline u64 ptx_source(const struct running *r, const struct instruction *in, unsigned i)
{
    return ptx_extend(ptx_get(r, &in->operand[i]), in->type[0]);
}

/* Registers of a vector operand, or of a single one, as 32 bits each. */
static inline void ptx_get_words(const struct running *r, const struct ptx_operand *o, uint32_t *words)
{
    for (unsigned i = 0; i < o->n; i++)
        words[i] = (uint32_t)ptx_get(r, &o->elements[i]);
}
static inline void ptx_set_words(const struct running *r, const struct ptx_operand *o, const uint32_t *words)
{
    for (unsigned i = 0; i < o->n; i++)
        ptx_set(r, &o->elements[i], words[i]);
}

static inline enum simt_scope ptx_scope_of(const struct instruction *in)
{
    static const enum simt_scope scopes[] = {[SCOPE_NONE] = SIMT_SCOPE_DEVICE,
                                             [SCOPE_CTA] = SIMT_SCOPE_BLOCK,
                                             [SCOPE_CLUSTER] = SIMT_SCOPE_CLUSTER,
                                             [SCOPE_GPU] = SIMT_SCOPE_DEVICE,
                                             [SCOPE_SYS] = SIMT_SCOPE_SYSTEM};
    return scopes[in->field[SCOPE]];
}

static inline bool ptx_is_shared(enum ptx_space space) { return space == S_SHARED || space == S_CLUSTER; }

#endif
