"""./learn timeline: what the emulator records of a block, in which order it is put, how it is drawn, that it does not go stale."""
import json
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree

import pytest

from conftest import COMPILERS, ROOT, TESTS, Program, run
from tools import docs, run as programs, steps, timeline, timeline_picture

KERNELS = TESTS / "timeline" / "kernels.cu"
BASE = ROOT / "steps" / "19_matmul_cp_async"
PART = "<!-- generated: timeline 19 two_stages -k 512 -->\n<!-- /generated -->\n"


@pytest.fixture
def recorded(compile_cu, tmp_path):
    """recorded(kernel) -> its record, one line of JSON."""

    def once(kernel, edit=(), block="0", workers="2", compiler="g++"):
        path = tmp_path / "timeline.jsonl"
        path.unlink(missing_ok=True)
        done = run(compile_cu(Program(KERNELS, compiler, edit=edit)), kernel, SIMT_PROFILE="1", SIMT_TIMELINE=str(path),
                   SIMT_TIMELINE_BLOCK=block, SIMT_WORKERS=workers)
        assert done.returncode == 0, done.stderr
        return path.read_text()

    return once


def arranged(text):
    return timeline.arranged(json.loads(text), "kernels")


def described(found):
    """{warps: their items in words}."""
    return {warp.words(): timeline.described(warp) for warp in found.warps}


def events(found, warp, kind):
    return [event for event in found.warps[warp].events() if event.kind == kind]


def learn(*arguments):
    return subprocess.run([sys.executable, "-m", "tools", *arguments], cwd=ROOT, capture_output=True, text=True,
                          env=os.environ | {"COLUMNS": "132"})


@pytest.mark.parametrize("compiler", COMPILERS)
def test_two_stages(recorded, compiler):
    found = arranged(recorded("two_stages", compiler=compiler))
    assert described(found) == {"warps 0–1": "copy, commit; then 5 times: copy, commit, wait, barrier, shared load, exp, barrier; "
                                        "then commit, wait, barrier, shared load, exp, barrier, global store"}
    warp = found.warps[0]
    assert [event.column for event in warp.events()] == list(range(1, 2 + 5 * 7 + 7 + 1))
    line = next(number for number, text in enumerate(KERNELS.read_text().splitlines(), 1) if "&tile[(i + 1) % 2]" in text)
    assert {number for _, number in warp.events()[2].places} == {line}
    # Group i is in flight from its issue, in the pass before, to the wait of its pass: behind the issue of the next.
    waits = [event.column for event in events(found, 0, "copy_wait")]
    assert [(flight.number, flight.end.column) for flight in warp.flights] == list(enumerate(waits))
    issues = [flight.copies[0].column for flight in warp.flights]
    assert all(issue < wait for issue, wait in zip(issues[1:], waits))
    # Two buffers take turns.
    assert [flight.buffer for flight in warp.flights] == [0, 1, 0, 1, 0, 1]
    assert found.buffer_names == ["tile[0]", "tile[1]"]


def test_a_wait_for_all_groups_covers_the_next_too(recorded):
    found = arranged(recorded("two_stages", ("PRIOR = 1", "PRIOR = 0")))
    waits = [event.column for event in events(found, 0, "copy_wait")]
    assert [flight.end.column for flight in found.warps[0].flights] == [waits[0], *waits[:5]]


@pytest.mark.parametrize("compiler", COMPILERS)
def test_lanes_apart(recorded, compiler):
    assert described(arranged(recorded("lanes_apart", compiler=compiler))) == {"warps 0–1": "global load, exp, shuffle, global store"}


def test_warps_that_differ_in_their_turns(recorded):
    assert described(arranged(recorded("other_turns"))) == {"warp 0": "global load, 2 times (exp, shuffle), global store",
                                                       "warp 1": "global load, 3 times (exp, shuffle), global store"}


def test_one_warp_stands_behind_another(recorded):
    found = arranged(recorded("handed_over"))
    assert described(found) == {"warp 0": "global load, shuffle, shared store, arrive, exp, global store",
                           "warp 1": "barrier, shared load, global store"}
    barrier, = events(found, 1, "barrier")
    arrive, = events(found, 0, "barrier_arrive")
    assert (arrive.column, barrier.start, barrier.column) == (4, 1, 5)
    assert [event.column for event in found.warps[1].events()] == [5, 6, 7]
    assert [event.column for event in found.warps[0].events()] == [1, 2, 3, 4, 5, 6]  # who arrives goes on


def test_the_barrier_of_a_cluster(recorded):
    """Of a block's own warps: each wait stands behind all that have arrived."""
    found = arranged(recorded("in_a_cluster"))
    assert described(found) == {"warp 0": "global load, shuffle, shared store, arrive, exp, global store, cluster",
                           "warp 1": "arrive, cluster, shared load, global store"}
    wait, = events(found, 1, "cluster_wait")
    arrive, = events(found, 0, "cluster_arrive")
    assert (arrive.column, wait.start, wait.column) == (4, 2, 5)
    assert [event.column for event in found.warps[0].events()] == [1, 2, 3, 4, 5, 6, 7]
    other = arranged(recorded("in_a_cluster", block="1"))
    assert described(other) == described(found)


def test_a_copy_that_another_warp_waits_for(recorded):
    found = arranged(recorded("copied_for_another"))
    assert described(found) == {"warp 0": "barrier, copy, arrive", "warp 1": "barrier, wait, shared load, global store"}
    wait, = events(found, 1, "phase_wait")
    flight, = found.warps[0].flights
    assert flight.end is wait and (wait.start, wait.column) == (2, 4)


def test_a_wait_in_place_of_tests_is_one_wait(recorded):
    """Who tests too often is made to wait, and acquires once."""
    found = arranged(recorded("tested_often"))
    assert described(found)["warp 1"] == "barrier, wait, global load, global store"


@pytest.mark.parametrize("compiler", COMPILERS)
def test_bulk_copies(recorded, compiler):
    """A load is in flight from its issue to the first wait for its phase; a store, to the wait that covers its group."""
    found = arranged(recorded("bulk_ring", compiler=compiler))
    assert described(found) == {
        "warp 0": "barrier, arrive, bulk load; then 5 times: arrive, bulk load, wait, shared load, barrier; then wait, shared load, "
                  "barrier, shared store, barrier, bulk store, commit, wait",
        "warp 1": "barrier; then 6 times: wait, shared load, barrier; then shared store, barrier"}
    issues, waits = events(found, 0, "tma_ld"), events(found, 1, "phase_wait")
    *loads, store = found.warps[0].flights
    assert [(flight.of, flight.number, flight.buffer) for flight in loads] == [("phase", i // 2, i % 2) for i in range(6)]
    assert [flight.copies for flight in loads] == [[issue] for issue in issues]
    assert all(issue.column < wait.column == flight.end.column for issue, wait, flight in zip(issues, waits, loads))
    bulk_store, = events(found, 0, "tma_st")
    wait, = events(found, 0, "bulk_wait_read")
    assert (store.of, store.number, store.copies, store.end) == ("group", 0, [bulk_store], wait)
    assert found.buffer_names == ["tile", "tile + 256", "sums"]


def test_the_same_whatever_runs_first(recorded):
    texts = {recorded("two_stages", workers=workers) for workers in ("1", "2", "4")}
    assert len(texts) == 1
    assert len({timeline_picture.drawn(arranged(text), 2) for text in [*texts, recorded("two_stages")]}) == 1


def test_the_block_asked_for(recorded):
    assert json.loads(recorded("lanes_apart", block="3"))["index"] == [3, 0, 0]


def test_what_is_too_long_is_cut_off(recorded):
    found = arranged(recorded("never_the_same"))
    assert sum(len(warp.events()) for warp in found.warps) == 1 + 2 * 299 + 1
    picture = timeline_picture.drawn(found, 2)
    assert "What comes behind is not shown." in picture and picture.count("<rect") < 2 * timeline_picture.MOST_COLUMNS


def test_nothing_stands_outside(recorded):
    for kernel in ("two_stages", "handed_over", "in_a_cluster", "copied_for_another", "bulk_ring", "never_the_same"):
        picture = xml.etree.ElementTree.fromstring(timeline_picture.drawn(arranged(recorded(kernel)), 2))
        width, height = float(picture.get("width")), float(picture.get("height"))
        for rect in picture.iter("{http://www.w3.org/2000/svg}rect"):
            x, y, wide, high = (float(rect.get(name)) for name in ("x", "y", "width", "height"))
            assert 0 <= x and x + wide <= width and 0 <= y and y + high <= height, (kernel, rect.attrib)


def place_of_text(text):
    """(left, top, right, bottom) of a text, from the width of its letters."""
    classes, x, y = text.get("class").split(), float(text.get("x")), float(text.get("y"))
    width = len(text.text) * (9 if "head" in classes else timeline_picture.BOLD if "row" in classes else timeline_picture.CHARACTER)
    left = x - width / 2 if "mid" in classes else x - width if "end" in classes else x
    if text.get("transform"):
        return x - 9, y - width / 2, x + 3, y + width / 2
    return left, y - 9, left + width, y + 3


def place_of_rect(rect):
    x, y, width, height = (float(rect.get(name)) for name in ("x", "y", "width", "height"))
    return x, y, x + width, y + height


def overlap(one, other):
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def lies_in(inner, outer):
    return outer[0] <= inner[0] and inner[2] <= outer[2] and outer[1] - 1 <= inner[1] and inner[3] <= outer[3] + 1


def by_height(places):
    """near(place) -> which of these places, by their number, it may overlap: a large picture has thousands, of which few are as high."""
    strips = {}

    def strips_of(place):
        return range(int(place[1] // STRIP), int(place[3] // STRIP) + 1)

    for number, place in enumerate(places):
        for strip in strips_of(place):
            strips.setdefault(strip, []).append(number)
    return lambda place: sorted({number for strip in strips_of(place) for number in strips.get(strip, [])})


def labels_that_overlap(picture):
    """Labels that stand in each other, across the edge of a box or of the picture."""
    svg = "{http://www.w3.org/2000/svg}"
    root = xml.etree.ElementTree.fromstring(picture)
    card, *boxes = map(place_of_rect, root.iter(f"{svg}rect"))
    labels = [(text.text, place_of_text(text)) for text in root.iter(f"{svg}text")]
    near_labels, near_boxes = by_height([place for _, place in labels]), by_height(boxes)
    found = [(one, labels[other][0]) for at, (one, here) in enumerate(labels) for other in near_labels(here) if other < at and overlap(here, labels[other][1])]
    found += [(label, boxes[box]) for label, place in labels for box in near_boxes(place) if overlap(place, boxes[box]) and not lies_in(place, boxes[box])]
    return found + [(label, "the card") for label, place in labels if not lies_in(place, card)]


STRIP = 40  # of a picture's height
PICTURES = sorted(ROOT.glob("steps/*/timeline_*.svg"))


@pytest.mark.parametrize("path", PICTURES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_no_label_of_a_lessons_picture_stands_in_another(path):
    assert not labels_that_overlap(path.read_text())


@pytest.mark.parametrize("kernel", ["two_stages", "lanes_apart", "other_turns", "handed_over", "in_a_cluster", "copied_for_another", "bulk_ring", "never_the_same",
                                    "many_turns"])
def test_no_label_stands_in_another(recorded, kernel):
    found = arranged(recorded(kernel))
    assert not labels_that_overlap(timeline_picture.drawn(found, 2))
    found.warps = found.warps[:1] * (timeline_picture.MOST_ROWS + 1)
    found.cut_off, found.warps[0].numbers = True, list(range(0, 32, 2))
    assert not labels_that_overlap(timeline_picture.drawn(found, 1))


def test_a_buffer_that_the_launch_asked_for_is_called_by_what_is_read_there(recorded):
    found = arranged(recorded("many_turns"))
    assert found.buffer_names == ["first_long_name, second at 0 KiB", "first_long_name, second at 2 KiB"]


@pytest.mark.parametrize("wish", ["x", "1,", "1,2,3,4", "-1", ""])
def test_no_block(compile_cu, wish):
    done = run(compile_cu(Program(KERNELS)), SIMT_TIMELINE_BLOCK=wish)
    assert done.returncode == 2 and "wanted X, X,Y or X,Y,Z" in done.stderr


@pytest.mark.parametrize("words, said", [
    ("19 --block 1,x", "names no block"), ("19 --block 7", "There is no block 7: "), ("19 --variant five_stages", "has no variant"),
    ("19 --kernel other", "launches no kernel 'other'"), ("19 -o timeline.png", "ends with .svg"), ("19 --tiles 0", "--tiles"),
    ("19 -k 0", "not a whole number"), ("no_step", "There is no step")])
def test_bad_input(words, said):
    done = learn("timeline", *words.split())
    assert done.returncode == 2 and said in done.stdout + done.stderr, done.stdout + done.stderr


def test_command(tmp_path):
    done = learn("timeline", "20", "--variant", "two_stages", "-k", "512", "-m", "256", "-o", str(tmp_path / "a" / "b.svg"))
    assert done.returncode == 0, done.stderr
    assert re.search(r"^ +7    mma ×32 +\d+ ", done.stdout, re.MULTILINE), done.stdout
    assert re.search(r"^ +5    copy ×3 +\d+, \d+ +group 1, in flight until column 9", done.stdout, re.MULTILINE), done.stdout
    assert "6 more passes" in done.stdout
    assert "group 1 in flight" in (tmp_path / "a" / "b.svg").read_text()


def test_a_stale_picture_is_found(monkeypatch, tmp_path):
    monkeypatch.setattr(docs.steps, "directory", lambda step: tmp_path)
    text, pictures, changed = docs.renew(PART, BASE)
    path, = pictures
    assert path == tmp_path / "timeline_two_stages_k_512.svg" and changed == ["timeline 19 two_stages -k 512"]
    path.write_text(pictures[path])
    assert docs.renew(text, BASE) == (text, {}, [])
    path.write_text(pictures[path].replace("mma", "mmx"))
    assert docs.renew(text, BASE) == (text, pictures, changed)


def test_a_lessons_picture_is_of_an_earlier_run_of_the_same_program(monkeypatch, tmp_path):
    step = steps.find("19")
    program = tmp_path / step["name"]
    shutil.copy(steps.program(step, "cpu"), program)
    monkeypatch.setattr(steps, "program", lambda step, backend: program)
    monkeypatch.setattr(programs, "BUILD", tmp_path)
    observed, runs = timeline.observed, []
    monkeypatch.setattr(timeline, "observed", lambda *asked: runs.append(asked[1:]) or observed(*asked))

    def picture(variant="two_stages", block="0", words=("-m", "256", "-k", "64"), cached=True):
        found, done = timeline.record(step, variant, block, arguments=words, cached=cached)
        assert done["status"] == 0
        return timeline_picture.drawn(found, 2)

    first = picture()
    assert [picture(), len(runs)] == [first, 1]
    assert picture("three_stages") != first and picture(block="0,1") and picture(words=("-m", "256", "-k", "96")) != first and len(runs) == 4
    assert [picture(cached=False), len(runs)] == [first, 5]
    os.utime(program, ns=(1, 1))  # it was built again
    assert [picture(), picture(), len(runs)] == [first, first, 6]


@pytest.mark.parametrize("compiler", COMPILERS)
def test_a_producer_and_two_warpgroups(compile_cu, tmp_path, compiler):
    path = tmp_path / "timeline.jsonl"
    done = run(compile_cu(Program(TESTS / "timeline" / "warpgroups.cu", compiler)), SIMT_PROFILE="1", SIMT_TIMELINE=str(path))
    assert done.returncode == 0, done.stderr
    assert "products of warpgroups, by warp 32; shared memory: wavefronts 144, bytes 18432\n" in done.stderr
    found = arranged(path.read_text())
    assert described(found) == {
        "warp 0": "barrier, setmaxnreg 24; then 4 times: wait, arrive, bulk load ×2",
        "warps 1–3": "barrier, setmaxnreg 24",
        "warps 4–11": "barrier, setmaxnreg 240; then 4 times: wait, wgmma, commit, wait, arrive; then barrier, global store"}
    producer, _, consumer = found.warps
    # A load is in flight until the first wait for its phase; the producer waits for the warpgroups' arrivals in the third pass.
    waits = events(found, 2, "phase_wait")
    assert [flight.end.column for flight in producer.flights] == [wait.column for wait in waits]
    assert [wait.start < wait.column for wait in events(found, 0, "phase_wait")] == [False, False, True, True]
    assert events(found, 0, "phase_wait")[2].column > events(found, 2, "arrive")[0].column
    # Each product is a group, in flight from its issue to its wait, and reads its warpgroup's part of A, and B.
    assert [(flight.number, flight.copies[0].column, flight.end.column) for flight in consumer.products] == [
        (number, product.column, wait.column)
        for number, (product, wait) in enumerate(zip(events(found, 2, "wgmma"), events(found, 2, "wgmma_wait")))]
    assert [sorted(end - start for event in flight.copies for _, start, end in event.ranges) for flight in consumer.products] == [[256, 2048]] * 4
    assert [[found.buffer_names[at] for at in flight.reads] for flight in consumer.products] == [
        ["tiles"], ["tiles + 4352"]] * 2
    drawn = timeline_picture.drawn(found, 2)
    xml.etree.ElementTree.fromstring(drawn)
    box = next(each for each in xml.etree.ElementTree.fromstring(drawn) if each.get("class") == "mma")
    assert float(box.get("width")) >= 46, "wgmma, at 11 pixels, is 40 wide"
    assert drawn.count('class="flight"') == 4 and drawn.count('class="ldmatrix"') == 3, "of two passes, and the legend: products look otherwise"
    assert all(words in drawn for words in ("setmaxnreg", ">240<", ">wgmma<", ">products<", "group 0 in flight", "only mma, wgmma and exp"))


def test_warps_of_a_warpgroup_multiply_together(compile_cu, tmp_path):
    """Where one warp does more between two products, the other three wait for it at the next."""
    path = tmp_path / "timeline.jsonl"
    done = run(compile_cu(Program(TESTS / "timeline" / "warpgroups.cu")), "more", SIMT_PROFILE="1", SIMT_TIMELINE=str(path))
    assert done.returncode == 0, done.stderr
    found = arranged(path.read_text())
    rows = {tuple(warp.numbers): [event.column for event in warp.events() if event.kind == "wgmma"] for warp in found.warps}
    assert len(rows[4, 8]) == 4 and rows[4, 8] == rows[5, 6, 7, 9, 10, 11]


def test_a_buffer_is_called_as_the_line_that_multiplies_it(monkeypatch):
    """Of memory that the launch asked for, which has no name of its own."""
    line = "wgmma_m64n256k16(sum, A_slice(smem->A, row, i), B_slice(smem->B, i), T());"
    monkeypatch.setattr(timeline.profile, "source_line", lambda file, number: line if number == 2 else "load(smem);")
    load, products = ["tma_ld", 0, 1, 64, 0, 49152, 98304], ["wgmma", 1, 4, 0, 0, 49152, 65536, 65536, 98304]
    record = {"kernel": "k", "index": [0, 0, 0], "grid": [1, 1, 1], "arrays": [{"name": "", "from": 0, "bytes": 196608, "dimensions": []}],
              "places": [["k.cu", 1], ["k.cu", 2]], "cut_off": False,
              "warps": [[load], *[[["phase_wait", 1, 1, 64, 0, 0, 0], products, ["wgmma_commit", 1, 1, 0, 0, 0, 0], ["wgmma_wait", 1, 1, 0, 0, 0, 0]]] * 4]}
    found = timeline.arranged(record)
    assert found.buffer_names == ["A, B at 48 KiB"] and found.warps[1].products[0].reads == [0]
