"""The page of the memory hierarchy: its figures are the emulator's, the step's and those of the records, and it is linked from where a
reader wants it."""
import re

import pytest

from conftest import BUILD, ROOT, run
from plots import memory_hierarchy
from test_plots import drawn, expect_legible  # noqa: F401
from tools import device, memory, occupancy

PAGE = (ROOT / "docs/memory-hierarchy.md").read_text()


@pytest.mark.parametrize("name", memory.GPUS)
def test_a_gpu_is_what_the_emulator_describes(name):
    """Clock, SMs, L2, and the rates of DRAM and of shared memory."""
    said = run(BUILD / "machine", "-n", 100, "--variant", "copy", SIMT_GPU=name).stdout
    gpu, more = memory.GPUS[name], occupancy.GPUS[name]
    assert f"{more.sms} SMs at {gpu.clock:g} GHz" in said and f"L2 {gpu.l2} MiB" in said
    assert f"DRAM {gpu.dram_gbps} GB/s" in said and f"fp32 {2e-3 * more.sms * gpu.lanes * gpu.clock:.1f} TFLOPS" in said
    assert f"shared memory {128e-3 * more.sms * gpu.clock:.1f} TB/s" in said
    assert gpu.l1 * occupancy.KB > more.shared and gpu.latency.keys() <= {"shared memory", "L1", "L2", "DRAM"}


def test_the_levels_are_as_the_machine_measured_them(monkeypatch):
    levels = {level["level"]: level for level in memory.levels()}
    assert list(levels) == ["registers", "L1 and shared memory", "L2", "DRAM", "the host's memory"]
    copy = next(line["figure"]["value"] for line in device.lines_of("copy") if not line.get("peer"))
    assert levels["DRAM"]["rate"] == f"{copy:,.0f} GB/s" and levels["DRAM"]["gbps"] == round(copy)
    ring = {line["shape"]["bytes"]: line["figure"]["value"] for line in device.lines_of("latency")}
    assert f"{ring[1 << 30]:.0f} ns" in levels["DRAM"]["latency"] and f"{ring[4 << 20]:.0f} ns" in levels["L2"]["latency"]
    assert [level["gbps"] for level in levels.values()] == sorted((level["gbps"] for level in levels.values()), reverse=True)
    for missing in ("copy", "latency", "launch", "shared"):
        lines_of = device.lines_of
        with monkeypatch.context() as changed:
            changed.setattr(device, "lines_of", lambda variant: [] if variant == missing else lines_of(variant))
            assert memory.levels() is None and memory_hierarchy.write() == []


def test_the_pages_sentences_have_the_tables_figures():
    """Little's law for DRAM, the smallest and the largest L2, and the copy within L2, which the lesson of machine describes."""
    copy, ns = memory.value("copy"), memory.latencies()["DRAM"]
    under_way = copy * ns
    assert f"{copy:,.0f} GB/s · {ns:.0f} ns, {under_way / 1e6:.1f} MB, or {under_way / 1e3 / 132:.1f} KB" in " ".join(PAGE.split())
    sizes = [gpu.l2 for gpu in memory.GPUS.values()]
    assert f"{max(sizes) // min(sizes)} times as large" in PAGE
    assert f"{memory.IN_L2:,} GB/s" in (ROOT / "steps/machine/README.md").read_text()
    of = lambda level: [float(cell) for cell in next(row for row in memory.gpus() if row[0] == f"latency of {level}, clocks")[1:] if cell != "–"]
    assert "In clocks, latencies differ by less than a factor of 2" in PAGE
    assert all(max(of(level)) < 2 * min(of(level)) for level in ("shared memory", "L1", "L2", "DRAM"))


def test_every_link_of_the_page_leads_somewhere():
    words = {re.sub(r"[^\w\- ]", "", title).lower().strip().replace(" ", "-")
             for title in re.findall(r"^## (.*)$", (ROOT / "docs/glossary.md").read_text(), re.MULTILINE)}
    for link in re.findall(r"\]\((?!https?:)([^)]+)\)", PAGE):
        path, _, anchor = link.partition("#")
        assert (ROOT / "docs" / path).exists(), link
        assert path != "glossary.md" or anchor in words, link


@pytest.mark.parametrize("page", ["README.md", "steps/machine/README.md", "steps/03_matmul_naive/README.md", "steps/04_matmul_tiled/README.md"])
def test_who_wants_it_finds_it(page):
    assert "docs/memory-hierarchy.md)" in (ROOT / page).read_text()


def test_the_picture_is_legible(drawn):  # noqa: F811
    written = expect_legible(drawn(memory_hierarchy))
    assert {"SM 131", "bandwidth: 33.3 TB/s", "the host's memory"} <= written
