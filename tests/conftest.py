"""What the tests share: the clone, its CPU build, a compiler driver that is asked once per program, reports read.

A test that runs a CUDA program names it as Program(...). pytest may run in several processes (-n): the first whose test
needs a program compiles it, for all. It stays in build/cpu/programs, and the next run compiles it only if anything that went
into it has changed: its source, a header, an option, a compiler, the emulator. What a compiler refuses stays refused as long."""

import bisect
import contextlib
import dataclasses
import fcntl
import functools
import hashlib
import itertools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time
from importlib.metadata import version
from importlib.util import find_spec

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
from tools import machine  # noqa: E402

TESTS = ROOT / "tests"
BUILD = pathlib.Path(os.environ.get("SIMT_BUILD", ROOT / "build" / "cpu"))
READ_BY_COMPILERS = "CPATH", "CPLUS_INCLUDE_PATH", "LIBRARY_PATH", "SIMT_GPU"
TYPES = {"fp32": "float", "fp16": "half", "bf16": "__nv_bfloat16"}  # as kernels name them
# Entries of tables of kernels, each for head dimensions up to its own, and what they are where neither theirs nor a neighbour's, which a
# wrong choice may take, is run.
TABLES = {r"\bchoose<(\d+)>": "nullptr", r"\bOF<T, (\d+), WIDTH>": r"capacity<T>{\1}"}
# Tables of kernels, one for each variant: the table, an entry, and what an entry is that is not run.
BY_VARIANT = ((r"^    static const struct shape of_\d+\[\] = \{.*?\};$", r"\bSHAPE<[^<>]*>", "{}"),
              (r"^    static (?:const decltype\(&launch\) |int \(\*const )\w+\[\].*? = \{.*?\};$", r"\bstart<[^<>]*>", "nullptr"),
              (r"^    switch \(args->variant.*\) \{\n(?:    (?:case \w+|default): return start<.*;\n)+", r"\bstart<[^<>]*>\([^()]*\)", "cudaErrorInvalidValue"))
BETS = "speculative"  # the variant of step 49 for which a form has a kernel of its own
COMPILERS = [name for name in ("g++", "clang++") if shutil.which(name)]


def run(*command, timeout=120, **environment):
    """Status, stdout and stderr of a command; the environment variables given are added."""
    return subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=timeout, errors="replace", env={**os.environ, **environment})


def source_of(step):
    """The .cu of a step: first_kernel.cu of 00_first_kernel, machine.cu of machine."""
    return ROOT / "steps" / step / f"{step.split('_', 1)[-1]}.cu"


def listed_head_dims(step):
    """The head dimensions that an attention step is compiled for, ascending; none where it takes every one up to a largest."""
    listed = re.search(r"^ +\.head_dims = \{([\d, ]+)\},$", source_of(step).read_text(), re.MULTILINE)
    return [int(size) for size in listed[1].split(",")] if listed else []


def ends(pid):
    """Whether a process ends within twenty seconds."""
    for _ in range(2000):
        try:
            if "\nState:\tZ" in pathlib.Path(f"/proc/{pid}/status").read_text():
                return True
        except OSError:
            return True
        time.sleep(0.01)
    return False


@contextlib.contextmanager
def beside_no_timing():
    """Waits until no exercise is timed on the GPU (judge.fast), and keeps that so; others of its kind go on side by side."""
    place = ROOT / "build" / "cuda"
    place.mkdir(parents=True, exist_ok=True)
    handle = os.open(place, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_SH)
        yield
    finally:
        os.close(handle)


@dataclasses.dataclass(frozen=True)
class Program:
    """A CUDA source and how it is compiled: by the emulator's driver with a C++ compiler, or by nvcc.

    An edit is applied to a copy of the source first, or of a header in common/: (before, after), at the one place where
    `before` stands, several of these, or a function from text to text. Of a step that is run at some head dimensions, in some types and
    variants alone, no kernel of another is compiled."""

    source: pathlib.Path
    compiler: str = "g++"
    options: tuple = ()
    libraries: tuple = ()
    edit: object = ()
    header: str = ""  # that the edit is in, as the source includes it
    head_dims: tuple = ()  # all, where none is named
    dtypes: tuple = ()
    variants: tuple = ()

    def __str__(self):
        return f"{self.source.stem}-{self.compiler}"

    @property
    def needs_hopper(self):
        """Bulk copies, tensor maps, wgmma and setmaxnreg: compute capability 9.0, and of that what later ones have not."""
        needs = r'"\.\./(hopper|cluster|attention)\.h"|"cluster_kernels\.h"|cp\.async\.bulk|expect_tx|arrive_tx|<cuda/ptx>|wgmma|setmaxnreg|this_cluster|barrier\.cluster'
        return bool(re.search(needs, self.source.read_text()))

    @property
    def target(self):
        """What the edit is in."""
        return ROOT / "common" / self.header if self.header else self.source

    @property
    def is_copied(self):
        return bool(self.edit or self.head_dims or self.dtypes or self.variants)

    def edited(self):
        text = self.target.read_text()
        if callable(self.edit):
            return self.trimmed(self.edit(text))
        text = self.trimmed(text)
        edits = [self.edit] if self.edit and isinstance(self.edit[0], str) else self.edit
        for before, after in edits:  # which may name the kernel of another type
            assert text.count(before) == 1, f"{self.target.name} has {text.count(before)} places that read: {before}"
            text = text.replace(before, after)
        return text

    def trimmed(self, text):
        """Without the kernels that are not run; every line stays where it is."""
        if self.variants:
            names = re.findall(r'^    \{"(\w+)", "', text, re.MULTILINE)
            places = [*map(names.index, self.variants)] if names else []  # a header names none
            for table, entry, empty in BY_VARIANT:
                text = re.sub(table, lambda found: kept_in(found[0], entry, empty, places), text, flags=re.MULTILINE | re.DOTALL)
            starts = {name == BETS for name in self.variants}  # as launch() chooses one of a form's two kernels
            text = re.sub(r"^ *form\.start\[(\d)\] = .*;$", lambda line: line[0] if int(line[1]) in starts else "", text, flags=re.MULTILINE)
        if self.head_dims:
            other = rf"(?!(?:{'|'.join(map(str, self.head_dims))})\b)\d+"
            text = re.sub(rf"^ *case {other}: return .*<.*>\(args, stream.*\);$", "", text, flags=re.MULTILINE)
            text = re.sub(rf"\bSHAPE<{other}, [\w, ]+>", "{}", text)
            text = re.sub(rf"&SHAPE<T, {other}, [\w, ]+>", "nullptr", text)
            text = re.sub(rf"\bform_of<T, {other}, [\w, ]+>\([\d., ]+\)", "{}", text)
            for entry, empty in TABLES.items():
                sizes = sorted({int(size) for size in re.findall(entry, text)})
                places = [bisect.bisect_left(sizes, int(d)) for d in self.head_dims]
                kept = {size for place in places for size in sizes[max(0, place - 1):place + 2]}
                text = re.sub(entry, lambda found: found[0] if int(found[1]) in kept else found.expand(empty), text)
        if self.dtypes:
            others = "|".join(name for dtype, name in TYPES.items() if dtype not in self.dtypes)
            text = re.sub(rf"\b\w+<(?:{others})>\(args, stream[^()]*\)", "cudaErrorInvalidValue", text)
            text = re.sub(rf"\bshape_of_type<(?:{others})>\(\w+->head_dim\)", "nullptr", text)
            text = re.sub(rf"\bFORMS<(?:{others})>", f"FORMS<{TYPES[self.dtypes[0]]}>", text)
        return text

    def key(self):
        """The same for the same program, whichever process of pytest asks, today or another day."""
        named = [pathlib.Path(word) for word in (*self.options, *self.libraries)]
        text = self.source.read_text(errors="replace")
        texts = {self.source: self.trimmed(text) if self.header else text}
        texts |= {self.target: self.edited()} if self.is_copied else {}
        texts |= {file: file.read_text() for file in named if file.is_file() and file.suffix != ".a"}
        parts = [nvcc_key() if self.compiler == "nvcc" else emulator_key(), repr(dataclasses.replace(self, edit=self.is_copied, head_dims=(), dtypes=(), variants=())), *texts.values(),
                 *(header for file, text in texts.items() for header in included(text, [file.parent, *named]))]
        return f"{self}-{digest_of(parts)}"

    def compile(self, folder):
        """The executable, made in that folder, and the finished compiler process."""
        output = folder / "program"
        source = self.source
        if self.is_copied:
            source, copy = folder / self.source.name, folder / (self.header or self.source.name)
            source.write_text(self.trimmed(self.source.read_text()))
            copy.parent.mkdir(exist_ok=True)
            copy.write_text(self.edited())  # the source finds a header beside itself first
        if self.compiler == "nvcc":
            arch = "-gencode=arch=compute_90a,code=sm_90a" if self.needs_hopper else "-arch=native"
            return output, run(machine.nvcc(), "-std=c++20", arch, source, "-o", output)
        simtcc = ROOT / "emulator" / "simtcc"
        return output, run(simtcc, *self.options, "-o", output, source, *self.libraries, CXX=self.compiler,
                           SIMT_BUILD=str(BUILD))


def kept_in(table, entry, empty, places):
    """A table of kernels, one for each variant, without all but those in these places."""
    place = itertools.count()
    return re.sub(entry, lambda found: found[0] if next(place) in places else empty, table)


def digest_of(parts):
    return hashlib.sha256(chr(0).join(parts).encode()).hexdigest()[:16]


def included(text, folders):
    """The texts of the files that a source includes by a name in quotes, and of those that they include."""
    for name in re.findall(r'^\s*#\s*include\s+"([^"]+)"', text, re.MULTILINE):
        for folder in folders:
            if (folder / name).is_file():
                found = (folder / name).read_text()
                yield found
                yield from included(found, [(folder / name).parent, *folders[1:]])
                break


def is_of_the_text(program, done):
    """Whether a compiler that failed says so of lines of the source, and of nothing else: it will say the same again."""
    errors = [line for line in done.stderr.splitlines() if re.search(r"\berror\b", line)]
    own = rf"(\S*/)?{re.escape(program.source.name)}:\d+:(\d+:)? error: "
    return done.returncode == 2 and bool(errors) and all(re.match(own, line) for line in errors)


@functools.cache
def emulator_key():
    """What goes into every program: the emulator, its headers and driver, common/, the compilers."""
    files = [*(ROOT / "emulator").glob("simtcc"), *(ROOT / "emulator").glob("*.syms"), *(ROOT / "emulator" / "include").rglob("*"),
             *(ROOT / "common").glob("*.h"), BUILD / "simt-translate", BUILD / "libsimt.a", BUILD / "common" / "libcommon.a"]
    digest = hashlib.sha256("".join(run(name, "--version").stdout for name in COMPILERS).encode())
    digest.update("".join(f"{name}={os.environ[name]}\n" for name in READ_BY_COMPILERS if name in os.environ).encode())
    for file in sorted(file for file in files if file.is_file()):
        digest.update(str(file).encode() + file.read_bytes())
    return digest.hexdigest()


@functools.cache
def libclang_key():
    """What goes into every answer of tools/statements.py: its code, libclang, what that is told, and the headers that it reads."""
    from tools import statements  # which needs more than pytest

    files = [ROOT / "tools" / name for name in ("statements.py", "submission.py", "exercises.py")]
    texts = [emulator_key(), version("libclang") if find_spec("clang") else "", *statements.arguments(), *(file.read_text() for file in files)]
    return digest_of(texts)


@functools.cache
def nvcc_key():
    """What goes into every program of nvcc's: its version, and the GPU that it compiles for."""
    return f"{run(machine.nvcc(), '--version').stdout}{machine.gpu()}"


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


def pytest_collection_modifyitems(items):
    """What needs a GPU is skipped where there is none."""
    why_not = machine.why_no_cuda()
    for item in items if why_not else []:
        if item.get_closest_marker("gpu"):
            item.add_marker(pytest.mark.skip(reason=why_not))


def pytest_collection_finish(session):
    """What runs on a GPU needs nothing of the emulator."""
    if not session.config.option.collectonly and not all(item.get_closest_marker("gpu") for item in session.items):
        ensure_build()


def pytest_make_parametrize_id(val):
    return str(val) if isinstance(val, Program) else None


KEPT = BUILD / "programs"
KEPT_SECONDS = 3 * 24 * 3600  # a program that no test has asked for since is removed


def pytest_sessionfinish(session):
    """One process, the first, removes what is no longer asked for."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        for ended in KEPT.glob("*/ended.json"):
            if ended.stat().st_mtime < time.time() - KEPT_SECONDS:
                shutil.rmtree(ended.parent, ignore_errors=True)


def kept(name, parts, find):
    """What find() returned when it was last called for this name and these parts, texts of all that it depends on; JSON can hold it."""
    folder = KEPT / f"{name}-{digest_of(parts)}"
    ended = folder / "ended.json"
    with locked(folder / "lock"):
        if ended.exists():
            ended.touch()
        else:
            write_ended(ended, find())
    return json.loads(ended.read_text())


def write_ended(ended, content):
    """Whole, or not at all."""
    written = ended.with_suffix(".new")
    written.write_text(json.dumps(content))
    written.rename(ended)


@pytest.fixture(scope="session")
def compile_output():
    """compile_output(program) -> path of the executable, and how its compiler ended: returncode, stdout, stderr."""

    def compiled(program):
        folder = KEPT / program.key()
        ended = folder / "ended.json"
        with locked(folder / "lock"):
            if ended.exists():
                ended.touch()
            else:
                done = program.compile(folder)[1]
                if done.returncode and not is_of_the_text(program, done):
                    return folder / "program", done  # of a missing file, a full disk or a killed compiler: asked again by the next
                write_ended(ended, {"args": [str(part) for part in done.args], "returncode": done.returncode, "stdout": done.stdout,
                                    "stderr": done.stderr})
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
    headline = re.search(r"^simt: (?!note: )(.+?): (\S+):(\d+)$", stderr, re.MULTILINE)
    assert headline, f"no report in:\n{stderr}"
    end = stderr.find("\nsimt: ", headline.end())
    text = stderr[headline.start() : end if end >= 0 else len(stderr)]
    return Report(headline[1], pathlib.Path(headline[2]).name, int(headline[3]), text)


def with_older_marks(exercise, text, **was):
    """The text of a reader's file as it was when two kinds of marks were in it; was: names that regions had."""
    def mark(found):
        if found["name"] in exercise.regions:
            return f"// exercise: {'end' if found['end'] else 'begin'} {was.get(found['name'], found['name'])}"
        return "// [end]" if found["end"] else found[0]

    return re.sub(r"// \[(?P<end>end )?(?P<name>\w+)\]$", mark, text, flags=re.MULTILINE)
