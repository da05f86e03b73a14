/* What the emulator offers of CUB: reductions, scans, loads and stores of a warp and of a block, as "CUB: Block-level" and
 * "Warp-level" of the CCCL documentation have them. Whichever algorithm is asked for, warps work by shuffles and exchange
 * one value each through the TempStorage, between which stands one barrier: so a TempStorage that is used again without a
 * barrier is a race here, as it is in CUB. */
#ifndef SIMT_CUB_H
#define SIMT_CUB_H

#include "../cuda_runtime.h"
#include <functional>

#define SIMT_MEMBER inline __attribute__((always_inline))

namespace cub
{

struct Sum {
    template <class T, class U> constexpr auto operator()(const T &a, const U &b) const { return a + b; }
};
struct Max {
    template <class T> constexpr T operator()(const T &a, const T &b) const { return a < b ? b : a; }
};
struct Min {
    template <class T> constexpr T operator()(const T &a, const T &b) const { return b < a ? b : a; }
};
enum BlockReduceAlgorithm { BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY, BLOCK_REDUCE_RAKING, BLOCK_REDUCE_WARP_REDUCTIONS };
enum BlockScanAlgorithm { BLOCK_SCAN_RAKING, BLOCK_SCAN_RAKING_MEMOIZE, BLOCK_SCAN_WARP_SCANS };
enum BlockLoadAlgorithm {
    BLOCK_LOAD_DIRECT,
    BLOCK_LOAD_STRIPED,
    BLOCK_LOAD_VECTORIZE,
    BLOCK_LOAD_TRANSPOSE,
    BLOCK_LOAD_WARP_TRANSPOSE,
    BLOCK_LOAD_WARP_TRANSPOSE_TIMESLICED
};
enum BlockStoreAlgorithm {
    BLOCK_STORE_DIRECT,
    BLOCK_STORE_STRIPED,
    BLOCK_STORE_VECTORIZE,
    BLOCK_STORE_TRANSPOSE,
    BLOCK_STORE_WARP_TRANSPOSE,
    BLOCK_STORE_WARP_TRANSPOSE_TIMESLICED
};

namespace simt
{

/* Some lanes of a warp, side by side: n of them, of which this thread is number `lane`. */
struct lanes {
    unsigned mask;
    int lane, n;
};

/* A value of any size, moved by d lanes, down or up. */
template <class T> SIMT_INLINE T moved(lanes w, const T &value, int d, bool down)
{
    static_assert(std::is_trivially_destructible<T>::value, "shuffles move the bytes of a value");
    constexpr int words = (sizeof(T) + 3) / 4;
    unsigned bits[words] = {};
    T result = value;
    __builtin_memcpy(bits, &value, sizeof(T));
    for (int i = 0; i < words; i++)
        bits[i] = down ? __shfl_down_sync(w.mask, bits[i], d) : __shfl_up_sync(w.mask, bits[i], d);
    __builtin_memcpy((void *)&result, bits, sizeof(T));
    return result;
}

/* The first `valid` lanes' values, in lane 0. */
template <class T, class Op> SIMT_INLINE T reduce(lanes w, T value, Op op, int valid)
{
    for (int d = 1; d < w.n; d *= 2) {
        T other = moved(w, value, d, true);
        if (w.lane + d < valid)
            value = op(value, other);
    }
    return value;
}

template <class T, class Op> SIMT_INLINE T scan(lanes w, T value, Op op)
{
    for (int d = 1; d < w.n; d *= 2) {
        T other = moved(w, value, d, false);
        if (w.lane >= d)
            value = op(other, value);
    }
    return value;
}

template <class T> SIMT_INLINE T of_lane(lanes w, T value, int lane)
{
    constexpr int words = (sizeof(T) + 3) / 4;
    unsigned bits[words] = {};
    T result = value;
    __builtin_memcpy(bits, &value, sizeof(T));
    int first = __builtin_ctz(w.mask);
    for (int i = 0; i < words; i++)
        bits[i] = __shfl_sync(w.mask, bits[i], first + lane);
    __builtin_memcpy((void *)&result, bits, sizeof(T));
    return result;
}

template <class T, class Op, int N> SIMT_INLINE T fold(const T (&items)[N], Op op)
{
    T value = items[0];
    for (int i = 1; i < N; i++)
        value = op(value, items[i]);
    return value;
}

/* A block of X × Y × Z threads. */
template <int X, int Y, int Z> struct block {
    static constexpr int threads = X * Y * Z, warps = (threads + 31) / 32;
    SIMT_INLINE int thread() { return (threadIdx.z * Y + threadIdx.y) * X + threadIdx.x; }
    SIMT_INLINE lanes warp()
    {
        int first = thread() / 32 * 32, n = threads - first < 32 ? threads - first : 32;
        return {0xffffffffu >> (32 - n), thread() - first, n};
    }
};

/* The lanes of a warp in groups of N, as its threads stand in the block. */
template <int N> SIMT_INLINE lanes group()
{
    static_assert(N > 0 && N <= 32 && (N & (N - 1)) == 0, "a logical warp of 1, 2, 4, 8, 16 or 32 threads");
    int thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x, lane = thread % 32;
    return {(0xffffffffu >> (32 - N)) << (lane / N * N), lane % N, N};
}

template <class T, class P>
using if_callback = std::enable_if_t<!std::is_same<std::decay_t<P>, T>::value && std::is_invocable_r<T, P &, T>::value>;

}  // namespace simt

template <class T, int N = 32> class WarpReduce
{
public:
    struct TempStorage {
    };
    SIMT_MEMBER WarpReduce(TempStorage &) {}
    template <class Op> SIMT_MEMBER T Reduce(T value, Op op) { return simt::reduce(simt::group<N>(), value, op, N); }
    template <class Op> SIMT_MEMBER T Reduce(T value, Op op, int valid)
    {
        return simt::reduce(simt::group<N>(), value, op, valid);
    }
    SIMT_MEMBER T Sum(T value) { return Reduce(value, cub::Sum()); }
    SIMT_MEMBER T Sum(T value, int valid) { return Reduce(value, cub::Sum(), valid); }
    SIMT_MEMBER T Max(T value) { return Reduce(value, cub::Max()); }
    SIMT_MEMBER T Min(T value) { return Reduce(value, cub::Min()); }
};

template <class T, int N = 32> class WarpScan
{
public:
    struct TempStorage {
    };
    SIMT_MEMBER WarpScan(TempStorage &) {}
    template <class Op> SIMT_MEMBER void InclusiveScan(T in, T &out, Op op)
    {
        out = simt::scan(simt::group<N>(), in, op);
    }
    template <class Op> SIMT_MEMBER void InclusiveScan(T in, T &out, Op op, T &total)
    {
        out = simt::scan(simt::group<N>(), in, op);
        total = Broadcast(out, N - 1);
    }
    template <class Op> SIMT_MEMBER void ExclusiveScan(T in, T &out, T initial, Op op, T &total)
    {
        simt::lanes w = simt::group<N>();
        T inclusive = simt::scan(w, in, op), before = simt::moved(w, inclusive, 1, false);
        out = w.lane ? op(initial, before) : initial;
        total = Broadcast(inclusive, N - 1);
    }
    template <class Op> SIMT_MEMBER void ExclusiveScan(T in, T &out, T initial, Op op)
    {
        simt::lanes w = simt::group<N>();
        T before = simt::moved(w, simt::scan(w, in, op), 1, false);
        out = w.lane ? op(initial, before) : initial;
    }
    SIMT_MEMBER void InclusiveSum(T in, T &out) { InclusiveScan(in, out, cub::Sum()); }
    SIMT_MEMBER void InclusiveSum(T in, T &out, T &total) { InclusiveScan(in, out, cub::Sum(), total); }
    SIMT_MEMBER void ExclusiveSum(T in, T &out) { ExclusiveScan(in, out, T(), cub::Sum()); }
    SIMT_MEMBER void ExclusiveSum(T in, T &out, T &total) { ExclusiveScan(in, out, T(), cub::Sum(), total); }
    SIMT_MEMBER T Broadcast(T in, unsigned lane) { return simt::of_lane(simt::group<N>(), in, (int)lane); }
};

template <class T, int X, BlockReduceAlgorithm = BLOCK_REDUCE_WARP_REDUCTIONS, int Y = 1, int Z = 1, int = 0>
class BlockReduce
{
    using block = simt::block<X, Y, Z>;

public:
    struct TempStorage {
        T warp[block::warps];
    };
    SIMT_MEMBER BlockReduce(TempStorage &storage) : temp(storage) {}
    template <class Op> SIMT_MEMBER T Reduce(T value, Op op, int valid)
    {
        simt::lanes w = block::warp();
        int first = block::thread() - w.lane;
        value = simt::reduce(w, value, op, valid - first < w.n ? valid - first : w.n);
        if (w.lane == 0)
            temp.warp[first / 32] = value;
        __syncthreads();
        for (int i = 1; block::thread() == 0 && i < block::warps && 32 * i < valid; i++)
            value = op(value, temp.warp[i]);
        return value;
    }
    template <class Op> SIMT_MEMBER T Reduce(T value, Op op) { return Reduce(value, op, block::threads); }
    template <int N, class Op> SIMT_MEMBER T Reduce(T (&items)[N], Op op) { return Reduce(simt::fold(items, op), op); }
    SIMT_MEMBER T Sum(T value) { return Reduce(value, cub::Sum()); }
    SIMT_MEMBER T Sum(T value, int valid) { return Reduce(value, cub::Sum(), valid); }
    template <int N> SIMT_MEMBER T Sum(T (&items)[N]) { return Reduce(items, cub::Sum()); }

private:
    TempStorage &temp;
};

template <class T, int X, BlockScanAlgorithm = BLOCK_SCAN_RAKING, int Y = 1, int Z = 1, int = 0> class BlockScan
{
    using block = simt::block<X, Y, Z>;

public:
    struct TempStorage {
        T warp[block::warps], prefix;
    };
    SIMT_MEMBER BlockScan(TempStorage &storage) : temp(storage) {}

    template <class Op> SIMT_MEMBER void InclusiveScan(T in, T &out, Op op)
    {
        T total;
        InclusiveScan(in, out, op, total);
    }
    template <class Op> SIMT_MEMBER void InclusiveScan(T in, T &out, Op op, T &total)
    {
        T before;
        out = scan(in, op, before, total);
    }
    template <class Op, class P, class = simt::if_callback<T, P>>
    SIMT_MEMBER void InclusiveScan(T in, T &out, Op op, P &callback)
    {
        T before, total, inclusive = scan(in, op, before, total);
        out = op(prefix(callback, total), inclusive);
    }
    template <int N, class Op> SIMT_MEMBER void InclusiveScan(T (&in)[N], T (&out)[N], Op op)
    {
        T total;
        InclusiveScan(in, out, op, total);
    }
    template <int N, class Op> SIMT_MEMBER void InclusiveScan(T (&in)[N], T (&out)[N], Op op, T &total)
    {
        T before;
        scan(simt::fold(in, op), op, before, total);
        T sum = block::thread() ? op(before, in[0]) : in[0];
        for (int i = 0; i < N; i++) {
            if (i)
                sum = op(sum, in[i]);
            out[i] = sum;
        }
    }
    template <class Op> SIMT_MEMBER void ExclusiveScan(T in, T &out, T initial, Op op)
    {
        T total;
        ExclusiveScan(in, out, initial, op, total);
    }
    template <class Op> SIMT_MEMBER void ExclusiveScan(T in, T &out, T initial, Op op, T &total)
    {
        T before;
        scan(in, op, before, total);
        out = block::thread() ? op(initial, before) : initial;
    }
    template <class Op, class P, class = simt::if_callback<T, P>>
    SIMT_MEMBER void ExclusiveScan(T in, T &out, Op op, P &callback)
    {
        T before, total;
        scan(in, op, before, total);
        T first = prefix(callback, total);
        out = block::thread() ? op(first, before) : first;
    }
    template <int N, class Op> SIMT_MEMBER void ExclusiveScan(T (&in)[N], T (&out)[N], T initial, Op op)
    {
        T total;
        ExclusiveScan(in, out, initial, op, total);
    }
    template <int N, class Op> SIMT_MEMBER void ExclusiveScan(T (&in)[N], T (&out)[N], T initial, Op op, T &total)
    {
        T before;
        scan(simt::fold(in, op), op, before, total);
        T sum = block::thread() ? op(initial, before) : initial;
        for (int i = 0; i < N; i++) {
            T next = op(sum, in[i]);
            out[i] = sum;
            sum = next;
        }
    }
    SIMT_MEMBER void InclusiveSum(T in, T &out) { InclusiveScan(in, out, cub::Sum()); }
    template <class P> SIMT_MEMBER void InclusiveSum(T in, T &out, P &total)
    {
        InclusiveScan(in, out, cub::Sum(), total);
    }
    template <int N> SIMT_MEMBER void InclusiveSum(T (&in)[N], T (&out)[N]) { InclusiveScan(in, out, cub::Sum()); }
    template <int N> SIMT_MEMBER void InclusiveSum(T (&in)[N], T (&out)[N], T &total)
    {
        InclusiveScan(in, out, cub::Sum(), total);
    }
    SIMT_MEMBER void ExclusiveSum(T in, T &out) { ExclusiveScan(in, out, T(), cub::Sum()); }
    SIMT_MEMBER void ExclusiveSum(T in, T &out, T &total) { ExclusiveScan(in, out, T(), cub::Sum(), total); }
    template <class P, class = simt::if_callback<T, P>> SIMT_MEMBER void ExclusiveSum(T in, T &out, P &callback)
    {
        ExclusiveScan(in, out, cub::Sum(), callback);
    }
    template <int N> SIMT_MEMBER void ExclusiveSum(T (&in)[N], T (&out)[N]) { ExclusiveScan(in, out, T(), cub::Sum()); }
    template <int N> SIMT_MEMBER void ExclusiveSum(T (&in)[N], T (&out)[N], T &total)
    {
        ExclusiveScan(in, out, T(), cub::Sum(), total);
    }

private:
    TempStorage &temp;

    /* The inclusive scan, what stands before this thread (thread 0: nothing), and the whole block's. */
    template <class Op> SIMT_MEMBER T scan(T in, Op op, T &before, T &total)
    {
        simt::lanes w = block::warp();
        int number = block::thread() / 32;
        T inclusive = simt::scan(w, in, op);
        before = simt::moved(w, inclusive, 1, false);
        if (w.lane == w.n - 1)
            temp.warp[number] = inclusive;
        __syncthreads();
        T sum = temp.warp[0];
        for (int i = 1; i <= block::warps; i++) {
            if (i == number) {
                before = w.lane ? op(sum, before) : sum;
                inclusive = op(sum, inclusive);
            }
            if (i < block::warps)
                sum = op(sum, temp.warp[i]);
        }
        total = sum;
        return inclusive;
    }
    /* The first warp asks for what stands before the block; its first thread's answer counts. */
    template <class P> SIMT_MEMBER T prefix(P &callback, T total)
    {
        if (block::thread() < 32) {
            T answer = callback(total);
            if (block::thread() == 0)
                temp.prefix = answer;
        }
        __syncthreads();
        return temp.prefix;
    }
};

/* Item i of a thread: neighbours are one thread's, or, striped, of threads that are neighbours. */
template <class T, int X, int N, BlockLoadAlgorithm A = BLOCK_LOAD_DIRECT, int Y = 1, int Z = 1,
          int = 0> class BlockLoad
{
    using block = simt::block<X, Y, Z>;

public:
    struct TempStorage {
    };
    SIMT_MEMBER BlockLoad() {}
    SIMT_MEMBER BlockLoad(TempStorage &) {}
    template <class I> SIMT_MEMBER void Load(I from, T (&items)[N]) { Load(from, items, block::threads * N); }
    template <class I> SIMT_MEMBER void Load(I from, T (&items)[N], int valid)
    {
        for (int i = 0; i < N; i++)
            if (at(i) < valid)
                items[i] = from[at(i)];
    }
    template <class I, class D> SIMT_MEMBER void Load(I from, T (&items)[N], int valid, D other)
    {
        for (int i = 0; i < N; i++)
            items[i] = at(i) < valid ? T(from[at(i)]) : T(other);
    }

private:
    SIMT_MEMBER int at(int i)
    {
        return A == BLOCK_LOAD_STRIPED ? i * block::threads + block::thread() : block::thread() * N + i;
    }
};

template <class T, int X, int N, BlockStoreAlgorithm A = BLOCK_STORE_DIRECT, int Y = 1, int Z = 1,
          int = 0> class BlockStore
{
    using block = simt::block<X, Y, Z>;

public:
    struct TempStorage {
    };
    SIMT_MEMBER BlockStore() {}
    SIMT_MEMBER BlockStore(TempStorage &) {}
    template <class I> SIMT_MEMBER void Store(I to, T (&items)[N]) { Store(to, items, block::threads * N); }
    template <class I> SIMT_MEMBER void Store(I to, T (&items)[N], int valid)
    {
        for (int i = 0; i < N; i++) {
            int at = A == BLOCK_STORE_STRIPED ? i * block::threads + block::thread() : block::thread() * N + i;
            if (at < valid)
                to[at] = items[i];
        }
    }
};

}  // namespace cub
#endif
