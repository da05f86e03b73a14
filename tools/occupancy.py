"""How many blocks of a kernel an SM holds at once, and what limits them: the arithmetic of NVIDIA's cuda_occupancy.h.

What an SM has is from the CUDA C++ Programming Guide, Technical Specifications per Compute Capability; how many SMs a GPU has is
from its datasheet or whitepaper."""
from dataclasses import dataclass
from math import ceil

KB = 1024
WARP = 32                # threads
SCHEDULERS = 4           # of an SM, each with its own quarter of the registers
REGISTERS = 64 * KB      # of an SM, and the most that one block may have
REGISTER_UNIT = 256      # a warp is given registers in multiples of this


@dataclass(frozen=True)
class Gpu:
    title: str
    arch: str             # as nvcc calls it
    sms: int
    warps: int            # that an SM holds at most
    blocks: int           # that an SM holds at most
    shared: int           # bytes of shared memory of an SM
    shared_per_block: int
    reserved: int         # bytes of shared memory in each block that the system keeps for itself
    shared_unit: int      # a block is given shared memory in multiples of this


GPUS = {
    "t4": Gpu("T4", "75", 40, 32, 16, 64 * KB, 64 * KB, 0, 256),
    "a100": Gpu("A100", "80", 108, 64, 32, 164 * KB, 163 * KB, KB, 128),
    "rtx4090": Gpu("RTX 4090", "89", 128, 48, 24, 100 * KB, 99 * KB, KB, 128),
    "l4": Gpu("L4", "89", 58, 48, 24, 100 * KB, 99 * KB, KB, 128),
    "h200": Gpu("H200", "90a", 132, 64, 32, 228 * KB, 227 * KB, KB, 128),
}


def rounded_up(size, unit):
    return ceil(size / unit) * unit


def warps_of(threads):
    return ceil(threads / WARP)


def by_registers(registers, warps):
    """A warp's registers lie in one scheduler's quarter. A launch is refused as if each quarter had to take as many warps of the block."""
    of_a_warp = rounded_up(registers * WARP, REGISTER_UNIT)
    if of_a_warp * rounded_up(warps, SCHEDULERS) > REGISTERS:
        return 0
    return REGISTERS // SCHEDULERS // of_a_warp * SCHEDULERS // warps


def by_shared(gpu, shared, configured):
    """None where a block needs no shared memory at all, and so nothing of it limits."""
    if shared > gpu.shared_per_block:
        return 0
    of_a_block = rounded_up(shared + gpu.reserved, gpu.shared_unit)
    return configured // of_a_block if of_a_block else None


def limits(gpu, threads, registers, shared, configured=None):
    """{what limits: how many blocks an SM holds by that alone}. threads and shared memory (static and dynamic) are a block's, registers
    a thread's. configured: of the memory that an SM shares out between L1 and shared memory, what a launch got; else the most."""
    warps = warps_of(threads)
    found = {"SM": gpu.blocks, "registers": by_registers(registers, warps), "shared memory": by_shared(gpu, shared, configured or gpu.shared),
             "warps": gpu.warps // warps}
    return {what: blocks for what, blocks in found.items() if blocks is not None}


def binding(found):
    """(how many blocks, what limits them: all that do)."""
    blocks = min(found.values())
    return blocks, [what for what, most in found.items() if most == blocks]


def theoretical(gpu, threads, blocks):
    """The share of an SM's warps that so many blocks occupy."""
    return blocks * warps_of(threads) / gpu.warps


def waves(gpu, grid, blocks):
    """How often a grid fills all SMs."""
    return grid / (gpu.sms * blocks)
