"""The emulator's own code has no data races: ThreadSanitizer watches it while two workers run programs that are right.

Kernels are not watched here, only the runtime: their hooks are the runtime's (emulator/hooks.syms)."""

import shutil
import subprocess

import pytest

from conftest import BUILD, ROOT, TESTS, Program, locked, run

# Between them these come to every room: memory of all kinds, atomics and fences, blocks that wait for each other.
SOURCES = [TESTS / "right" / f"{name}.cu" for name in ("api", "async", "blocks", "cooperative", "copies", "flags",
                                                      "heap", "locks", "matrices", "ptx_memory", "resources",
                                                      "special_registers")]
STEPS = {"04_matmul_tiled": ("-m", "65", "-n", "65", "-k", "33"), "13_flash_scalar": ("--seqlen", "33")}
WARNING = "WARNING: ThreadSanitizer"
REFUSAL = "FATAL: ThreadSanitizer"

pytestmark = pytest.mark.skipif(not shutil.which("g++"), reason="no g++")


def watched(source, *libraries):
    return Program(source, "g++", ("--sanitize-runtime",), libraries)


PROGRAMS = {source.stem: watched(source) for source in SOURCES}
PROGRAMS |= {step: watched(BUILD / "steps" / step / f"{step}.o", str(BUILD / "common" / "libcommon.a")) for step in STEPS}


@pytest.fixture(scope="module")
def runtime():
    """libsimt_tsan.a, which no other build needs."""
    with locked(ROOT / "build" / "learn.lock"):
        subprocess.run(["cmake", "--build", BUILD, "--target", "simt_tsan"], check=True, stdout=subprocess.DEVNULL)


def run_watched(program, arguments):
    """ThreadSanitizer needs some address ranges for itself; where they are taken at random, it is run without."""
    environment = {"SIMT_WORKERS": "2", "TSAN_OPTIONS": "history_size=2"}
    done = run(program, *arguments, **environment)
    if REFUSAL in done.stderr and shutil.which("setarch"):
        done = run("setarch", "-R", program, *arguments, **environment)
    if REFUSAL in done.stderr:
        pytest.skip(f"ThreadSanitizer cannot run here: {done.stderr.strip().splitlines()[0]}")
    return done


@pytest.mark.parametrize("name", PROGRAMS)
def test_runtime_has_no_races(runtime, compile_output, name):
    program, compiled = compile_output(PROGRAMS[name])
    if "cannot find -ltsan" in compiled.stderr or "libtsan_preinit.o" in compiled.stderr:
        pytest.skip("g++ has no ThreadSanitizer here")
    assert compiled.returncode == 0, compiled.stderr
    done = run_watched(program, ("--all-variants", "--no-time", *STEPS[name]) if name in STEPS else ())
    assert WARNING not in done.stderr, done.stderr[done.stderr.find(WARNING):][:4000]
    assert done.returncode == 0, f"status {done.returncode}\n{done.stdout}{done.stderr}"
