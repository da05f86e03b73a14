"""The steps, as CMake wrote them to build/steps.json from each add_step(), and what stands in their directories."""
import difflib
import json

from tools import build
from tools.paths import BUILD, ROOT, STEPS_JSON
from tools.say import stop


def load():
    """All steps in order. CMake is asked when the list is missing or older than a step's CMakeLists.txt."""
    lists = [path.stat().st_mtime for path in ROOT.glob("steps/*/CMakeLists.txt")]
    if not STEPS_JSON.exists() or STEPS_JSON.stat().st_mtime < max(lists, default=0):
        with build.one_at_a_time():
            build.LOG.write_text("")
            build.configure("cpu")
        STEPS_JSON.touch()
    return json.loads(STEPS_JSON.read_text())["steps"]


def short(step):
    """matmul_tiled of 04_matmul_tiled."""
    return step["name"].removeprefix(step["number"] + "_")


def find(text):
    """The step called 4, 04, matmul_tiled or 04_matmul_tiled. Another name stops, with the nearest."""
    steps = load()
    for step in steps:
        if text in (step["name"], short(step), step["number"]) or text.isdigit() and int(text) == int(step["number"]):
            return step
    names = [name for step in steps for name in (step["name"], short(step))]
    if text.isdigit():
        near = min(steps, key=lambda step: abs(int(step["number"]) - int(text)), default={"name": "none"})["name"]
    else:
        near = next(iter(difflib.get_close_matches(text, names, 1, 0)), "none")
    stop(f"There is no step '{text}'. The nearest is {near}. The steps are: {', '.join(s['name'] for s in steps)}.")


def variants(step):
    """The names of a step's variants; [None] where it has one form only."""
    return step["variants"] or [None]


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


def recorded(step):
    """The lines of the step's results.jsonl, ours and the peers'."""
    path = directory(step) / "results.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines() if line.strip()] if path.exists() else []
