"""Floors: the least time that each unit of a GPU needs for what the emulator counted.

The GPU is the "gpu" of an emulator profile: published rates, kept in one place, the emulator. A floor is arithmetic,
never a measurement: no unit can finish sooner, and a real run is slower than the longest of them."""

SECTORS_PER_CLOCK = 4  # L1 hands out 128 bytes a clock and SM: four 32-byte sectors


def units(counts, flops, dram_bytes, gpu):
    """Seconds by unit."""
    clocks = gpu["sms"] * gpu["clock_ghz"] * 1e9  # SM clocks a second, all SMs together
    wavefronts = counts["shared_ld_wavefronts"] + counts["shared_st_wavefronts"]
    sectors = counts["global_ld_sectors"] + counts["global_st_sectors"]
    requests = sum(counts[f"{space}_{op}_requests"] for space in ("shared", "global") for op in ("ld", "st"))
    return {
        "fp32": flops / (2 * gpu["fp32_lanes_per_sm"] * clocks),  # a fused multiply-add is two operations
        "shared": wavefronts / clocks,
        "L1": sectors / SECTORS_PER_CLOCK / clocks,
        "LSU": requests / clocks,  # at best one warp request a clock and SM
        "DRAM": dram_bytes / (gpu["dram_gbps"] * 1e9),
    }


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
