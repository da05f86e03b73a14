"""Open the notebooks in JupyterLab. Into .venv it is installed the first time that somebody asks; anybody else's Python
is used as it is."""
import os
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from tools.paths import ROOT
from tools.say import out, stop

NOTEBOOKS = ROOT / "notebooks"
REQUIREMENTS = ROOT / "requirements-notebook.txt"


def wanted():
    """{package: version} of requirements-notebook.txt."""
    lines = REQUIREMENTS.read_text().splitlines()
    return dict(line.split("==") for line in lines if line and not line.startswith("#"))


def installed(package):
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def require():
    """See that the packages are there: in .venv exactly those that are pinned, elsewhere any."""
    if Path(sys.prefix).resolve() != (ROOT / ".venv").resolve():
        missing = [package for package in wanted() if not installed(package)]
        if missing:
            stop(f"This Python has no {', '.join(missing)}. Without --system-python, ./learn notebook installs what it needs "
                 "into .venv; or: pip install -r requirements-notebook.txt")
        return
    if all(installed(package) == pinned for package, pinned in wanted().items()):
        return
    out.print(f"Installing into .venv: {', '.join(wanted())} (once)")
    done = subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--retries", "1",
                           "--timeout", "20", "-r", REQUIREMENTS], capture_output=True, text=True)
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if "ERROR" in line]
        stop("The packages of requirements-notebook.txt could not be fetched. pip's last words:\n  "
             + (errors[-1] if errors else done.stderr.strip()))


def find(name):
    """The notebook called 01 or 01_memory_system."""
    known = sorted(NOTEBOOKS.glob("*.ipynb"))
    for path in known:
        if name in (path.stem, path.name, path.stem.split("_")[0]):
            return path
    stop(f"There is no notebook '{name}'. There are: {', '.join(path.stem for path in known)}.")


def notebook(name, install):
    """Returns JupyterLab's exit status, once the reader has closed it."""
    place = find(name) if name else NOTEBOOKS
    require()
    if install:
        return 0
    try:
        root = ["--allow-root"] if os.geteuid() == 0 else []  # as in a container
        return subprocess.run([sys.executable, "-m", "jupyterlab", *root, place], cwd=ROOT).returncode
    except KeyboardInterrupt:
        return 0
