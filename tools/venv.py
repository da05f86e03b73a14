"""What ./learn installs, and where: the packages that pyproject.toml pins, in .venv. As a program it makes .venv, by
nothing but Python's own library."""
import os
import re
import shutil
import subprocess
import sys

from tools.guard import guarded, one_at_a_time, stop, write_whole
from tools.paths import BUILD, ROOT

VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
# Only a .venv with this file is ours. It says for what .venv was made, or that it is not finished.
MARK = VENV / "made-by-learn"
ALWAYS = "dependencies", "grade", "test"  # lists of pyproject.toml; others follow when they are first needed
UNFINISHED = "unfinished"
LOG = BUILD / "setup.log"
# pip writes the place of .venv into its scripts; they are to find the Python beside them, wherever the clone is moved.
SCRIPT = re.compile(rb"\A#!(/bin/sh\n'''exec' .*\n' '''|.*python.*)\n")
SCRIPT_HEAD = b"""#!/bin/sh
'''exec' "$(dirname -- "$(readlink -f -- "$0")")/python" "$0" "$@"
' '''
"""


def pins(name):
    """The lines of one list of pyproject.toml: dependencies, test, build or notebook. pip understands them as they are."""
    body = re.search(rf"^{name} = \[\n(.*?)^\]", (ROOT / "pyproject.toml").read_text(), re.MULTILINE | re.DOTALL)[1]
    return re.findall(r'"(.+?)"', body)


def wanted(name):
    """{package: version} of those lines whose marker, where they have one, is true of this Python."""
    from packaging.requirements import Requirement  # not there while .venv is made

    found = [Requirement(pin) for pin in pins(name)]
    return {each.name: next(iter(each.specifier)).version for each in found if not each.marker or each.marker.evaluate()}


def missing(name):
    """The packages of a list that this Python lacks, or in .venv has in another version."""
    from importlib.metadata import PackageNotFoundError, version  # a fifth of what every command imports

    def installed(package):
        try:
            return version(package)
        except PackageNotFoundError:
            return None

    return [package for package, pinned in wanted(name).items()
            if installed(package) != pinned and (is_ours() or not installed(package))]


def is_ours():
    """Whether this Python is the one of .venv."""
    return os.path.realpath(sys.prefix) == os.path.realpath(VENV) and MARK.exists()


def damaged():
    """The files of .venv's packages that are shorter than pip installed them. Its scripts are rewritten afterwards."""
    from importlib.metadata import distributions

    found = []
    for place in (VENV / "lib").glob("python*/site-packages"):
        for package in distributions(path=[str(place)]):
            for file in package.files or []:
                path = place / file
                if file.size and file.suffix == ".py" and not (path.is_file() and path.stat().st_size >= file.size):
                    found.append(path)
    return found


def heal():
    """Where files of .venv are damaged, have it made anew by ./learn, which then does what was asked; else return."""
    if not is_ours() or not damaged():
        return
    print(f"Damaged: {damaged()[0]}. Making .venv anew", file=sys.stderr, flush=True)
    MARK.write_text(UNFINISHED)
    os.execv(ROOT / "learn", [str(ROOT / "learn"), *sys.argv[1:]])


def pip_install(*names):
    """Install lists of pyproject.toml into .venv."""
    packages = [pin for name in names for pin in pins(name)]
    elsewhere = "PIP_USER", "PIP_TARGET", "PIP_PREFIX", "PIP_ROOT"
    env = {name: value for name, value in os.environ.items() if name not in elsewhere}
    with open(LOG, "w") as log:
        done = subprocess.run([PYTHON, "-E", "-m", "pip", "install", "--disable-pip-version-check", "--retries", "1",
                               "--timeout", "20", *packages], stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=env)
    if done.returncode:
        lines = LOG.read_text(errors="replace").splitlines() or [f"status {done.returncode}"]
        last = next((line for line in reversed(lines) if "ERROR" in line), lines[-1])
        stop(f"These packages could not be fetched: {', '.join(packages)}. pip's last words:\n  {last}\n"
             "With a network, run this again. Without one, install them for python3 by other means, and put\n"
             "--system-python before the command: ./learn --system-python tour")
    for path in (VENV / "bin").iterdir():
        text = b"" if path.is_symlink() else path.read_bytes()
        if SCRIPT.match(text):
            path.write_bytes(SCRIPT.sub(lambda match: SCRIPT_HEAD, text))


def require(name):
    """See that a list's packages are there: .venv gets what it lacks, another Python is left as it is."""
    lacking = missing(name)
    if lacking and not is_ours():
        pins = " ".join(f"{package}=={wanted(name)[package]}" for package in lacking)
        stop(f"This Python has no {', '.join(lacking)}. ./learn without --system-python installs what it needs into .venv; "
             f"or: pip install {pins}")
    if lacking:
        print(f"Installing into .venv: {', '.join(lacking)} (once)", file=sys.stderr)
        with one_at_a_time():
            pip_install(name)


def empty():
    """All of .venv goes but the mark, which goes last: what is interrupted here is still known as ours."""
    for path in VENV.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        elif path != MARK:
            path.unlink()


def lay_out(*options):
    """The virtual environment as such, by the Python that runs this."""
    done = subprocess.run([sys.executable, "-E", "-m", "venv", *options, VENV], capture_output=True, text=True, errors="replace")
    if done.returncode:
        stop(f"{sys.executable} could not make a virtual environment: {(done.stdout + done.stderr).strip()}")


def make_anew():
    print(f"Making .venv: {', '.join(pin.partition('==')[0] for name in ALWAYS for pin in pins(name))} (once)", file=sys.stderr)
    VENV.mkdir(exist_ok=True)
    MARK.write_text(UNFINISHED)
    try:
        empty()
        lay_out()
        pip_install(*ALWAYS)
    except BaseException:
        empty()
        MARK.unlink()
        VENV.rmdir()
        raise


def mend():
    """A clone that was moved or copied, a Python that is gone, other pins: what is installed stays."""
    print("Mending .venv: its place, its Python or the packages that it shall hold are others now", file=sys.stderr)
    for path in (VENV / "bin").iterdir():
        if path.is_symlink():
            path.unlink()
    lay_out("--without-pip")
    pip_install(*ALWAYS)


def make(stamp):
    """Make .venv, or mend it, so that its mark becomes the stamp."""
    with one_at_a_time():
        mark = MARK.read_text() if MARK.exists() else None
        if mark == stamp and PYTHON.exists():
            return  # another ./learn made it while this one waited
        if mark is None and os.path.lexists(VENV) and not (VENV.is_dir() and not any(VENV.iterdir())):
            stop(f"{VENV} was not made by ./learn, which needs that place and removes nothing of yours: move it away, or use "
                 "your own Python as it is, by ./learn --system-python")
        packages = VENV / "lib" / "python{}.{}".format(*sys.version_info) / "site-packages"
        if mark in (None, UNFINISHED) or not packages.is_dir() or not PYTHON.parent.is_dir():
            make_anew()
        else:
            mend()
        write_whole(MARK, stamp)


if __name__ == "__main__":
    with guarded():
        make(sys.argv[1])
