"""What a submission is built with, in the sandbox: the emulator and common/, and nothing else of the clone."""
import dataclasses
import re
import shutil

from tools import sandbox
from tools.paths import BUILD, ROOT
from tools.submission import Refused

LIBRARIES = "simt-translate", "libsimt.a", "common/libcommon.a"  # of build/cpu
STANDARD = "c++20"
PARSED = f"*/simt/*/checked-{STANDARD}"  # the runtime's header, as simtcc --precompile left it
COMPILING = sandbox.Limits(seconds=60)
RUN_AT_START = re.compile(r"\] \.(?:init_array|fini_array|preinit_array|ctors|dtors)\S*\s+\S+\s+\S+\s+\S+\s+(\w+)")


@dataclasses.dataclass
class Built:
    """A program, and what its object file shows of it."""
    program: bytes
    called: set  # names of functions and variables that it takes from elsewhere
    defined: set  # names that it gives the whole program
    run_at_start: int  # bytes of pointers to functions that run before main, or after it


class Kit:
    """The one directory that the sandbox shows: the emulator, its headers and libraries, and what is compiled or run."""

    def __init__(self, place, walled, limits=sandbox.Limits()):
        self.place, self.walled, self.limits = place, walled, limits
        self.hidden = place.with_name(f"{place.name}-hidden")
        self.hidden.mkdir(0o700)
        shutil.copytree(ROOT / "emulator" / "include", place / "emulator" / "include")
        for name in ("simtcc", "device.syms", "hooks.syms"):
            shutil.copy(ROOT / "emulator" / name, place / "emulator")
        shutil.copytree(ROOT / "common", place / "common", ignore=shutil.ignore_patterns("*.c", "CMakeLists.txt"))
        for header in (BUILD / "cpu" / "runtime").glob(PARSED):
            copy = place / header.relative_to(BUILD / "cpu")
            copy.parent.mkdir(parents=True)
            shutil.copy(header, copy)
        for name in LIBRARIES:
            shutil.copy(BUILD / "cpu" / name, place)
        for path in (place, *place.rglob("*")):
            path.chmod(0o755 if path.stat().st_mode & 0o100 else 0o644)  # a directory, a program; a file
        self.mathematics = self.symbols(f'--dynamic --defined-only "$({sandbox.compiler()} -print-file-name=libm.so.6)"')[1]

    def run(self, command, limits=None):
        return sandbox.run(command, [self.place], limits or self.limits, self.walled)

    def write(self, name, data, mode=0o644):
        """A file of the kit."""
        path = self.place / name
        path.write_bytes(data)
        path.chmod(mode)
        return path

    def run_author(self, words, limits, before=()):
        """Run the author's program as a submission is run, with nothing of a submission beside it."""
        shown = self.write("author", (self.hidden / "author").read_bytes(), 0o755)
        try:
            return self.run([*before, shown, *words], limits)
        finally:
            shown.unlink()

    def write_hidden(self, name, data):
        """A program beside the kit, for this user alone."""
        path = self.hidden / name
        path.write_bytes(data)
        path.chmod(0o700)
        return path

    def made(self, command):
        """The result of a compiler's command, which the sandbox runs; refused where it fails, with the compiler's errors."""
        done = self.run(["sh", "-c", command], COMPILING)
        if done.fault:
            raise Refused(f"It could not be compiled: {done.fault}.")
        if done.status:
            lines = done.said.splitlines()
            raise Refused("It does not compile.\n" + "\n".join([line for line in lines if "error:" in line][:3] or lines[-3:]))
        return done.written

    def symbols(self, what):
        """(called, defined) names of what nm is given."""
        lines = [line.split() for line in self.made(f"nm -P {what} >RESULT").decode().splitlines()]
        found = [(words[0].split("@")[0], words[1]) for words in lines if len(words) > 1]
        called = {name for name, kind in found if kind in "Uwv"}
        return called, {name for name, kind in found if kind == "i" or kind.isupper() and kind != "U"}

    def build(self, name, text):
        """A program's text, built. Nothing of it stays in the kit."""
        simtcc = f"{self.place}/emulator/simtcc --simt-build {self.place}"
        source = self.write(name, text.encode())
        made = self.made(f"{simtcc} -std={STANDARD} -I{self.place}/common -c -o out.o {source} && cat out.o >RESULT")
        source.unlink()
        object_file = self.write(f"{name}.o", made)
        sections = self.made(f"readelf -SW {object_file} >RESULT").decode()
        program = self.made(f"{simtcc} -o out {object_file} {self.place}/libcommon.a && cat out >RESULT")
        built = Built(program, *self.symbols(object_file), sum(int(size, 16) for size in RUN_AT_START.findall(sections)))
        object_file.unlink()
        return built
