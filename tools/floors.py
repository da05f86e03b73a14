"""Floors: the least time that each unit of a GPU needs for what was counted.

The GPU is the "gpu" of an emulator profile: published rates, kept in one place, the emulator. A floor is arithmetic,
never a measurement: no unit can finish sooner, and a real run is slower than the longest of them. That holds for what the
hardware executes; the emulator counts accesses as they are written, before ptxas merges any, so ncu's counts go before."""

UNITS = "fp32", "tensor", "shared", "L1", "LSU", "DRAM"
# What is counted apart, by the memory that it reaches; a cp.async is a request to both.
ACCESSES = {"shared": ("shared_ld", "shared_st", "ldmatrix", "stmatrix", "copy_st"), "global": ("global_ld", "global_st", "copy_ld")}
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


def arithmetic(counts, flops, gpu, clocks):
    """{the unit that the operation's arithmetic is on: its seconds}; a kernel that multiplies fragments has it on the tensor cores."""
    if counts.get("mma"):
        return {"tensor": flops / (gpu["tensor_fp16_tflops"] * 1e12)}
    return {"fp32": flops / (2 * gpu["fp32_lanes_per_sm"] * clocks)}  # a fused multiply-add is two operations


def units(counts, flops, dram_bytes, gpu):
    """Seconds by unit. L1's data stage, the requests that reach it, all wavefronts of shared memory and the bytes that DRAM moved
    are ncu's, where it counted them; of those bytes no fewer than dram_bytes, for what is written last can still be in L2."""
    clocks = gpu["sms"] * gpu["clock_ghz"] * 1e9  # SM clocks a second, all SMs together
    requests = sum(total(counts, memory, "requests") for memory in ACCESSES) - (counts.get("copy_st_requests") or 0)
    moved = max(dram_bytes, counts.get("dram_ld_bytes", 0) + counts.get("dram_st_bytes", 0))
    return {
        **arithmetic(counts, flops, gpu, clocks),
        "shared": counts.get("shared_wavefronts", total(counts, "shared", "wavefronts")) / clocks,
        "L1": counts.get("data_wavefronts", total(counts, "global", "sectors") / SECTORS_PER_CLOCK) / clocks,
        "LSU": counts.get("lsu_requests", requests) / clocks,  # at best one warp request a clock and SM
        "DRAM": moved / (gpu["dram_gbps"] * 1e9),
    }


def legend(shown, measured, gpu):
    """Markdown: what the floor of each unit shown counts, at which published rate, and what it leaves out. measured: of the L1s
    in the table, whether ncu counted the data stage, as a set of True and False."""
    word = lambda name, text=None: f"[{text or name}](../../docs/glossary.md#{name.lower().replace(' ', '-')})"
    stage = (f"the {word('wavefront', 'wavefronts')} of L1's {word('data stage')} that ncu counted, of shared memory and of global "
             "accesses with their bank conflicts, one a clock and SM")
    sectors = (f"{word('sector', 'sectors')} of global memory, {SECTORS_PER_CLOCK} (128 bytes) a clock and SM; it leaves out the bank "
               "conflicts that accesses to scattered sectors have inside L1")
    l1 = {(True,): stage, (False,): sectors}.get(tuple(measured), f"{stage}; where ncu did not count them, {sectors}")
    words = {
        "fp32": f"the operation's floating-point operations, two to an {word('FMA')}, {gpu['fp32_lanes_per_sm']} FMAs a clock and "
                "SM. It leaves out all other arithmetic: indices, comparisons, exponentials",
        "tensor": "the operation's floating-point operations on the tensor cores, at the "
                  f"{gpu['tensor_fp16_tflops']:.0f} TFLOPS published for 16-bit inputs with sums in fp32. It leaves out what the "
                  "fragments have beyond the edges of the matrices, and all other arithmetic",
        "shared": f"{word('wavefront', 'wavefronts')} of shared memory, bank conflicts included, one a clock and SM",
        "L1": l1,
        "LSU": f"{word('request', 'requests')} to load or store, shared memory's and global, one a clock and SM",
        "DRAM": "the fewest bytes, each input read once and each output written once"
                + (", or those that ncu counted where they are more," if True in measured else ",")
                + f" at {gpu['dram_gbps']:,.0f} GB/s"}
    return "\n".join(f"- **{word(unit) if unit == 'LSU' else unit}**: {words[unit]}." for unit in shown)


def binding(counts, flops, dram_bytes, gpu):
    """(the unit that needs longest, its seconds)."""
    return max(units(counts, flops, dram_bytes, gpu).items(), key=lambda item: item[1])


def three_digits(figure):
    """0.92, 10.5, 751: as many decimals as mean something."""
    return f"{figure:.{2 if figure < 9.995 else 1 if figure < 99.95 else 0}f}"


def duration(seconds):
    """1.23 µs: three digits and the unit that fits."""
    for factor, unit in ((1, "s"), (1e3, "ms"), (1e6, "µs")):
        if seconds * factor >= 0.9995:
            return f"{three_digits(seconds * factor)} {unit}"
    return f"{three_digits(seconds * 1e9)} ns"
