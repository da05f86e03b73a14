"""What goes wrong around ./learn, told in one sentence. Needs nothing but Python's own library."""
import errno
import fcntl
import os
import signal
import subprocess
import sys
import tempfile
import threading
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tools.paths import BUILD, ROOT

LEAST_ROOM = 1 << 20  # bytes, for what a compiler writes at least
STOPPING = signal.SIGINT, signal.SIGTERM, signal.SIGHUP
holds_lock = False


def stop(message, status=2):
    """End with a message: 2 for what was asked wrongly or is missing, 77 for what this device cannot run."""
    print(message, file=sys.stderr)
    raise SystemExit(status)


def explain(error):
    """An OSError in one sentence."""
    where = f" ({error.filename})" if error.filename else ""
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return f"No space is left to write{where}: make room, and run this again."
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return f"Permission is denied{where}: {ROOT} must be yours to write. In a copy of the clone that is, this works."
    return f"{error.strerror or error}{where}."


def write_whole(path, text):
    """Put a file in its place whole, or leave what is there: write it beside, see that it is stored, rename it. A link stays one,
    and a file's permissions stay its own."""
    data = text if isinstance(text, bytes) else text.encode("utf-8", "surrogateescape")
    path = Path(os.path.realpath(path))
    new = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        with open(new, "xb") as file:
            if path.exists():
                os.fchmod(file.fileno(), path.stat().st_mode & 0o7777)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        new.rename(path)
    except BaseException:
        new.unlink(missing_ok=True)
        raise


def require_regular(path):
    """Stop where something stands that is no file: to open a FIFO would wait for ever."""
    if path.exists() and not path.is_file():
        stop(f"{path} is not a file, and one is wanted there: move it away.")


def require_room(place):
    """Stop where nothing can be written, before a compiler fails on it at length."""
    try:
        with tempfile.TemporaryFile(dir=place) as file:
            os.posix_fallocate(file.fileno(), 0, LEAST_ROOM)
    except OSError as error:
        error.filename = place
        stop(explain(error))


@contextmanager
def deferred():
    """A signal that this program has a handler for is handled at the end of the block."""
    came, main = [], threading.current_thread() is threading.main_thread()  # others handle none
    handlers = {number: handler for number in STOPPING if main and callable(handler := signal.getsignal(number))}
    for number in handlers:
        signal.signal(number, lambda number, frame: came.append(number))
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for number in came:
            signal.raise_signal(number)


@contextmanager
def process_group(command, **more):
    """A Popen; when this program is stopped, so is the command, with all that it started."""
    process = None
    with ExitStack() as ended:
        try:
            with deferred():
                process = ended.enter_context(subprocess.Popen(command, start_new_session=True, **more))
            yield process
        except BaseException:
            if process and process.returncode is None:
                os.killpg(process.pid, signal.SIGTERM)
            raise


def run_group(command, **more):
    """As subprocess.run(), of a process_group."""
    with process_group(command, **more) as process:
        said = process.communicate()
    return subprocess.CompletedProcess(command, process.returncode, *said)


def silence():
    """What is still to be written to the standard output goes nowhere, without a complaint at the end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


@contextmanager
def guarded():
    """Every way to end that is no bug: a status, at most a sentence, and all child processes stopped."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, lambda number, frame: sys.exit(128 + number))
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except KeyboardInterrupt:
        silence()
        raise SystemExit(130) from None
    except BrokenPipeError:
        silence()
        raise SystemExit(141) from None
    except OSError as error:
        silence()
        stop(explain(error))


@contextmanager
def one_at_a_time():
    """Only one ./learn at a time makes .venv or builds; another waits. Who has the lock may ask for it again."""
    global holds_lock
    if holds_lock:
        yield
        return
    if not BUILD.is_dir() and os.path.lexists(BUILD):
        stop(f"{BUILD} is not a directory, and ./learn builds there: move it away.")
    BUILD.mkdir(exist_ok=True)
    with open(BUILD / "learn.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        holds_lock = True
        try:
            yield
        finally:
            holds_lock = False
