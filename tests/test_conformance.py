"""Tensor cores are as an H200's: tests/conformance/*.cu ran there, and what they printed is kept beside them.

    nvcc -std=c++17 -gencode=arch=compute_90a,code=sm_90a lanes.cu -o lanes && ./lanes > lanes_h200.jsonl
"""

import json

import pytest

from conftest import COMPILERS, TESTS, Program, run

CONFORMANCE = TESTS / "conformance"


def lines_of(text):
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize("compiler", COMPILERS)
def test_lanes_hold_the_elements_that_they_hold_on_hardware(compile_cu, compiler):
    recorded = lines_of((CONFORMANCE / "lanes_h200.jsonl").read_text())
    done = run(compile_cu(Program(CONFORMANCE / "lanes.cu", compiler)))
    assert done.returncode == 0, done.stderr
    assert len(recorded) == 94
    assert lines_of(done.stdout) == recorded
