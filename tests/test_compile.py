"""./learn compile: what it says of a step that nvcc compiled."""
import pytest

from conftest import machine
from tools import checks, ptxas, steps
from tools.checks import ARCHITECTURES, verdict_of

SAID = ("    {} bytes stack frame, {} bytes spill stores, {} bytes spill loads\n"
        "ptxas info    : Used 128 registers\n")
STEP = {"spills": ["80:40"]}


@pytest.mark.parametrize("arch, status, said, verdict, good", [
    ("90a", 0, SAID.format(0, 0, 0), "no spills", True),
    ("90a", 1, "error", "failed", False),
    ("90a", 0, SAID.format(0, 0, 0) + SAID.format(8, 4, 8), "12 bytes of spills", False),
    ("80", 0, SAID.format(24, 20, 20), "40 bytes of spills, as its README says", True),
    ("80", 0, SAID.format(24, 20, 24), "44 bytes of spills", False),
    ("80", 0, SAID.format(0, 0, 0), "no spills", True),
    ("90a", 0, SAID.format(608, 0, 0), "608 bytes of local memory", False)])
def test_verdict(arch, status, said, verdict, good):
    assert verdict_of(STEP, arch, status, said) == (verdict, good)


@pytest.mark.parametrize("step", [step for step in steps.load() if step["spills"]], ids=lambda step: step["name"])
def test_spills_are_named_for_architectures_that_are_compiled(step):
    assert {each.split(":")[0] for each in step["spills"]} <= set(ARCHITECTURES)


WGMMA = """
#include <cstdint>
extern __shared__ unsigned char shared[];
__device__ __forceinline__ void fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int N> __device__ __forceinline__ void wait() { asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory"); }
__device__ __forceinline__ uint64_t at(int offset)
{
    return (uint64_t)(__cvta_generic_to_shared(shared + offset) >> 4) | 1ull << 16 | 64ull << 32 | 1ull << 62;
}
__device__ __forceinline__ void multiply(float (&c)[4], uint64_t a, uint64_t b)
{
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "l"(a), "l"(b));
}
__device__ __forceinline__ void multiply(float (&c)[4], const uint32_t (&a)[4], uint64_t b)
{
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %1, %2, %3}, {%4, %5, %6, %7}, %8, 1, 1, 1, 0;"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}
__device__ __noinline__ void elsewhere(float (&c)[4]) { multiply(c, at(0), at(8192)); }
template <int STAGES> __global__ void __launch_bounds__(BOUNDS) product(float *x, const uint32_t *y, int n)
{
    float c[4] = {}, d[4] = {};
    uint32_t a[4] = {y[0], y[1], y[2], y[3]};
    BODY
    for (int i = 0; i < 4; i++)
        x[threadIdx.x + i] = c[i] + d[i] + a[i];
}
template __global__ void product<4>(float *, const uint32_t *, int);
"""
MULTIPLY = "fence(); multiply(c, at(0), at(8192)); commit(); wait<0>();"
BODIES = {  # of a kernel that nvcc 13.0 compiles with that warning; "": with none
    "": ("128, 1", MULTIPLY),
    "C7508": ("128", f'asm volatile("setmaxnreg.inc.sync.aligned.u32 240;"); {MULTIPLY}'),
    "C7510": ("128, 1", "fence(); elsewhere(c); commit(); wait<0>();"),
    "C7511": ("128, 1", "fence(); multiply(c, at(0), at(8192)); c[0] = x[5]; multiply(c, at(64), at(8192)); commit(); wait<0>();"),
    "C7513": ("128, 1", """for (int i = 0; i < n; i++) {
        fence(); multiply(c, a, at(8192)); commit(); wait<1>();
        for (int j = 0; j < 4; j++) a[j] = __float_as_uint(d[j]) * 3;
        fence(); multiply(d, at(0), at(64)); commit(); wait<1>(); } wait<0>();"""),
    "C7514": ("128, 1", "fence(); multiply(c, at(0), at(8192)); x[0] = c[0]; multiply(c, at(64), at(8192)); commit(); wait<0>();"),
    "C7517": ("128, 1", "fence(); multiply(c, at(0), at(8192)); commit();"),
    "C7519": ("128, 1", "multiply(c, at(0), at(8192)); commit(); wait<0>();")}  # a fence put in: refused are all but this
GOOD = "", "C7519"


@pytest.mark.skipif(not machine.nvcc(), reason="no nvcc here")
@pytest.mark.parametrize("code", BODIES)
def test_what_ptxas_serialises_is_refused(tmp_path, code):
    source = tmp_path / "product.cu"
    bounds, body = BODIES[code]
    source.write_text(WGMMA.replace("BOUNDS", bounds).replace("BODY", body))
    status, said = ptxas.compile_source(source, "90a")
    assert status == 0, said
    verdict, good = verdict_of({"spills": []}, "90a", status, said)
    assert good == (code in GOOD) and code in said, said
    assert good or code in {each for each, _, _ in ptxas.warnings(said)}, said
    assert good or "ptxas warns of " in verdict and ("void product<4>" in verdict or code == "C7508"), verdict


OF_PTXAS = "ptxas info    : (C75{}) {} in{} function '_Z7productILi4EEvPf'\n"
LOSS = "Potential Performance Loss: wgmma.mma_async instructions are serialized due to {}"


@pytest.mark.parametrize("line, verdict", [
    (OF_PTXAS.format(12, LOSS.format("insufficient register resources for the function"), ""),
     "wgmma.mma_async instructions are serialized due to insufficient register resources for the function (C7512)"),
    (OF_PTXAS.format(15, LOSS.format("ill formed pipeline stage"), " the"),
     "wgmma.mma_async instructions are serialized due to ill formed pipeline stage (C7515)"),
    (OF_PTXAS.format(17, "warpgroup.wait is injected in around line 50 by compiler to allow use of registers defined by GMMA", ""),
     "warpgroup.wait is injected in around line 50 by compiler to allow use of registers defined by GMMA (C7517)")])
def test_a_warning_names_its_kernel(line, verdict):
    assert verdict_of(STEP, "90a", 0, line + SAID.format(0, 0, 0)) == (f"ptxas warns of void product<4>: {verdict}", False)


def test_a_warning_names_its_step_and_ends_with_status_1(monkeypatch, capsys):
    said = "ptxas info    : (C7508) Potential Performance Loss: 'setmaxnreg' ignored; unable to determine register count at entry.\n"
    step = next(step for step in steps.load() if step["arch"] == "90")
    monkeypatch.setattr(machine, "nvcc", lambda: "nvcc")
    monkeypatch.setattr(steps, "load", lambda: [step])
    monkeypatch.setattr(ptxas, "compile_source", lambda source, arch: (0, said + SAID.format(0, 0, 0)))
    assert checks.compile_all() == 1
    assert f"{step['name']:<28} 128 registers, ptxas warns of a kernel that it does not name: 'setmaxnreg' ignored; unable to determine " \
           "register count at entry. (C7508)\n" in capsys.readouterr().out
