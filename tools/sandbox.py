"""Runs what a stranger has written: by bubblewrap, without a network, with nothing of this machine to be seen but the system's
programs and libraries and the files named, and with bounds on time, memory, processes, output and disk."""
import contextlib
import ctypes
import dataclasses
import functools
import os
import platform
import selectors
import shlex
import shutil
import signal
import socket
import struct
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
FIRST_USER, USERS = 60100, 800  # that nobody has: root's processes become one of these, for nothing bounds how many root may have
INSIDE_USER = "1000"
reserved = socket.socket(socket.AF_UNIX)  # its name says which of these users is this process's
WRITABLE = "/dev/shm", "/tmp", "/var/tmp"  # where every user may write, outside of the sandbox
# System calls that are denied, by their numbers on {machine: (its name for the kernel, numbers)}: each makes memory that
# belongs to no process, watches others, or is no concern of a kernel's. memfd_create, memfd_secret, shmget, msgget, semget,
# mq_open, socket, socketpair, add_key, request_key, keyctl, ptrace, process_vm_readv, process_vm_writev, perf_event_open, bpf,
# userfaultfd, io_uring_setup.
DENIED = {"x86_64": (0xC000003E, (319, 447, 29, 68, 64, 240, 41, 53, 248, 249, 250, 101, 310, 311, 298, 321, 323, 425)),
          "aarch64": (0xC00000B7, (279, 447, 194, 186, 190, 180, 198, 199, 217, 218, 219, 117, 270, 271, 241, 280, 282, 425))}
PR_SET_SECCOMP, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 22, 36, 38  # <linux/prctl.h>
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

def calls():
    """The filter of system calls, as the kernel wants it (seccomp(2)): those denied say that they are not permitted."""
    load, equal, at_least, answer = 0x20, 0x15, 0x35, 0x06  # BPF: a word of the call, two jumps, the end
    allow, deny = 0x7FFF0000, 0x00050001  # SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO of EPERM
    name, numbers = DENIED.get(platform.machine(), (None, ()))
    if name is None:
        return struct.pack("HBBI", answer, 0, 0, allow)
    words = [(load, 0, 0, 4), (equal, 1, 0, name), (answer, 0, 0, deny), (load, 0, 0, 0), (at_least, 0, 1, 1 << 30), (answer, 0, 0, deny)]
    for number in numbers:
        words += [(equal, 0, 1, number), (answer, 0, 0, deny)]
    return b"".join(struct.pack("HBBI", *word) for word in [*words, (answer, 0, 0, allow)])


def prctl(option, *arguments):
    words = [argument if isinstance(argument, ctypes.c_void_p) else ctypes.c_ulong(argument) for argument in (*arguments, 0, 0, 0, 0)[:4]]
    if ctypes.CDLL(None, use_errno=True).prctl(option, *words):
        raise OSError(ctypes.get_errno(), "prctl")


def filter_calls():
    """Put the filter on this process and all that it starts, where there are no walls that would."""
    program = calls()
    held = ctypes.create_string_buffer(program, len(program))
    head = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(held)))
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    prctl(PR_SET_SECCOMP, 2, ctypes.c_void_p(ctypes.addressof(head)))


def walls(files, filter_file):
    """The words in front of a command that put it into the sandbox, where it sees these files and directories. The descriptor
    filter_file holds the filter of system calls."""
    shown = [word for path in SYSTEM if os.path.lexists(path) for word in
             (("--symlink", os.readlink(path), path) if os.path.islink(path) else ("--ro-bind", path, path))]
    own = [word for path in files for word in ("--ro-bind", str(path), str(path))]
    return ["bwrap", "--unshare-all", "--unshare-user", "--disable-userns", "--uid", INSIDE_USER, "--gid", INSIDE_USER,
            "--hostname", "sandbox", "--die-with-parent", "--new-session", "--cap-drop", "ALL", *shown, "--proc", "/proc",
            "--dev", "/dev", "--size", str(DISK), "--tmpfs", TEMPORARY, *own, "--remount-ro", "/dev", "--remount-ro", "/",
            "--seccomp", str(filter_file), "--chdir", TEMPORARY, "--"]


def bounds(limits, walled):
    """The words in front of a command that bound each of its processes, and let the kernel end them first if memory runs out.
    How many there may be is not bounded outside of the sandbox, where a user's other processes count too."""
    seconds = int(limits.seconds) + 1
    return ["choom", "-n", "1000", "--", "prlimit", f"--cpu={seconds}:{seconds}", "--core=0:0", f"--fsize={DISK}:{DISK}",
            f"--nofile={FILES}:{FILES}", *([f"--nproc={PROCESSES}:{PROCESSES}"] if walled or os.getuid() == 0 else []), "--"]


def compiler():
    """The compiler's command, as a shell reads it."""
    return shlex.join(machine.compiler() or ["c++"])


def environment(work):
    """What a command sees of the environment: nothing of the user's but the compiler's name. It may write into `work`."""
    words = machine.compiler()
    return {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(work), "TMPDIR": str(work), "LANG": "C.UTF-8",
            "SIMT_WORKERS": "1", **({"CXX": words[0] if len(words) == 1 else shlex.join(words)} if words else {})}


@functools.cache
def other_user():
    """What Popen needs to start a process as another user than root; nothing where this is not root, or knows no other."""
    if os.getuid() != 0:
        return {}
    ranges = [tuple(map(int, line.split())) for line in Path("/proc/self/uid_map").read_text().splitlines()]
    if not any(first <= FIRST_USER and FIRST_USER + USERS <= first + count for first, _, count in ranges):
        return {}
    for place in range(USERS):
        user = FIRST_USER + (os.getpid() + place) % USERS
        try:
            reserved.bind(f"\0learn-grade-{user}")  # another ./learn grade takes another one
        except OSError:
            continue
        return {"user": user, "group": user, "extra_groups": []}
    raise OSError("All users for programs that are graded are taken.")


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

def processes_below(root):
    """{process: bytes in memory} of all that come from a process, without it."""
    resident, children = {}, {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                file = os.open(f"/proc/{name}/stat", os.O_RDONLY)  # for all processes, many times a second
                try:
                    fields = os.read(file, 4096).rpartition(b")")[2].split()
                finally:
                    os.close(file)
            except OSError:  # it has ended
                continue
            resident[int(name)] = int(fields[21])
            children.setdefault(int(fields[1]), []).append(int(name))
    found = list(children.get(root, []))
    for process in found:
        found += children.get(process, [])
    return {process: resident[process] * os.sysconf("SC_PAGE_SIZE") for process in found}


def left_by(user):
    """The files of a user in the directories where every user may write, those in them first."""
    found = []
    for place in filter(os.path.isdir, WRITABLE):
        for entry in os.scandir(place):
            try:
                if entry.stat(follow_symlinks=False).st_uid != user:
                    continue
            except FileNotFoundError:
                continue
            inner = [Path(folder, name) for folder, folders, files in os.walk(entry.path, topdown=False) for name in folders + files]
            found += [*inner, Path(entry.path)] if entry.is_dir(follow_symlinks=False) else [Path(entry.path)]
    return found


def size_of(path):
    try:
        return path.lstat().st_blocks * 512
    except OSError:
        return 0


def memory_of(process, walled, others):
    """Bytes in memory of a command. Without walls: of all that is below this process but was not there before, for what a
    command leaves behind comes to this process; and of the files of the user that only runs what is graded."""
    if walled:
        return sum(processes_below(process.pid).values())
    files = map(size_of, left_by(other_user()["user"])) if other_user() else ()
    return sum(size for each, size in processes_below(os.getpid()).items() if each not in others) + sum(files)


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


def watch(process, collected, said, written, limits, walled, others):
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
            if memory_of(process, walled, others) > limits.memory:
                return f"it took more than {limits.memory >> 20} MiB of memory"
    return None


def end(process, walled, others):
    """End a command with all that it started. The sandbox ends with its first process. Without walls, what is below this process
    and was not there before ends, and what that user runs, whose files go, too."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()
    if walled:
        return
    if other_user():
        subprocess.run(["sh", "-c", "kill -KILL -1"], stderr=subprocess.DEVNULL, **other_user())
    while left := processes_below(os.getpid()).keys() - others:
        for signal_number in (signal.SIGSTOP, signal.SIGKILL):  # what is stopped starts no other
            for each in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(each, signal_number)
        for each in left:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(each, os.WNOHANG)
    for path in left_by(other_user()["user"]) if other_user() else ():
        with contextlib.suppress(OSError):
            path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()


def run(command, files=(), limits=Limits(), walled=True):
    """Run a command, which sees `files` at their own places; the word RESULT in it becomes the file that its result goes to."""
    with work_directory(walled) as work:
        return run_in(work, command, files, limits, walled)


def run_in(work, command, files, limits, walled):
    said, said_in = os.pipe()
    written, written_in = os.pipe()
    filter_file, filter_in = os.pipe()
    os.fchmod(written_in, 0o666)  # another user opens it, by its name
    os.write(filter_in, calls())
    os.close(filter_in)
    words = [str(word).replace("RESULT", f"/dev/fd/{written_in}") for word in command]
    others = set(processes_below(os.getpid()))
    if not walled:
        prctl(PR_SET_CHILD_SUBREAPER, 1)
    try:
        process = subprocess.Popen([*(walls(files, filter_file) if walled else []), *bounds(limits, walled), *words],
                                   cwd="/" if walled else work, stdin=subprocess.DEVNULL, stdout=said_in, stderr=said_in,
                                   pass_fds=[written_in, *([filter_file] if walled else [])], env=environment(work),
                                   start_new_session=True, preexec_fn=None if walled else filter_calls, **other_user())
        os.close(said_in)
        os.close(written_in)
        said_in = written_in = None
        collected = Collected({said: limits.said, written: limits.written})
        try:
            fault = watch(process, collected, said, written, limits, walled, others)
        finally:
            end(process, walled, others)
        last = time.monotonic() + 1  # what it has written is read to its end
        while collected.read(TICK) and time.monotonic() < last:
            pass
        return Outcome(process.returncode, collected.bytes[said][:limits.said].decode(errors="replace"),
                       bytes(collected.bytes[written][:limits.written]), fault)
    finally:
        for pipe in (said, written, said_in, written_in, filter_file):
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
    compiled = run(["sh", "-c", f"{compiler()} -x c -o probe {source} && cat probe >RESULT"], [place])
    if compiled.status or compiled.fault:
        return f"Nothing runs in bubblewrap here: {compiled.fault or compiled.said.strip()[-300:] or 'it said nothing'}"
    program = place / "probe"
    program.write_bytes(compiled.written)
    program.chmod(0o755)
    home = Path(os.path.expanduser("~"))  # "~" itself, where nobody says where it is
    hidden = [path for path in (ROOT, home, Path("/etc/passwd"), Path("/var/lib"), Path("/root"))
              if path.exists() and path not in (Path("/"), Path(TEMPORARY))]
    with socket.create_server(("127.0.0.1", 0)) as server:
        done = run([program, server.getsockname()[1], 2 * PROCESSES, *hidden], [place])
    if done.status or done.fault:
        return f"The sandbox has a hole: {', '.join(done.said.split(chr(10))).strip(', ') or done.fault or done.status}."
    return None
