// Many blocks store one struct, each the same bytes: nothing that any of them does changes what another has stored.

#include "right.h"

struct wide {
    int of[64];
};

__global__ void store(wide *all, int n, const wide *one)
{
    for (int i = 0; i < n; i++)
        all[i] = *one;
}

int main()
{
    const int n = 40;
    wide host[n], one;
    for (int i = 0; i < 64; i++)
        one.of[i] = i * i;
    wide *from = to_device(&one, 1);
    for (int turn = 0; turn < 30; turn++) {
        memset(host, turn + 1, sizeof host);
        wide *all = to_device(host, n);
        store<<<16, 1>>>(all, n, from);
        const wide *got = to_host(all, n);
        for (int i = 0; i < n; i++)
            SAME(memcmp(&got[i], &one, sizeof one), 0);
    }
    printf("ok\n");
    return 0;
}
