/* Inline PTX: what the lanes of a warp do together (PTX ISA, "shfl.sync", "vote.sync", "match.sync", "redux.sync",
 * "activemask", "elect.sync", "bar.warp.sync"). */
#include "ptx/rows.h"
#include "warp/collective.h"
#include "warp/register_pool.h"

static unsigned lane(void) { return block_here()->cur % WARP; }

static const char *check_sync(struct instruction *in)
{
    return in->field[SYNC] ? NULL : "since sm_70, only the form .sync exists";
}

/* c holds two numbers: in bits 0 to 4 the last lane of a segment, in 8 to 12 the bits that name a segment. */
static void shuffle(struct running *r, const struct instruction *in)
{
    int self = (int)lane(), by = (int)ptx_get(r, &in->operand[2]) & 31;
    unsigned c = (unsigned)ptx_get(r, &in->operand[3]), mask = (unsigned)ptx_get(r, &in->operand[4]);
    enum simt_shuffle how = SIMT_SHUFFLE_INDEX;
    int segment = c >> 8 & 31, first = self & segment, last = first | ((int)(c & 31) & ~segment), from = self;
    bool within = false;
    switch (in->field[MODE]) {
    case M_UP: how = SIMT_SHUFFLE_UP, from = self - by, within = from >= last; break;
    case M_DOWN: how = SIMT_SHUFFLE_DOWN, from = self + by, within = from <= last; break;
    case M_BFLY: how = SIMT_SHUFFLE_XOR, from = self ^ by, within = from <= last; break;
    default: from = first | (by & ~segment), within = from <= last; break;
    }
    u64 value = collective_shuffle(how, mask, (uint32_t)ptx_get(r, &in->operand[1]), (unsigned)(within ? from : self),
                                   r->pc);
    ptx_set(r, &in->operand[0], value);
    ptx_set_second(r, &in->operand[0], within);
}

static const char *check_shuffle(struct instruction *in)
{
    enum mode m = in->field[MODE];
    return m < M_UP || m > M_IDX ? ".up, .down, .bfly or .idx is missing" : check_sync(in);
}

static void vote(struct running *r, const struct instruction *in)
{
    unsigned mask = (unsigned)ptx_get(r, &in->operand[2]);
    const enum simt_vote how[] = {[M_ALL] = SIMT_VOTE_ALL, [M_ANY] = SIMT_VOTE_ANY, [M_BALLOT] = SIMT_VOTE_BALLOT};
    unsigned yes = collective_vote(in->field[UNIFORM] ? SIMT_VOTE_UNIFORM : how[in->field[MODE]], mask,
                                   ptx_get_predicate(r, &in->operand[1]), r->pc);
    unsigned lanes = mask & warp_of(block_here(), block_here()->cur)->live;
    u64 result = yes;
    if (in->field[MODE] == M_ALL)
        result = (yes & lanes) == lanes;
    else if (in->field[MODE] == M_ANY)
        result = yes != 0;
    else if (in->field[UNIFORM])
        result = yes == 0 || (yes & lanes) == lanes;
    ptx_set(r, &in->operand[0], result);
}

static const char *check_vote(struct instruction *in)
{
    enum mode m = in->field[MODE];
    bool ballot = m == M_BALLOT;
    if ((m != M_ALL && m != M_ANY && !ballot) == !in->field[UNIFORM])
        return ".all, .any, .uni or .ballot is missing";
    return ballot != (in->type[0] == T_B32) ? "a ballot is of type .b32, the other votes of .pred" : check_sync(in);
}

static void match(struct running *r, const struct instruction *in)
{
    unsigned mask = (unsigned)ptx_get(r, &in->operand[2]);
    bool all = in->field[MODE] == M_ALL;
    unsigned same = collective_match(all ? SIMT_MATCH_ALL : SIMT_MATCH_ANY, mask, ptx_source(r, in, 1),
                                     ptx_types[in->type[0]].bytes, r->pc);
    bool agree = same == (mask & warp_of(block_here(), block_here()->cur)->live);
    ptx_set(r, &in->operand[0], all && !agree ? 0 : same);
    ptx_set_second(r, &in->operand[0], agree);
}

static const char *check_match(struct instruction *in)
{
    enum mode m = in->field[MODE];
    return m != M_ALL && m != M_ANY ? ".any or .all is missing" : check_sync(in);
}

static void reduce(struct running *r, const struct instruction *in)
{
    bool is_unsigned = in->type[0] == T_U32;
    const enum simt_reduce how[] = {[OP_AND] = SIMT_REDUCE_AND,
                                    [OP_OR] = SIMT_REDUCE_OR,
                                    [OP_XOR] = SIMT_REDUCE_XOR,
                                    [OP_ADD] = SIMT_REDUCE_ADD,
                                    [OP_MIN] = is_unsigned ? SIMT_REDUCE_UMIN : SIMT_REDUCE_MIN,
                                    [OP_MAX] = is_unsigned ? SIMT_REDUCE_UMAX : SIMT_REDUCE_MAX};
    unsigned mask = (unsigned)ptx_get(r, &in->operand[2]), value = (unsigned)ptx_get(r, &in->operand[1]);
    ptx_set(r, &in->operand[0], collective_reduce(how[in->field[OPERATION]], mask, value, r->pc));
}

static const char *check_reduce(struct instruction *in)
{
    enum operation o = in->field[OPERATION];
    bool of_bits = o >= OP_AND && o <= OP_XOR, of_numbers = o >= OP_ADD && o <= OP_MAX;
    if (in->type[0] == T_B32 ? !of_bits : !of_numbers)
        return "there is no such reduction of that type";
    return check_sync(in);
}

static void active_mask(struct running *r, const struct instruction *in)
{
    ptx_set(r, &in->operand[0], collective_active(r->pc));
}

/* The lowest lane of those that have come. */
static void elect(struct running *r, const struct instruction *in)
{
    unsigned lanes = collective_vote(SIMT_VOTE_ELECT, (unsigned)ptx_get(r, &in->operand[1]), true, r->pc);
    unsigned leader = (unsigned)__builtin_ctz(lanes);
    ptx_set(r, &in->operand[0], leader);
    ptx_set_second(r, &in->operand[0], leader == lane());
}

static void warp_barrier(struct running *r, const struct instruction *in)
{
    collective_sync((unsigned)ptx_get(r, &in->operand[0]), r->pc);
}

static void more_registers(struct running *r, const struct instruction *in)
{
    register_pool_take(ptx_number(r, in, 0), r->pc);
}
static void fewer_registers(struct running *r, const struct instruction *in)
{
    register_pool_give(ptx_number(r, in, 0), r->pc);
}

static const char *check_registers(struct instruction *in)
{
    if (!in->field[ALIGNED])
        return "it is .sync.aligned";
    if (in->operand[0].kind != O_CONSTANT || in->operand[0].value > UINT32_MAX)
        return "how many registers is a constant of 32 bits, of constraint \"n\"";
    return check_sync(in);
}

const struct row ptx_warp_rows[] = {
    {"shfl", shuffle, HAS(SYNC) | HAS(MODE), "dssss", TYPE(T_B32), check_shuffle},
    {"vote", vote, HAS(SYNC) | HAS(MODE) | HAS(UNIFORM), "dqn", TYPE(T_PRED) | TYPE(T_B32), check_vote},
    {"match", match, HAS(SYNC) | HAS(MODE), "msn", TYPE(T_B32) | TYPE(T_B64), check_match},
    {"redux", reduce, HAS(SYNC) | HAS(OPERATION), "dss", TYPE(T_U32) | TYPE(T_S32) | TYPE(T_B32), check_reduce},
    {"activemask", active_mask, 0, "d", TYPE(T_B32), NULL},
    {"elect", elect, HAS(SYNC), "mn", 0, check_sync},
    {"bar.warp.sync", warp_barrier, 0, "n", 0, NULL},
    {"setmaxnreg.inc", more_registers, HAS(SYNC) | HAS(ALIGNED), "n", TYPE(T_U32), check_registers},
    {"setmaxnreg.dec", fewer_registers, HAS(SYNC) | HAS(ALIGNED), "n", TYPE(T_U32), check_registers},
    {0},
};
