"""The first page has its parts in their order, and the container that it describes keeps what the reader writes."""
import itertools
import json
import pwd
import re
import statistics
import shutil
import subprocess

import pytest

from conftest import ROOT
from small_clone import call, clone, ended  # noqa: F401
from plots import attention_cells, attention_shapes
from tools import docs, floors, results, steps

PAGE = (ROOT / "README.md").read_text()
PARTS = ["# Flash Steps\n", "You need no GPU", "## In one minute", "git clone", "./learn tour", "<!-- generated: tour",
         "<!-- generated: piece", "<!-- generated: report", "Mend it", "`./learn exercise 01`", "## What the steps reach", "plots/attention.svg",
         "plots/attention_cells.svg", "plots/attention_shapes.svg", "<!-- generated: claim", "### Milestones", "## Where to start", "short path", "full path",
         "## How a lesson works", "## Teaching with it", "## What the emulator promises, and what not", "## Platforms", "WSL2",
         "## Tests", "## All steps", "<!-- generated: steps", "## Licence"]
NOBODY = 4321  # a user whom no /etc/passwd knows


def generated(name):
    """The body of a generated part of the page, without its fences."""
    body = re.search(rf"<!-- generated: {name}.*? -->\n(.*?)<!-- /generated -->", PAGE, re.DOTALL)[1]
    return re.search(r"```\w*\n(.*?)\n```", body, re.DOTALL)[1].splitlines() if "```" in body else body.splitlines()


def test_the_parts_in_their_order():
    at = 0
    for part in PARTS:
        assert part in PAGE[at:], f"{part} is missing, or stands before the parts that shall precede it"
        at = PAGE.index(part, at)


def test_optional_steps_say_so():
    """Those that the first page names, each in the same words and at the beginning of a paragraph of its Idea."""
    named = re.search(r"([\d, ]+ and \d+) are optional", " ".join(PAGE.split()))[1]
    saying = []
    for step in steps.load():
        idea = (steps.directory(step) / "README.md").read_text().partition("## Idea\n")[2].partition("\n## ")[0]
        assert ("optional:" in idea) == ("\n\nThis step is optional: " in idea), step["name"]
        saying += [step["number"]] if "optional:" in idea else []
    assert saying == re.findall(r"\d+", named)


def test_the_first_page_is_short():
    assert len(generated("tour")) == 6
    assert len(generated("piece")) == 5
    assert 1 <= len(generated("milestones")) - 2 <= docs.MILESTONES
    assert len(re.findall(r"^!\[", PAGE, re.MULTILINE)) <= 2  # pictures


def test_the_first_sentences_are_for_somebody_who_knows_c():
    """No name of a library, an instruction or a kernel stands above the first command."""
    opening = PAGE[:PAGE.index("```")]
    assert len(opening.split()) < 120
    assert not re.search(r"FlashAttention|WMMA|mma\b|fp\d|PyTorch|cuDNN|Hopper|TFLOPS|kernel|at least as", opening)


def over_cudnn(number, causal):
    """{(head dimension, tokens): how many times as fast as cuDNN the step's last variant is in FlashAttention-3's setting, rested and hot}."""
    step, found = steps.find(number), {}
    for line in steps.recorded(step, "heat.jsonl"):
        shape = line["shape"]
        if shape["batch"] * shape["seqlen"] == 16384 and shape["heads"] == shape["kv_heads"] and shape["causal"] == causal:
            who = line.get("peer") or (line["step"] == step["name"] and line["variant"] == step["variants"][-1])
            found.setdefault((shape["head_dim"], shape["seqlen"]), {}).setdefault(line["heat"], {})[who] = line["time"]["median_ms"]
    return {at: [times["PyTorch SDPA fp16, cuDNN"] / times[True] for times in heats.values()] for at, heats in found.items()}


def test_what_the_first_page_says_in_words_is_what_was_measured():
    """Where the steps are faster than FlashAttention-2 and than cuDNN, and where they are not."""
    assert re.search(r"At all of these shapes but D 512 the steps are faster than FlashAttention-2\..*so do the steps from 45 on\. Without a mask, at 8 heads and "
                     r"D 64, \[step 45\]\(\S+\) is at least as fast as cuDNN from 4,096 tokens on, and slower with fewer\. At D 128, with 16,384 tokens in all "
                     r"sequences together, \[step 47\]\(\S+\) is faster than cuDNN from 4,096 tokens on, as fast within 3 % at 2,048, and slower with fewer\. With a "
                     r"causal mask, at D 64 and 128, \[step 48\]\(\S+\) is faster from 2,048 tokens on\. Where a model generates one token at a time, and so has one "
                     r"query a head, \[step 34\]\(\S+\) is faster than FlashAttention-2 and about as fast as cuDNN", " ".join(PAGE.split()))
    rows = [row.split("|") for row in generated("claim")[2:]]
    few, masked = ([row for row in rows if word in row[1]] for word in ("1 query", "causal"))
    of = lambda rows, name: [float(found[1]) for row in rows if (found := re.search(rf"([\d.]+) × {name}", row[-2]))]
    assert len(of(rows, "FlashAttention-2")) > 2 and min(of(rows, "FlashAttention-2")) >= 1
    assert len([row for row in rows if "D512" not in row[1]]) == len(of(rows, "FlashAttention-2"))
    assert of(masked, "cuDNN") and min(of(masked, "cuDNN")) > 1
    plain, causal = over_cudnn("47", causal=False), over_cudnn("48", causal=True)  # {(D, N): the ratios, rested and hot}
    assert {n: all(0.97 < ratio < 1.03 for ratio in ratios) if n == 2048 else min(ratios) > 1 if n > 2048 else max(ratios) < 1
            for (d, n), ratios in plain.items() if d == 128} == dict.fromkeys((512, 1024, 2048, 4096, 8192, 16384), True)
    assert {at for at in causal if at[0] < 256} == set(itertools.product((64, 128), (2048, 4096, 8192, 16384)))
    assert all(min(ratios) > 1 for (d, _), ratios in causal.items() if d < 256)
    assert of(few, "cuDNN") and 0.95 < min(of(few, "cuDNN")) and max(of(few, "cuDNN")) < 1.1
    curves = attention_shapes.data()["curves"]
    ours, cudnn = (dict(next(found["seqlen"] for name, found in curves.items() if name.startswith(start))) for start in ("45 ", "cuDNN"))
    assert {n for n in ours if ours[n] < cudnn[n]} == {512, 1024, 2048} and {4096, 8192, 16384} < {*ours}
    split = steps.find("34")
    one = {}  # {shape: {who: ms}} with one query
    for line in steps.recorded(split, "decode.jsonl"):
        if results.on_h200(line) and line["shape"]["seqlen"] == 1 and line["dtype"] == "fp16" and line["time"]:
            one.setdefault(str(line["shape"]), {})[line.get("peer") or line["variant"]] = line["time"]["median_ms"]
    flash, cudnn = ([times[f"PyTorch SDPA fp16, {name}"] / times[split["variants"][-1]] for times in one.values()] for name in ("flash", "cuDNN"))
    assert len(one) > 8 and min(flash) > 1 and 0.95 < min(cudnn) and max(cudnn) < 1.1


def test_matmul_is_held_against_cublas():
    """Step 44 at each size, in both types, rested and hot."""
    assert re.search(r"\[Step 44\]\(\S+\) is faster than cuBLAS at 4096³, 8192³ and 16384³ in bf16 and fp16, and as fast within 5 % at 1024³ and 2048³\.",
                     " ".join(PAGE.split()))
    found = {}  # {(type, size): {(heat, who): ms}}
    for line in steps.recorded(steps.find("44"), "heat.jsonl"):
        found.setdefault((line["dtype"], line["shape"]["m"]), {})[line["heat"], line["step"] and line["step"][:2]] = line["time"]["median_ms"]
    assert found.keys() == set(itertools.product(("bf16", "fp16"), (1024, 2048, 4096, 8192, 16384)))
    for (_, size), times in found.items():
        for heat in ("rested", "hot"):
            ratio = times[heat, None] / times[heat, "44"]
            assert ratio > 1 if size >= 4096 else 0.95 < ratio < 1.05


def test_a_milestone_is_what_the_steps_own_idea_gained():
    """Over the step that it comes from, by the variant that is the idea: none of them is tuning, and none gained nothing."""
    rows = [row.split("|")[1:4] for row in generated("milestones")[2:]]
    for title, best, gained in rows:
        step = steps.find(re.search(r"\[(\d\d) ", title)[1])
        ratio, before = results.gain(step)
        assert "`tuned`" not in best and before["step"] == steps.origin(step)["name"]
        assert gained.strip().startswith(f"{floors.three_digits(ratio)} × step {steps.origin(step)['number']}") and ratio > 1
    shown = {title.strip()[1:3] for title, _, _ in rows}
    least = min(results.gain(steps.find(number))[0] for number in shown)
    assert all(found[0] <= least for step in steps.load() if step["number"] not in shown and (found := results.gain(step)))


def test_as_many_launches_as_the_table_has():
    """The first line of the table says where its numbers come from."""
    rows = (ROOT / "tests/truth/h200.jsonl").read_text().splitlines()[1:]
    assert f"[{len(rows):,} launches](tests/truth/h200.jsonl)" in PAGE


def test_ci_finds_the_command_of_the_tests():
    assert "## Tests\n\n```sh\n./learn test\n```\n" in PAGE


def test_links_and_pictures_are_there():
    """Whatever the page points at within the repository."""
    for link in re.findall(r"\]\((?!https?:)([^)#]+)", PAGE):
        assert (ROOT / link).exists(), link


# The container

def test_the_container_is_started_as_the_dockerfile_says():
    """The clone is mounted, by the user whose clone it is, and HOME can be written by any user."""
    recipe = (ROOT / "Dockerfile").read_text()
    commands = re.findall(r"^#   (docker .*)$", recipe, re.MULTILINE)
    assert len(commands) == 2 and all(command in PAGE for command in commands)
    place = re.search(r"^WORKDIR (\S+)$", recipe, re.MULTILINE)[1]
    assert f'-v "$PWD":{place} ' in commands[1] and '--user "$(id -u):$(id -g)"' in commands[1]
    assert re.search(r"^ENV HOME=\S+$", recipe, re.MULTILINE) and 'chmod 1777 "$HOME"' in recipe
    assert not re.search(r"^(COPY|ADD|VOLUME) ", recipe, re.MULTILINE)  # the clone that counts is the mounted one


def test_the_devcontainer_is_the_same_container():
    """An editor mounts the clone by itself; its user takes the reader's id."""
    settings = json.loads((ROOT / ".devcontainer/devcontainer.json").read_text())
    assert (ROOT / ".devcontainer" / settings["build"]["dockerfile"]).resolve() == ROOT / "Dockerfile"
    assert f"useradd --create-home {settings['remoteUser']} " in (ROOT / "Dockerfile").read_text()
    assert settings["updateRemoteUserUID"] is True


@pytest.fixture
def container(clone):  # noqa: F811
    """What to put before a command, and its environment: a user without a name, who may write to the clone and HOME alone."""
    bwrap = shutil.which("bwrap")
    place = str(clone.parent)
    before = [bwrap, "--ro-bind", "/", "/", "--dev", "/dev", "--bind", place, place,
              "--unshare-user", "--uid", str(NOBODY), "--gid", str(NOBODY)]
    if not bwrap or subprocess.run([*before, "true"], capture_output=True).returncode:
        pytest.skip("bubblewrap is not here, or may not make user namespaces")
    with pytest.raises(KeyError):
        pwd.getpwuid(NOBODY)
    home = clone.parent / "home"
    home.mkdir()
    return {"before": before, "HOME": str(home), "TMPDIR": str(home), "MPLCONFIGDIR": None}


def test_any_user_works_in_a_container(clone, container):  # noqa: F811
    """What the tour writes lies in the clone, and what the reader wrote still lies there."""
    mine = clone / "exercises/03_matmul_naive/matmul_naive.cu"
    mine.parent.mkdir(parents=True)
    mine.write_text("mine")
    done = call(clone, "tour", **container)
    ended(done, 0, "4 of 4 variants gave the right result.", "plots/ladder.svg")
    assert (clone / "plots/ladder.svg").exists() and mine.read_text() == "mine"
    assert "plots/" not in call(clone, "tour").stdout  # the next to come, in no container, finds the picture


def test_what_it_says_of_the_36_cells():
    """Step 49 beside FlashAttention-3 and cuDNN: in each cell the rates of one run, whose last line counts."""
    found = re.search(r"at least as fast as the better of FlashAttention-3 and cuDNN in each of the (\d+) cells, and ([\d.]+) × as fast in their "
                      r"geometric mean\. With a softmax that bets on an old max it is ([\d.]+) × as fast", " ".join(PAGE.split()))
    panels = attention_cells.data()["panels"]
    over = {name: [rate / max(curves[rival][place][1] for rival in ("FlashAttention-3", "cuDNN"))
                   for curves in panels.values() for place, (_, rate) in enumerate(curves[name])] for name in ("exact", "speculative")}
    assert len(over["exact"]) == int(found[1]) == 36 and min(over["exact"]) >= 1
    assert [f"{statistics.geometric_mean(over[name]):.2f}" for name in ("exact", "speculative")] == [found[2], found[3]]
