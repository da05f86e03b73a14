"""The roofline of the lesson on the machine: the roofs that it measures, and five steps under them."""
from plots import roofline, style
from tools import roofline as room
from tools import steps
from tools.paths import PLOTS

STEPS = "00", "02", "03", "05", "07"


def data():
    """Roofs of DRAM and of fp32, and the steps' points; None where one of the roofs was not measured, or no step was."""
    every = steps.load()
    roofs = {name: roof for name, roof in room.roofs(every).items() if name in ("DRAM", "fp32")}
    marks = [mark for mark in room.points([step for step in every if step["number"] in STEPS]) if not mark["peer"]]
    return {"roofs": roofs, "points": marks} if marks and len(roofs) == 2 else None


def write(folder=PLOTS):
    """Draw machine_roofs.svg and .png; returns their paths."""
    content = data()
    if not content:
        return []
    return roofline.picture("machine_roofs", content, "The measured roofs of an NVIDIA H200, and steps under them",
                            [("TFLOPS", content["points"], content["roofs"])], folder)


def stale():
    """Whether plots/machine_roofs.svg was drawn from other figures than today's."""
    return style.is_stale("machine_roofs", data())
