"""The steps' exercises: programs with marked regions taken out, which a reader writes again.

An exercise is a file steps/NN_name/exercises/1_name.toml. One of the kind `measure` has questions alone, about what a tool prints. Another's program is the step's own .cu, or one that stands beside the
TOML file; its regions are pieces of that program, named by marks as tools/source.py says. What the reader gets is the program with
what each region holds replaced by what it must do; so it cannot drift from the step. There a region's marks are lines of their own,
`// [NAME]` and `// [end NAME]`, and no other pieces are marked but those that something is counted in."""
import dataclasses
import difflib
import functools
import os
import re
import shlex
import textwrap

from tools import actual, quantities, source, state, steps
from tools.guard import require_regular, stop, write_whole
from tools.paths import ROOT, WORK
from tools.say import err

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    import tomli as tomllib

KINDS = {"rebuild": "write what was taken out", "transfer": "write what the step does not have",
         "performance": "write it with fewer counts", "break": "break it, and explain the report", "measure": "read it from a tool"}
ANSWERS = "answers"  # the region of an exercise that asks for no program
OLDER = re.compile(r"(?P<slashes>[ \t]*// )exercise: (?P<which>begin|end) (?P<name>\w+)[ \t]*")  # a region's, once
COMMENT = re.compile(r"^\s*//")
STEPS_COMMANDS = re.compile(r"^//\n//   nvcc .*\n(//   \./.*\n)*", re.MULTILINE)  # of a program's first comment: they build the step
WIDTH = 112  # columns of the comments in a reader's file


def read(path):
    """A reader's file; bytes that are no UTF-8 survive being read and written."""
    require_regular(path)
    return path.read_text(encoding="utf-8", errors="surrogateescape")


def write(path, text):
    write_whole(path, text)


@functools.cache
def region(names):
    """What one of these regions is in a reader's file, with its marks."""
    return re.compile(rf"(?P<begin>^(?P<indent>[ \t]*)// \[(?P<name>{'|'.join(names)})\][ \t]*\r?\n)(?P<text>.*?)"
                      r"(?P<end>^[ \t]*// \[end (?P=name)\][ \t]*$)", re.MULTILINE | re.DOTALL)


def comment(text, indent=""):
    """Sentences as the lines of a // comment; an empty line stays one, and each item of a list begins a line."""
    lines = []
    for paragraph in text.strip().split("\n\n"):
        lines += [f"{indent}//"] * bool(lines)
        for item in re.split(r"\n(?=- )", paragraph):
            lines += textwrap.wrap(" ".join(item.split()), WIDTH, initial_indent=f"{indent}// ",
                                   subsequent_indent=f"{indent}// " + "  " * item.startswith("- "),
                                   break_long_words=False, break_on_hyphens=False)
    return "".join(f"{line}\n" for line in lines)


def without(text, hidden, path):
    """The program without what the comment at a mark says, through all of its lines: all of that for `NAME`, or for `NAME: WORDS` what
    it says from these words on."""
    name, _, words = hidden.partition(": ")
    known = source.pieces(text, path)
    source.named(known, [name], path)
    piece = known[name]
    lines = text.split("\n")
    mark, said, rest = lines[piece.mark].partition("]")
    said = "\n".join([said + rest, *lines[piece.mark + 1:piece.begin]])
    if words not in said:
        stop(f"{path} does not say '{words}' at // [{name}].")
    kept = said[:said.index(words)].rstrip(" /\n") if words else "]"
    return "\n".join(lines[:piece.mark] + [mark + kept] + lines[piece.begin:])


def marked(text, regions, more, path):
    """The program with the marks of these regions as a reader's file has them, and with marks around more pieces; without all others."""
    known = source.pieces(text, path)
    source.named(known, [*regions, *more], path)
    lines = text.split("\n")
    opening, closing = {}, {}
    for name in sorted({*regions, *more}, key=lambda name: -known[name].mark):
        piece = known[name]
        end = piece.taken if name in regions else piece.end
        if name in regions and not piece.closed and not all(map(str.strip, lines[piece.begin:end])):
            stop(f"{path} has no `// [end {name}]`: a region that no mark closes has no blank line in it.")
        indent = re.match(r"[ \t]*", lines[piece.mark])[0]
        if name in regions and (inner := [each for each in regions if piece.mark < known[each].mark < end]):
            stop(f"{path}: [{inner[0]}] is a part of [{name}], and one exercise cannot have both as regions.")
        opening[piece.begin] = f"{indent}// [{name}]"
        closing.setdefault(end, []).append(f"{indent}// [end {name}]")  # of two that end together, the inner one first
    return "\n".join(each for number, line in enumerate(lines)
                     for each in [*closing.get(number, ()), *filter(None, [opening.get(number)]), *source.unmarked([line])])


@functools.lru_cache(maxsize=256)
def handed_out(text, hide, regions, more, path):
    """The program of a source for whoever solves it: see Exercise.program(), which is asked for many times."""
    for hidden in hide:
        text = without(text, hidden, path)
    return STEPS_COMMANDS.sub("", marked(text, regions, more, path), count=1)


def is_written(text):
    """Whether a region holds anything but comments."""
    return any(line.strip() and not COMMENT.match(line) for line in text.splitlines())


@dataclasses.dataclass(frozen=True)
class Exercise:
    step: dict
    name: str  # 1_load
    data: dict  # of its TOML file

    @property
    def number(self):
        return int(self.name.split("_")[0])

    @property
    def title(self):
        return self.data["title"]

    @property
    def id(self):
        """matmul_tiled/load: stays the same when steps or exercises are numbered anew."""
        return f"{steps.short(self.step)}/{self.name.split('_', 1)[1]}"

    @property
    def earlier(self):
        """The ids that it had in other steps: what a reader did under them counts."""
        return self.data.get("was", [])

    @property
    def ids(self):
        return [self.id, *self.earlier]

    @property
    def reference(self):
        """04.1, machine.1: how a command names it."""
        return f"{steps.called(self.step)}.{self.number}"

    @property
    def asks_for_program(self):
        return self.data["kind"] != "measure"

    @property
    def file_name(self):
        return f"{self.name}.{'cu' if self.asks_for_program else 'txt'}"

    @property
    def file(self):
        """Where the reader works."""
        return WORK / self.step["name"] / self.file_name

    @property
    def questions(self):
        return self.data.get("question", [])

    @property
    def regions(self):
        """{name: {todo, start, solution}}"""
        return self.data["region"] if self.asks_for_program else {ANSWERS: {"todo": "Write a number, or a letter, after each colon."}}

    def present(self, text):
        """The text of a file with the marks and the regions' names that there are now, each in its line: a reader may have written it when
        regions had other names or other marks."""
        was = {region["was"]: name for name, region in self.regions.items() if "was" in region}
        lines = text.split("\n")
        if not self.between(text) and any(map(OLDER.fullmatch, lines)):
            return "\n".join(self.translated(lines, was))
        kept = {mark["name"] for mark in map(source.MARK.fullmatch, lines) if mark}
        for old in (old for old, name in was.items() if name not in kept):
            lines = [re.sub(rf"^([ \t]*// \[(?:end )?){old}\][ \t]*$", rf"\1{was[old]}]", line) for line in lines]
        return "\n".join(lines)

    def translated(self, lines, was):
        """Lines of a file in which `// exercise: begin NAME` and `// exercise: end NAME` enclose a region, in today's marks. What stands in
        a region stays. A piece around it that has the region's name gets another, and `// [end]` says which piece it closes."""
        inside = last = None
        for line in lines:
            older, mark = OLDER.fullmatch(line), source.MARK.fullmatch(line)
            name = older and was.get(older["name"], older["name"])
            if older and inside in (None, name):
                inside = name if older["which"] == "begin" else None
                line = f"{older['slashes']}[{'' if inside else 'end '}{name}]"
            elif mark and mark["name"] and not inside:
                last = "around-" * (mark["name"] in self.regions) + mark["name"]
                line = f"{mark['slashes']}[{last}]{line[mark.end('name') + 1:]}"
            elif mark and last and not inside:
                line = f"{mark['slashes']}[end {last}]"
            yield line

    @property
    def emulated(self):
        """{variable: what} of the emulator that its programs run with: fewer SMs, where blocks are to have more than one piece of work."""
        return {"SIMT_SMS": str(self.data["sms"])} if "sms" in self.data else {}

    @property
    def settings(self):
        """The same as words of a command line: SIMT_SMS=2."""
        return [f"{name}={value}" for name, value in self.emulated.items()]

    @property
    def counted(self):
        """The pieces in which something is counted."""
        return [wanted["in"] for wanted in self.data.get("count", []) if "in" in wanted and not is_header(wanted["in"])]

    def found(self, text):
        """The regions of a file, as matches of region()."""
        return region(tuple(self.regions)).finditer(text)

    def between(self, text):
        """{region: the text between its marks}, in order."""
        return {found["name"]: found["text"] for found in self.found(text)}

    def splice(self, text, regions):
        """The program with these regions' texts put between their marks; other regions stay."""
        return region(tuple(self.regions)).sub(
            lambda found: found["begin"] + regions.get(found["name"], found["text"]) + found["end"], text)

    def outside(self, text):
        """The program without what stands between the marks."""
        return self.splice(text, dict.fromkeys(self.regions, ""))

    @property
    def variant(self):
        return self.data.get("variant")

    def words(self, arguments):
        """What a case's arguments give the program: the exercise's variant, unless they name another."""
        words = shlex.split(arguments)
        return words if not self.variant or "--variant" in words else ["--variant", self.variant, *words]

    def program(self):
        """The author's program as it stands in the step, with the marks that a reader's file has, and without the commands that build the
        step and what comments at marks say that would tell the answer."""
        if not self.asks_for_program:
            return f"// [{ANSWERS}]\n// [end {ANSWERS}]\n"
        path = steps.directory(self.step) / "exercises" / self.data["source"] if "source" in self.data else steps.source(self.step)
        return handed_out(path.read_text(), tuple(self.data.get("hide", [])), tuple(self.regions), tuple(self.counted), path.relative_to(ROOT))

    def heading(self):
        """The comment in front of the reader's program."""
        return (f"// Exercise {self.reference}, {self.title}\n//\n" + comment(self.data["task"])
                + f"//\n//   ./learn check {self.reference}      ./learn hint {self.reference}\n\n")

    def with_regions(self, texts):
        return self.heading() + self.splice(self.program(), texts)

    def author(self):
        """{region: the author's lines}."""
        if not self.asks_for_program:
            return {ANSWERS: self.answer_lines({})}
        own = self.between(self.program())
        return {name: indented(region["solution"], own[name]) if "solution" in region else own[name]
                for name, region in self.regions.items()}

    def answer_lines(self, typed):
        """A line for each question with its answer, or with what is typed in its place."""
        return "".join(f"// answer {each['name']}: {typed.get(each['name']) or self.answer(each)}\n" for each in self.questions)

    def answer(self, question):
        """The right one, as a reader would type it."""
        if "actual" not in question:
            return str(question["answers"][0])
        unit = question["unit"]
        return f"{quantities.shown(self.value(question['actual']), unit)} {unit if unit in quantities.UNITS else ''}".strip()

    def value(self, expression):
        """Of an expression as predict.toml has them."""
        return actual.value(self.step, expression, self.data.get("names", {}), f"{self.name}.toml")

    def start(self):
        """What the reader gets: each region says what it must do."""
        if not self.asks_for_program:
            asked = "".join("//\n" + comment(f"{each['name']}: {each['ask']}") + f"// answer {each['name']}:\n" for each in self.questions)
            return self.with_regions({ANSWERS: comment(f"TODO: {self.regions[ANSWERS]['todo']}") + asked})
        own = self.between(self.program())

        indents = {found["name"]: found["indent"] for found in self.found(self.program())}

        def text(name, asked):
            given = asked.get("start", "")
            indent = indents[name]
            return comment(f"TODO: {asked['todo']}", indent) + (own[name] if given == "as it stands" else indented(given, own[name]))

        return self.with_regions({name: text(name, asked) for name, asked in self.regions.items()})

    def solution(self):
        """The same, solved by the author."""
        return self.with_regions(self.author())

    def wrong(self):
        """[(name, program, what the verdict must say)] of the wrong answers that stand in the TOML file. Each replaces regions, or
        edits the author's lines."""
        found, right = [], self.author()
        for mistake in self.data.get("wrong", []):
            if self.asks_for_program:
                texts = {name: indented(mistake[name], right[name]) for name in self.regions if name in mistake}
            else:
                texts = {ANSWERS: self.answer_lines(mistake["answers"])}
            if "edit" in mistake:
                before, after = mistake["edit"]
                if sum(text.count(before) for text in right.values()) != 1:
                    stop(f"{self.step['name']}/exercises/{self.name}.toml: '{mistake['name']}' edits what does not stand there once.")
                texts = {name: text.replace(before, after) for name, text in right.items()}
            found.append((mistake["name"], self.with_regions(right | texts), mistake["says"]))
        return found


def is_header(place):
    """Whether what a [[count]] is `in` is not a piece of the program but a header, such as common/hopper_attention.h."""
    return bool(place and place.endswith(".h"))


def indented(text, like):
    """Lines of a TOML file, indented as those that they stand for."""
    text = text.strip("\n")
    if not text:
        return ""
    return textwrap.indent(textwrap.dedent(text), re.match(r"[ \t]*", like)[0]) + "\n"


@functools.cache
def load_directory(name):
    """The exercises of a step's directory, by number."""
    step = steps.find(name)
    found = []
    for path in (steps.directory(step) / "exercises").glob("[0-9]*_*.toml"):
        try:
            found.append(Exercise(step, path.stem, tomllib.loads(path.read_text())))
        except tomllib.TOMLDecodeError as error:
            stop(f"{path.relative_to(ROOT)}: {error}")
    return sorted(found, key=lambda exercise: exercise.number)


def load(step):
    return load_directory(step["name"])


def every():
    found = [exercise for step in steps.load() for exercise in load(step)]
    if WORK.is_dir() and outdated(found):
        with state.locked(WORK):
            for file, now in outdated(found):
                move(file, now)
    return found


def id_of(folder, stem):
    """matmul_tiled/load of 04_matmul_tiled and 1_load, whatever their numbers are."""
    return "/".join(re.sub("^[0-9]+_", "", part) for part in (folder, stem))


def by_id(root):
    """{id: [(file, its ending)]} of the files in a folder such as exercises/."""
    found = {}
    for file in sorted(root.glob("*/*.*")):
        stem, ending = file.name.split(".", 1)
        found.setdefault(id_of(file.parent.name, stem), []).append((file, ending))
    return found


def outdated(found):
    """[(file, what it is called now)] of the reader's files whose step or exercise has another number since a pull. A file that would
    take another's place stays where it is."""
    kept = by_id(WORK)
    return [(file, now) for exercise in found for id in exercise.ids for file, ending in kept.get(id, ())
            if (now := exercise.file.with_name(f"{exercise.name}.{ending}")) != file and not os.path.lexists(now)]


def move(file, now):
    """Give a file its present name. One whose name another has taken just now stays, and so does one that cannot be moved."""
    try:
        now.parent.mkdir(exist_ok=True)
        if not os.path.lexists(now):
            file.rename(now)
        if not file.parent.is_symlink() and not any(file.parent.iterdir()):
            file.parent.rmdir()
    except OSError as error:
        complain(f"{file} is to be called {now.parent.name}/{now.name} now, and cannot be moved: {error.strerror}.")


@functools.cache
def complain(words):
    """Say it once, though a command asks for the exercises several times."""
    err.print(words, markup=False, soft_wrap=True)


def find(text):
    """(step, exercise): of 04.2, matmul_tiled/load or a file of the reader's; of 04 the exercise is None."""
    known = {str(exercise.file.relative_to(ROOT)): exercise for exercise in every()}
    name = next((name for name in known if text.endswith(name)), None)
    if name:
        if text != name and os.path.realpath(text) != os.path.realpath(known[name].file):
            stop(f"'{text}' is not in this clone, {ROOT}: run the ./learn of the clone that it is in.")
        return known[name].step, known[name]
    if text.startswith(("/", ".")) or text.endswith(".cu"):
        stop(f"'{text}' is no exercise. One is named 04.2 or matmul_tiled/load, or by its file in {WORK.relative_to(ROOT)}/; a step's first "
             "is named 04 or matmul_tiled.")
    head, _, tail = text.replace("/", ".").partition(".")
    step = steps.find(head)
    chosen = load(step)
    if not chosen:
        stop(f"{step['name']} has no exercises.")
    if not tail:
        return step, None
    for exercise in chosen:
        if tail in (str(exercise.number), exercise.name, exercise.name.split("_", 1)[1]):
            return step, exercise
    names = [exercise.name.split("_", 1)[1] for exercise in chosen]
    near = next(iter(difflib.get_close_matches(tail, names, 1, 0)), names[0])
    stop(f"{step['name']} has no exercise '{tail}'. It has: {', '.join(exercise.reference for exercise in chosen)}; "
         f"the nearest name is {near}.")
