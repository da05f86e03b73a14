"""tools/occupancy.py against ncu, against NVIDIA's cuda_occupancy.h, and its GPUs against the emulator's."""
import dataclasses
import random
import shutil
from pathlib import Path

import pytest

from conftest import ROOT, Program, ensure_build, run
from tools import analyze, machine, occupancy, steps
from tools import run as runs
from tools.occupancy import GPUS, KB

H200 = GPUS["h200"]
STEPS = [path.parent.name for path in sorted(ROOT.glob("steps/*/results.jsonl"))]


@pytest.mark.parametrize("step", STEPS)
def test_block_limits_are_those_that_ncu_recorded(step):
    launches = [(kernel["launch"], kernel["percent"]) for line in analyze.counted(steps.find(step)) for kernel in line["kernels"]
                if kernel["launch"].get("limit_warps")]
    for launch, percent in launches:
        found = occupancy.limits(H200, launch["block"], launch["registers"], launch["shared_static"] + launch["shared_dynamic"],
                                 launch["shared_configured"])
        assert found == {what: launch[name] for what, name in analyze.LIMITS.items()}
        blocks, _ = occupancy.binding(found)
        assert occupancy.waves(H200, launch["grid"], blocks) == pytest.approx(launch["waves"], abs=0.01)
        occupied = occupancy.theoretical(H200, launch["block"], blocks)
        assert 100 * occupied == pytest.approx(percent["occupancy_limit"], abs=0.01)


@pytest.mark.parametrize("step", STEPS)
def test_occupancy_is_what_ncu_recorded(step):
    """Blocks and shared memory of each launch as the emulator saw them, at its default shape; registers as ncu did."""
    ensure_build()
    of_ncu = {(line["variant"], str(line["shape"])): line["kernels"] for line in analyze.counted(steps.find(step))}
    for variant in steps.variants(steps.find(step)) if of_ncu else []:
        done = runs.counted(steps.find(step), variant)
        kernels = of_ncu[variant, str(done["case"]["shape"])]
        assert len(kernels) == len(done["profile"]["kernels"])
        for launch, recorded in zip(done["profile"]["kernels"], kernels):
            threads = launch["block"][0] * launch["block"][1] * launch["block"][2]
            blocks, _ = occupancy.binding(occupancy.limits(H200, threads, recorded["launch"]["registers"],
                                                           launch["shared_static"] + launch["shared_dynamic"]))
            occupied = occupancy.theoretical(H200, threads, blocks)
            assert 100 * occupied == pytest.approx(recorded["percent"]["occupancy_limit"], abs=0.01)  # of which ncu says two digits


def kernels():
    """(threads, registers, shared memory): the edges of what a unit is given in, and at random."""
    chance = random.Random(1)
    edges = [(threads, registers, shared) for threads in (1, 32, 33, 128, 1024) for registers in (16, 32, 33, 40, 64, 65, 255)
             for shared in (0, 1, 48 * KB, 99 * KB, 100 * KB, 227 * KB)]
    return edges + [(chance.randint(1, 1024), chance.randint(16, 255), chance.randrange(0, 228 * KB, 16)) for _ in range(1000)]


@pytest.mark.parametrize("name", GPUS)
def test_blocks_are_those_that_nvidia_computes(name, tmp_path):
    nvcc = machine.nvcc()
    header = Path(nvcc).resolve().parents[1] / "include" / "cuda_occupancy.h" if nvcc else Path("none")
    if not header.is_file() or not shutil.which("g++"):
        pytest.skip("no CUDA toolkit here: its cuda_occupancy.h is what this is held against")
    assert run("g++", "-I", header.parent, ROOT / "tests/occupancy/nvidia.cpp", "-o", tmp_path / "nvidia").returncode == 0
    gpu, tried = GPUS[name], kernels()
    said = tmp_path / "kernels"
    said.write_text("".join(f"{gpu.arch.rstrip('a')} {gpu.warps} {gpu.shared} {gpu.shared_per_block} {gpu.reserved} {threads} {registers} "
                            f"{shared}\n" for threads, registers, shared in tried))
    lines = run("sh", "-c", f"{tmp_path}/nvidia < {said}").stdout.splitlines()
    assert len(lines) == len(tried)
    for (threads, registers, shared), line in zip(tried, lines):
        error, blocks, by_registers, by_shared = map(int, line.split())
        found = occupancy.limits(gpu, threads, registers, shared)
        assert error == 0 and (occupancy.binding(found)[0], found["registers"]) == (blocks, by_registers), (threads, registers, shared)
        assert found.get("shared memory", by_shared) == by_shared


PROPERTIES = """#include <cstdio>
int main() {
    cudaDeviceProp p;
    cudaGetDeviceProperties(&p, 0);
    printf("%d %d %d %d %d %zu %zu %zu %d\\n", 10 * p.major + p.minor, p.multiProcessorCount, p.maxThreadsPerMultiProcessor / 32,
           p.maxBlocksPerMultiProcessor, (int)p.regsPerMultiprocessor, p.sharedMemPerMultiprocessor, p.sharedMemPerBlockOptin,
           p.reservedSharedMemPerBlock, p.warpSize);
}
"""


def test_the_emulators_gpus_have_the_same_limits(compile_cu, tmp_path):
    source = tmp_path / "properties.cu"
    source.write_text(PROPERTIES)
    program = compile_cu(Program(source))
    for name in ("h200", "a100", "rtx4090", "t4"):
        gpu = GPUS[name]
        expected = (gpu.arch.rstrip("a"), gpu.sms, gpu.warps, gpu.blocks, occupancy.REGISTERS, gpu.shared, gpu.shared_per_block, gpu.reserved,
                    occupancy.WARP)
        assert run(program, SIMT_GPU=name).stdout.split() == [*map(str, expected)]


def test_gpus_of_one_architecture_have_the_same_limits():
    assert dataclasses.replace(GPUS["l4"], title="RTX 4090", sms=128) == GPUS["rtx4090"]


def test_all_that_bind_are_named():
    assert occupancy.binding({"SM": 32, "registers": 2, "shared memory": 2, "warps": 16}) == (2, ["registers", "shared memory"])
    assert occupancy.binding(occupancy.limits(GPUS["t4"], 1024, 64, 0)) == (1, ["registers", "warps"])  # and no shared memory to limit it
    assert occupancy.limits(H200, 128, 32, 228 * KB)["shared memory"] == 0
    assert occupancy.waves(H200, 132 * 3, 2) == 1.5
