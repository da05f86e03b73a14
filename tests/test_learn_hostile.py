"""./learn where something is amiss: a clone that was moved, copied, damaged or may not be written, odd environments, two at
once, stopped in the middle. It works, or it says in a sentence what to do; it never shows a traceback, and it removes
nothing that it did not make."""
import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
import zipfile

import pytest

from conftest import ends
from small_clone import STEPS, TILED, call, clone, ended, give_gpu, learn, make_clone, script  # noqa: F401

pytest.importorskip("typer")
from plots import style  # noqa: E402
from tools import build, exercises, guard, state, venv  # noqa: E402


def names(done):
    """The steps that ./learn list --json printed."""
    ended(done, 0)
    return [step["name"] for step in json.loads(done.stdout)]


ALL = [step["name"] for step in STEPS]


def configured(root):
    """The homes that cmake was asked to configure, in order."""
    return (root.parent / "cmake.log").read_text().splitlines()


# The .venv

def package(place, name, main):
    """A package with one command of its name."""
    info = f"{name}-1.0.dist-info"
    with zipfile.ZipFile(place / f"{name}-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"{name}_.py", main)
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/entry_points.txt", f"[console_scripts]\n{name} = {name}_:main\n")
        wheel.writestr(f"{info}/RECORD", f"{name}_.py,,{len(main)}\n{info}/RECORD,,\n")


def pin_one_package(root):
    """The clone's .venv shall hold nothing but one package, which lies beside the clone; and a new cmake where it needs it."""
    package(root.parent, "tiny", "import sys\ndef main(): print(sys.prefix)\n")
    package(root.parent, "cmake", f"import os, sys\n"
            f"def main(): os.execve({str(root.parent / 'bin/cmake')!r}, sys.argv, os.environ | {{'FAKE_CMAKE': '3.31.0'}})\n")
    lists = dict.fromkeys((*venv.ALWAYS, "notebook"), "tiny") | {"build": "cmake"}
    (root / "pyproject.toml").write_text("".join(f'{name} = [\n  "{what}==1.0",\n]\n' for name, what in lists.items()))


def with_venv(root, *arguments, **environment):
    """./learn with its .venv, without a network; rich and typer come from the Python of these tests."""
    offline = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(root.parent), "PYTHONPATH": sysconfig.get_paths()["purelib"]}
    return call(root, *arguments, system_python=False, **offline | environment)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A clone whose .venv two first runs at once have made."""
    root = make_clone(tmp_path_factory.mktemp("made"))
    pin_one_package(root)
    shutil.rmtree(root / "build")
    command = [sys.executable, "-c", "import sys; sys.path[:0] = sys.argv[1].split(':'); import test_learn_hostile as t, pathlib;"
               "print(t.with_venv(pathlib.Path(sys.argv[2]), 'list', '--json').stdout)", f"{os.path.dirname(__file__)}:{os.path.dirname(os.path.dirname(__file__))}",
               root]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    said = [process.communicate()[0] for process in both]
    return root, said


def test_two_first_runs_at_once(made):
    root, said = made
    assert [[step["name"] for step in json.loads(text)] for text in said] == [ALL, ALL]
    assert run_tiny(root) == str(root / ".venv")


@pytest.fixture
def ready(made, tmp_path):
    """A clone with a .venv, the copy of another."""
    for path in made[0].parent.iterdir():
        (shutil.copytree if path.is_dir() else shutil.copy)(path, tmp_path / path.name, **{"symlinks": True} if path.is_dir() else {})
    return tmp_path / made[0].name


def run_tiny(root):
    return subprocess.run([root / ".venv/bin/tiny"], capture_output=True, text=True, check=True).stdout.strip()


def test_a_copied_clone_uses_its_own_venv_and_build(ready, made):
    assert run_tiny(ready) == str(ready / ".venv"), "even before ./learn is run there"
    ended(with_venv(ready, "run", "4"), 0)
    assert configured(ready)[-1] == str(ready) != str(made[0])
    assert str(made[0]) not in (ready / ".venv/bin/activate").read_text()
    assert with_venv(ready, "list").stderr == ""


def test_a_renamed_clone(ready):
    ended(with_venv(ready, "list"), 0)
    moved = ready.rename(ready.parent / "moved")
    ended(with_venv(moved, "run", "4"), 0)
    assert run_tiny(moved) == str(moved / ".venv")
    assert configured(moved)[-1] == str(moved)


def test_a_venv_whose_python_is_gone(ready):
    for path in (ready / ".venv/bin").glob("python*"):
        path.unlink()
        path.symlink_to("/nowhere/python")
    assert names(with_venv(ready, "list", "--json")) == ALL


def test_an_interrupted_creation_is_redone(ready):
    (ready / ".venv/made-by-learn").write_text("unfinished")
    shutil.rmtree(ready / ".venv/lib")
    assert names(with_venv(ready, "list", "--json")) == ALL
    assert run_tiny(ready) == str(ready / ".venv")


def test_a_cmake_that_is_too_old_is_no_matter(ready):
    shutil.rmtree(ready / "build")
    done = with_venv(ready, "run", "4", FAKE_CMAKE="3.21.9")
    ended(done, 0, "Installing into .venv: cmake (once)")
    assert "Installing" not in with_venv(ready, "run", "4", FAKE_CMAKE="3.21.9").stderr


def test_a_creation_that_is_stopped_leaves_nothing(clone):
    pin_one_package(clone)
    command = [clone / "learn", "list"]
    with subprocess.Popen(command, env={"PATH": f"{clone.parent}/bin"}, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True, start_new_session=True) as process:
        while not (clone / ".venv/made-by-learn").exists():
            time.sleep(0.01)
        os.killpg(process.pid, signal.SIGINT)
        said = process.stderr.read()
    assert process.returncode in (130, -signal.SIGINT) and "Traceback" not in said
    assert not (clone / ".venv").exists()


@pytest.mark.parametrize("kind", ["venv", "link to nowhere", "file"])
def test_a_readers_own_venv_is_left_alone(clone, kind):
    pin_one_package(clone)
    own = clone / ".venv"
    if kind == "venv":
        script(own / "bin/python", f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
        (own / "mine").write_text("years of work")
    elif kind == "file":
        own.write_text("years of work")
    else:
        own.symlink_to(clone.parent / "nowhere")
    ended(with_venv(clone, "list"), 2, "was not made by ./learn", "move it away", "--system-python")
    if kind == "link to nowhere":
        assert own.is_symlink() and not own.exists()
    else:
        assert (own / "mine" if kind == "venv" else own).read_text() == "years of work"


# Where the clone is, and how ./learn is called

def test_through_links(clone, tmp_path):
    elsewhere = tmp_path / "else where"
    elsewhere.mkdir()
    (elsewhere / "first").symlink_to(clone / "learn")
    (elsewhere / "second").symlink_to("first")
    (elsewhere / "clone").symlink_to(clone)
    env = {"PATH": f"{tmp_path}/bin:{elsewhere}"}
    for command in (["./first"], ["./second"], ["clone/learn"], ["second"], ["sh", "clone/learn"]):
        done = subprocess.run([*command, "--system-python", "list", "--json"], cwd=elsewhere, env=env, capture_output=True,
                              text=True)
        assert names(done) == ALL, command
    assert set(configured(clone)) == {str(clone)}


@pytest.mark.parametrize("name", ["a b", "é√", *(f"a{character}b" for character in "'&()%@~,!^{}+-$`")])
def test_a_clone_with_a_strange_name(tmp_path, name):
    ended(call(make_clone(tmp_path, name), "run", "4"), 0, "04_matmul_tiled")


@pytest.mark.parametrize("character", list('"#*:;<=>?[\\]|'))
def test_a_path_that_cannot_be_built_in(tmp_path, character):
    ended(call(make_clone(tmp_path, f"a{character}b"), "run", "4"), 2, f"cannot take {character} in a path", "rename or move")


def test_a_path_with_a_line_break(tmp_path):
    ended(call(make_clone(tmp_path, "a\nb"), "run", "4"), 2, "cannot take a line break in a path")


def test_a_checkout_that_would_change_line_ends(clone, tmp_path):
    if not shutil.which("git"):
        pytest.skip("no git")
    shutil.copy(os.path.join(os.path.dirname(__file__), "..", ".gitattributes"), clone)
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "core.autocrlf=true", "-c", "core.safecrlf=false"]
    for command in (["init", "-q"], ["add", "-f", "."], ["commit", "-qm", "all"], ["clone", "-q", ".", tmp_path / "windows"]):
        subprocess.run([*git, *command], cwd=clone, check=True)
    assert b"\r" not in (tmp_path / "windows/learn").read_bytes()
    assert names(call(tmp_path / "windows", "list", "--json")) == ALL


def test_a_working_directory_that_was_removed(clone, tmp_path):
    gone = tmp_path / "gone"
    gone.mkdir()
    words = ["sh", "-c", 'rmdir "$PWD" && exec "$@"', "sh"]
    (tmp_path / "bin/rmdir").symlink_to(shutil.which("rmdir"))
    assert names(call(clone, "list", "--json", cwd=gone, before=words)) == ALL


def test_learn_without_its_clone(tmp_path):
    shutil.copy(os.path.join(os.path.dirname(__file__), "..", "learn"), tmp_path / "learn")
    done = subprocess.run([tmp_path / "learn", "list"], capture_output=True, text=True)
    ended(done, 2, "is not in a clone of Flash Steps", "link to it instead")


# A damaged build directory

DAMAGE = {"no cache": "rm build/cpu/CMakeCache.txt", "an empty cache": ": >build/cpu/CMakeCache.txt",
          "no build.ninja": "rm build/cpu/build.ninja", "half of it": "rm -r build/cpu/CMakeFiles", "all": "rm -r build",
          "a file": "rm -r build/cpu; : >build/cpu", "a link": "rm -r build/cpu; ln -s /nowhere build/cpu",
          "a list of numbers": "echo '{\"steps\": [1]}' >build/steps.json", "a number": "echo 7 >build/steps.json",
          "a list in a list": "echo '[[]]' >build/steps.json", "an empty list": "echo '{\"steps\": []}' >build/steps.json",
          "steps of nothing": "echo '{\"steps\": [{}]}' >build/steps.json", "binary": "printf '\\377\\0' >build/steps.json",
          "deep": "printf '%0100000d' 0 | tr 0 [ >build/steps.json",
          "a folder for the list": "rm build/steps.json; mkdir build/steps.json",
          "a FIFO for the list": "rm build/steps.json; mkfifo build/steps.json",
          "a list that is cut off": "printf '{\"steps\": [' >build/steps.json", "no list": "rm build/steps.json",
          "no cmake of then": "sed -i s/cmake$/cmake3/ build/cpu/CMakeCache.txt"}


@pytest.mark.parametrize("how", DAMAGE)
def test_a_damaged_build_directory_is_configured_anew(learn, clone, how):
    before = len(configured(clone))
    subprocess.run(DAMAGE[how], shell=True, cwd=clone, check=True)
    ended(learn("run", "4"), 0, "04_matmul_tiled")
    assert len(configured(clone)) == before + 1
    ended(learn("run", "4"), 0, "04_matmul_tiled")
    assert len(configured(clone)) == before + 1


def test_ninjas_own_files_are_broken(learn, clone):
    before = len(configured(clone))
    ended(learn("run", "4", FAKE_BUILD_FAILS="ninja: error: build.ninja:7: expected '='"), 1, "This failed: cmake --build")
    assert len(configured(clone)) == before + 1  # it was tried again from nothing, once


def test_files_dated_in_the_future(learn, clone):
    words = "ninja: error: manifest 'build.ninja' still dirty after 100 tries, perhaps system time is not set"
    ended(learn("run", "4", FAKE_BUILD_FAILS=words), 2, "dated in the future", "find . -newermt now -exec touch")


def test_a_file_in_the_place_of_the_build_directory(learn, clone):
    shutil.rmtree(clone / "build")
    (clone / "build").write_text("mine")
    ended(learn("run", "4"), 2, "build is not a directory", "move it away")
    assert (clone / "build").read_text() == "mine"


def test_a_step_that_is_new_or_gone(learn, clone):
    before = len(configured(clone))
    shutil.rmtree(clone / "steps/23_matmul_wgmma")
    (clone.parent / "steps.json").write_text(json.dumps({"steps": STEPS[:2]}))
    assert names(learn("list", "--json")) == ALL[:2]
    assert len(configured(clone)) == before + 1


@pytest.mark.parametrize("line", ['{"step": "04_mat', "{}", "7", '{"step": "\xff"}'])
def test_results_that_are_cut_off(learn, clone, line):
    (clone / "steps/04_matmul_tiled/results.jsonl").write_bytes(b"\n" + line.encode("latin1"))
    ended(learn("roofline"), 2, "steps/04_matmul_tiled/results.jsonl, line 2", "git checkout")


def test_a_cache_of_counts_that_is_cut_off(learn, clone):
    ended(learn("docs"), 0)
    (clone / "README.md").write_text("<!-- generated: tour matmul -->\n<!-- /generated -->\n")
    ended(learn("docs"), 0, "renewed")
    for kept in (lambda text: text[:20], lambda text: "7", lambda text: "[]", lambda text: '{"key": 1}', lambda text: "",
                 lambda text: json.dumps(json.loads(text) | {"run": 7}), lambda text: "[" * 100000):
        for path in (clone / "build/counts").iterdir():
            path.write_text(kept(path.read_text()))
        ended(learn("docs", "--check"), 0, "fresh")


@pytest.mark.parametrize("name", ["libsimt.a", "step", "a/b.o"])
@pytest.mark.parametrize("size", [0, 3])
def test_what_was_built_and_is_cut_off_is_built_again(tmp_path, name, size):
    """Ninja looks at dates alone. What is whole, and what is no product of its, stays."""
    every = ["libsimt.a", "step", "a/b.o", "build.ninja"]
    (tmp_path / "a").mkdir()
    (tmp_path / ".ninja_log").write_text("# ninja log v5\n" + "".join(f"1\t2\t3\t{one}\tabc\n" for one in [*every, "gone.o"]))
    for one in every:
        (tmp_path / one).write_text("12345")
    build.note_sizes(tmp_path)
    (tmp_path / name).write_text("x" * size)
    (tmp_path / "build.ninja").write_text("")
    build.discard_truncated(tmp_path)
    assert {one for one in every if not (tmp_path / one).exists()} == {name}


@pytest.mark.parametrize("note", ["", "7", "[1]", '{"step": "x"}', "[" * 100000])
def test_sizes_that_cannot_be_read(tmp_path, note):
    (tmp_path / ".ninja_log").write_text("1\t2\t3\tstep\tabc\n1\t2\t3\tempty\tabc\n")
    (tmp_path / "step").write_text("1")
    (tmp_path / "empty").touch()
    (tmp_path / build.SIZES).write_text(note)
    build.discard_truncated(tmp_path)
    assert (tmp_path / "step").exists() and not (tmp_path / "empty").exists()


def test_a_damaged_package_is_installed_again(ready):
    """Its emptied module is found when something fails; here that the Python beside it has no typer."""
    module, = (ready / ".venv").glob("lib/*/site-packages/tiny_.py")
    module.write_text("")
    done = with_venv(ready, "list", PYTHONPATH="")
    ended(done, 2, "Damaged:", "tiny_.py. Making .venv anew", "has no module")
    assert done.stderr.count("Damaged:") == 1
    assert run_tiny(ready) == str(ready / ".venv")


# The reader's files

def test_a_file_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    path, link = tmp_path / "mine.cu", tmp_path / "link.cu"
    path.write_text("years of work")
    path.chmod(0o600)
    link.symlink_to(path)
    exercises.write(link, "more \udcff")
    assert path.read_bytes() == b"more \xff" and path.stat().st_mode & 0o777 == 0o600 and link.is_symlink()

    def full(handle):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    for write in (lambda: exercises.write(path, "half"), lambda: guard.write_whole(path, b"half")):
        with pytest.raises(OSError):
            write()
    assert path.read_bytes() == b"more \xff"
    assert {one.name for one in tmp_path.iterdir()} == {"mine.cu", "link.cu"}


def test_a_name_that_another_has_taken_is_left_alone(tmp_path, monkeypatch):
    """Two ./learn that set files aside at once: what one has put there since the other looked stays."""
    monkeypatch.setattr(type(tmp_path), "exists", lambda path: False)
    for number in (1, 2, 3):
        path = tmp_path / "mine.cu"
        path.write_text(f"years {number}")
        assert state.set_aside(path) == tmp_path / f"mine.{number}.cu"
    (tmp_path / "folder.cu").mkdir()
    assert state.set_aside(tmp_path / "folder.cu").is_dir()
    with pytest.raises(FileNotFoundError):
        state.set_aside(tmp_path / "gone.cu")
    kept = {one.name: one.is_file() and one.read_text() for one in tmp_path.iterdir()}
    assert kept == {"mine.1.cu": "years 1", "mine.2.cu": "years 2", "mine.3.cu": "years 3", "folder.1.cu": False}


def test_a_picture_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    (tmp_path / "a.svg").write_text("of before")
    figure, _ = style.pyplot().subplots()

    def full(handle):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError):
        style.save(figure, "a", {}, tmp_path)
    assert [one.name for one in tmp_path.iterdir()] == ["a.svg"] and (tmp_path / "a.svg").read_text() == "of before"


# No permission, no room

def unprivileged():
    """What to put before a command so that file modes count for root, too."""
    if os.geteuid():
        return []
    if not shutil.which("setpriv"):
        pytest.skip("root may write everywhere, and there is no setpriv")
    return [shutil.which("setpriv"), "--bounding-set=-dac_override", "--inh-caps=-dac_override"]


def test_a_clone_that_may_not_be_written(clone):
    plain = unprivileged()
    subprocess.run(["chmod", "-R", "a-w", clone], check=True)
    try:
        assert names(call(clone, "list", "--json", before=plain)) == ALL
        ended(call(clone, "run", "4", before=plain), 2, "Permission is denied", f"{clone} must be yours to write")
        ended(call(clone, "list", system_python=False, before=plain), 2, "Permission is denied")
        ended(call(clone, "plot", before=plain), 2, "Permission is denied")
    finally:
        subprocess.run(["chmod", "-R", "u+w", clone], check=True)


def test_no_room_for_what_a_compiler_writes(tmp_path, monkeypatch, capsys):
    guard.require_room(tmp_path)

    def full(*asked):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(SystemExit) as ended_by:
        guard.require_room(tmp_path)
    assert ended_by.value.code == 2
    assert capsys.readouterr().err == f"No space is left to write ({tmp_path}): make room, and run this again.\n"


def test_no_room_to_write(clone, learn):
    limit = ["sh", "-c", 'ulimit -f 0; exec "$@"', "sh"]
    ended(call(clone, "run", "4", before=limit), 2, "No space is left to write", "make room")
    ended(learn("run", "4", FAKE_BUILD_FAILS="g++: fatal error: No space left on device"), 2, "No space is left to build")


def shell(clone, line, **environment):
    """A line of shell, in which learn stands for ./learn; (status, stderr)."""
    env = {"PATH": f"{clone.parent}/bin", "learn": str(clone / "learn")} | environment
    done = subprocess.run(["/bin/sh", "-c", line.replace("learn", '"$learn" --system-python')], cwd=clone, env=env,
                          capture_output=True, text=True, timeout=60)
    assert "Traceback" not in done.stderr and "Exception ignored" not in done.stderr, done.stderr
    return done.returncode, done.stderr


def test_a_full_disk_behind_the_output(clone):
    assert shell(clone, "learn list >/dev/full") == (2, "No space is left to write: make room, and run this again.\n")


# Streams, signals, the environment

def test_a_pipe_whose_reader_has_left(clone):
    for command in ("list", "--help", "list --json", "profile 4"):
        assert shell(clone, f"learn {command} | true") == (0, "")


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams(clone, closed):
    for command in ("list", "run 4"):
        assert shell(clone, f"learn {command} {closed}")[0] == 0
    assert json.loads((clone / "build/steps.json").read_text())["steps"] == STEPS


@pytest.mark.parametrize("number, status", [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
@pytest.mark.parametrize("command", [["run", "4"], ["emulate", "a.cu"]], ids=str)
def test_stopped_while_it_compiles(clone, command, number, status):
    env = {"PATH": f"{clone.parent}/bin", **({"FAKE_BUILD_HANGS": "1"} if command[0] == "run" else {})}
    (clone / "a.cu").write_text(TILED)
    script(clone / "emulator/simtcc", f"#!/bin/sh\nsh -c 'sleep 60 & echo $! >{clone.parent}/sleeper; wait'\n")
    with subprocess.Popen([clone / "learn", "--system-python", *command], env=env, cwd=clone, stderr=subprocess.PIPE, text=True,
                          preexec_fn=lambda: signal.signal(number, signal.SIG_DFL)) as process:  # nohup ignores SIGHUP
        while not (clone.parent / "sleeper").exists() or not (clone.parent / "sleeper").read_text():
            time.sleep(0.01)
        process.send_signal(number)
        said = process.stderr.read()
    assert process.returncode == status and "Traceback" not in said, said
    assert ends((clone.parent / "sleeper").read_text().strip()), "the compiler goes on"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_stopped_while_a_command_begins(monkeypatch, number):
    """The command is there, and subprocess has not said so yet."""
    begun = []

    class Slow(subprocess.Popen):
        def __init__(self, *arguments, **more):
            super().__init__(*arguments, **more)
            begun.append(self.pid)
            os.kill(os.getpid(), number)

    def end(*_):
        raise InterruptedError

    monkeypatch.setattr(subprocess, "Popen", Slow)
    before = signal.signal(number, end)
    try:
        with pytest.raises(InterruptedError):
            guard.run_group(["sleep", "60"])
    finally:
        signal.signal(number, before)
    with pytest.raises(ProcessLookupError):
        os.kill(begun[0], 0)  # it has ended, and was waited for


def test_interrupted_before_it_has_begun(clone, learn):
    (clone / "tools/cli.py").write_text("raise KeyboardInterrupt")
    done = learn("list")
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


@pytest.mark.parametrize("environment", [
    {"LC_ALL": "C"}, {"LC_ALL": "POSIX"}, {"LANG": "tr_TR.UTF-8"}, {"LC_ALL": "de_DE.ISO-8859-1"}, {"LC_ALL": "nonsense"},
    {"PYTHONIOENCODING": "ascii"}, {"PYTHONIOENCODING": "latin1:strict"}, {"PYTHONUTF8": "0", "LC_ALL": "C"},
    {"PYTHONHOME": "/nowhere"}, {"PYTHONSTARTUP": "/nowhere"}, {"PYTHONOPTIMIZE": "2"}, {"PYTHONSAFEPATH": "1"},
    {"HOME": None}, {"HOME": "/nowhere"}, {"TERM": "dumb"}, {"TERM": None}, {"TMPDIR": "/nowhere"}, {"CDPATH": "/"},
    {"COLUMNS": "1"}, {"COLUMNS": "0"}, {"COLUMNS": "-5"}, {"COLUMNS": "²"}, {"COLUMNS": "9" * 30}, {"COLUMNS": "9" * 5000},
    {"LINES": "²"}, {"TERMINAL_WIDTH": "x"}, {"FORCE_COLOR": "1"}, {"NO_COLOR": "1"}, {"PWD": "/nowhere"}, {"CXX": "", "CC": ""},
    {"POSIXLY_CORRECT": "1"}, {"SOURCE_DATE_EPOCH": "x"}, {"CUDACXX": "/nowhere"}, {"CUDA_VISIBLE_DEVICES": "-"},
], ids=lambda environment: " ".join(f"{name}={text if text is None else text[:9]}" for name, text in environment.items()))
def test_odd_environments(clone, environment):
    (clone.parent / "steps.json").write_text(json.dumps({"steps": [STEPS[0] | {"idea": "√N · é — ½"}, *STEPS[1:]]}))
    (clone / "build/steps.json").unlink()
    done = call(clone, "list", **environment)
    ended(done, 0, "variants: one;")
    assert "√N" in done.stdout
    ended(call(clone, "run", "4", **environment), 0)


@pytest.mark.parametrize("environment", [{"MPLBACKEND": "nonsense"}, {"HOME": None}, {"MATPLOTLIBRC": "/nowhere"},
                                         {"MPLCONFIGDIR": "/nowhere"}, {"SOURCE_DATE_EPOCH": "x"}], ids=str)
def test_pictures_in_odd_environments(learn, environment):
    ended(learn("plot", **environment), 0, "plots/ladder.svg")


@pytest.mark.parametrize("line", ["", "NVIDIA H200, [N/A], 550.54", "No devices were found", "ÿ, ÿ, ÿ", "a,b,c,d,e"])
def test_an_nvidia_smi_that_says_nothing(learn, clone, line):
    script(clone.parent / "bin/nvidia-smi", f"#!/bin/sh\necho '{line}'\n")
    ended(learn("run", "4"), 0, "no NVIDIA GPU here (nvidia-smi lists none)")


def test_modules_with_the_names_of_ours(clone, tmp_path):
    for name in ("tools", "json", "rich", "typer", "plots", "re"):
        (tmp_path / "modules" / name).mkdir(parents=True)
        (tmp_path / "modules" / name / "__init__.py").write_text(f"raise SystemExit('the wrong {name}')")
    assert names(call(clone, "list", "--json", PYTHONPATH=str(tmp_path / "modules"))) == ALL
    ended(call(clone, "tour", PYTHONPATH=str(tmp_path / "modules")), 0)


# Compilers and build tools

def compiler(clone, name, macros="#define __GNUC__ 12"):
    script(clone.parent / "bin" / name, f"#!/bin/sh\necho '{macros}'\n")


@pytest.mark.parametrize("environment, words", [
    ({"CXX": "nosuch"}, "CXX is 'nosuch', and there is no such program"),
    ({"CXX": "nosuch -m64"}, "CXX is 'nosuch -m64', and there is no such program"),
    ({"CXX": "'unbalanced"}, "CXX is ''unbalanced', and there is no such program"),
    ({"CC": "nosuch"}, "CC is 'nosuch', and there is no such program"),
    ({"CXX": "cat"}, "is not a C++ compiler"),
    ({"CXX": "g++-9"}, "is g++ 9: install g++ 11 or clang++ 14, or a newer one"),
    ({"CXX": "clang++-13"}, "is clang++ 13: install"),
])
def test_a_compiler_that_cannot_be_used(clone, learn, environment, words):
    compiler(clone, "g++-9", "#define __GNUC__ 9")
    compiler(clone, "clang++-13", "#define __GNUC__ 4\n#define __clang_major__ 13")
    ended(learn("run", "4"), 0)
    ended(learn("run", "4", **environment), 2, words)
    shutil.rmtree(clone / "build")
    ended(learn("run", "4", **environment), 2, words)
    ended(learn("run", "4"), 0)


@pytest.mark.parametrize("language, environment, words", [
    ("C++", {"CXX": "g++ -m32"}, "with CXX='g++ -m32': unset or mend that"), ("C", {"CFLAGS": "--bogus"}, "with CFLAGS='--bogus': unset"),
    ("C", {}, "name another in CC."), ("C++", {}, "name another in CXX."), ("CUDA", {}, "name another in CUDACXX.")])
def test_a_compiler_that_makes_no_program(clone, learn, language, environment, words):
    shutil.rmtree(clone / "build")
    said = f'CMake Error:\n  The {language} compiler\n\n    "/bin/it"\n\n  is not able to compile a simple test program.\n\n  ld: cannot find -lm'
    done = learn("run", "4", FAKE_CONFIGURE_FAILS=said, **environment)
    ended(done, 2, f"The {language} compiler, /bin/it, cannot make a program here", words, "kept in build/learn.log")
    assert done.stderr.count("\n") == 1 and "-lm" in (clone / "build/learn.log").read_text()
    ended(learn("run", "4", FAKE_CONFIGURE_FAILS=f"{said}: No space left on device"), 2, "No space is left to build")


def test_a_toolchain_file_that_cannot_be_used(clone, learn):
    shutil.rmtree(clone / "build")
    done = learn("run", "4", CMAKE_TOOLCHAIN_FILE="nowhere.cmake")
    ended(done, 2, "CMAKE_TOOLCHAIN_FILE is 'nowhere.cmake', and there is no such file: unset it")
    assert done.stderr.count("\n") == 1
    (clone / "mine.cmake").write_text("")
    done = learn("run", "4", CMAKE_TOOLCHAIN_FILE="mine.cmake", FAKE_CONFIGURE_FAILS="CMake Error: at length")
    ended(done, 2, "at length")
    assert done.stderr.startswith("CMake could not configure with CMAKE_TOOLCHAIN_FILE='mine.cmake': unset or mend that. It said:")
    ended(learn("run", "4", CMAKE_TOOLCHAIN_FILE="mine.cmake"), 0)
    said = 'The CXX compiler\n  "/bin/it"\nis not able to compile a simple test program.'
    shutil.rmtree(clone / "build")
    ended(learn("run", "4", CMAKE_TOOLCHAIN_FILE="mine.cmake", FAKE_CONFIGURE_FAILS=said), 2, "with CMAKE_TOOLCHAIN_FILE='mine.cmake': unset or mend")


@pytest.mark.parametrize("environment", [{"CXX": "g++ -m64"}, {"CXX": "ccache g++"}, {"CC": "gcc"}, {"CXX": "clang++"}])
def test_a_compiler_that_can_be_used(clone, learn, environment):
    compiler(clone, "ccache")
    compiler(clone, "gcc")
    compiler(clone, "clang++", "#define __GNUC__ 4\n#define __clang_major__ 14")
    before = len(configured(clone))
    for _ in range(2):
        ended(learn("run", "4", **environment), 0)
    assert len(configured(clone)) == before + 1  # for the other compiler, and no more


def test_a_cmake_that_is_too_old(clone, learn):
    shutil.rmtree(clone / "build")
    ended(learn("run", "4", FAKE_CMAKE="3.21.9"), 2, "CMake 3.22 or newer and ninja are needed", "apt-get install cmake ninja-build")
    (clone.parent / "bin/ninja").unlink()
    ended(learn("run", "4"), 2, "CMake 3.22 or newer and ninja are needed")


# Asked wrongly: told before anything is built

@pytest.mark.parametrize("arguments, words", [
    (["run", "²"], "There is no step '²'"),
    (["run", "٤"], "There is no step '٤'"),
    (["run", "9" * 5000], "There is no step"),
    (["run", ""], "There is no step ''"),
    (["run", "\udcff"], "There is no step"),
    (["run", "4.0"], "There is no step '4.0'"),
    (["run", "../4"], "There is no step '../4'"),
    (["run", "99"], "nearest is 23_matmul_wgmma"),
    (["run", "-1"], "There is no step '-1'"),
    (["run", "4", "--variant", "nope"], "has no variant 'nope'. It has: padded"),
    (["run", "4", "--variant=nope"], "has no variant 'nope'"),
    (["run", "4", "--variant", ""], "has no variant ''"),
    (["run", "4", "--", "--variant", "nope"], "has no variant 'nope'"),
    (["run", "4", "--backend", "tpu"], "cpu"),
    (["profile", "4", "--variant", "nope"], "has no variant 'nope'"),
    (["profile", "4", "--gpu", "x"], "h200"),
    (["profile", "9"], "There is no step '9'"),
    (["bench", "99"], "There is no step '99'"),
    (["bench", "4", "--variant", "nope"], "has no variant 'nope'"),
    (["tour", "--gpu", "x"], "h200"),
    (["tour", "stray"], "unexpected extra argument"),
    (["list", "stray"], "unexpected extra argument"),
    (["list", "--jsn"], "No such option"),
    (["nonsense"], "No such command"),
    ([""], "No such command"),
    (["--nonsense"], "No such option"),
    (["diff", "x", "y"], "unexpected extra argument"),
    (["test", "tests/nowhere.py"], "There is no 'tests/nowhere.py'"),
    (["test", "-x", "tests/nowhere.py"], "file or directory not found: tests/nowhere.py"),
    (["test", "--bogus"], "What follows `test` goes to pytest, which says: unrecognized arguments: --bogus"),
    (["test", "-k", "("], "which says: Wrong expression"),
    (["test", "--durations", "many"], "which says: argument --durations"),
    (["notebook", ""], "There is no notebook ''"),
    (["notebook", "../01_memory_system"], "There is no notebook"),
    (["emulate"], "Missing argument"),
    (["emulate", ""], "There is no file ''"),
    (["emulate", "."], "'.' is not a .cu file"),
    (["emulate", "learn"], "'learn' is not a .cu file"),
    (["emulate", "/dev/null"], "'/dev/null' is not a .cu file"),
    (["emulate", "a.cu", "-D", ""], "one of them is empty"),
    (["emulate", "a.cu", "-I", ""], "one of them is empty"),
    (["emulate", "a\nb.cu"], "There is no file"),
], ids=lambda value: " ".join(value)[:30].encode("ascii", "replace").decode() if isinstance(value, list) else "")
def test_asked_wrongly(clone, learn, arguments, words):
    (clone / "a.cu").write_text(TILED)
    give_gpu(clone, "NVIDIA H200", "9.0")
    done = learn(*arguments, FAKE_BUILD_FAILS="it was built first")
    ended(done, 2, words)
    assert "it was built first" not in done.stdout + done.stderr


def test_a_source_whose_name_looks_like_an_option(clone, learn):
    script(clone / "emulator/simtcc", '#!/bin/sh\necho simtcc "$@"\nexit 2\n')
    (clone / "-x.cu").write_text(TILED)
    ended(learn("emulate", "./-x.cu"), 2, "./-x.cu")
    ended(learn("emulate", "--", "-x.cu"), 2, "There is no file ''. Wanted: ./learn emulate FILE.cu")
