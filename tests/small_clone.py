"""A small clone with made-up steps, for the tests of ./learn itself: its programs, cmake and compilers are scripts."""
import json
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

COUNTERS = [f"{access}_{what}"
            for accesses, words in ((("shared_ld", "shared_st", "ldmatrix", "stmatrix", "wgmma_ld", "copy_st"), ("requests", "wavefronts", "conflicts")),
                                    (("global_ld", "global_st", "copy_ld"), ("requests", "sectors", "bytes")))
            for access in accesses for what in words] + ["barriers", "warp_barriers", "shuffles", "votes", "atomics", "mma", "wgmma", "mbarrier_arrivals", "tma_requests"] + [
                f"{use}_{what}" for use in ("shared_ld", "ldmatrix", "shuffle", "mma", "wgmma") for what in ("with_copies", "bytes_in_flight")]
H200 = {"name": "h200", "title": "NVIDIA H200", "sms": 132, "clock_ghz": 1.98, "fp32_lanes_per_sm": 128,
        "tensor_fp16_tflops": 989.4, "dram_gbps": 4800, "source": "made up"}
STEPS = [
    {"name": "03_matmul_naive", "number": "03", "dir": "steps/03_matmul_naive", "idea": "one thread per output", "from": [],
     "arch": "75", "chapter": "A. Memory", "operation": "matmul", "dtypes": ["fp32"], "variants": ["strided", "coalesced"]},
    {"name": "04_matmul_tiled", "number": "04", "dir": "steps/04_matmul_tiled", "idea": "tiles in shared memory",
     "from": ["03"], "arch": "75", "chapter": "A. Memory", "operation": "matmul", "dtypes": ["fp32"], "variants": ["padded"]},
    {"name": "23_matmul_wgmma", "number": "23", "dir": "steps/23_matmul_wgmma", "idea": "wgmma", "from": ["04"],
     "arch": "90a", "chapter": "D. Hopper", "operation": "matmul", "dtypes": ["fp32"], "variants": []},
]

PROGRAM = f"""#!{sys.executable} -ES
import json, os, sys
given, name = sys.argv[1:], os.path.basename(sys.argv[0])
def option(word):
    return given[given.index(word) + 1] if word in given else None
print(name, *given)
case = {{"step": name, "variant": option("--variant"), "operation": "matmul", "dtype": "fp32",
        "shape": {{"m": 128, "n": 128, "k": 128}}, "device": "SIMT emulator (NVIDIA H200)", "time": None,
        "tflops": None, "gbps": None, "of_floor": None,
        "check": {{"right": True, "error": 1.1e-7, "bound": 2e-6}}, "flops": 2 * 128 ** 3, "bytes": 12 * 128 ** 2}}
if "/cuda/" in sys.argv[0]:
    ms = 1 if "tiled" in name else 1.5 if option("--variant") == "coalesced" else 12
    case |= {{"device": "NVIDIA H200", "shape": {{"m": 4096, "n": 4096, "k": 4096}}, "tflops": 137.4 / ms, "gbps": 201 / ms,
             "of_floor": 0.5 / ms, "time": {{"median_ms": ms, "p10_ms": ms, "p90_ms": ms}}}}
if option("--json"):
    open(option("--json"), "a").write(json.dumps(case) + "\\n")
if os.environ.get("SIMT_PROFILE_JSON"):
    counts = dict.fromkeys({COUNTERS!r}, 0) | {{"global_ld_requests": 1000, "global_ld_sectors": 16500}}
    kernel = {{"kernel": name, "launches": 1, "grid": [4, 4, 1], "block": [32, 32, 1], "shared_static": 8192,
              "shared_dynamic": 0, "total": counts, "lines": [dict(counts, file="steps/x.cu", line=3)]}}
    json.dump({{"gpu": {H200!r}, "kernels": [kernel]}}, open(os.environ["SIMT_PROFILE_JSON"], "w"))
sys.exit(int(os.environ.get("FAKE_STATUS", 0)))
"""

NAIVE = """// naive
__global__ void f(float *C) {  // C = 0
    // [index] Where.
    // [row]
    int row = 1;
    // [end row]

    // [store]
    C[row] = 0;
}
"""
TILED = NAIVE.replace("naive", "tiled").replace("int row = 1;", "/* a\n b */ int row = 2;\n    int col = 3;")


def script(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def measured(step, variant, ms, peer=None):
    line = {"step": step, "variant": variant, "operation": "matmul", "dtype": "fp32", "device": "NVIDIA H200",
            "shape": {"m": 4096, "n": 4096, "k": 4096}, "check": {"right": True, "error": 1e-7, "bound": 2e-6},
            "time": {"median_ms": ms, "p10_ms": ms, "p90_ms": ms}, "tflops": 137.4 / ms, "gbps": 201 / ms, "floor_ms": 2, "of_floor": 2 / ms,
            "env": {"gpu_driver": "580.1", "cuda": "13.0", "temperature_c": 41, "date": "2026-11-21"}}
    return json.dumps(line | ({"peer": peer} if peer else {})) + "\n"


# What CMake leaves behind, and what was asked of it: the home of each configure goes to cmake.log beside the clone.
CMAKE = """#!/bin/sh
place=${0%/*}/..
case $1 in
--version) echo cmake version ${FAKE_CMAKE:-3.31.0} ;;
--preset)
    echo "$PWD" >>"$place/cmake.log"
    [ -z "$FAKE_CONFIGURE_FAILS" ] || { echo "$FAKE_CONFIGURE_FAILS"; exit 1; }
    mkdir -p build/$2/CMakeFiles
    for name in COMMAND=cmake MAKE_PROGRAM=ninja C_COMPILER=g++ CXX_COMPILER=g++; do
        echo "CMAKE_${name%=*}:FILEPATH=$place/bin/${name#*=}"
    done >build/$2/CMakeCache.txt
    echo "CMAKE_HOME_DIRECTORY:INTERNAL=$PWD" >>build/$2/CMakeCache.txt
    : >build/$2/build.ninja
    : >build/$2/CMakeFiles/rules.ninja
    for step in steps/*; do cp "$place/program" build/$2/${step#steps/}; done
    cp "$place/steps.json" build/steps.json ;;
--build)
    echo '[1/1] Building CXX object'
    [ -z "$FAKE_BUILD_FAILS" ] || { echo "$FAKE_BUILD_FAILS"; exit 1; }
    [ -z "$FAKE_BUILD_HANGS" ] || { sleep 60 & echo $! >"$place/sleeper"; wait; } ;;
esac
"""


def add_step(root, step):
    (root / step["dir"]).mkdir(parents=True)
    (root / step["dir"] / "CMakeLists.txt").touch()
    (root / step["dir"] / f"{step['name'][3:]}.cu").write_text(NAIVE if step["number"] == "03" else TILED)


def configure(root):
    for preset in ("cpu", "cuda"):
        subprocess.run([root.parent / "bin/cmake", "--preset", preset], cwd=root, check=True)


def make_clone(place, name="flash steps"):
    """A clone; beside it, bin holds what the shell script needs, and no compiler of the machine's."""
    root = place / name
    for name in ("tools", "plots"):  # with the bytecode, which is valid here too
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("*.svg", "*.png"))
    for name in ("learn", "pyproject.toml"):
        shutil.copy(ROOT / name, root / name)
    (root / "notebooks").mkdir()
    (root / "notebooks/01_memory_system.ipynb").touch()
    (place / "bin").mkdir()
    for name in "sh cat cksum cp dirname id mkdir readlink sleep tail".split():
        (place / "bin" / name).symlink_to(shutil.which(name))
    script(place / "bin/python3", f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    script(place / "bin/g++", "#!/bin/sh\necho '#define __GNUC__ 12'\n")
    script(place / "bin/ninja", "#!/bin/sh\n")
    script(place / "bin/cmake", CMAKE)
    script(place / "program", PROGRAM)
    (place / "steps.json").write_text(json.dumps({"steps": STEPS}))
    for step in STEPS:
        add_step(root, step)
    configure(root)
    return root


@pytest.fixture
def clone(tmp_path):
    return make_clone(tmp_path)


def call(root, *arguments, system_python=True, cwd=None, before=(), **environment):
    """./learn of that clone, its PATH the scripts beside the clone. A variable that is None is not set."""
    env = {"PATH": str(root.parent / "bin"), "HOME": str(root.parent), "LANG": "C.UTF-8", "COLUMNS": "80",
           "MPLCONFIGDIR": str(ROOT / "build/matplotlib")} | environment  # matplotlib looks for fonts once, not for each clone
    flags = ["--system-python"] if system_python else []
    return subprocess.run([*before, root / "learn", *flags, *arguments], cwd=cwd or root, capture_output=True, text=True,
                          errors="replace", timeout=300, env={name: text for name, text in env.items() if text is not None})


@pytest.fixture
def learn(clone):
    return lambda *arguments, **more: call(clone, *arguments, **more)


def ended(done, status, *words):
    """The exit status is right, the words were said, and no traceback was."""
    said = done.stdout + done.stderr
    assert done.returncode == status, said
    assert "Traceback" not in said
    flat = " ".join(said.split())
    for word in words:
        assert word in flat, said


def give_gpu(clone, name, capability):
    script(clone.parent / "bin/nvidia-smi", f"#!/bin/sh\necho '{name}, {capability}, 550.54'\n")
    script(clone.parent / "bin/nvcc", "#!/bin/sh\n")
