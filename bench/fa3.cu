// FlashAttention-3's forward as one function of C, a peer for bench/attention_table.py. It is compiled against FlashAttention's own sources, and
// never a part of this project: see bench/fa3.py.
#include <cmath>
#include <cstring>
#include <cuda_runtime.h>
#include <cutlass/numeric_types.h>

#include "flash.h"

constexpr int UNKNOWN_HEAD_DIM = 996;

template <int D>
static void forward(Flash_fwd_params &params, cudaStream_t stream)
{
    run_mha_fwd_<90, cutlass::half_t, D, D, /*Split=*/false, /*PagedKVNonTMA=*/false, /*Has_softcap=*/false,
                 /*PackGQA=*/false>(params, stream);
}

// O = softmax(Q Kᵀ / √d) V in fp16. Q, K, V and O: [batch, heads, n, d], packed; lse: [batch, heads, n] in fp32. Returns a cudaError_t. A call
// with a causal mask resets its scheduler's counter on the stream, as FlashAttention-3 itself does.
extern "C" int fa3_forward(void *Q, void *K, void *V, void *O, void *lse, int batch, int heads, int n, int d,
                           int causal, cudaStream_t stream)
{
    static int *counter, sms;
    if (!counter) {
        if (const cudaError_t status = cudaMalloc(&counter, sizeof *counter))
            return status;
        cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0);
    }
    Flash_fwd_params params;
    memset(&params, 0, sizeof params);
    params.q_ptr = Q, params.k_ptr = K, params.v_ptr = V, params.o_ptr = O, params.softmax_lse_ptr = lse;
    params.q_row_stride = params.k_row_stride = params.v_row_stride = params.o_row_stride = d;
    params.q_head_stride = params.k_head_stride = params.v_head_stride = params.o_head_stride = (int64_t)n * d;
    params.q_batch_stride = params.k_batch_stride = params.v_batch_stride = params.o_batch_stride = (int64_t)heads * n *
                                                                                                    d;
    params.v_dim_stride = 1;
    params.b = params.b_k = batch, params.h = params.h_k = heads;
    params.seqlen_q = params.seqlen_k = n, params.total_q = params.total_k = batch * n;
    params.seqlen_q_rounded = params.seqlen_k_rounded = (n + 127) / 128 * 128;
    params.d = params.dv = params.d_rounded = params.dv_rounded = d;
    params.scale_softmax = 1 / std::sqrt((float)d);
    params.p_dropout = 1, params.rp_dropout = 1, params.p_dropout_in_uint8_t = 255;
    params.is_causal = causal, params.window_size_left = -1, params.window_size_right = causal ? 0 : -1;
    params.num_splits = 1, params.arch = 90, params.num_sm = sms;
    params.tile_count_semaphore = counter, params.head_swizzle = causal;
    if (causal)
        cudaMemsetAsync(counter, 0, sizeof *counter, stream);
    if (d == 64)
        forward<64>(params, stream);
    else if (d == 128)
        forward<128>(params, stream);
    else if (d == 256)
        forward<256>(params, stream);
    else
        return UNKNOWN_HEAD_DIM;
    return cudaGetLastError();
}
