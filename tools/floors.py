"""Floors: the least time that each unit of a GPU needs for what was counted.

The rate of a unit of arithmetic is the one that its instruction reached in the step machine, where that measured it, and of the
other units the published one: see tools/device.py. A floor is arithmetic: no kernel finishes sooner, and a real run is slower than the longest of
them, which binds. That holds for what the hardware executes; the emulator counts accesses as they are written, before ptxas
merges any, so ncu's counts go before."""

UNITS = "fp32", "tensor", "wgmma", "shared", "L1", "LSU", "DRAM"
# What is counted apart, by the memory that it reaches; a cp.async is a request to both.
ACCESSES = {"shared": ("shared_ld", "shared_st", "ldmatrix", "stmatrix", "wgmma_ld", "copy_st"), "global": ("global_ld", "global_st", "copy_ld")}
SECTORS_PER_CLOCK = 4  # L1 hands out 128 bytes a clock and SM: four 32-byte sectors


def executed(counts, ncu):
    """The emulator's counts with ncu's in their place, as far as it has any. Of requests the fewer: ncu also counts those that
    no lane of a warp executes."""
    found = {name: count for name, count in (ncu or {}).items() if count is not None}
    fewer = {name: min(counts[name], count) for name, count in found.items() if name in counts and name.endswith("_requests")}
    return counts | found | fewer


def total(counts, memory, what):
    """All requests, wavefronts, conflicts or sectors of shared memory or of global; what was not counted counts as none."""
    return sum(counts.get(f"{access}_{what}") or 0 for access in ACCESSES[memory])


def published(gpu):
    """What each unit does in a second by what is published: operations, wavefronts, requests or bytes. gpu: that of an emulator profile."""
    clocks = gpu["sms"] * gpu["clock_ghz"] * 1e9  # SM clocks a second, all SMs together
    return {"fp32": 2 * gpu["fp32_lanes_per_sm"] * clocks,  # a fused multiply-add is two operations
            # wgmma alone reaches what is published of Hopper: m64n256k16 takes 128 clocks of an SM's tensor cores (tests/truth/wgmma.cu), which
            # is 4,096 operations a clock, and mma.sync, as the step machine measured, about two thirds of that.
            **dict.fromkeys(("tensor", "wgmma"), gpu["tensor_fp16_tflops"] * 1e12), "shared": clocks, "L1": clocks,
            "LSU": clocks,  # at best one warp request a clock and SM
            "DRAM": gpu["dram_gbps"] * 1e9}


def arithmetic(counts):
    """The unit that the operation's arithmetic is on: the tensor cores, by wgmma or else, for a kernel that multiplies on them."""
    if counts.get("wgmma"):
        return "wgmma"
    return "tensor" if counts.get("mma") else "fp32"


def units(counts, flops, dram_bytes, rates):
    """Seconds by unit, at these rates. L1's data stage, the requests that reach it, all wavefronts of shared memory and the bytes that
    DRAM moved are ncu's, where it counted them; of those bytes no fewer than dram_bytes, for what is written last can still be in L2."""
    requests = sum(total(counts, memory, "requests") for memory in ACCESSES) - (counts.get("copy_st_requests") or 0)
    work = {
        arithmetic(counts): flops,
        "shared": counts.get("shared_wavefronts", total(counts, "shared", "wavefronts")),
        "L1": counts.get("data_wavefronts", total(counts, "global", "sectors") / SECTORS_PER_CLOCK),
        "LSU": counts.get("lsu_requests", requests),
        "DRAM": max(dram_bytes, counts.get("dram_ld_bytes", 0) + counts.get("dram_st_bytes", 0)),
    }
    return {unit: amount / rates[unit] for unit, amount in work.items()}


def unit_for(dtype):
    """The unit that multiplies numbers of a type fastest, whether a kernel uses it or not."""
    return "fp32" if dtype == "fp32" else "tensor"


REACHED_BY = {"fp32": "FMA", "tensor": "mma"}  # the instruction in the step machine


def legend(shown, measured, gpu, rates):
    """Markdown: what the floor of each unit shown counts, at which rate, and what it leaves out. measured: of the L1s in the table,
    whether ncu counted the data stage, as a set of True and False."""
    known = published(gpu)
    word = lambda name, text=None: f"[{text or name}](../../docs/glossary.md#{name.lower().replace(' ', '-')})"
    stage = (f"the {word('wavefront', 'wavefronts')} of L1's {word('data stage')} that ncu counted, of shared memory and of global "
             "accesses with their bank conflicts, one a clock and SM")
    sectors = (f"{word('sector', 'sectors')} of global memory, {SECTORS_PER_CLOCK} (128 bytes) a clock and SM; it leaves out the bank "
               "conflicts that accesses to scattered sectors have inside L1")
    l1 = {(True,): stage, (False,): sectors}.get(tuple(measured), f"{stage}; where ncu did not count them, {sectors}")

    def at(unit):
        """The rate that the floor of a unit of arithmetic counts with, and where it is another the published one."""
        tflops = lambda found: f"{three_digits(1e-12 * found[unit])} TFLOPS"
        return f"the {tflops(known)} that are published" if rates[unit] == known[unit] else \
            f"the {tflops(rates)} that {REACHED_BY[unit]} reached, of {tflops(known)} published"

    words = {
        "fp32": f"the operation's floating-point operations, two to an {word('FMA')}, at {at('fp32')}. It leaves out all other "
                "arithmetic: indices, comparisons, exponentials",
        "tensor": f"the operation's floating-point operations on the tensor cores, at {at('tensor')} for 16-bit inputs with "
                  "sums in fp32. It leaves out what the fragments have beyond the edges of the matrices, and all other arithmetic",
        "wgmma": f"the operation's floating-point operations on the tensor cores by wgmma, at {at('wgmma')} for 16-bit inputs with sums "
                 "in fp32. It leaves out what the tiles have beyond the edges of the matrices, and all other arithmetic",
        "shared": f"{word('wavefront', 'wavefronts')} of shared memory, bank conflicts included, one a clock and SM",
        "L1": l1,
        "LSU": f"{word('request', 'requests')} to load or store, shared memory's and global, one a clock and SM",
        "DRAM": "the fewest bytes, each input read once and each output written once"
                + (", or those that ncu counted where they are more," if True in measured else ",") + f" at the {1e-9 * rates['DRAM']:,.0f} GB/s that are published"}
    return "\n".join(f"- **{word(unit) if unit == 'LSU' else unit}**: {words[unit]}." for unit in shown)


def binding(counts, flops, dram_bytes, rates):
    """(the unit that needs longest, its seconds)."""
    return max(units(counts, flops, dram_bytes, rates).items(), key=lambda item: item[1])


def three_digits(figure):
    """0.92, 10.5, 751: as many decimals as mean something."""
    return f"{figure:,.{2 if figure < 9.995 else 1 if figure < 99.95 else 0}f}"


def duration(seconds):
    """1.23 µs: three digits and the unit that fits."""
    for factor, unit in ((1, "s"), (1e3, "ms"), (1e6, "µs")):
        if seconds * factor >= 0.9995:
            return f"{three_digits(seconds * factor)} {unit}"
    return f"{three_digits(seconds * 1e9)} ns"
