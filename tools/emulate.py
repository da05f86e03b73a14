"""Compile anybody's CUDA program, of one file or several, for the emulator, with all checks, and run it."""
import os
import subprocess
import tempfile
from pathlib import Path

from tools import build
from tools.guard import require_room, run_group, stop
from tools.paths import BUILD, ROOT

FILES = ".cu", ".c", ".cpp", ".cc", ".cxx", ".o", ".a", ".so"
SIMTCC = ROOT / "emulator" / "simtcc"
TARGETS = "simt", "simt-translate", "simt-precompiled"


def compile_program(files, output, flags=(), libraries=(), cwd=None, environment=None, stderr=None):
    """The completed process of the compiler, which writes output."""
    require_room(tempfile.gettempdir())
    with tempfile.TemporaryDirectory(prefix="learn-") as place:
        env = build.environment() | (environment or {}) | {"TMPDIR": place}  # what a stopped compiler leaves goes with this folder
        return run_group([SIMTCC, "--simt-build", BUILD / "cpu", *flags, "-o", output, *files, *libraries],
                              cwd=cwd, env=env, stderr=stderr, text=True)


def compile_and_run(files, flags=(), libraries=(), arguments=(), cwd=None, environment=None, stderr=None, stdout=None):
    """The completed process: of the program, or of the compiler where that failed."""
    build.build("cpu", *TARGETS)
    with tempfile.TemporaryDirectory(prefix="learn-") as place:
        program = Path(place, Path(files[0]).stem)
        compiled = compile_program(files, program, flags, libraries, cwd, environment, stderr)
        if compiled.returncode:
            return compiled
        return subprocess.run([program, *arguments], cwd=cwd, env=build.environment() | (environment or {}), stderr=stderr, stdout=stdout,
                              text=True)


def require_files(files):
    """Stop before anything is built where there is nothing to compile."""
    wanted = "Wanted: ./learn emulate FILE.cu… [-I DIR] [-D NAME] [--std STANDARD] [-L DIR] [-l NAME] [--profile] [-- ARGS]"
    for file in files or [""]:
        if not os.path.isfile(file) or not file.endswith(FILES):
            stop(f"'{file}' is not a .cu file. {wanted}" if os.path.exists(file) else f"There is no file '{file}'. {wanted}")
        if not os.access(file, os.R_OK):
            stop(f"'{file}' is not yours to read.")


def emulate(files, flags, libraries, profile, arguments):
    """Returns the program's exit status; 2 where it could not be compiled."""
    files = [f"./{file}" if file.startswith("-") else file for file in files]  # no options of simtcc
    done = compile_and_run(files, flags, libraries, arguments, environment={"SIMT_PROFILE": "1"} if profile else None)
    return done.returncode if done.returncode >= 0 else 128 - done.returncode
