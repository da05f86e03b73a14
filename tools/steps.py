"""The steps, as CMake wrote them to build/steps.json from each add_step(), and what stands in their directories."""
import difflib
import functools
import json
import os
import re
from types import NoneType

from tools import build
from tools.build import discard
from tools.guard import one_at_a_time, stop
from tools.paths import BUILD, ROOT, STEPS_JSON

RECORDED = {**dict.fromkeys(("operation", "device"), str), **dict.fromkeys(("step", "variant", "dtype"), (str, NoneType)),
            **dict.fromkeys(("shape", "env"), dict), **dict.fromkeys(("check", "time"), (dict, NoneType))}  # of a line of results

FIELDS = {**dict.fromkeys(("name", "number", "dir", "idea", "arch", "chapter", "operation"), str),
          **dict.fromkeys(("from", "dtypes", "variants"), list)}  # of a step in build/steps.json


def load():
    """All steps in order. CMake is asked where the list is missing, broken, or older than a step's CMakeLists.txt."""
    lists = written_lists()
    found = read_list()
    if found is None or {step["name"] for step in found} != lists.keys() or STEPS_JSON.stat().st_mtime < max(lists.values()):
        with one_at_a_time():
            build.LOG.write_text("")
            build.configure("cpu")
            STEPS_JSON.touch()
        found = read_list()
    if found is None:
        stop(f"CMake wrote no list of the steps into {STEPS_JSON}. To begin anew, remove {BUILD}.")
    return list(found)


def written_lists():
    """{directory of a step: when its CMakeLists.txt was written}."""
    found = {}
    for entry in os.scandir(ROOT / "steps") if (ROOT / "steps").is_dir() else ():
        try:
            found[entry.name] = os.stat(os.path.join(entry.path, "CMakeLists.txt")).st_mtime
        except OSError:  # it is no step
            pass
    return found


def read_list():
    """What stands in build/steps.json; None where that is missing or not as CMake writes it."""
    if not STEPS_JSON.is_file():
        discard(STEPS_JSON)
        return None
    try:
        return parsed_list(STEPS_JSON.read_bytes())
    except OSError:
        return None


@functools.lru_cache(maxsize=1)
def parsed_list(text):
    """The steps in the bytes of such a list, or None. One command asks for them hundreds of times."""
    try:
        found = json.loads(text)["steps"]
    except (KeyError, RecursionError, TypeError, ValueError):
        return None
    return found if isinstance(found, list) and found and all(map(is_step, found)) else None


def is_step(found):
    """Whether that has what add_step() says of a step."""
    return isinstance(found, dict) and all(isinstance(found.get(name), kind) for name, kind in FIELDS.items()) \
        and all(isinstance(each, str) for name in ("from", "dtypes", "variants") for each in found[name])


def short(step):
    """matmul_tiled of 04_matmul_tiled."""
    return step["name"].removeprefix(step["number"] + "_")


def title(step):
    """04 matmul_tiled; a step that has no number is called by its name alone."""
    return f"{step['number']} {short(step)}".strip()


def caption(step):
    """04 tiled, of 04_matmul_tiled, where the operation is said already."""
    return f"{step['number']} {short(step).removeprefix(step['operation'] + '_').replace('_', ' ')}"


def called(step):
    """What a command calls it: 04, or machine."""
    return step["number"] or step["name"]


def reference(step):
    """How a sentence calls it: step 04, or machine."""
    return f"step {step['number']}" if step["number"] else step["name"]


def find(text):
    """The step called 4, 04, matmul_tiled or 04_matmul_tiled. Another name stops, with the nearest."""
    steps = load()
    number = int(text) if re.fullmatch("[0-9]{1,9}", text) else None
    numbered = {int(step["number"]): step for step in steps if step["number"]}
    if number in numbered:
        return numbered[number]
    for step in steps:
        if text in (step["name"], short(step)):
            return step
    names = [name for step in steps for name in (step["name"], short(step))]
    if number is not None:
        near = numbered[min(numbered, key=lambda other: abs(other - number))]["name"] if numbered else "none"
    else:
        near = next(iter(difflib.get_close_matches(text, names, 1, 0)), "none")
    stop(f"There is no step '{text}'. The nearest is {near}. The steps are: {', '.join(s['name'] for s in steps)}.")


def variants(step):
    """The names of a step's variants; [None] where it has one form only."""
    return step["variants"] or [None]


def kind(step):
    """(operation, element type): what steps have to share before their figures compare. A step's first type stands for it."""
    return step["operation"], step["dtypes"][0]


def require_variant(step, arguments):
    """Stop if a program's arguments name a variant that the step does not have."""
    named = re.findall(r"^--variant(?:=|\n)(.*)$", "\n".join(arguments), re.MULTILINE)
    for name in named:
        if name not in step["variants"]:
            stop(f"{step['name']} has no variant '{name}'. It has: {', '.join(step['variants']) or 'one form only'}.")


def origin(step):
    """The step that this one comes from, or None for the first of its kind."""
    return find(step["from"][0]) if step["from"] else None


def directory(step):
    return ROOT / step["dir"]


def source(step):
    """The step's one .cu file."""
    return directory(step) / f"{short(step)}.cu"


def program(step, backend):
    return BUILD / backend / step["name"]


def is_line(found):
    """Whether that has what each line of results has."""
    return isinstance(found, dict) and RECORDED.keys() <= found.keys() \
        and all(isinstance(found[name], kind) for name, kind in RECORDED.items())


@functools.lru_cache(maxsize=256)
def lines_of(text, path):
    """The lines of a file of results, read."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        try:
            read = json.loads(line) if line.strip() else None
        except ValueError:
            read = {}
        if read is not None:
            if not is_line(read):
                stop(f"{path.relative_to(ROOT)}, line {number}: this is not a whole line of results. To have the file as it "
                     f"was: git checkout {path.relative_to(ROOT)}")
            found.append(read)
    return tuple(found)


def recorded(step, name="results.jsonl"):
    """The lines of the step's results.jsonl, ours and the peers', or of its sweep.jsonl."""
    path = directory(step) / name
    return list(lines_of(path.read_bytes() if path.exists() else b"", path))


def swept(number):
    """What was timed of the sweep of the step of this number; nothing where there is no such step."""
    return [line for step in load() if step["number"] == number for line in recorded(step, "sweep.jsonl") if line["time"]]
