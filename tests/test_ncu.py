"""./learn profile --ncu: what ncu counted, in its own form; recorded where ncu cannot count."""
import os
import re
import sys

import pytest
from conftest import ROOT, ends
from test_sass import learn

sys.path.insert(0, str(ROOT))
from tools import metrics, ncu, results, steps  # noqa: E402


@pytest.fixture
def no_gpu(monkeypatch):
    monkeypatch.setattr(ncu.machine, "choose", lambda step: ("cpu", "no NVIDIA GPU here (there is no nvidia-smi)"))


@pytest.fixture
def a_gpu(monkeypatch, tmp_path):
    """A GPU, and an ncu that says what is put into its folder and ends with a status."""
    monkeypatch.setattr(ncu.machine, "choose", lambda step: ("cuda", "NVIDIA H200"))
    monkeypatch.setattr(ncu.build, "build", lambda *names: None)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")

    def put(said, status):
        (tmp_path / "said").write_text(said)
        (tmp_path / "ncu").write_text(f"#!/bin/sh\necho \"$@\" >{tmp_path}/asked\ncat {tmp_path}/said\nexit {status}\n")
        (tmp_path / "ncu").chmod(0o755)
        return tmp_path / "asked"

    return put


def test_what_is_recorded_in_ncus_form(capsys, no_gpu):
    status, said, complaint = learn(capsys, "profile", "05", "--ncu")
    counted = results.hardware(steps.find("05"), "register", results.headline(steps.find("05")))
    assert status == 0 and not complaint and re.search(r"recorded on an NVIDIA H200 by ncu [\d.]+\. No NVIDIA GPU here", said)
    for metric, unit, name in (("dram__bytes_read.sum", "byte", "dram_ld_bytes"), ("smsp__inst_executed_op_shared_ld.sum", "inst", "shared_ld_requests")):
        assert re.search(rf"^    {re.escape(metric)} +{unit} +{counted[name]:,}$", said, re.MULTILINE)
    assert re.search(r"^    l1tex__data_pipe_lsu_wavefronts\.avg\.pct_of_peak_sustained_active +% +48\.92$", said, re.MULTILINE)
    assert "build/cuda/05_matmul_register --variant register -m 4096 -n 4096 -k 4096 --no-check --no-time" in " ".join(said.split())


def test_each_kernel_of_a_launch_stands_by_itself(capsys, no_gpu):
    said = learn(capsys, "profile", "12", "--ncu", "--variant", "pre_transposed")[1]
    assert re.findall(r"^  (\w[\w<>]*), NVIDIA H200$", said, re.MULTILINE) == ["transpose", "scores<1>", "softmax", "output"]


def test_each_counter_asked_for_has_a_metric():
    assert all(metric for _, _, metric in ncu.asked())
    assert metrics.SUMMED.keys() >= set(ncu.ASKED["ncu"])


def test_on_a_gpu_ncu_itself_speaks(capsys, a_gpu):
    asked = a_gpu("what ncu says\n", 0)
    assert learn(capsys, "profile", "05", "--ncu", "-m", "256") == (0, "what ncu says\n", "")
    assert asked.read_text().endswith("build/cuda/05_matmul_register --variant register -m 256 --no-check --no-time\n")
    assert "recorded" in learn(capsys, "profile", "05", "--ncu", "--recorded")[1]


def test_what_the_program_refuses_is_said(capsys, a_gpu):
    a_gpu("==PROF== Connected\nmatmul_register: -m wants a number, not x\n", 2)
    status, _, complaint = learn(capsys, "profile", "05", "--ncu", "-m", "x")
    assert status == 2 and "ncu counted nothing: matmul_register: -m wants a number, not x" in complaint


def test_where_ncu_may_not_count_it_says_why(capsys, a_gpu):
    a_gpu("==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance Counters\n", 1)
    status, said, complaint = learn(capsys, "profile", "05", "--ncu")
    assert status == 0 and "ncu counted nothing: ERR_NVGPUCTRPERM" in said and "recorded on an NVIDIA H200" in said


def test_stopped_while_ncu_counts_it_stops_the_program_too(a_gpu, tmp_path):
    """ncu runs the program as a process of its own."""
    asked = a_gpu("", 0)
    (tmp_path / "ncu").write_text(f"#!/bin/sh\nsleep 60 &\necho $! >{asked}\nkill -INT $PPID\nwait\n")
    with pytest.raises(KeyboardInterrupt):
        ncu.ncu(steps.find("05"), None, [], False)
    assert ends(asked.read_text().strip())


@pytest.mark.parametrize("words, said", [
    (["machine", "--ncu"], "times its own kernels"), (["05", "--ncu", "--variant", "x"], "no variant 'x'"),
    (["05", "--ncu", "-m", "7"], "Recorded is only 4096³"), (["05", "--ncu", "--json"], "give one of them"),
    (["05", "--recorded"], "--recorded goes with --ncu")])
def test_what_was_asked_wrongly_is_said(capsys, no_gpu, words, said):
    status, _, complaint = learn(capsys, "profile", *words)
    assert status == 2 and said in complaint and len(complaint.strip().splitlines()) == 1


def test_of_what_was_never_counted_it_says_so(capsys, no_gpu, monkeypatch):
    monkeypatch.setattr(ncu.steps, "recorded", lambda step: [])
    status, _, complaint = learn(capsys, "profile", "05", "--ncu")
    assert status == 2 and "Nothing that ncu counted is recorded of 05_matmul_register register." in complaint
