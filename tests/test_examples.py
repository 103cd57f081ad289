"""The examples of README.md and of documents in docs: every command and line of Python runs, and prints what is shown.

```console  `$ command`, then what it prints on stdout and stderr; where an error is shown, the command must fail
```sh       commands that must succeed
```python   plain code, or `>>>` with what it prints

The blocks of a document run in their order, in one temporary directory that looks like a clone. Spaces and tabs count
as one space, and how long something took is not compared.
"""

import doctest
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MANUALS = ["README.md", "docs/tutorial.md", "docs/genomes.md", "docs/pairs.md"]
DOCUMENTS = [*MANUALS, "docs/letters.md", "docs/masking.md", "docs/modes.md"]
BLOCK = re.compile(r"^```(console|sh|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FENCE = re.compile(r"^```(\w+)", re.MULTILINE)
TIME = re.compile(r"in [\d.]+ s( \(.*\))?$", re.MULTILINE)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@dataclass(frozen=True)
class Block:
    """A block of a document; `line` is its first line, for messages."""

    kind: str
    text: str
    line: int


def blocks_of(document: str) -> list[Block]:
    text = (ROOT / document).read_text(encoding="utf-8")
    return [Block(found[1], found[2], text.count("\n", 0, found.start()) + 2) for found in BLOCK.finditer(text)]


def commands_of(block: Block) -> Iterator[tuple[str, str | None]]:
    """Each command with the output that is shown; None where none is compared."""
    if block.kind == "sh":
        yield block.text, None
        return
    for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        command, _, shown = part.partition("\n")
        yield command, shown


class Session:
    """A shell that remembers its directory, and a Python that remembers its names."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.names: dict[str, object] = {"__name__": "__main__"}
        self._where = folder / ".where"

    def run_shell(self, command: str) -> tuple[int, str]:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        ended = subprocess.run(
            ["bash", "-c", f"set -e\n{command}\npwd > '{self._where}'"],
            cwd=self.folder,
            env={**os.environ, "PATH": path, "COLUMNS": "100"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
        )
        if ended.returncode == 0:
            self.folder = Path(self._where.read_text(encoding="utf-8").rstrip("\n"))
        return ended.returncode, ended.stdout

    def run_python(self, text: str, name: str) -> list[str]:
        """Runs code or a dialogue; what differs from what is shown."""
        if not text.startswith(">>> "):
            exec(compile(text, name, "exec"), self.names)
            return []
        said: list[str] = []
        runner = doctest.DocTestRunner(optionflags=FLAGS, verbose=False)
        test = doctest.DocTestParser().get_doctest(text, self.names, name, name, 0)
        runner.run(test, out=said.append, clear_globs=False)
        self.names.update(test.globs)
        return said


def agrees(shown: str, printed: str) -> bool:
    return doctest.OutputChecker().check_output(TIME.sub("in TIME", shown), TIME.sub("in TIME", printed), FLAGS)


def run_block(session: Session, block: Block, place: str) -> None:
    if block.kind == "python":
        differences = session.run_python(block.text, place)
        assert not differences, f"{place}\n{''.join(differences)}"
        return
    for command, shown in commands_of(block):
        code, printed = session.run_shell(command)
        expected_failure = shown is not None and "exaln: error:" in shown
        assert (code != 0) == expected_failure, f"{place}: exit code {code} of {command}\n{printed}"
        assert shown is None or agrees(shown, printed), f"{place}: {command}\nshown:\n{shown}\nprinted:\n{printed}"


@pytest.mark.parametrize("document", DOCUMENTS)
def test_examples_run_and_print_what_is_shown(document: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    session = Session(tmp_path)
    for block in blocks_of(document):
        monkeypatch.chdir(session.folder)
        run_block(session, block, f"{document}, line {block.line}")


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_block_is_of_a_kind_that_is_run(document: str) -> None:
    fences = FENCE.findall((ROOT / document).read_text(encoding="utf-8"))
    assert len(fences) == len(blocks_of(document)) >= (3 if document in MANUALS else 1)
    assert set(fences) >= ({"console", "python"} if document in MANUALS else {"python"})


@pytest.mark.parametrize(
    "block",
    [
        Block("console", "$ echo one\ntwo\n", 1),
        Block("console", "$ echo one; false\none\n", 1),
        Block("console", "$ echo exaln: error: none\nexaln: error: none\n", 1),
        Block("sh", "false\ntrue\n", 1),
        Block("python", ">>> 1 + 1\n3\n", 1),
    ],
)
def test_an_example_that_is_wrong_is_found(block: Block, tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="example"):
        run_block(Session(tmp_path), block, "example")


def test_times_are_not_compared_but_numbers_are() -> None:
    shown = "exaln: 8 hits of 1 query in 0.04 s (cpu, avx2, 2 threads)\n"
    assert agrees(shown, "exaln: 8 hits of 1 query in 1.23 s (9 GCUPS; cpu, neon, 1 threads)\n")
    assert not agrees(shown, "exaln: 9 hits of 1 query in 0.04 s (cpu, avx2, 2 threads)\n")
