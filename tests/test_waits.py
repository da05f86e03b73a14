"""Faults that one order of execution would hide are found in every run, with any number of workers; and what is right but
should not be leaned on is noted, and goes on."""

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


@pytest.mark.parametrize("workers", [1, 4])
@pytest.mark.parametrize("name", expectations(WAITS))
def test_a_wait_is_found_wrong_in_every_run(compile_cu, name, workers):
    case = expectations(WAITS)[name]
    for _ in range(5):
        done = run(compile_cu(Program(WAITS)), name, timeout=60, SIMT_WORKERS=str(workers), SIMT_TIMEOUT="25")
        assert done.returncode == 1, f"status {done.returncode}\n{done.stderr}"
        report = read_report(done.stderr)
        assert report.kind == case.kind and report.line in case.must | case.may, report.text


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
