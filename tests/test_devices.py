"""A step program on a machine that cannot run it: status 77, and the reason. And the roofs that it takes a machine to have."""

import json

import pytest

from conftest import BUILD, ROOT, TESTS, Program, run

STEP = ROOT / "steps" / "03_matmul_naive" / "matmul_naive.cu"
COMMON = str(BUILD / "common" / "libcommon.a")
OPTIONS = ("--plain", "-I", str(ROOT / "common"))


def needing(arch):
    """The step, if it asked for that compute capability."""
    return Program(STEP, "g++", OPTIONS, (COMMON,), ('.arch = "75"', f'.arch = "{arch}"'))


def answering(error, driver):
    """The step, where cudaGetDeviceCount fails and the driver serves that version of CUDA."""
    count = f"cudaError_t __wrap_cudaGetDeviceCount(int *count) {{ return *count = 0, {error}; }}"
    version = f"cudaError_t __wrap_cudaDriverGetVersion(int *version) {{ return *version = {driver}, cudaSuccess; }}"
    return Program(STEP, "g++", OPTIONS, (COMMON, "-Wl,--wrap=cudaGetDeviceCount,--wrap=cudaDriverGetVersion"),
                   ("// [main]\n", f'// [main]\nextern "C" {{ {count} {version} }}\n'))


@pytest.mark.parametrize("program, gpu, runs", [
    (needing("80"), "t4", False), (needing("80"), "a100", True), (needing("80"), "rtx4090", True),
    (needing("90a"), "rtx4090", False), (needing("90a"), "h200", True)], ids=str)
def test_compute_capability(compile_cu, program, gpu, runs):
    done = run(compile_cu(program), "-m", 1, "-n", 1, "-k", 1, SIMT_GPU=gpu)
    assert done.returncode == (0 if runs else 77), done.stderr
    assert runs or "compute capability" in done.stderr


@pytest.mark.parametrize("program, words", [
    (answering("cudaErrorNoDevice", 13000), ["no CUDA device"]),
    (answering("cudaErrorInsufficientDriver", 12020), ["12.2", "13.0", "update the driver"]),
    (answering("cudaErrorInsufficientDriver", 0), ["no NVIDIA driver"])], ids=str)
def test_driver(compile_cu, program, words):
    done = run(compile_cu(program), "-m", 1, "-n", 1, "-k", 1)
    assert done.returncode == 77, done.stdout + done.stderr
    assert all(word in done.stderr for word in words), done.stderr
    assert "right" not in done.stdout


ROOFS = Program(TESTS / "common" / "roofs.cu", "g++", OPTIONS, (COMMON,))


@pytest.mark.parametrize("gpu, tflops", [("h200", 989), ("a100", 312), ("rtx4090", 165), ("t4", 65)])
def test_roofs(compile_cu, gpu, tflops, tmp_path):
    """common/ derives them from what CUDA tells of a device, the emulator has a table: both are what the vendor publishes."""
    done = run(compile_cu(ROOFS), SIMT_GPU=gpu, SIMT_PROFILE_JSON=tmp_path / "profile.json")
    fp32, tensor, dram = map(float, done.stdout.split())
    table = json.loads((tmp_path / "profile.json").read_text())["gpu"]
    assert table["tensor_fp16_tflops"] == pytest.approx(tflops, abs=0.5)
    assert tensor == pytest.approx(1e12 * table["tensor_fp16_tflops"], rel=2e-3)
    assert fp32 == pytest.approx(2e9 * table["fp32_lanes_per_sm"] * table["sms"] * table["clock_ghz"], rel=1e-3)
    assert dram == pytest.approx(1e9 * table["dram_gbps"], rel=1e-3)


STAGES = Program(ROOT / "steps" / "20_matmul_warp_tile" / "matmul_warp_tile.cu", "g++", OPTIONS, (COMMON,))


@pytest.mark.parametrize("asked, status, ran, refused", [
    (["--all-variants"], 0, ["one_stage"], ["two_stages", "three_stages", "four_stages"]),
    (["--variant", "one_stage"], 0, ["one_stage"], []), ([], 77, [], ["four_stages"]),
    (["--variant", "two_stages"], 77, [], ["two_stages"])], ids=str)
def test_shared_memory_of_a_block(compile_cu, asked, status, ran, refused):
    """A variant whose blocks ask for more than the GPU has is not run, and says so; others are."""
    done = run(compile_cu(STAGES), "-m", 1, "-n", 1, "-k", 1, *asked, SIMT_GPU="rtx4090")
    assert done.returncode == status, done.stdout + done.stderr
    assert [line.split(":")[0] for line in done.stdout.splitlines() if "_stage" in line] == ran
    assert done.stdout.count("right") == len(ran)
    said = [line for line in done.stderr.splitlines() if "not run: a block needs" in line]
    assert [line.split(":")[0] for line in said] == refused
    assert all("101376" in line for line in said)


WIDE = Program(ROOT / "steps" / "35_flash_mma_tiling_qk" / "flash_mma_tiling_qk.cu", "g++", OPTIONS, (COMMON,))


@pytest.mark.parametrize("head_dim, status", [(768, 0), (784, 77)])
def test_shared_memory_that_depends_on_the_shape(compile_cu, head_dim, status):
    done = run(compile_cu(WIDE), "--heads", 1, "--seqlen", 1, "--head-dim", head_dim, "--all-variants", SIMT_GPU="rtx4090")
    assert done.returncode == status, done.stdout + done.stderr
    assert done.stdout.count("right: ") == (0 if status else 2)
    assert done.stderr.count("not run: a block needs 107136 bytes of shared memory") == (2 if status else 0)
