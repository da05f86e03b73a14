"""Open the notebooks in JupyterLab. Into .venv it is installed the first time that somebody asks; anybody else's Python
is used as it is."""
import os
import subprocess
import sys

from tools import venv
from tools.guard import stop
from tools.paths import ROOT

NOTEBOOKS = ROOT / "notebooks"


def find(name):
    """The notebook called 01 or 01_memory_system."""
    known = sorted(NOTEBOOKS.glob("*.ipynb"))
    for path in known:
        if name in (path.stem, path.name, path.stem.split("_")[0]):
            return path
    stop(f"There is no notebook '{name}'. There are: {', '.join(path.stem for path in known)}.")


def notebook(name, install):
    """Returns JupyterLab's exit status, once the reader has closed it."""
    place = NOTEBOOKS if name is None else find(name)
    venv.require("notebook")
    if install:
        return 0
    try:
        root = ["--allow-root"] if os.geteuid() == 0 else []  # as in a container
        return subprocess.run([sys.executable, "-m", "jupyterlab", *root, place], cwd=ROOT).returncode
    except KeyboardInterrupt:
        return 0
