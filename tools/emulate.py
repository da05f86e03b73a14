"""Compile anybody's single-file CUDA program for the emulator, with all checks, and run it."""
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from tools import build
from tools.paths import BUILD, ROOT

SIMTCC = ROOT / "emulator" / "simtcc"
TARGETS = "simt", "simt-translate"


def compile_and_run(file, flags=(), arguments=(), cwd=None, environment=None, stderr=None):
    """The completed process: of the program, or of the compiler where that failed."""
    build.build("cpu", *TARGETS)
    with tempfile.TemporaryDirectory(prefix="learn-") as place:
        program = Path(place, Path(file).stem)
        env = build.environment() | (environment or {})
        within = {"TMPDIR": place}  # what the compiler leaves when it is stopped goes with this folder
        compiled = subprocess.run([SIMTCC, "--simt-build", BUILD / "cpu", *flags, "-o", program, file], cwd=cwd,
                                  env=env | within, stderr=stderr, text=True)
        if compiled.returncode:
            return compiled
        return subprocess.run([program, *arguments], cwd=cwd, env=env, stderr=stderr, text=True)


def emulate(file, includes, defines, profile, arguments):
    """Returns the program's exit status; 2 where it could not be compiled."""
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))  # through the folder's clean-up
    flags = [f"-I{directory}" for directory in includes] + [f"-D{name}" for name in defines]
    done = compile_and_run(file, flags, arguments, environment={"SIMT_PROFILE": "1"} if profile else None)
    return done.returncode if done.returncode >= 0 else 128 - done.returncode
