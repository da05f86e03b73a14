// Other spellings of tokens: digraphs, alternative words, characters by their numbers. In a kernel they mean what they mean.
#include "../right/right.h"
%:define SPELLING(a, b) a%:%:b

struct empty {
    int n;
};
template <class T> struct of {
    T t;
};

__global__ void SPELLING(spelled_, out)(int *out, int n) <%
    __shared__ int s<:64:>, \u00e9t\u00e9<:2:>;
    extern __shared__ int d<::>;
    of<::empty> e = <%<%3%>%>;
    s<:threadIdx.x:> = 1;
    d[threadIdx.x] = 2;
    if (threadIdx.x == 0 and not (n < 0 or n > 100))
        ét\u00e9<:0:> = \u00e9té[1] = n bitand compl 3 xor 1;
    __syncthreads();
    int sum = 0;
    for (int i = 0; i not_eq 64; i++) <%
        sum += s<:i:> bitor d<:i:>;
        do
            sum xor_eq 0;
        while (sum and_eq sum, 0);
    %>
    auto f = <:sum:>(int bitand i) <% return s<:i:> + sum; %>;
    auto g = n and [=](int and i) <% return i not_eq 0; %>(int(n));
    int at = 5;
    out<:threadIdx.x:> = f(at) + été<:1:> + e.t.n + g;
%>

int main()
<%
    int *out = to_device<int>(NULL, 64), n = 6;
    spelled_out<<<1, 64, 64 * sizeof(int)>>>(out, n);
    SAME(to_host(out, 64)<:63:>, 192 + 1 + (6 & ~3 ^ 1) + 3 + 1);
    return 0;
%>
