"""Where the step with large head dimensions is faster than what PyTorch chooses, and than attention that is not fused: heads ×
sequence lengths as a heat map, a panel a peer. Drawn from the step's sweep.jsonl, as measured on an H200."""
from plots import attention_sweep, style
from tools import steps
from tools.paths import PLOTS

STEP = "35"
PEERS = {"PyTorch SDPA fp16, its own choice": "than what PyTorch's SDPA chooses",
         "PyTorch unfused fp16 (baddbmm, softmax, bmm)": "than three kernels (baddbmm, softmax, bmm)"}


def data():
    """{"variant", "panels"}, each panel with its peer; None where nothing is recorded."""
    lines = steps.swept(STEP)
    panels = [panel | {"peer": peer} for peer in PEERS for panel in attention_sweep.panels_of(lines, peer)]
    return {"variant": attention_sweep.variant_of(lines), "panels": panels} if panels else None


def write(folder=PLOTS):
    """Draw wide_sweep.svg and .png; the same figures give the same bytes. Returns their paths."""
    content = data()
    if not content:
        return []
    variant, head_dim = content["variant"].replace("_", " "), content["panels"][0]["head_dim"]
    return attention_sweep.draw("wide_sweep", content, [PEERS[panel["peer"]] for panel in content["panels"]],
                                f"Step {STEP}, {variant}, fp16, B1 D{head_dim}, on an NVIDIA H200, recorded: times as fast", folder)


def stale():
    """Whether plots/wide_sweep.svg was drawn from other figures than today's."""
    return style.is_stale("wide_sweep", data())
