"""The driver is started early, on threads: for which GPUs, with which failures, and that Python goes on meanwhile."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fake_driver import built_driver

WAIT = """
import threading
from exaln.engines.cuda.runtime.driver_start import start_driver

def wait():
    while others := [thread for thread in threading.enumerate() if thread.name == "exaln driver"]:
        others[0].join()
"""


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built_driver(tmp_path_factory.mktemp("driver"))


def calls(code: str, driver: Path, log: Path, **environment: str) -> list[str]:
    """The calls of the driver, in a fresh Python that must not fail."""
    environment = os.environ | {"LD_LIBRARY_PATH": str(driver), "FAKE_LOG": str(log)} | environment
    done = subprocess.run(
        [sys.executable, "-c", WAIT + code], capture_output=True, text=True, env=environment, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
    return log.read_text().splitlines() if log.exists() else []


@pytest.mark.parametrize(
    ("devices", "contexts"),
    [("None", {0, 1, 2}), ("[1]", {1}), ("[2, 0, 2]", {0, 2}), ("[5, 1, -1]", {1}), ("[5]", set())],
)
def test_the_contexts_of_the_devices_are_created_once_each(
    driver: Path, tmp_path: Path, devices: str, contexts: set[int]
) -> None:
    first, *others = calls(f"start_driver({devices}); wait()", driver, tmp_path / "log", FAKE_GPUS="3")
    assert first == "cuInit 0"
    assert sorted(others) == [f"cuDevicePrimaryCtxRetain {number}" for number in sorted(contexts)]


def test_a_context_that_was_started_is_not_started_again(driver: Path, tmp_path: Path) -> None:
    code = "for devices in (None, [0], [0, 1]): start_driver(devices); wait()"
    told = calls(code, driver, tmp_path / "log", FAKE_GPUS="2")
    assert told[0] == "cuInit 0"
    assert sorted(told[1:]) == ["cuDevicePrimaryCtxRetain 0", "cuDevicePrimaryCtxRetain 1"]


@pytest.mark.parametrize("failure", [{"FAKE_INIT": "100"}, {"FAKE_INIT": "999"}, {"FAKE_GPUS": "0"}])
def test_a_driver_that_fails_is_left_alone(driver: Path, tmp_path: Path, failure: dict[str, str]) -> None:
    assert calls("start_driver(); wait()", driver, tmp_path / "log", **failure) == ["cuInit 0"]


def test_a_context_that_fails_is_left_alone(driver: Path, tmp_path: Path) -> None:
    assert len(calls("start_driver(); wait()", driver, tmp_path / "log", FAKE_RETAIN="2")) == 2


def test_without_a_driver_nothing_happens(tmp_path: Path) -> None:
    (tmp_path / "libcuda.so.1").write_text("not a library")
    assert calls("start_driver(); wait()", tmp_path, tmp_path / "log") == []


@pytest.mark.parametrize("slow", ["FAKE_LOAD_MS", "FAKE_INIT_MS"])
def test_python_goes_on_while_the_driver_starts(driver: Path, tmp_path: Path, slow: str) -> None:
    code = """
import time
start_driver()
begun, steps = time.monotonic(), 0
while any(thread.name == "exaln driver" for thread in threading.enumerate()):
    time.sleep(0.001)
    steps += 1
assert steps > 10, f"{steps} steps in {time.monotonic() - begun} s"
"""
    assert len(calls(code, driver, tmp_path / "log", **{slow: "300"})) == 2


def test_a_process_can_end_while_the_driver_starts(driver: Path, tmp_path: Path) -> None:
    assert calls("start_driver()", driver, tmp_path / "log", FAKE_INIT_MS="20000") == []


def test_the_command_line_starts_the_driver_first_and_reports_failures_as_ever(driver: Path, tmp_path: Path) -> None:
    (tmp_path / "q.fasta").write_text(">q\nMKVL\n")
    command = ["search", "--query", "q.fasta", "--db", "q.fasta", "--engine", "cuda", "--devices", "0"]
    log = tmp_path / "log"
    environment = os.environ | {"LD_LIBRARY_PATH": str(driver), "FAKE_LOG": str(log), "FAKE_INIT": "999"}
    done = subprocess.run(
        [sys.executable, "-m", "exaln", *command], capture_output=True, text=True, env=environment, cwd=tmp_path
    )
    assert done.returncode == 3
    assert done.stderr == (
        "exaln: error: engine 'cuda' cannot be used: the NVIDIA driver does not work (CUDA_ERROR_UNKNOWN)\n"
    )
    assert log.read_text().splitlines() == ["cuInit 0"] * 2


@pytest.mark.parametrize("seconds", [0.1, 0.4, 0.8])
def test_an_interrupt_while_the_driver_starts_ends_the_command(driver: Path, tmp_path: Path, seconds: float) -> None:
    (tmp_path / "q.fasta").write_text(">q\nMKVL\n")
    command = [sys.executable, "-m", "exaln", "search", "--query", "q.fasta", "--db", "q.fasta", "--engine", "cuda"]
    environment = os.environ | {
        "LD_LIBRARY_PATH": str(driver),
        "FAKE_LOG": str(tmp_path / "log"),
        "FAKE_INIT_MS": "1500",
    }
    process = subprocess.Popen(command, stderr=subprocess.PIPE, env=environment, cwd=tmp_path)
    time.sleep(seconds)
    process.send_signal(signal.SIGINT)
    _, messages = process.communicate(timeout=30)
    # before Python has begun to run exaln, an interrupt is Python's own
    assert (process.returncode, messages) == (130, b"exaln: interrupted\n") or b"KeyboardInterrupt" in messages
