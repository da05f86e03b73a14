"""What the sweeps share: one step timed at many shapes beside its peers, one JSON line for each result."""
import argparse

import peers


def main(about, number, operation, shapes, contenders, show):
    """Times contenders(torch, step, shape) of each of shapes(step) in turns; show(shape, lines) prints what came of it. Returns the
    exit status."""
    parser = argparse.ArgumentParser(description=about.splitlines()[0])
    parser.add_argument("--step", default=number)
    parser.add_argument("--shape", nargs="+", help=f"such as {operation.SHAPE}")
    parser.add_argument("--iters", type=int, default=20)
    parser.add_argument("--json", type=argparse.FileType("a"), metavar="FILE", help="append one line per result")
    asked = parser.parse_args()
    if asked.iters < 1:
        parser.error("--iters: at least 1")
    step = peers.find_step(asked.step)
    texts = shapes(step)
    if not texts:
        parser.error(f"--step {asked.step}: there is no sweep of it")
    try:
        chosen = [operation.shape(text) for text in asked.shape or texts]
    except ValueError:
        parser.error(f"--shape {' '.join(asked.shape)}: a shape is {operation.SHAPE}")
    torch, wrong = peers.pytorch(step), False
    for shape in chosen:
        timed = contenders(torch, step, shape)
        peers.measure(torch, timed, asked.iters)
        lines = [contender.line for contender in timed]
        wrong |= not all(line["check"]["right"] for line in lines)
        if asked.json:
            asked.json.writelines(peers.json_line(line) for line in lines)
            asked.json.flush()
        show(shape, lines)
    return 1 if wrong else 0
