"""Faults that one order of execution would hide are found; and what is right but should not be leaned on is noted, and goes
on."""

import pytest

from conftest import TESTS, Program, read_report, run
from test_faults import expectations

WAITS = TESTS / "faults" / "waits.cu"

GUESS = """
#include <stdio.h>
__device__ void larger(float *at, float value)
{
    int *bits = (int *)at;
    if (*at >= value)
        return;
    int old = *bits;
    while (__int_as_float(old) < value) {
        int assumed = old;
        old = atomicCAS(bits, assumed, __float_as_int(value));
        if (old == assumed)
            break;
    }
}
__global__ void k(float *most) { larger(most, (float)(threadIdx.x * 37 % 101)); }
int main()
{
    float *most, found;
    cudaMalloc(&most, 4);
    cudaMemset(most, 0, 4);
    k<<<4, 101>>>(most);
    cudaMemcpy(&found, most, 4, cudaMemcpyDeviceToHost);
    return found != 100;
}
"""


@pytest.mark.parametrize("workers, runs, least", [(1, 5, 5), (4, 5, 1)])
@pytest.mark.parametrize("name", expectations(WAITS))
def test_a_wait_is_found_wrong(compile_cu, name, workers, runs, least):
    """With one worker in every run. With several, another may write between a load and the look at what it has read, if the
    machine lets the first wait just there; what is reported is right all the same."""
    case = expectations(WAITS)[name]
    found = 0
    for _ in range(runs):
        done = run(compile_cu(Program(WAITS)), name, timeout=60, SIMT_WORKERS=str(workers), SIMT_TIMEOUT="25")
        found += done.returncode == 1
        if done.returncode:
            report = read_report(done.stderr)
            assert report.kind == case.kind and report.line in case.must | case.may, report.text
    assert found >= least


@pytest.mark.parametrize("workers", [1, 3])
def test_a_guess_that_spares_an_attempt_is_noted(tmp_path, workers):
    source = tmp_path / "guess.cu"
    source.write_text(GUESS)
    executable, compiled = Program(source).compile(tmp_path)
    assert compiled.returncode == 0, compiled.stderr
    done = run(executable, SIMT_WORKERS=str(workers))
    line = GUESS.splitlines().index("    if (*at >= value)") + 1
    assert done.returncode == 0, done.stderr
    assert f"simt: note: {source}:{line}\n" in done.stderr or f"guess.cu:{line}\n" in done.stderr, done.stderr
    assert "simt: race" not in done.stderr and "__syncwarp" not in done.stderr
