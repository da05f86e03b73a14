/* How `kernel<<<grid, block, shared, stream>>>(arguments)` reaches the runtime. simt-translate writes it as
 *     (::simt::configure("kernel", file, line, grid, block, …), kernel(arguments))
 * and the kernel, called on the host, hands its parameters to Stub<…>::launch: they are copied once, at the launch, and
 * once more by each CUDA thread that takes them by value. cudaLaunchKernel and its like give only addresses: those of the
 * kernel, under which Known<…> has registered it before main(), and of the arguments, from which Stub<…>::relaunch
 * copies. */
#ifndef SIMT_LAUNCH_H
#define SIMT_LAUNCH_H

#include "runtime.h"

namespace simt
{

template <class T> constexpr ::simt_shared_site site(const char *name, const char *file, int line)
{
    using Element = std::remove_all_extents_t<T>;
    return {name,
            file,
            line,
            (unsigned)sizeof(T),
            (unsigned)alignof(T),
            (unsigned)sizeof(Element),
            {(unsigned)std::extent<T, 0>::value, (unsigned)std::extent<T, 1>::value, (unsigned)std::extent<T, 2>::value,
             (unsigned)std::extent<T, 3>::value},
            0,
            0};
}

SIMT_INLINE bool on_device() { return simt_on_device(); }

/* A template, so that compilers name it where a launch gives it too little. */
template <class = void>
SIMT_INLINE void configure(const char *text, const char *file, int line, dim3 grid, dim3 block,
                           size_t dynamic_shared = 0, cudaStream_t stream = 0)
{
    ::simt_configuration c = {
        {grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, dynamic_shared, stream, text, file, line, false, false};
    ::simt_configure(&c);
}

/* Stands in front of every value that is assigned and that a function may have returned (translate/returned.c). A call
 * may store the struct that it returns, and g++ puts no hook there, clang++ none where the size is odd: here it goes to a
 * temporary first, and that is then stored. No copy more, or g++ would store member by member. Whatever is no such struct
 * meets the comma of C++. */
struct Returned {
};
static constexpr Returned returned{};
template <class T>
constexpr bool is_struct = (std::is_class_v<T> || std::is_union_v<T>) && std::is_trivially_copyable_v<T>;
#ifdef __clang__
template <class T, class = std::enable_if_t<is_struct<T> && sizeof(T) < 8 && (sizeof(T) & (sizeof(T) - 1)) != 0>>
SIMT_INLINE T &&operator,(Returned, T &&value)
{
    __asm__("" : "+m"(value)); /* or the temporary would be optimised away */
    return static_cast<T &&>(value);
}
#else
template <class T, class = std::enable_if_t<is_struct<T>>> SIMT_INLINE constexpr T &&operator,(Returned, T &&value)
{
    return static_cast<T &&>(value);
}
#endif

template <size_t I, class P> struct Argument {
    P value;
};

template <class P> SIMT_INLINE const void *pointer_of(const P &value)
{
    if constexpr (std::is_pointer_v<P> && std::is_object_v<std::remove_pointer_t<P>>)
        return (const void *)value;
    else
        return nullptr;
}

/* A parameter's type as the function's own type has it. */
template <class P> struct Plain {
    using type = std::remove_cv_t<P>;
};
template <class P> struct Plain<P *__restrict__> {
    using type = P *;
};
template <class P> struct Plain<P *const __restrict__> {
    using type = P *;
};

template <class Indices, class... P> struct StubOf;
template <size_t... I, class... P> struct StubOf<std::index_sequence<I...>, P...> {
    using Function = void(P...);
    struct Params : Argument<I, P>... {
        Function *self;
    };
    __attribute__((no_sanitize("thread"))) static void thread(const void *params)
    {
        const Params *p = (const Params *)params;
        p->self(static_cast<const Argument<I, P> *>(p)->value...);
    }
    template <class... A>
    static void launch(Function *self, ::simt_kernel *kernel, const void *caller, A &...arguments)
    {
        Params params{{static_cast<A &&>(arguments)}..., self};
        ::simt_launch(kernel, caller, thread, &params, sizeof params);
    }
    __attribute__((no_sanitize("thread"))) static const void *pointer(const void *params, unsigned index)
    {
        [[maybe_unused]] const Params *p = (const Params *)params;
        const void *all[] = {pointer_of(static_cast<const Argument<I, P> *>(p)->value)..., nullptr};
        return all[index];
    }
    static cudaError_t relaunch(::simt_kernel *kernel, const void *caller, void **arguments)
    {
        Params params{{*(P *)arguments[I]}..., (Function *)kernel->function};
        return ::simt_launch(kernel, caller, thread, &params, sizeof params);
    }
};
template <::simt_kernel *kernel> struct Known {
    static inline const bool known = ::simt_kernel_known(kernel);
};
template <class... P> using Stub = StubOf<std::index_sequence_for<P...>, typename Plain<P>::type...>;

/* Of the launch's own parameters, that of number I; the values are a thread's copies, and only their types are looked at. */
template <size_t I, class P> SIMT_INLINE const P &value_of(const Argument<I, P> &argument) { return argument.value; }
template <size_t I, class... P> SIMT_INLINE const auto &of_launch(const P &...)
{
    return value_of<I>(*(const typename Stub<P...>::Params *)::simt_launch_params());
}

}  // namespace simt
#endif
