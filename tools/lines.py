"""The lines of results that bench/ writes and tools/ keeps; it needs nothing but Python, as bench/ does."""


def belongs(line, step):
    """Whether a line is the step's own, or a peer's, which is no step's, of the same operation on a type that the step has."""
    if line["step"] is not None:
        return line["step"] == step["name"]
    return line["operation"] == step["operation"] and line["dtype"] in step["dtypes"]


def apart(ncu):
    """What ncu counted, each access by itself as the emulator has it: ncu's wavefronts and conflicts of loads from shared memory
    have those of ldmatrix in them."""
    return ncu | {f"shared_ld_{what}": ncu[f"shared_ld_{what}"] - ncu[f"ldmatrix_{what}"]
                  for what in ("wavefronts", "conflicts") if ncu.get(f"ldmatrix_{what}")}
