"""What a reader leaves in exercises/ as JSON: read whole or set aside, written whole or not at all."""
import fcntl
import itertools
import json
import os
from contextlib import contextmanager

from tools.guard import require_regular, write_whole
from tools.say import err


@contextmanager
def locked(directory):
    """Holds a directory against other ./learn; makes it where it is missing."""
    directory.mkdir(parents=True, exist_ok=True)
    handle = os.open(directory, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def set_aside(path, mark=""):
    """Rename a file, or what stands in its place, to the first free name of NAME.MARK1.json, NAME.MARK2.json, …; returns that. The
    name is taken first, so that what another ./learn puts there at the same time is not replaced."""
    is_folder = path.is_dir() and not path.is_symlink()
    for number in itertools.count(1):
        name = path.with_name(f"{path.stem}.{mark}{number}{path.suffix}")
        try:
            name.mkdir() if is_folder else name.touch(exist_ok=False)
        except FileExistsError:
            continue
        try:
            return path.rename(name)
        except BaseException:
            name.rmdir() if is_folder else name.unlink()
            raise


def load(path, is_whole):
    """What the file holds; {} where there is none. A file that cannot be read, or that is_whole() refuses, is set aside."""
    require_regular(path)
    try:
        found = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (ValueError, RecursionError):
        found = None
    if isinstance(found, dict) and is_whole(found):
        return found
    err.print(f"{path} could not be read; what it holds is kept as {set_aside(path, 'broken-').name}.", markup=False)
    return {}


def change(path, is_whole, update):
    """Load the file, let update() change what it holds, and put the result in its place."""
    with locked(path.parent):
        data = load(path, is_whole)
        update(data)
        write_whole(path, json.dumps(data, indent=1))
