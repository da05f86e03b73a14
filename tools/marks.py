"""What a course gets from ./learn grade: each exercise's mark, as JSON, JUnit's XML or Gradescope's."""
import dataclasses
import json
import re
import textwrap
import xml.etree.ElementTree as xml

from tools import exercises

RIGHT, WRONG, REFUSED, MISSING, NOT_GRADED = "right", "wrong", "refused", "missing", "not graded"
LONGEST = 1500  # characters of what a stranger's program or a compiler said
ADVISORY = "Counts and reports come from the submission's own process, which could forge them: they are advisory."


@dataclasses.dataclass
class Mark:
    """What an exercise got, and why."""
    exercise: exercises.Exercise
    of: float
    verdict: str = RIGHT
    reason: str = ""
    cases: list = dataclasses.field(default_factory=list)  # {"arguments", "seed", "verdict"}, and "hidden", "said": for the course
    advisory: list = dataclasses.field(default_factory=list)  # {"requirement", "holds", "said"}

    @property
    def name(self):
        return f"{self.exercise.reference} {self.exercise.title}"

    @property
    def points(self):
        return self.of if self.verdict == RIGHT else 0


def clean(text):
    """A stranger's words as text that any format can hold, files of the kit by their names alone."""
    text = re.sub(r"\S*/kit/", "", text[:4 * LONGEST])
    said = "".join(letter if letter.isprintable() or letter == "\n" else "\N{REPLACEMENT CHARACTER}" for letter in text)
    return textwrap.shorten(said, LONGEST, placeholder=" …") if len(said) > LONGEST else said.strip()


def as_json(marks, seed, walled):
    return json.dumps({
        "points": sum(mark.points for mark in marks), "of": sum(mark.of for mark in marks), "seed": seed,
        "sandbox": "bubblewrap" if walled else None, "advisory": ADVISORY,
        "exercises": [{"exercise": mark.exercise.id, "name": mark.name, "points": mark.points, "of": mark.of,
                       "verdict": mark.verdict, "reason": mark.reason, "cases": mark.cases,
                       "counters_advisory": mark.advisory} for mark in marks]}, indent=1)


def advisory_words(mark):
    lines = [f"{'holds' if one['holds'] else 'does not hold'}: {one['requirement']}. {one['said']}" for one in mark.advisory]
    return "\n".join([ADVISORY, *lines]) if lines else ""


def as_junit(marks, seed, walled):
    def count(*verdicts):
        return str(sum(mark.verdict in verdicts for mark in marks))

    suite = xml.Element("testsuite", name="flash-steps", tests=str(len(marks)), errors="0",
                        failures=count(WRONG, REFUSED, MISSING), skipped=count(NOT_GRADED))
    properties = xml.SubElement(suite, "properties")
    for name, value in (("seed", str(seed)), ("sandbox", "bubblewrap" if walled else "none")):
        xml.SubElement(properties, "property", name=name, value=value)
    for mark in marks:
        case = xml.SubElement(suite, "testcase", classname=mark.exercise.step["name"], name=mark.name)
        if mark.verdict != RIGHT:
            kind = "skipped" if mark.verdict == NOT_GRADED else "failure"
            xml.SubElement(case, kind, message=f"{mark.verdict}: {mark.reason.partition(chr(10))[0]}").text = mark.reason
        if mark.advisory:
            xml.SubElement(case, "system-out").text = advisory_words(mark)
    suites = xml.Element("testsuites")
    suites.append(suite)
    xml.indent(suites)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + xml.tostring(suites, encoding="unicode")


def as_gradescope(marks, seed, walled):
    """results.json, as Gradescope's autograder wants it: autograder specifications, "Output Format"."""
    tests = [{"name": mark.name, "score": mark.points, "max_score": mark.of, "output_format": "text", "visibility": "visible",
              "output": f"{mark.verdict}. {mark.reason}\n\n{advisory_words(mark)}".strip()} for mark in marks]
    said = f"Seed {seed}." + ("" if walled else " Graded without a sandbox.")
    kept = {mark.name: mark.cases for mark in marks if mark.cases}  # what a course sees, and a learner does not
    return json.dumps({"output": said, "output_format": "text", "tests": tests, "extra_data": {"cases": kept}}, indent=1)


FORMATS = {"json": as_json, "junit": as_junit, "gradescope": as_gradescope}
