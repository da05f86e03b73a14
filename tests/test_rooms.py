"""The rooms of the emulator: what a room includes lies below it, and what a file offers to others stands in its header."""

import re
from graphlib import CycleError, TopologicalSorter

from conftest import ROOT

SOURCES = ROOT / "emulator" / "src"
INCLUDE = r'^#include "(\w+/\w+\.h)"'


def texts():
    """File in its room, order/race.c, -> text without comments."""
    return {str(path.relative_to(SOURCES)): re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.DOTALL)
            for path in sorted(SOURCES.glob("*/*.[ch]"))}


def below(files):
    """Room -> {room that it includes: one file that does, and what}."""
    rooms = {file.split("/")[0]: {} for file in files}
    for file, text in files.items():
        for header in re.findall(INCLUDE, text, re.MULTILINE):
            room, other = (name.split("/")[0] for name in (file, header))
            assert header in files, f"{file} includes {header}, which is not there"
            if room != other:
                rooms[room].setdefault(other, f"{file} includes {header}")
    return rooms


def circle(rooms):
    """What closes a circle of rooms, line by line; nothing where there is none."""
    try:
        TopologicalSorter(rooms).prepare()
    except CycleError as error:
        path = error.args[1]
        return [rooms[upper][lower] for lower, upper in zip(path, path[1:])]
    return []


def offered(text):
    """The functions that a source file defines for others, but what programs call, as public headers declare it."""
    return {name for name in re.findall(r"^(?!static |typedef )\w[\w *]*?\b(\w+)\([^;]*?\)\n?\s?\{", text, re.MULTILINE)
            if not re.match(r"simt_|cuda[A-Z]|cu[A-Z]|_", name)}


def test_the_arrows_between_rooms_go_one_way():
    rooms = below(texts())
    assert len(rooms) > 8 and circle(rooms) == []


def test_a_circle_is_seen():
    files = texts()
    files["base/base.c"] += '\n#include "warp/collective.h"\n'
    said = circle(below(files))
    assert "base/base.c includes warp/collective.h" in said and len(said) > 1


def included(file, files, found=None):
    """The headers of the rooms that a file includes, and those that they do."""
    found = set() if found is None else found
    for header in re.findall(INCLUDE, files[file], re.MULTILINE):
        if header not in found:
            found.add(header)
            included(header, files, found)
    return found


def untold(files):
    """(File, function): what it defines that no header it includes declares, and what it declares though another defines it."""
    everything = {name for file, text in files.items() if file.endswith(".c") for name in offered(text)}
    for file, text in files.items():
        if file.endswith(".c"):
            declared = {name for header in included(file, files) for name in re.findall(r"\b(\w+)\(", files[header])}
            by_itself = re.findall(r"^(?!static |typedef )\w[\w *]*?\b(\w+)\([^;{]*\)[^;{]*;", text, re.MULTILINE)
            yield from ((file, name) for name in sorted(offered(text) - declared))
            yield from ((file, name) for name in by_itself if name in everything - offered(text))


def test_what_a_file_offers_stands_in_a_header():
    """It includes that header, so that the compiler compares the two. Where a lower room asks a higher one, the header stands in
    the lower, as base/report.h does."""
    assert list(untold(texts())) == []


def test_what_no_header_tells_is_seen():
    files = texts()
    files["base/gpu.c"] += "\nint gpu_count(void)\n{\n    return 1;\n}\n"
    files["count/cost.c"] += "\ndouble gpu_dram_gbps(void);\n"
    assert list(untold(files)) == [("base/gpu.c", "gpu_count"), ("count/cost.c", "gpu_dram_gbps")]
