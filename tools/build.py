"""Configure and build by CMake, with a progress bar. The compilers' whole output goes to build/learn.log."""
import json
import os
import re
import shutil
import stat
import subprocess
import tempfile
from pathlib import Path

from tools import machine, venv
from tools.guard import one_at_a_time, process_group, require_room, stop, write_whole
from tools.paths import BUILD, LOG, ROOT, STEPS_JSON
from tools.say import err, progress

NINJA_LINE = re.compile(r"\[(\d+)/(\d+)\] (.*)")
NINJA_LOST = re.compile(r"ninja: error: (?!rebuilding|manifest)")  # its own files are broken, not what it builds
NO_COMPILER = re.compile(r'The (\S+) compiler\s+"(.*?)"\s+is not able to compile a simple test program')  # CMake's words
TOOLCHAIN = "CMAKE_TOOLCHAIN_FILE"  # a script that CMake runs first
ASKED = "CC", "CXX", "CUDACXX", "CFLAGS", "CXXFLAGS", "CUDAFLAGS", "LDFLAGS", TOOLCHAIN  # what CMake takes a compiler and its flags from
NO_PRODUCTS = ".ninja", ".cmake"  # of what ninja makes: its own files
SIZES = "sizes.json"  # of what was built, beside it
LEAST_CMAKE = 3, 22
TOOLS_IN_CACHE = "CMAKE_COMMAND", "CMAKE_MAKE_PROGRAM", "CMAKE_C_COMPILER", "CMAKE_CXX_COMPILER"


def environment():
    """What CMake and simtcc see: one counter format, a place for temporary files, and the compilers that machine.py found."""
    env = {name: value for name, value in os.environ.items() if value or name not in ("CC", "CXX", "CUDACXX")}
    env |= {"NINJA_STATUS": "[%f/%t] ", "PWD": str(ROOT), "TMPDIR": tempfile.gettempdir()}
    compiler = machine.compiler()
    if compiler and "CXX" not in env and compiler[0].endswith("clang++"):
        env |= {"CXX": compiler[0], "CC": compiler[0][:-2]}
    if machine.nvcc():
        env["CUDACXX"] = machine.nvcc()
    return env


def has_build_tools():
    """Whether the cmake on the PATH is new enough, and there is a ninja."""
    said = machine.output("cmake", "--version") or ""
    found = re.search(r"(\d+)\.(\d+)", said)
    return bool(found and (int(found[1]), int(found[2])) >= LEAST_CMAKE and shutil.which("ninja"))


def require(preset):
    """Stop with what is missing before CMake does so at length."""
    trouble = machine.compiler_trouble()
    if trouble:
        stop(trouble)
    if not has_build_tools() and venv.is_ours():
        venv.require("build")
    if not has_build_tools():
        stop("CMake 3.22 or newer and ninja are needed on the PATH. On Debian or Ubuntu: apt-get install cmake ninja-build; "
             "or run ./learn without --system-python, which puts them into .venv.")
    toolchain = os.environ.get(TOOLCHAIN)
    if toolchain and not any((place / toolchain).is_file() for place in (BUILD / preset, ROOT)):
        stop(f"{TOOLCHAIN} is '{toolchain}', and there is no such file: unset it, or name one.")
    if preset == "cuda" and not machine.nvcc():
        stop("No nvcc: install the CUDA Toolkit, 12.4 or newer (developer.nvidia.com/cuda-downloads), or set CUDACXX.")


def follow(command, on_line, **more):
    """Run a command in the root, as a process_group, and hand over its output line by line. Returns its status."""
    with process_group(command, cwd=ROOT, env=environment() | more, text=True, errors="replace", stdin=subprocess.DEVNULL,
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        for line in process.stdout:
            on_line(line)
    return process.returncode


def logged(command, on_line=lambda line: None):
    """Run a command, its output added to the log and handed over line by line. Returns its status and its output."""
    with open(LOG, "a") as log:
        said = [f"$ {' '.join(command)}\n"]
        log.write(said[0])

        def keep(line):
            said.append(line)
            log.write(line)
            on_line(line)

        return follow(command, keep), "".join(said)


def expect_success(command, status, said):
    if not status:
        return
    if (found := NO_COMPILER.search(said)) and "No space left on device" not in said:
        asked = " and ".join(f"{name}='{os.environ[name]}'" for name in ASKED if os.environ.get(name))
        name = {"C": "CC", "CUDA": "CUDACXX"}.get(found[1], "CXX")
        advice = f"with {asked}: unset or mend that" if asked else f"as it is: mend it, or name another in {name}"
        stop(f"The {found[1]} compiler, {found[2]}, cannot make a program here {advice}. What it said is kept in {LOG.relative_to(ROOT)}.")
    toolchain = os.environ.get(TOOLCHAIN) if command[1] == "--preset" else None
    if toolchain:
        err.print(f"CMake could not configure with {TOOLCHAIN}='{toolchain}': unset or mend that. It said:", markup=False, soft_wrap=True)
    err.print(said, markup=False, soft_wrap=True)
    if "No space left on device" in said:
        stop("No space is left to build: make room, and run this again.")
    if "perhaps system time is not set" in said:
        stop("Files of this clone are dated in the future. To date them now: find . -newermt now -exec touch {} +")
    stop(f"This failed: {' '.join(command)}\nThe output above is kept in {LOG.relative_to(ROOT)}.", 2 if toolchain else 1)


def compiler_asked_for():
    return "".join(f"{name}={os.environ[name]}\n" for name in ("CC", "CXX") if os.environ.get(name))


def is_whole(preset):
    """Whether the preset's build directory is complete, this clone's (a copied one builds its original), by tools that are
    still there, and by the compilers asked for."""
    place = BUILD / preset
    try:
        cache = (place / "CMakeCache.txt").read_text(errors="replace")
    except OSError:
        return False
    entries = dict(re.findall(r"^(CMAKE_\w+):\w+=(.*)$", cache, re.MULTILINE))
    home = entries.get("CMAKE_HOME_DIRECTORY")
    note = place / "compiler_asked_for.txt"
    made_by = note.read_text() if note.exists() else ""
    return bool(home and Path(home).resolve() == ROOT
                and all((place / name).is_file() for name in ("build.ninja", "CMakeFiles/rules.ninja"))
                and all(os.path.exists(entries.get(name, "")) for name in TOOLS_IN_CACHE)
                and compiler_asked_for() in ("", made_by))


def discard(place):
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    elif os.path.lexists(place):
        place.unlink()


def products(place):
    """{file that ninja made there: its size}."""
    try:
        lines = (place / ".ninja_log").read_text(errors="replace").splitlines()
    except OSError:
        return {}
    names = {line.split("\t")[3] for line in lines if line.count("\t") >= 4}
    sizes = {name: size_of_file(os.path.join(place, name)) for name in names if not name.startswith("/") and not name.endswith(NO_PRODUCTS)}
    return {name: size for name, size in sizes.items() if size is not None}


def size_of_file(path):
    """Bytes; None where there is no file."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return found.st_size if stat.S_ISREG(found.st_mode) else None


def note_sizes(place):
    if place.is_dir():
        write_whole(place / SIZES, json.dumps(products(place)))


def discard_truncated(place):
    """What ninja made there and has become shorter since goes: ninja, which looks only at dates, would take it for made."""
    note = place / SIZES
    try:
        sizes = json.loads(note.read_text())
        known = {name: int(size) for name, size in sizes.items()}
    except (AttributeError, OSError, RecursionError, TypeError, ValueError):
        known = {}
    for name, size in products(place).items():
        if size < known.get(name, 1):
            (place / name).unlink()


def configure(preset):
    """Ask CMake; from nothing where the build directory is not whole. The caller holds the lock."""
    require(preset)
    if not is_whole(preset):
        discard(BUILD / preset)
    command = ["cmake", "--preset", preset]
    expect_success(command, *logged(command))
    (BUILD / preset / "compiler_asked_for.txt").write_text(compiler_asked_for())


def build(preset, *targets):
    """Bring a preset's targets, or all of them, up to date."""
    with one_at_a_time(), progress("build") as update:
        LOG.write_text("")

        def on_line(line):
            if match := NINJA_LINE.match(line):
                update(int(match[1]), int(match[2]), match[3])

        def make():
            if not is_whole(preset) or not STEPS_JSON.exists():
                update(0, None, f"cmake --preset {preset}")
                configure(preset)
            return logged(command, on_line)

        command = ["cmake", "--build", "--preset", preset, *(["--target", *targets] if targets else [])]
        require_room(BUILD)
        require_room(tempfile.gettempdir())
        discard_truncated(BUILD / preset)
        try:
            status, said = make()
            if status and NINJA_LOST.search(said):
                discard(BUILD / preset)
                status, said = make()
        finally:
            note_sizes(BUILD / preset)
        expect_success(command, status, said)
