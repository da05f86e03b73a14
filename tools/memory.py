"""The memories of a GPU, level by level: those of an H200 as `machine` measured them, and what is published of four GPUs."""
from dataclasses import dataclass

from tools import device, floors, occupancy

PCIE = {"3.0": 16, "4.0": 32, "5.0": 64}  # GB/s each way over 16 lanes
OPERANDS, WORD = 3, 4  # that a multiply-add reads of the registers; bytes of each
IN_L2 = 5160  # GB/s of a copy whose buffers of 16 MiB stay in L2: machine's lesson says how it was measured
SHARED_LATENCY = 30  # clocks, of an H100, whose SM is the H200's: MT4G


@dataclass(frozen=True)
class Gpu:
    """What occupancy.GPUS does not say."""
    clock: float      # GHz
    lanes: int        # of an SM, that do a multiply-add of fp32 a clock
    l1: int           # KiB of an SM: L1 and shared memory together
    l2: int           # MiB
    dram: str
    dram_gbps: float
    pcie: str
    latency: dict     # {level: clocks}, as far as it was published; of an H200 it is measured


GPUS = {
    "t4": Gpu(1.59, 64, 96, 4, "16 GB GDDR6", 320, "3.0", {"shared memory": 19, "L1": 32, "L2": 188}),
    "a100": Gpu(1.41, 64, 192, 40, "40 GB HBM2", 1555, "4.0", {"L1": 35, "L2": 221, "DRAM": 640}),
    "rtx4090": Gpu(2.52, 128, 128, 72, "24 GB GDDR6X", 1008, "4.0", {"L1": 40, "L2": 296, "DRAM": 636}),
    "h200": Gpu(1.98, 128, 256, 60, "141 GB HBM3e", 4814, "5.0", {"shared memory": SHARED_LATENCY}),
}
HERE, RINGS = "h200", {"L1": 8 << 10, "L2": 4 << 20, "far half of L2": 40 << 20, "DRAM": 1 << 30}  # bytes of the ring in each


def value(variant, **shape):
    """What `machine` measured at a shape; None where nothing is recorded."""
    return next((line["figure"]["value"] for line in device.lines_of(variant)
                 if not line.get("peer") and shape.items() <= line["shape"].items()), None)


def latencies():
    """{level: ns} of an H200; None where one was not measured."""
    found = {level: value("latency", bytes=size) for level, size in RINGS.items()}
    return found if all(found.values()) else None


def rate(gbps):
    """33.3 TB/s, 4,274 GB/s, 64 GB/s."""
    if gbps == int(gbps) < 1000:
        return f"{gbps:.0f} GB/s"
    if gbps >= 6000:
        return f"{floors.three_digits(gbps / 1e3)} TB/s"
    return f"{gbps:,.0f} GB/s" if gbps >= 999.5 else f"{floors.three_digits(gbps)} GB/s"


def size(kb):
    return f"{kb:,} KiB" if kb < 1024 else f"{floors.three_digits(kb / 1024)} MiB"


def levels():
    """The levels of an H200, the nearest first: {"level", "of", "sm", "gpu", "latency", "sm_rate", "rate"} in words, and "gbps" and "sm_gbps",
    the bandwidth of all SMs and of one; None where the machine was not measured."""
    times, shared, copy = latencies(), value("shared", bytes=16), value("copy")
    waited = value("launch", how="waited")
    if not times or not shared or not copy or not waited:
        return None
    sms, more = occupancy.GPUS[HERE].sms, GPUS[HERE]
    registers = occupancy.REGISTERS * WORD // occupancy.KB
    clocks = lambda ns: f"{floors.three_digits(ns)} ns ({ns * more.clock:.0f} clocks)"
    of_registers = OPERANDS * WORD * more.lanes * more.clock * sms
    most = occupancy.GPUS[HERE].shared // occupancy.KB
    near = f"L1: {clocks(times['L1'])}; shared memory: {SHARED_LATENCY} clocks"

    def level(name, of, sm, gpu, latency, gbps, of_an_sm=True):
        return {"level": name, "of": of, "sm": sm, "gpu": gpu, "latency": latency, "gbps": round(gbps),
                "sm_gbps": round(gbps / sms, 1), "sm_rate": rate(gbps / sms) if of_an_sm else "–", "rate": rate(gbps)}

    return [
        level("registers", "a thread, which has 255 at most", size(registers), size(registers * sms), "none, because instructions name them",
              of_registers),
        level("L1 and shared memory", "the SM; shared memory by a block", f"{more.l1} KiB, of them {most} KiB shared at most",
              size(more.l1 * sms), near, 1e3 * shared),
        level("L2", "all SMs", "–", f"{more.l2} MiB", f"{clocks(times['L2'])}, its far half {clocks(times['far half of L2'])}", IN_L2),
        level("DRAM", "all SMs", "–", more.dram, clocks(times["DRAM"]), copy),
        level("the host's memory", "GPU and host", "–", "what the host has", f"a kernel that the host waits for: {floors.three_digits(waited)} µs",
              PCIE[more.pcie], False),
    ]


def gpus():
    """Rows (what, then a cell for each of GPUS) of what is published, and the latencies that were measured."""
    both = [(GPUS[name], occupancy.GPUS[name]) for name in GPUS]
    times = latencies() or {}

    def clocks(level):
        cells = []
        for name, gpu in GPUS.items():
            found = gpu.latency.get(level) or (name == HERE and level in times and times[level] * gpu.clock)
            cells.append(f"{found:.0f}" if found else "–")
        return cells

    return [
        ("compute capability", *(f"{more.arch[0]}.{more.arch[1]}" for _, more in both)),
        ("SMs, clock", *(f"{more.sms}, {gpu.clock} GHz" for gpu, more in both)),
        ("registers of an SM", *(size(occupancy.REGISTERS * WORD // occupancy.KB) for _ in both)),
        ("L1 and shared memory of an SM", *(f"{gpu.l1} KiB" for gpu, _ in both)),
        ("of that, shared memory at most", *(f"{more.shared // occupancy.KB} KiB" for _, more in both)),
        ("L2", *(f"{gpu.l2} MiB" for gpu, _ in both)),
        ("DRAM", *(gpu.dram for gpu, _ in both)),
        ("link to the host, each way", *(f"PCIe {gpu.pcie} ×16, {PCIE[gpu.pcie]} GB/s" for gpu, _ in both)),
        ("shared memory, all SMs", *(rate(128 * more.sms * gpu.clock) for gpu, more in both)),
        ("DRAM's bandwidth", *(rate(gpu.dram_gbps) for gpu, _ in both)),
        *((f"latency of {level}, clocks", *clocks(level)) for level in ("shared memory", "L1", "L2", "DRAM")),
    ]
