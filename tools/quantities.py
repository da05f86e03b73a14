"""Figures that a reader types: numbers with units, read, shown and compared. A value is in base units: bytes, seconds,
operations, bytes a second; a share of 12 % is 0.12. A unit that is not in UNITS is a word for what is counted, such as
sectors."""
import math
import re

PREFIXES = {"": 1, "K": 1e3, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
UNITS = {  # {unit: (what it measures, how many base units it is)}
    **{f"{prefix}B": ("bytes", scale) for prefix, scale in PREFIXES.items()},
    **{f"{prefix}iB": ("bytes", 1024 ** power) for power, prefix in enumerate("KMGT", 1)},
    **dict.fromkeys(("byte", "bytes"), ("bytes", 1)),
    **{f"{prefix}B/s": ("bytes a second", scale) for prefix, scale in PREFIXES.items()},
    **{f"{prefix}FLOPS": ("operations a second", scale) for prefix, scale in PREFIXES.items()},
    **dict(zip(("s", "ms", "us", "µs", "μs", "ns"), (("time", scale) for scale in (1, 1e-3, 1e-6, 1e-6, 1e-6, 1e-9)))),
    **dict.fromkeys(("×", "x", "times"), ("a ratio", 1)),
    "%": ("a ratio", 0.01),
}
LARGEST = 1e15  # that is written with all its digits
MULTIPLES = {"thousand": 1e3, "million": 1e6, "billion": 1e9}
RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
TYPED = re.compile(r"(?P<number>[1-9]\d{0,2}(?:,\d{3})+(?:\.\d*)?|\d+\.?\d*|\.\d+)"
                   r"(?:[eE](?P<exponent>[+-]?\d{1,3})|(?:\^|\*\*)(?P<power>\d{1,3})|(?P<raised>[⁰¹²³⁴⁵⁶⁷⁸⁹]{1,3}))?"
                   rf"\s*(?P<multiple>{'|'.join(MULTIPLES)})?\s*(?P<unit>[^\d\s.,^*+-][^\d,]*)?", re.ASCII)
ACCEPTED = "1,024, 1024, 1e6, 2^28, 5 million, 12 %, 3.2 GB or 0.755 ms"


def measure(unit):
    """(what a unit measures, how many base units it is). The small letters of a name do, too: gb/s."""
    by_small_letters = {name.lower(): name for name in UNITS}
    if unit in UNITS:
        return UNITS[unit]
    return UNITS.get(by_small_letters.get(unit), (unit, 1))


def parse(text, unit):
    """The value of what was typed, in base units. Without a unit it counts in the one asked for. What cannot be read raises a
    ValueError that says what is accepted."""
    found = TYPED.fullmatch(text.strip())
    if not found:
        raise ValueError(f"'{text}' is not a number. Accepted are, for example, {ACCEPTED}.")
    what, scale = measure(unit)
    typed = " ".join((found["unit"] or "").split()).replace(" /", "/").replace("/ ", "/")
    if typed and typed not in (unit, unit.removesuffix("s")):
        kind, scale = measure(typed)
        if kind != what:
            same = ", ".join(name for name, (kind, _) in UNITS.items() if kind == what) or unit
            accepted = f"{same} can follow the number" if same else "a number alone is wanted"
            raise ValueError(f"'{typed}' is not the unit asked for: {accepted}.")
    number = float(found["number"].replace(",", ""))
    try:
        power = found["power"] or (found["raised"] or "").translate(RAISED)
        number = number ** int(power or 1) * 10.0 ** int(found["exponent"] or 0) * MULTIPLES.get(found["multiple"], 1)
    except OverflowError:
        number = math.inf
    if math.isinf(number):
        raise ValueError(f"'{text}' is too large a number.")
    return number * scale


def shown(value, unit):
    """A value counted in a unit: a whole number as it is, another with three digits: 391, 0.755, 2,147."""
    figure = value / measure(unit)[1]
    if figure >= LARGEST:
        return f"{figure:.2e}"
    whole = math.isclose(figure, round(figure), abs_tol=1e-9)
    return f"{figure:,.0f}" if whole or figure >= 999.5 else f"{figure:#.3g}".rstrip(".")


def times(ratio):
    """How many times, in three digits: 2, 3.22, 1,020."""
    return f"{float(f'{ratio:.3g}'):,.0f}" if 999.5 <= ratio < LARGEST else f"{ratio:.3g}"


def judge(predicted, actual, within):
    """(whether a prediction is right, how near it is in words); within: by how many per cent it may differ."""
    if math.isclose(predicted, actual, rel_tol=1e-9):
        return True, "exact"
    right = abs(predicted - actual) <= within / 100 * abs(actual)
    side = "too high" if predicted > actual else "too low"
    small, large = sorted((predicted, actual))
    if small <= 0:
        return right, side
    if large >= 2 * small:
        power = round(math.log10(large / small))
        unit = ": is the unit right?" if power % 3 == 0 and 0.8 < large / small / 10**power < 1.25 else ""
        return right, f"{times(large / small)} × {side}{unit}"
    off = 100 * abs(predicted / actual - 1)
    return right, f"{off:.0f} % {side}" if off >= 1 else f"less than 1 % {side}"
