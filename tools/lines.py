"""The lines of results that bench/ writes and tools/ keeps; it needs nothing but Python, as bench/ does."""


def belongs(line, step):
    """Whether a line is the step's own, or a peer's, which is no step's, of the same operation: on a type that the step has, or on
    another, timed beside it."""
    if line["step"] is not None:
        return line["step"] == step["name"]
    return line["operation"] == step["operation"] and (line["dtype"] in step["dtypes"] or step["name"] in line.get("beside", ()))


def apart(ncu):
    """What ncu counted, each kind by itself as the emulator has it: ncu's wavefronts and conflicts of loads from shared memory
    have those of ldmatrix in them, those of stores stmatrix's, and its products of fragments multiply-adds of two numbers."""
    products = {"mma": ncu["mma"] - ncu["hfma2"]} if ncu.get("mma") and ncu.get("hfma2") else {}
    return ncu | products | {f"{accesses}_{what}": ncu[f"{accesses}_{what}"] - ncu[f"{matrices}_{what}"]
                  for accesses, matrices in (("shared_ld", "ldmatrix"), ("shared_st", "stmatrix"))
                  for what in ("wavefronts", "conflicts") if ncu.get(f"{matrices}_{what}")}
