"""Runs what a stranger has written: by bubblewrap, without a network, with nothing of this machine to be seen but the system's
programs and libraries and the files named, and with bounds on time, memory, processes, output and disk."""
import contextlib
import dataclasses
import os
import selectors
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

from tools import machine
from tools.paths import ROOT

SYSTEM = "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc/alternatives", "/etc/ld.so.cache"
PROCESSES, FILES = 64, 256  # at a time, and open files of each
DISK = 64 << 20  # bytes: the one place that can be written, /tmp, and each file
TEMPORARY = "/tmp"  # every user can enter it, and its name means nothing to a shell; TMPDIR's may
TICK = 0.05  # seconds between two looks at the memory
FIRST_USER = 60100  # of 800 that nobody has: root's processes become one of these, for nothing bounds how many root may have
INSIDE_USER = "1000"
PROBE = Path(__file__).with_name("probe.c")


@dataclasses.dataclass(frozen=True)
class Limits:
    seconds: float = 20  # from start to end; of the processor, each process as many
    memory: int = 2 << 30  # bytes of all its processes together
    said: int = 256 << 10  # bytes of standard output and error
    written: int = 64 << 20  # bytes of its result


@dataclasses.dataclass
class Outcome:
    """How a command ended. fault: the bound that it broke, as `it ran longer than 20 s`; None where it ended by itself."""
    status: int
    said: str
    written: bytes
    fault: str | None = None


# ---- the walls ----

def walls(files):
    """The words in front of a command that put it into the sandbox, where it sees these files and directories."""
    shown = [word for path in SYSTEM if os.path.lexists(path) for word in
             (("--symlink", os.readlink(path), path) if os.path.islink(path) else ("--ro-bind", path, path))]
    own = [word for path in files for word in ("--ro-bind", str(path), str(path))]
    return ["bwrap", "--unshare-all", "--unshare-user", "--disable-userns", "--uid", INSIDE_USER, "--gid", INSIDE_USER,
            "--hostname", "sandbox", "--die-with-parent", "--new-session", "--cap-drop", "ALL", *shown, "--proc", "/proc",
            "--dev", "/dev", "--size", str(DISK), "--tmpfs", TEMPORARY, *own, "--remount-ro", "/dev", "--remount-ro", "/",
            "--chdir", TEMPORARY, "--"]


def bounds(limits, walled):
    """The words in front of a command that bound each of its processes, and let the kernel end them first if memory runs out.
    How many there may be is not bounded outside of the sandbox, where a user's other processes count too."""
    seconds = int(limits.seconds) + 1
    return ["choom", "-n", "1000", "--", "prlimit", f"--cpu={seconds}:{seconds}", "--core=0:0", f"--fsize={DISK}:{DISK}",
            f"--nofile={FILES}:{FILES}", *([f"--nproc={PROCESSES}:{PROCESSES}"] if walled or os.getuid() == 0 else []), "--"]


def environment(work):
    """What a command sees of the environment: nothing of the user's but the compiler's name. It may write into `work`."""
    compiler = machine.compiler()
    return {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(work), "TMPDIR": str(work), "LANG": "C.UTF-8",
            "SIMT_WORKERS": "1", **({"CXX": compiler[0]} if compiler else {})}


def other_user():
    """What Popen needs to start a process as another user than root; nothing where this is not root."""
    user = FIRST_USER + os.getpid() % 800
    return {"user": user, "group": user, "extra_groups": []} if os.getuid() == 0 else {}


@contextlib.contextmanager
def work_directory(walled):
    """The directory that a command begins in, and may write into: the sandbox's own /tmp, or one that is removed again."""
    if walled:
        yield TEMPORARY
        return
    with tempfile.TemporaryDirectory(prefix="learn-grade-", dir=TEMPORARY, ignore_cleanup_errors=True) as work:
        if other_user():
            os.chown(work, other_user()["user"], other_user()["group"])
        yield work


# ---- run ----

def memory_of(root):
    """Bytes in memory of a process and of all that come from it."""
    resident, children = {}, {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                fields = Path("/proc", name, "stat").read_bytes().rpartition(b")")[2].split()
            except OSError:  # it has ended
                continue
            resident[int(name)] = int(fields[21])
            children.setdefault(int(fields[1]), []).append(int(name))
    found = [root]
    for process in found:
        found += children.get(process, [])
    return sum(resident.get(process, 0) for process in found) * os.sysconf("SC_PAGE_SIZE")


class Collected:
    """What comes out of pipes, each up to its bound."""

    def __init__(self, bounds):
        """bounds: {file descriptor: bytes}"""
        self.bounds, self.bytes = bounds, {pipe: bytearray() for pipe in bounds}
        self.selector = selectors.DefaultSelector()
        for pipe in bounds:
            self.selector.register(pipe, selectors.EVENT_READ)

    def read(self, seconds):
        """Read what there is, waiting so long at most. Returns whether a pipe is still open."""
        if not self.selector.get_map():
            time.sleep(seconds)
            return False
        for key, _ in self.selector.select(seconds):
            part = os.read(key.fd, 1 << 16)
            if part:
                free = self.bounds[key.fd] + 1 - len(self.bytes[key.fd])
                self.bytes[key.fd] += part[:free]
            else:
                self.selector.unregister(key.fd)
        return bool(self.selector.get_map())

    def overflowed(self, pipe):
        return len(self.bytes[pipe]) > self.bounds[pipe]


def watch(process, collected, said, written, limits):
    """Collect until the command has ended or has broken a bound. Returns the bound, in words, or None."""
    end, look = time.monotonic() + limits.seconds, 0
    while process.poll() is None:
        collected.read(TICK)
        now = time.monotonic()
        if now > end:
            return f"it ran longer than {limits.seconds:g} s"
        if collected.overflowed(said):
            return f"it printed more than {limits.said >> 10} KiB"
        if collected.overflowed(written):
            return f"it wrote a result of more than {limits.written:,} bytes"
        if now >= look:
            look = now + TICK
            if memory_of(process.pid) > limits.memory:
                return f"it took more than {limits.memory >> 20} MiB of memory"
    return None


def end(process):
    """End a command with all that it started: the sandbox ends with its first process, else what is in its group does."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def run(command, files=(), limits=Limits(), walled=True):
    """Run a command, which sees `files` at their own places; the word RESULT in it becomes the file that its result goes to."""
    with work_directory(walled) as work:
        return run_in(work, command, files, limits, walled)


def run_in(work, command, files, limits, walled):
    said, said_in = os.pipe()
    written, written_in = os.pipe()
    os.fchmod(written_in, 0o666)  # another user opens it, by its name
    words = [str(word).replace("RESULT", f"/dev/fd/{written_in}") for word in command]
    try:
        process = subprocess.Popen([*(walls(files) if walled else []), *bounds(limits, walled), *words],
                                   cwd="/" if walled else work,
                                   stdin=subprocess.DEVNULL, stdout=said_in, stderr=said_in, pass_fds=[written_in],
                                   env=environment(work), start_new_session=True, **other_user())
        os.close(said_in)
        os.close(written_in)
        said_in = written_in = None
        collected = Collected({said: limits.said, written: limits.written})
        try:
            fault = watch(process, collected, said, written, limits)
        finally:
            end(process)
        last = time.monotonic() + 1  # nothing is left that could write, except where there are no walls
        while collected.read(TICK) and time.monotonic() < last:
            pass
        return Outcome(process.returncode, collected.bytes[said][:limits.said].decode(errors="replace"),
                       bytes(collected.bytes[written][:limits.written]), fault)
    finally:
        for pipe in (said, written, said_in, written_in):
            if pipe is not None:
                os.close(pipe)


# ---- whether it holds ----

def trouble(place):
    """Why the sandbox cannot be relied on, in a sentence; None where it holds. A program tries to leave it; `place` is a
    directory that any user can enter, for what it needs."""
    if not all(map(shutil.which, ("bwrap", "prlimit", "choom"))):
        return "bubblewrap is not installed (Debian, Ubuntu, Fedora, Arch: the package bubblewrap)."
    source = place / PROBE.name
    shutil.copy(PROBE, source)
    compiled = run(["sh", "-c", f'"$CXX" -x c -o probe {source} && cat probe >RESULT'], [place])
    if compiled.status or compiled.fault:
        return f"Nothing runs in bubblewrap here: {compiled.fault or compiled.said.strip()[-300:] or 'it said nothing'}"
    program = place / "probe"
    program.write_bytes(compiled.written)
    program.chmod(0o755)
    hidden = [path for path in (ROOT, Path.home(), Path("/etc/passwd"), Path("/var/lib"), Path("/root"))
              if path.exists() and path not in (Path("/"), Path(TEMPORARY))]
    with socket.create_server(("127.0.0.1", 0)) as server:
        done = run([program, server.getsockname()[1], 2 * PROCESSES, *hidden], [place])
    if done.status or done.fault:
        return f"The sandbox has a hole: {', '.join(done.said.split(chr(10))).strip(', ') or done.fault or done.status}."
    return None
