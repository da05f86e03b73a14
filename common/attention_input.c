#include "attention_input.h"

#include "random.h"

#include <math.h>

enum { STREAM_Q, STREAM_K, STREAM_V, STREAM_SCALE_Q, STREAM_SCALE_V, STREAM_HUGE };  // of random.h
static const float MEAN_QK = 0.25f, MEAN_V = 1, DEVIATION = 1;  // with a mean of 0 a lost term would hardly show

const struct input_kind attention_inputs[] = {
    [INPUT_NORMAL] = {"normal", ""},
    [INPUT_SCALED] = {"scaled", "rows of very different scale"},
    [INPUT_HUGE] = {"huge", "scores near ±500, one key for or against all others"},
    [INPUT_EQUAL] = {"equal", "Q and K all the same"},
    {0},
};

// Multiples of 1/16, of at most 7 bits: their dot products are exact in fp32, in whatever order they are summed. In a
// score of several hundred a rounding would be as large as 1e-4, and P's error with it, however good the kernel.
static void round_to_sixteenths(float *x, size_t count)
{
    for (size_t i = 0; i < count; i++)
        x[i] = roundf(16 * x[i]) / 16;
}

static void scale_row(float *row, int cols, int exponent)
{
    for (int col = 0; col < cols; col++)
        row[col] = ldexpf(row[col], exponent);
}

// Rows of Q whose scores are all nearly alike, and rows whose scores are hundreds apart, so that few keys count. Nothing
// between: where one key has nearly all the weight and thousands have 1e-7 each, a sum in fp32 loses them one by one.
static void scale_queries(float *Q, size_t rows, int cols, uint64_t seed)
{
    for (size_t row = 0; row < rows; row++) {
        int exponent = (int)(random_bits(seed, STREAM_SCALE_Q, row) % 13) - 10;
        scale_row(Q + row * cols, cols, exponent <= 0 ? exponent : exponent + 4);  // -10 … 0, 5, 6
    }
}

static void scale_values(float *V, size_t rows, int cols, uint64_t seed)
{
    for (size_t row = 0; row < rows; row++)
        scale_row(V + row * cols, cols, (int)(random_bits(seed, STREAM_SCALE_V, row) % 21) - 10);
}

// Two columns make scores by themselves, and the others add a little. Column 0 is 0 but in one row of K, anywhere in each
// head: that key beats all others by hundreds, or counts for nothing. Column 1 moves all scores of a query by hundreds,
// up or down: that changes nothing, unless exp is taken of such numbers. With one column there is none to do so.
static void raise_keys(float *K, size_t heads, int seqlen, int cols, uint64_t seed)
{
    for (size_t head = 0; head < heads; head++) {
        for (int row = 0; row < seqlen; row++) {
            K[(head * seqlen + row) * cols] = 0;
            if (cols > 1)
                K[(head * seqlen + row) * cols + 1] = 256;
        }
        K[(head * seqlen + random_bits(seed, STREAM_HUGE, head) % seqlen) * cols] = 1024;
    }
}

static void turn_queries(float *Q, size_t rows, int cols)
{
    for (size_t row = 0; row < rows; row++) {
        Q[row * cols] = row % 2 ? -2 : 2;
        if (cols > 1)
            Q[row * cols + 1] = row / 2 % 2 ? -8 : 8;
    }
}

static void fill(float *x, size_t count, float value)
{
    for (size_t i = 0; i < count; i++)
        x[i] = value;
}

void attention_input(const struct attention_args *args, int kind, uint64_t seed, float *Q, float *K, float *V)
{
    int cols = args->head_dim;
    size_t rows_Q = (size_t)args->batch * args->heads * args->seqlen;
    size_t rows_KV = (size_t)args->batch * args->kv_heads * args->kv_seqlen;
    random_normal(Q, rows_Q * cols, seed, STREAM_Q, MEAN_QK, DEVIATION);
    random_normal(K, rows_KV * cols, seed, STREAM_K, MEAN_QK, DEVIATION);
    random_normal(V, rows_KV * cols, seed, STREAM_V, MEAN_V, DEVIATION);
    if (kind == INPUT_NORMAL)
        return;
    round_to_sixteenths(Q, rows_Q * cols);
    round_to_sixteenths(K, rows_KV * cols);
    if (kind == INPUT_SCALED) {
        scale_queries(Q, rows_Q, cols, seed);
        scale_values(V, rows_KV, cols, seed);
    } else if (kind == INPUT_HUGE) {
        raise_keys(K, (size_t)args->batch * args->kv_heads, args->kv_seqlen, cols, seed);
        turn_queries(Q, rows_Q, cols);
    } else {  // every key counts the same: O is the mean of V, and a key too many or too few shows
        fill(Q, rows_Q * cols, MEAN_QK);
        fill(K, rows_KV * cols, MEAN_QK);
    }
}
