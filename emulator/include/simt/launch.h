/* How `kernel<<<grid, block, shared, stream>>>(args)` reaches the runtime. simt-translate writes it as
 *     ::simt::kernel_call("kernel", file, line, [=](auto... a) { kernel(a...); })(grid, block, …)(args)
 * so that arguments are copied once, at the launch, as CUDA does. */
#ifndef SIMT_LAUNCH_H
#define SIMT_LAUNCH_H

#include "runtime.h"

namespace simt {

template <class T> constexpr ::simt_shared_site site(const char *name, const char *file, int line)
{
    using Element = std::remove_all_extents_t<T>;
    return {name, file, line, (unsigned)sizeof(T), (unsigned)alignof(T), (unsigned)sizeof(Element),
            {(unsigned)std::extent<T, 0>::value, (unsigned)std::extent<T, 1>::value,
             (unsigned)std::extent<T, 2>::value, (unsigned)std::extent<T, 3>::value},
            0, 0};
}

/* The arguments of one launch, kept by value. */
template <class... A> struct Arguments;
template <> struct Arguments<> {
    template <class F, class... Before> void call(const F &f, const Before &...before) const { f(before...); }
};
template <class First, class... Rest> struct Arguments<First, Rest...> {
    First first;
    Arguments<Rest...> rest;
    template <class F, class... Before> void call(const F &f, const Before &...before) const
    {
        rest.call(f, before..., first);
    }
};
SIMT_INLINE Arguments<> pack() { return {}; }
template <class First, class... Rest> SIMT_INLINE Arguments<First, Rest...> pack(First first, Rest... rest)
{
    return {first, pack(rest...)};
}

template <class F, class... A> struct Params {
    F kernel;
    Arguments<A...> arguments;
    static void thread(const void *params)
    {
        const Params *p = (const Params *)params;
        p->arguments.call(p->kernel);
    }
};

/* (grid, block, …) fills in the configuration; (args) launches. */
template <class F> struct KernelCall {
    ::simt_kernel_launch launch;
    F kernel;

    struct Configured {
        KernelCall *call;
        template <class... A> void operator()(A... arguments) const
        {
            Params<F, A...> params{call->kernel, pack(arguments...)};
            call->launch.thread = Params<F, A...>::thread;
            call->launch.params = &params;
            call->launch.params_bytes = sizeof params;
            ::simt_launch(&call->launch);
        }
    };
    Configured operator()(dim3 grid, dim3 block, size_t dynamic_shared = 0, cudaStream_t = 0)
    {
        launch.grid[0] = grid.x, launch.grid[1] = grid.y, launch.grid[2] = grid.z;
        launch.block[0] = block.x, launch.block[1] = block.y, launch.block[2] = block.z;
        launch.dynamic_shared = dynamic_shared;
        return {this};
    }
};

template <class F> KernelCall<F> kernel_call(const char *name, const char *file, int line, F kernel)
{
    return {{{0, 0, 0}, {0, 0, 0}, 0, name, file, line, nullptr, nullptr, 0}, kernel};
}

}
#endif
