"""What the tests share: the clone, its CPU build, a compiler driver that is asked once per program, reports read.

A test that runs a CUDA program names it as Program(...). pytest may run in several processes (-n): the first whose test
needs a program compiles it, for all."""

import contextlib
import dataclasses
import fcntl
import hashlib
import json
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

    An edit is applied to a copy of the source first: (before, after), at the one place where `before` stands, or a
    function from text to text."""

    source: pathlib.Path
    compiler: str = "g++"
    options: tuple = ()
    libraries: tuple = ()
    edit: object = ()

    def __str__(self):
        return f"{self.source.stem}-{self.compiler}"

    def edited(self):
        text = self.source.read_text()
        if callable(self.edit):
            return self.edit(text)
        before, after = self.edit
        assert text.count(before) == 1, f"{self.source.name} has {text.count(before)} places that read: {before}"
        return text.replace(before, after)

    def key(self):
        """The same for the same program in every process of pytest."""
        whole = dataclasses.replace(self, edit=self.edited() if self.edit else ())
        return f"{self}-{hashlib.sha256(repr(whole).encode()).hexdigest()[:16]}"

    def compile(self, folder):
        """The executable, made in that folder, and the finished compiler process."""
        output = folder / "program"
        source = self.source
        if self.edit:
            source = folder / self.source.name
            source.write_text(self.edited())
        if self.compiler == "nvcc":
            return output, run("nvcc", "-std=c++20", "-arch=native", source, "-o", output)
        simtcc = ROOT / "emulator" / "simtcc"
        return output, run(simtcc, *self.options, "-o", output, source, *self.libraries, CXX=self.compiler,
                           SIMT_BUILD=str(BUILD))


@contextlib.contextmanager
def locked(path):
    """Holds a lock file, against this machine's other processes and this process's other threads."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def ensure_build():
    """The CPU build, where ./learn test has not made it already."""
    with locked(ROOT / "build" / "learn.lock"):
        if (BUILD / "libsimt.a").exists() or "SIMT_BUILD" in os.environ:
            return
        for command in (["cmake", "--preset", "cpu"], ["cmake", "--build", "--preset", "cpu"]):
            subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)


def pytest_collection_finish(session):
    if not session.config.option.collectonly:
        ensure_build()


def pytest_make_parametrize_id(val):
    return str(val) if isinstance(val, Program) else None


@pytest.fixture(scope="session")
def compile_output(tmp_path_factory):
    """compile_output(program) -> path of the executable, and how its compiler ended: returncode, stdout, stderr."""
    place = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        place = place.parent

    def compiled(program):
        folder = place / "programs" / program.key()
        ended = folder / "ended.json"
        with locked(folder / "lock"):
            if not ended.exists():
                done = program.compile(folder)[1]
                ended.write_text(json.dumps({"args": [str(part) for part in done.args], "returncode": done.returncode,
                                             "stdout": done.stdout, "stderr": done.stderr}))
        return folder / "program", subprocess.CompletedProcess(**json.loads(ended.read_text()))

    return compiled


@pytest.fixture(scope="session")
def compile_cu(compile_output):
    """compile_cu(program) -> path of the executable; the test fails with the compiler's words where there is none."""

    def compiled(program):
        output, done = compile_output(program)
        assert done.returncode == 0, done.stderr
        return output

    return compiled


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
