"""What ./learn grade takes from a stranger's file: the text between the marks, where that can only be statements."""
import os
import re
import stat

from tools import exercises

LARGEST, LONGEST_LINE = 64 << 10, 1000  # bytes of a file, characters of a line
TOKEN = re.compile(r"""
    (?P<comment> //[^\n]* | /\*.*?\*/ )
  | (?P<raw> (?:u8|[uUL])?R" )
  | (?P<string> (?:u8|[uUL])?"(?:\\.|[^"\\\n])*" )
  | (?P<character> (?:u8|[uUL])?'(?:\\.|[^'\\\n])*' )
  | (?P<number> \.?\d(?:[eEpP][+-]|'?[\w.])* )
  | (?P<word> [^\W\d]\w* )
  | (?P<digraph> <% | %> | <: | :> | %: )
  | (?P<unended> /\* | ["'] )
  | (?P<other> \S )""", re.VERBOSE | re.DOTALL)
OPENING = {")": "(", "]": "[", "}": "{"}
CONTINUED = re.compile(r"\\[ \t]*$", re.MULTILINE)
UNROLL = re.compile(r"^[ \t]*#[ \t]*pragma[ \t]+unroll\b[ \t\w()]*$", re.MULTILINE)  # the one directive that is taken
CONTROL = re.compile(r"[^\t\n\x20-\x7e\x80-\U0010ffff]|[\x80-\x9f]")
ASSEMBLY = {"asm", "__asm", "__asm__"}
# Attributes may say more than statements do: run this before main, put that elsewhere.
REFUSED = {"_Pragma", "__pragma", "__attribute__", "__attribute", "__declspec", "gnu", "__gnu__", "clang", "_Clang", "__host__"}
HOST = re.compile(r"main|launch|\w+_main|axpy_begin|axpy_end")  # the program's own functions, that no kernel calls
MACRO = re.compile(r"^#define (\w+)(?:\([^)]*\))?(?: (.*))?$", re.MULTILINE)


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


def regions(exercise, text):
    """{region: what the file has between its marks}."""
    wanted = [(which, name) for name in exercises.between(exercise.program()) for which in ("begin", "end")]
    if exercises.MARK.findall(text + "\n") != wanted:
        raise Refused("The lines `// exercise: begin …` and `// exercise: end …` are not there as handed out, each once.")
    found, start = exercises.between(text), exercises.between(exercise.start())
    if found == start or exercise.data["kind"] != "break" and not any(map(exercises.is_written, found.values())):
        raise Refused("Nothing is written between the marks.")
    return found


# ---- the text ----

def tokens(text):
    """(kind, token, place) of C++ text without its comments; refused where one of them, or a string, has no end."""
    for found in TOKEN.finditer(text):
        if found.lastgroup == "unended":
            raise Refused("It leaves a comment, a string or a character open.")
        if found.lastgroup != "comment":
            yield found.lastgroup, found[0], found.start()


def around(program, name):
    """The head of the function that a region stands in, as its words; empty outside of all functions."""
    begin = re.search(rf"^[ \t]*// exercise: begin {name}[ \t]*$", program, re.MULTILINE).start()
    head, depth = [], 0
    for kind, token, place in tokens(program):
        if place > begin:
            break
        if token in ("{", "}"):
            depth += 1 if token == "{" else -1
        if depth == 0:
            head = [] if token in (";", "}") else head + [token]
    return head if depth else []


def is_device(program, name):
    return bool({"__global__", "__device__"} & set(around(program, name)))


def require_balance(text):
    """Refuse text that closes what it has not opened, or leaves something open."""
    still_open = []
    for kind, token, _ in tokens(text):
        if kind == "other" and token in OPENING.values():
            still_open.append(token)
        elif kind == "other" and token in OPENING and (not still_open or still_open.pop() != OPENING[token]):
            raise Refused(f"It closes a '{token}' that it has not opened.")
    if still_open:
        raise Refused(f"It leaves a '{still_open[-1]}' open.")


def require_plain(text, own, device):
    """Refuse text that could be more than statements of the function that it stands in. own: the author's text."""
    if CONTROL.search(text):
        raise Refused("It has a control character.")
    if max(map(len, text.splitlines()), default=0) > LONGEST_LINE:
        raise Refused(f"It has a line of more than {LONGEST_LINE} characters.")
    if CONTINUED.search(text):
        raise Refused("It has a line that ends with a backslash.")
    text = UNROLL.sub("", text)
    own_words = {token for kind, token, _ in tokens(own)}
    for kind, token, _ in tokens(text):
        if kind == "raw":
            raise Refused("It has a raw string.")
        if kind == "digraph" or token == "#":
            raise Refused(f"It has a '{token}': nothing between the marks is for the preprocessor, and no digraphs are taken.")
        if kind == "word" and token not in own_words and (token in ASSEMBLY | REFUSED or device and HOST.fullmatch(token)):
            raise Refused(f"It has the word `{token}`, which does not belong between these marks.")
    require_balance(text)


def tricky(definitions):
    """Those of a program's macros (`#define` lines) whose expansion may open, close or make up what the text does not show."""
    bodies = {name: body for name, body in MACRO.findall(definitions)}

    def is_tricky(body):
        try:
            require_plain(body.replace("#", " "), "", False)
        except Refused:
            return True
        return "##" in body

    found = {name for name, body in bodies.items() if is_tricky(body)}
    words = {name: {token for kind, token, _ in tokens(body) if kind == "word"} for name, body in bodies.items()
             if name not in found}
    while more := {name for name in words if name not in found and words[name] & found}:
        found |= more
    return found


def require_known_macros(text, own, definitions):
    """Refuse text that uses a macro by which it could become something else."""
    words = [{token for kind, token, _ in tokens(each) if kind == "word"} for each in (text, own)]
    for name in sorted((words[0] - words[1]) & tricky(definitions)):
        raise Refused(f"It uses the macro `{name}`, which does not belong between these marks.")
