"""The commands that the READMEs show exist."""

import os
import pathlib
import re
import sys

from conftest import ROOT, run

READMES = [ROOT / "README.md", *sorted(ROOT.glob("steps/*/README.md")), *sorted(ROOT.glob("docs/*.md"))]
COMMANDS = sorted({command for readme in READMES
                   for command in re.findall(r"(?:^|`|\$ | {4})\./learn ([a-z]+)", readme.read_text(), re.MULTILINE)})


def learn(*arguments, timeout=120):
    path = f"{pathlib.Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return run(ROOT / "learn", "--system-python", *arguments, timeout=timeout, PATH=path)


def test_first_page_shows_the_tour_and_the_tests():
    assert {"tour", "test", "emulate"} <= set(COMMANDS)


def test_help_lists_the_commands():
    done = learn("--help")
    assert done.returncode == 0
    assert all(re.search(rf"^│ {command} ", done.stdout, re.MULTILINE) for command in COMMANDS), done.stdout


def test_generated_parts_are_fresh():
    done = learn("docs", "--check", timeout=540)  # a fresh clone counts what pages show, beside other tests
    assert done.returncode == 0, done.stdout + done.stderr
