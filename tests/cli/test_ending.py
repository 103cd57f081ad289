"""How a process ends: with all exit handlers and complete output, and without a clean-up of modules."""

import subprocess
import sys

import pytest

PROGRAM = """
import atexit, sys, threading, time
from exaln.cli.ending import Ending

class Witness:
    def __del__(self):
        print("clean-up", file=sys.stderr, flush=True)

witness = Witness()
ending = Ending()
atexit.register(lambda: print("handler"))
threading.Thread(target=lambda: (time.sleep(0.2), print("thread"))).start()
"""


def ended(code: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, "-c", PROGRAM + code], capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("code", [0, 3, 130, 255])
def test_handlers_run_and_output_is_complete_and_nothing_is_cleaned_up(code: int) -> None:
    done = ended(f"print('x' * 100_000)\nending.exit({code})")
    assert done.returncode == code
    assert done.stdout == "x" * 100_000 + "\nthread\nhandler\n"
    assert done.stderr == ""


def test_another_end_is_the_usual_one() -> None:
    done = ended("sys.exit(7)")
    assert done.returncode == 7
    assert done.stderr == "clean-up\n"
    assert "Traceback" in ended("1 / 0").stderr


def test_under_coverage_the_end_is_the_usual_one() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import sys; sys.modules['coverage'] = sys\n" + PROGRAM + "ending.exit(3)"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (3, "clean-up\n")


@pytest.mark.parametrize(
    ("raised", "code", "word"), [("KeyboardInterrupt", 130, "interrupted"), ("Terminated", 143, "terminated")]
)
def test_a_signal_during_the_imports_is_one_line(raised: str, code: int, word: str) -> None:
    program = f"""
import sys
import exaln.__main__ as program
from exaln.cli.ending import Terminated

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == "click":
            raise {raised}

sys.meta_path.insert(0, Interrupting())
program.main(["search", "--engine", "cpu"])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (code, f"exaln: {word}\n")


@pytest.mark.parametrize(("sent", "raised"), [("SIGINT", "KeyboardInterrupt"), ("SIGTERM", "Terminated")])
@pytest.mark.parametrize(
    "file", ["<frozen importlib._bootstrap>", "<frozen importlib._bootstrap_external>", "other.py"]
)
def test_a_signal_is_not_raised_within_the_import_system(sent: str, raised: str, file: str) -> None:
    program = f"""
import os, signal, time
from exaln.cli.ending import Terminated, raise_on_signals

raise_on_signals()
reached = []
lines = "os.kill(os.getpid(), signal.{sent})\\nwhile time.perf_counter() < end: pass\\nreached.append('end')"
try:
    exec(compile(lines, {file!r}, "exec"), globals() | {{"end": time.perf_counter() + 0.05}})
    time.sleep(5)
except {raised}:
    print(reached)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.stderr == ""
    assert done.stdout == ("[]\n" if file == "other.py" else "['end']\n")


@pytest.mark.parametrize(("raised", "code"), [("KeyboardInterrupt", 130), ("Terminated", 143)])
@pytest.mark.parametrize("place", ["exaln.__main__.start_gpus", "exaln.cli.program._invoke"])
def test_a_signal_while_a_class_is_made_is_no_bug(raised: str, code: int, place: str) -> None:
    """Python 3.11 hides it in a RuntimeError."""
    program = f"""
import sys
from exaln.cli.ending import Terminated
import exaln.__main__, exaln.cli.program

class Field:
    def __set_name__(self, owner, name):
        raise {raised}

def interrupted(*arguments):
    class Record:
        field = Field()

{place} = interrupted
sys.exit(exaln.__main__.run(["info"]))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.returncode == code
    assert done.stderr == f"exaln: {'interrupted' if code == 130 else 'terminated'}\n"


def test_a_signal_that_is_ignored_stays_ignored() -> None:
    program = (
        "import os, signal; from exaln.cli.ending import raise_on_signals\n"
        "signal.signal(signal.SIGINT, signal.SIG_IGN); raise_on_signals(); os.kill(os.getpid(), signal.SIGINT)\n"
        "print('on')"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "on\n")
