"""What ./learn grade takes from a stranger's file: the text between the marks, where that can only be statements."""
import os
import re
import stat

from tools import exercises, statements

LARGEST = 64 << 10  # bytes of a file
# Of the author's own programs: where a function's body begins and ends.
TOKEN = re.compile(r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])+'|(?P<token>\w+|\S)""", re.DOTALL)


class Refused(Exception):
    """Why a file gets no credit, in a sentence."""


# ---- the file ----

def open_beside(name, flags, directory):
    return os.open(name, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=directory)


def read_bytes(root, *names):
    """A regular file's bytes, found below the directory root by no symbolic link; None where there is nothing."""
    opened = [os.open(root, os.O_RDONLY | os.O_DIRECTORY)]
    try:
        for name in names[:-1]:
            opened.append(open_beside(name, os.O_RDONLY | os.O_DIRECTORY, opened[-1]))
        opened.append(open_beside(names[-1], os.O_RDONLY, opened[-1]))
        if not stat.S_ISREG(os.fstat(opened[-1]).st_mode):
            raise Refused("It is no file.")
        with open(os.dup(opened[-1]), "rb") as file:
            return file.read(LARGEST + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Refused(f"It cannot be read, or is reached by a symbolic link: {error.strerror}.") from None
    finally:
        for descriptor in opened:
            os.close(descriptor)


def read(root, *names):
    """The text of a stranger's file; None where there is none."""
    found = read_bytes(root, *names)
    if found is None:
        return None
    if len(found) > LARGEST:
        raise Refused(f"The file is larger than {LARGEST >> 10} KiB.")
    try:
        return found.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise Refused("The file is not UTF-8 text.") from None


def read_exercise(root, exercise):
    """The text of a stranger's file for an exercise, also under the numbers that its step or itself had once; None where there is none."""
    found = read(root, exercise.step["name"], exercise.file_name)
    if found is not None:
        return found
    kept = exercises.by_id(root)
    files = [file for id in exercise.ids for file, ending in kept.get(id, ()) if f".{ending}" == exercise.file.suffix]
    if len(files) > 1:
        raise Refused(f"It is there {len(files)} times, under other numbers: {', '.join(f'{file.parent.name}/{file.name}' for file in files)}.")
    return read(root, files[0].parent.name, files[0].name) if files else None


def regions(exercise, text):
    """{region: what the file has between its marks}."""
    text = exercise.present(text)
    wanted = [(end, name) for name in exercise.between(exercise.program()) for end in ("", "end ")]
    if re.findall(rf"^[ \t]*// \[(end )?({'|'.join(exercise.regions)})\][ \t]*$", text, re.MULTILINE) != wanted:
        raise Refused("The lines `// [NAME]` and `// [end NAME]` around each region are not there as handed out, each once.")
    found, start = exercise.between(text), exercise.between(exercise.start())
    if found == start or not exercise.questions and not any(map(exercises.is_written, found.values())):
        raise Refused("Nothing is written between the marks.")
    return found


# ---- the text ----

def around(program, name):
    """The head of the function that a region of the author's program stands in, as its words; empty outside of all functions."""
    begin = re.search(rf"^[ \t]*// \[{name}\][ \t]*$", program, re.MULTILINE).start()
    head, depth = [], 0
    for token in (found["token"] for found in TOKEN.finditer(program, 0, begin) if found["token"]):
        if token in ("{", "}"):
            depth += 1 if token == "{" else -1
        if depth == 0:
            head = [] if token in (";", "}") else head + [token]
    return head if depth else []


def is_device(program, name):
    return bool({"__global__", "__device__"} & set(around(program, name)))


def is_host(exercise):
    """Whether an exercise asks for code of the host."""
    return not all(is_device(exercise.program(), name) for name in exercise.regions)


def require_statements(exercise, written):
    """Refuse regions that hold more than statements of the functions that they stand in."""
    program = exercise.with_regions(written)
    if refused := statements.objection(f"{exercise.name}.cu", program, exercise.solution(), exercise.regions, is_host(exercise)):
        raise Refused(refused)


def objection(exercise, root):
    """Why `./learn grade` gives no credit for a file below a directory, whatever it computes, in a sentence; else None."""
    try:
        written = regions(exercise, read(root, exercise.step["name"], exercise.file_name) or "")
        if exercise.asks_for_program:
            require_statements(exercise, written)
    except Refused as error:
        return str(error)
    return None
