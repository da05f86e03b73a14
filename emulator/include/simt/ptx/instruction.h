/* Inline PTX of the emulator's own headers, of which the translator makes nothing: a statement of asm is written as
 * SIMT_PTX("mbarrier.inval.shared::cta.b64 [%0];", address), or SIMT_PTX_FOR(type, text, …) where %0 is the result. */
#ifndef SIMT_PTX_INSTRUCTION_H
#define SIMT_PTX_INSTRUCTION_H

#include "../groups/lanes.h"

namespace simt
{

/* An operand of constraint "n". */
struct constant {
    int value;
};
template <class T> constexpr const char *constraint_of = sizeof(T) == 8 ? "l" : sizeof(T) == 2 ? "h" : "r";
template <> constexpr const char *constraint_of<constant> = "n";
SIMT_INLINE unsigned long long bits_of(constant c) { return bits(c.value); }
template <class T> SIMT_INLINE unsigned long long bits_of(T value) { return bits(value); }

template <class... In> char (&operands_counted(const In &...))[sizeof...(In) + 1];

template <class... In> SIMT_INLINE void instruct(simt_assembly_site *site, In... in)
{
    static const simt_asm_operand operands[sizeof...(In) + 1] = {{constraint_of<In>, sizeof(In), true}...};
    simt_assembly(site, operands, bits_of(in)...);
}
template <class Out, class... In> SIMT_INLINE Out instruct_for(simt_assembly_site *site, In... in)
{
    static const simt_asm_operand operands[] = {{sizeof(Out) == 8 ? "=l" : "=r", sizeof(Out), false},
                                                {constraint_of<In>, sizeof(In), true}...};
    Out out;
    simt_assembly(site, operands, (void *)&out, bits_of(in)...);
    return out;
}

}  // namespace simt

/* The statement has no place of its own: what is wrong with it is said of the line that calls the function around it. */
#define SIMT_PTX_SITE(TEXT, OUTPUTS, ...) \
    static ::simt_assembly_site site_ = { \
        TEXT, nullptr, 0, OUTPUTS, sizeof(::simt::operands_counted(__VA_ARGS__)) - 1, nullptr}
#define SIMT_PTX(TEXT, ...) \
    ({ \
        SIMT_PTX_SITE(TEXT, 0, __VA_ARGS__); \
        ::simt::instruct(&site_, ##__VA_ARGS__); \
    })
#define SIMT_PTX_FOR(TYPE, TEXT, ...) \
    ({ \
        SIMT_PTX_SITE(TEXT, 1, __VA_ARGS__); \
        ::simt::instruct_for<TYPE>(&site_, ##__VA_ARGS__); \
    })
/* Where %0 is a predicate. */
#define SIMT_PTX_ASKS(TEXT, ...) \
    (SIMT_PTX_FOR(unsigned, "{ .reg .pred p; " TEXT " selp.u32 %0, 1, 0, p; }", ##__VA_ARGS__) != 0)

#endif
