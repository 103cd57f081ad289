"""Run `exaln` as a separate process, in pipes or on a terminal."""

import os
import pty
import select
import subprocess
import sys
from pathlib import Path

import numpy as np

EXALN = [sys.executable, "-m", "exaln"]
LETTERS = np.frombuffer(b"ARNDCQEGHILKMFPSTWYV", np.uint8)


def write_random(path: Path, n_sequences: int, length: int) -> Path:
    """Write random proteins of equal length as FASTA. Returns the path."""
    letters = LETTERS[np.random.default_rng(n_sequences).integers(0, 20, (n_sequences, length))]
    path.write_bytes(b"".join(b">s%d\n%s\n" % (number, bytes(row)) for number, row in enumerate(letters)))
    return path


def start(*arguments: object, **options: object) -> subprocess.Popen[bytes]:
    """Start a command with pipes for stdout and stderr; `options` are those of Popen."""
    command = [*EXALN, *(str(argument) for argument in arguments)]
    return subprocess.Popen(command, **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options)  # type: ignore[call-overload,no-any-return]


def on_terminal(stream: str, *arguments: object) -> str:
    """What a command writes to `stream`, which is a terminal."""
    ours, theirs = pty.openpty()
    text = b""
    with start(*arguments, env={**os.environ, "TERM": "xterm", "COLUMNS": "100"}, **{stream: theirs}) as process:
        os.close(theirs)
        while True:
            if select.select([ours], [], [], 0.1)[0]:
                try:
                    text += os.read(ours, 1 << 16)
                except OSError:  # Linux raises EIO after the last writer has closed
                    break
            elif process.poll() is not None:
                break
        assert process.wait(30) == 0
    os.close(ours)
    return text.decode()
