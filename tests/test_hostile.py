"""Programs that do not end by themselves: the emulator ends them, says where they were, and leaves nothing behind."""

import os
import re
import signal
import subprocess
import time

import pytest

from conftest import TESTS, Program, read_report, run

ENDLESS = Program(TESTS / "faults" / "endless.cu")


def files_of(folder):
    """What lies in the folder, and what of the emulator's lies in the shared memory of the machine."""
    shared = os.listdir("/dev/shm") if os.path.isdir("/dev/shm") else []
    return sorted(os.listdir(folder)), sorted(name for name in shared if "simt" in name)


@pytest.mark.parametrize("workers", ["1", "3"])
def test_bound_on_a_kernel_can_be_set(compile_cu, workers):
    begin = time.monotonic()
    done = run(compile_cu(ENDLESS), "nobody_adds", timeout=30, SIMT_TIMEOUT="1", SIMT_WORKERS=workers)
    assert time.monotonic() - begin < 10
    assert done.returncode == 1, done.stderr
    report = read_report(done.stderr)
    assert report.kind == "endless kernel"
    assert "kernel nobody_adds" in report.text
    assert re.search(r"block \(1,0,0\)", report.text), report.text  # every warp is shown, of every block
    assert re.search(r"block \(0,0,0\)", report.text), report.text


def test_a_kernel_within_the_bound_is_left_alone(compile_cu):
    done = run(compile_cu(Program(TESTS / "right" / "flags.cu")), timeout=60, SIMT_TIMEOUT="30")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
@pytest.mark.parametrize("name", ["nobody_raises_the_flag", "condition_never_changes", "step_of_zero"])
def test_a_signal_ends_it(compile_cu, tmp_path, name, number):
    program = compile_cu(ENDLESS)
    before = files_of(tmp_path)
    process = subprocess.Popen([program, name], cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               env={**os.environ, "TMPDIR": str(tmp_path), "SIMT_TIMEOUT": "60"})
    try:
        time.sleep(0.7)
        assert process.poll() is None, "ended before it was told to"
        process.send_signal(number)
        status = process.wait(5)
    finally:
        process.kill()
        process.wait()
    assert status in (-number, 128 + number)
    assert files_of(tmp_path) == before
