"""The emulator's own code has no data races: ThreadSanitizer watches it while two workers run programs that are right.

Kernels are not watched here, only the runtime: their hooks are the runtime's (emulator/hooks.syms)."""

import concurrent.futures
import shutil
import subprocess

import pytest

from conftest import BUILD, ROOT, TESTS, run

# Between them these come to every room: memory of all kinds, atomics and fences, blocks that wait for each other.
SOURCES = [TESTS / "right" / f"{name}.cu" for name in ("api", "blocks", "copies", "flags", "heap", "locks")]
STEPS = {"04_matmul_tiled": ("-m", "65", "-n", "65", "-k", "33"), "07_flash_scalar": ("--seqlen", "33")}
WARNING = "WARNING: ThreadSanitizer"
REFUSAL = "FATAL: ThreadSanitizer"

pytestmark = pytest.mark.skipif(not shutil.which("g++"), reason="no g++")


def link(output, *inputs):
    simtcc = ROOT / "emulator" / "simtcc"
    return run(simtcc, "--sanitize-runtime", "-o", output, *inputs, CXX="g++", SIMT_BUILD=str(BUILD))


@pytest.fixture(scope="module")
def watched(tmp_path_factory):
    """watched(name) -> how that program's compiler ended, and where the program is."""
    folder = tmp_path_factory.mktemp("races")
    subprocess.run(["cmake", "--build", BUILD, "--target", "simt_tsan"], check=True, stdout=subprocess.DEVNULL)
    common = BUILD / "common" / "libcommon.a"
    inputs = {source.stem: (source,) for source in SOURCES}
    inputs |= {step: (BUILD / "steps" / step / f"{step}.o", common) for step in STEPS}
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        jobs = {name: pool.submit(link, folder / name, *parts) for name, parts in inputs.items()}
        yield lambda name: (jobs[name].result(), folder / name)


def run_watched(program, arguments):
    """ThreadSanitizer needs some address ranges for itself; where they are taken at random, it is run without."""
    environment = {"SIMT_WORKERS": "2", "TSAN_OPTIONS": "history_size=2"}
    done = run(program, *arguments, **environment)
    if REFUSAL in done.stderr and shutil.which("setarch"):
        done = run("setarch", "-R", program, *arguments, **environment)
    if REFUSAL in done.stderr:
        pytest.skip(f"ThreadSanitizer cannot run here: {done.stderr.strip().splitlines()[0]}")
    return done


@pytest.mark.parametrize("name", [source.stem for source in SOURCES] + list(STEPS))
def test_runtime_has_no_races(watched, name):
    compiled, program = watched(name)
    if "cannot find -ltsan" in compiled.stderr or "libtsan_preinit.o" in compiled.stderr:
        pytest.skip("g++ has no ThreadSanitizer here")
    assert compiled.returncode == 0, compiled.stderr
    done = run_watched(program, ("--all-variants", "--no-time", *STEPS[name]) if name in STEPS else ())
    assert WARNING not in done.stderr, done.stderr[done.stderr.find(WARNING):][:4000]
    assert done.returncode == 0, f"status {done.returncode}\n{done.stdout}{done.stderr}"
