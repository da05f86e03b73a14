// What the programs have in common that compare what the emulator does with matrices with what a GPU does.
#ifndef MATRICES_H
#define MATRICES_H

#include <mma.h>

// What memory holds of an element: precision::tf32 is a float there.
template <typename T> struct stored {
    using type = T;
};
template <> struct stored<nvcuda::wmma::precision::tf32> {
    using type = float;
};
template <typename T> using stored_t = typename stored<T>::type;

// ldmatrix and stmatrix of N matrices. address: of this lane's row, in shared memory.
template <int N, bool TRANSPOSED> __device__ void load_matrices(unsigned address, unsigned *r)
{
    if (N == 1 && !TRANSPOSED)
        asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(r[0]) : "r"(address));
    if (N == 1 && TRANSPOSED)
        asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];" : "=r"(r[0]) : "r"(address));
    if (N == 2 && !TRANSPOSED)
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];" : "=r"(r[0]), "=r"(r[1]) : "r"(address));
    if (N == 2 && TRANSPOSED)
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];"
                     : "=r"(r[0]), "=r"(r[1])
                     : "r"(address));
    if (N == 4 && !TRANSPOSED)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                     : "r"(address));
    if (N == 4 && TRANSPOSED)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                     : "r"(address));
}

template <int N, bool TRANSPOSED> __device__ void store_matrices(unsigned address, const unsigned *r)
{
    if (N == 1 && !TRANSPOSED)
        asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};" ::"r"(address), "r"(r[0]));
    if (N == 1 && TRANSPOSED)
        asm volatile("stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%0], {%1};" ::"r"(address), "r"(r[0]));
    if (N == 2 && !TRANSPOSED)
        asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1,%2};" ::"r"(address), "r"(r[0]), "r"(r[1]));
    if (N == 2 && TRANSPOSED)
        asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1,%2};" ::"r"(address), "r"(r[0]),
                     "r"(r[1]));
    if (N == 4 && !TRANSPOSED)
        asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1,%2,%3,%4};" ::"r"(address), "r"(r[0]),
                     "r"(r[1]), "r"(r[2]), "r"(r[3]));
    if (N == 4 && TRANSPOSED)
        asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1,%2,%3,%4};" ::"r"(address), "r"(r[0]),
                     "r"(r[1]), "r"(r[2]), "r"(r[3]));
}

#endif
