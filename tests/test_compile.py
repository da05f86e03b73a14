"""./learn compile: what it says of a step that nvcc compiled."""
import pytest

from tools import steps
from tools.checks import ARCHITECTURES, verdict_of

SAID = ("    {} bytes stack frame, {} bytes spill stores, {} bytes spill loads\n"
        "ptxas info    : Used 128 registers\n")
STEP = {"spills": ["80:40"]}


@pytest.mark.parametrize("arch, status, said, verdict, good", [
    ("90a", 0, SAID.format(0, 0, 0), "no spills", True),
    ("90a", 1, "error", "failed", False),
    ("90a", 0, SAID.format(0, 0, 0) + SAID.format(8, 4, 8), "12 bytes of spills", False),
    ("80", 0, SAID.format(24, 20, 20), "40 bytes of spills, as its README says", True),
    ("80", 0, SAID.format(24, 20, 24), "44 bytes of spills", False),
    ("80", 0, SAID.format(0, 0, 0), "no spills", True),
    ("90a", 0, SAID.format(608, 0, 0), "608 bytes of local memory", False)])
def test_verdict(arch, status, said, verdict, good):
    assert verdict_of(STEP, arch, status, said) == (verdict, good)


@pytest.mark.parametrize("step", [step for step in steps.load() if step["spills"]], ids=lambda step: step["name"])
def test_spills_are_named_for_architectures_that_are_compiled(step):
    assert {each.split(":")[0] for each in step["spills"]} <= set(ARCHITECTURES)
