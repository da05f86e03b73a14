"""What the tests share: the clone, its CPU build, a compiler driver that is asked once per program, reports read.

A test that runs a CUDA program names it in its parameters as Program(...). All of a session's programs are handed to a
few compiler processes as soon as the tests are known, so that compiling overlaps with the tests themselves."""

import concurrent.futures
import dataclasses
import os
import pathlib
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[1]
TESTS = ROOT / "tests"
BUILD = pathlib.Path(os.environ.get("SIMT_BUILD", ROOT / "build" / "cpu"))
COMPILERS = [name for name in ("g++", "clang++") if shutil.which(name)]


def run(*command, timeout=120, **environment):
    """Status, stdout and stderr of a command; the environment variables given are added."""
    return subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=timeout, errors="replace", env={**os.environ, **environment})


def has_gpu():
    return bool(shutil.which("nvcc") and shutil.which("nvidia-smi") and run("nvidia-smi", "-L").stdout.strip())


@dataclasses.dataclass(frozen=True)
class Program:
    """A CUDA source and how it is compiled: by the emulator's driver with a C++ compiler, or by nvcc.

    An edit (before, after) is applied to a copy of the source first, at the one place where `before` stands."""

    source: pathlib.Path
    compiler: str = "g++"
    options: tuple = ()
    libraries: tuple = ()
    edit: tuple = ()

    def __str__(self):
        return f"{self.source.stem}-{self.compiler}"

    def edited(self, folder):
        before, after = self.edit
        text = self.source.read_text()
        assert text.count(before) == 1, f"{self.source.name} has {text.count(before)} places that read: {before}"
        copy = folder / self.source.name
        copy.write_text(text.replace(before, after))
        return copy

    def compile(self, folder):
        """The executable, made in that folder, and the finished compiler process."""
        output = folder / "program"
        source = self.edited(folder) if self.edit else self.source
        if self.compiler == "nvcc":
            return output, run("nvcc", "-std=c++20", "-arch=native", source, "-o", output)
        simtcc = ROOT / "emulator" / "simtcc"
        return output, run(simtcc, *self.options, "-o", output, source, *self.libraries, CXX=self.compiler,
                           SIMT_BUILD=str(BUILD))


class Compilers:
    """Compiles each program once, a few at a time."""

    def __init__(self, folder):
        self.folder = folder
        self.pool = concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 2)
        self.jobs = {}

    def start(self, program):
        if program not in self.jobs:
            folder = self.folder / f"{len(self.jobs)}_{program}"
            folder.mkdir()
            self.jobs[program] = self.pool.submit(program.compile, folder)
        return self.jobs[program]


def ensure_build():
    if (BUILD / "libsimt.a").exists() or "SIMT_BUILD" in os.environ:
        return
    subprocess.run(["cmake", "--preset", "cpu"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", "--preset", "cpu"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)


def pytest_collection_finish(session):
    if session.config.option.collectonly:
        return
    ensure_build()
    folder = session.config._tmp_path_factory.mktemp("programs")
    session.config.compilers = Compilers(folder)
    for item in session.items:
        for value in getattr(item, "callspec", None) and item.callspec.params.values() or ():
            if isinstance(value, Program):
                session.config.compilers.start(value)


def pytest_make_parametrize_id(val):
    return str(val) if isinstance(val, Program) else None


@pytest.fixture(scope="session")
def compile_cu(request):
    """compile_cu(program) -> path of the executable; the test fails with the compiler's words where there is none."""

    def compiled(program):
        output, done = request.config.compilers.start(program).result()
        assert done.returncode == 0, done.stderr
        return output

    return compiled


@pytest.fixture(scope="session")
def compile_output(request):
    """compile_output(program) -> path of the executable, and how its compiler ended: returncode, stdout, stderr."""
    return lambda program: request.config.compilers.start(program).result()


@dataclasses.dataclass
class Report:
    """The first of the emulator's reports in a program's stderr."""

    kind: str
    file: str
    line: int
    text: str

    def lines_named(self, file):
        return {int(line) for name, line in re.findall(r"([^\s:]+):(\d+)", self.text) if name.endswith(file)}


def read_report(stderr):
    headline = re.search(r"^simt: (.+?): (\S+):(\d+)$", stderr, re.MULTILINE)
    assert headline, f"no report in:\n{stderr}"
    end = stderr.find("\nsimt: ", headline.end())
    text = stderr[headline.start() : end if end >= 0 else len(stderr)]
    return Report(headline[1], pathlib.Path(headline[2]).name, int(headline[3]), text)
