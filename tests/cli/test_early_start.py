"""The command line is looked at to start the GPUs early: which commands will use them, and which GPUs."""

import subprocess
import sys

import pytest

from exaln.cli import early_start
from exaln.engines.cuda.runtime import driver_start

SEARCH = ["search", "--query", "q.fa", "--db", "d"]
NOT_STARTED = "not started"


@pytest.fixture
def started(monkeypatch):
    """The devices that were started; a GPU is there."""
    seen = []
    monkeypatch.setattr(driver_start, "start_driver", seen.append)
    monkeypatch.setattr(early_start, "DEVICE_FILES", ("/dev/null",))
    monkeypatch.delenv("EXALN_ENGINE", raising=False)
    return seen


@pytest.mark.parametrize(
    ("arguments", "devices"),
    [
        (SEARCH, None),
        ([*SEARCH, "--engine", "cuda"], None),
        ([*SEARCH, "--engine=cuda", "--devices", "1"], [1]),
        ([*SEARCH, "--devices=0,2, 1"], [0, 2, 1]),
        ([*SEARCH, "--devices", "x"], []),
        ([*SEARCH, "--gpu-memory", "8G"], None),
        ([*SEARCH, "--engine", "cpu"], NOT_STARTED),
        ([*SEARCH, "--engine", "cuda", "--engine", "cpu"], NOT_STARTED),
        ([*SEARCH, "--engine"], None),
        ([*SEARCH, "--help"], NOT_STARTED),
        ([*SEARCH, "--cluster", "local:2"], NOT_STARTED),
        ([*SEARCH, "--cluster=slurm", "--engine", "cuda"], NOT_STARTED),
        (["score", "--query", "q.fa", "--db", "d"], None),
        (["align", "a.fa", "b.fa"], NOT_STARTED),
        (["align", "a.fa", "b.fa", "--engine", "cuda"], None),
        (["align", "a.fa", "b.fa", "--devices", "0"], [0]),
        (["makedb", "--in", "a.fa", "--engine", "cuda"], NOT_STARTED),
        (["--engine", "cuda"], NOT_STARTED),
        ([], NOT_STARTED),
    ],
)
def test_the_gpus_that_a_command_will_use_are_started(started, arguments, devices):
    early_start.start_gpus(arguments)
    assert started == ([] if devices is NOT_STARTED else [devices])


@pytest.mark.parametrize(("engine", "is_started"), [("cpu", False), ("cuda", True), ("auto", True)])
def test_the_environment_chooses_for_auto(started, monkeypatch, engine, is_started):
    monkeypatch.setenv("EXALN_ENGINE", engine)
    early_start.start_gpus(SEARCH)
    assert len(started) == is_started
    early_start.start_gpus([*SEARCH, "--engine", "cuda"])
    assert len(started) == is_started + 1


def test_auto_starts_nothing_on_a_machine_without_gpus(started, monkeypatch):
    monkeypatch.setattr(early_start, "DEVICE_FILES", ("/dev/there-is-no-such-file",))
    early_start.start_gpus(SEARCH)
    assert started == []
    early_start.start_gpus([*SEARCH, "--engine", "cuda"])
    assert started == [None]


def test_nothing_that_takes_long_is_imported_before_the_gpus_start():
    code = """
import sys
import exaln.__main__
from exaln.engines.cuda.runtime import driver_start
driver_start.start_driver = lambda devices: print(devices, *{"numpy", "click", "pyarrow", "cuda"} & set(sys.modules))
exaln.__main__.run(["search", "--engine", "cuda", "--no-such-option"])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout == "None\n"
    assert "no such option" in done.stderr
