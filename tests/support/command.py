"""Run `exaln` commands in the process of a test."""

from pathlib import Path

import pytest

from exaln.__main__ import run


class Result:
    """Exit code and output of a command."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    @property
    def rows(self) -> list[list[str]]:
        return [line.split("\t") for line in self.out.splitlines()]


class Exaln:
    """Runs `exaln ARGUMENTS` in this process."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: object) -> Result:
        self._capsys.readouterr()
        code = run([str(argument) for argument in arguments])
        return Result(code, *self._capsys.readouterr())

    def error(self, *arguments: object) -> tuple[int, str]:
        """Exit code and error line of a command that must fail with exactly one line and no output."""
        result = self(*arguments)
        assert result.out == ""
        assert result.err.startswith("exaln: error: ")
        assert result.err.count("\n") == 1
        assert "Traceback" not in result.err
        return result.code, result.err


def write(path: Path, **sequences: str) -> Path:
    """Write sequences, given by name, as FASTA. Returns the path."""
    path.write_text("".join(f">{name}\n{sequence}\n" for name, sequence in sequences.items()))
    return path
