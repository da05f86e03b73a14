"""What the sweeps share: steps timed at many shapes beside their peers, one JSON line for each result."""
import argparse

import peers


def options(about, number, shape):
    """The options of all. number: of the step that is timed unless another is named; shape: one in words."""
    parser = argparse.ArgumentParser(description=about.splitlines()[0])
    parser.add_argument("--step", default=number)
    parser.add_argument("--shape", nargs="+", help=f"such as {shape}")
    parser.add_argument("--iters", type=int, default=20, help="samples of each")
    parser.add_argument("--json", type=argparse.FileType("a"), metavar="FILE", help="append one line per result")
    return parser


def understood(parser):
    """What was asked."""
    asked = parser.parse_args()
    if asked.iters < 1:
        parser.error("--iters: at least 1")
    return asked


def shapes_of(parser, asked, operation, texts):
    """The shapes that were asked for, or these."""
    try:
        return [operation.shape(text) for text in asked.shape or texts]
    except ValueError:
        parser.error(f"--shape {' '.join(asked.shape)}: a shape is {operation.SHAPE}")


def run(asked, cases, timed, show):
    """Of each case timed(*case) are the lines, and show(*case, lines) prints what came of it. Returns the exit status."""
    wrong = False
    for case in cases:
        lines = timed(*case)
        wrong |= not all(line["check"]["right"] for line in lines)
        if asked.json:
            asked.json.writelines(peers.json_line(line) for line in lines)
            asked.json.flush()
        show(*case, lines)
    return int(wrong)


def main(about, number, operation, shapes, contenders, show):
    """Times contenders(torch, step, shape) of each of shapes(step) in turns; show(shape, lines) prints what came of it. Returns the
    exit status."""
    parser = options(about, number, operation.SHAPE)
    asked = understood(parser)
    step = peers.find_step(asked.step)
    texts = shapes(step)
    if not texts:
        parser.error(f"--step {asked.step}: there is no sweep of it")
    chosen, torch = shapes_of(parser, asked, operation, texts), peers.pytorch(step)

    def timed(shape):
        found = contenders(torch, step, shape)
        peers.measure(torch, found, asked.iters)
        return [contender.line for contender in found]

    return run(asked, [(shape,) for shape in chosen], timed, show)
