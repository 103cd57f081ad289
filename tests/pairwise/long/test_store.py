"""The work directory of a long pair: kill -9 at every step, damaged files, two processes, a full disk."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from exaln.errors import DatabaseError, OutputError
from exaln.pairwise.long.store import MANIFEST_NAME, DirectoryStore, pair_name
from exaln.pairwise.long.traceback import LongPair
from exaln.scoring.modes import GLOBAL, LOCAL, Mode
from exaln.scoring.scoring import Scoring
from long_cases import COSTS, SMALL_PLAN, align_in, by_definition, long_pair, same


class Aligner:
    """Starts alignments in processes of their own, which kill themselves before a step."""

    def __init__(self) -> None:
        script = Path(__file__).parents[2] / "support" / "crashing_aligner.py"
        self._process = subprocess.Popen(
            [sys.executable, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def run(self, mode: Mode, path: Path, step: int) -> int:
        """The exit code: 0, or -9 when it was killed."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(json.dumps({"mode": mode.name, "path": str(path), "step": step}) + "\n")
        stdin.flush()
        return int(stdout.readline())

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


@pytest.fixture(scope="module")
def aligner() -> Iterator[Aligner]:
    started = Aligner()
    yield started
    started.close()


@pytest.fixture(autouse=True)
def fast_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda file: None)


def test_a_run_killed_before_any_step_resumes(tmp_path: Path, aligner: Aligner) -> None:
    pair, stages, step = long_pair(LOCAL), set(), 0
    expected = by_definition(pair)
    while True:
        step += 1
        directory = tmp_path / str(step)
        if aligner.run(LOCAL, directory, step) == 0:
            break
        stages.add(stage_of(directory))
        assert same(align_in(directory, pair), expected)
        assert_checkpoints_are_deleted(directory)
    assert stages == {"nothing", "scores", "path", "all"}


def test_a_run_killed_repeatedly_completes(tmp_path: Path, aligner: Aligner) -> None:
    kills = 0
    while kills < 100 and aligner.run(GLOBAL, tmp_path / "work", 20):
        kills += 1
    assert kills > 3
    pair = long_pair(GLOBAL)
    assert same(align_in(tmp_path / "work", pair), by_definition(pair))


def stage_of(directory: Path) -> str:
    if not (directory / MANIFEST_NAME).exists():
        return "nothing"
    content = json.loads((directory / MANIFEST_NAME).read_text())
    return "all" if content["is_complete"] else "scores" if content["state"] is None else "path"


def assert_checkpoints_are_deleted(directory: Path) -> None:
    """Checkpoints are not needed once the path is there."""
    kinds = {re.sub(r"-\d+", "", path.name) for path in directory.iterdir()}
    assert kinds == {".lock", MANIFEST_NAME, "path.steps"}


@pytest.fixture
def interrupted(tmp_path: Path, aligner: Aligner) -> Path:
    """A directory with all scores and some of the path."""
    step = 40
    while True:
        directory = tmp_path / str(step)
        assert aligner.run(LOCAL, directory, step) == -9
        if stage_of(directory) == "path" and list(directory.glob("path-*")):
            return directory
        step += 5


@pytest.mark.parametrize("kind", ["slab", "carry", "path", "manifest"])
@pytest.mark.parametrize("harm", ["flip", "truncate", "lengthen", "remove", "empty"])
def test_damaged_files_of_a_work_directory_are_refused(interrupted: Path, kind: str, harm: str) -> None:
    pair = long_pair(LOCAL)
    for path in sorted(interrupted.glob(f"{kind}*")):
        before = path.read_bytes()
        path.unlink()
        if harm != "remove":
            middle = len(before) // 2
            flipped = before[:middle] + bytes([before[middle] ^ 1]) + before[middle + 1 :]
            path.write_bytes({"flip": flipped, "truncate": before[:-2], "lengthen": before + b"1", "empty": b""}[harm])
    if kind == "manifest" and harm == "remove":  # then it is as if nothing had been done
        assert same(align_in(interrupted, pair), by_definition(pair))
        return
    with pytest.raises(DatabaseError, match=rf"{kind}.*(damaged|missing).*; delete {interrupted} to start over"):
        align_in(interrupted, pair)


def test_a_work_directory_is_locked_by_one_process(tmp_path: Path) -> None:
    opened = DirectoryStore(tmp_path, SMALL_PLAN, 10, 10)
    with pytest.raises(DatabaseError, match="another exaln is working here"):
        DirectoryStore(tmp_path, SMALL_PLAN, 10, 10)
    opened.close()
    DirectoryStore(tmp_path, SMALL_PLAN, 10, 10).close()


def test_a_work_directory_of_another_version_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pair = long_pair(LOCAL)
    monkeypatch.setattr("exaln.pairwise.long.manifest.FORMAT_VERSION", 99)
    align_in(tmp_path, pair)
    monkeypatch.undo()
    with pytest.raises(
        DatabaseError, match=r"work directory of format 99, but this exaln reads format 1; .* or delete"
    ):
        align_in(tmp_path, pair)


def test_every_pair_has_its_own_folder_name() -> None:
    pair = long_pair(LOCAL)
    others = [
        LongPair(pair.target, pair.query, COSTS, LOCAL, pair.engine),
        LongPair(pair.query[:-1], pair.target, COSTS, LOCAL, pair.engine),
        LongPair(pair.query, pair.target, COSTS, GLOBAL, pair.engine),
        LongPair(pair.query, pair.target, Scoring(match=2, mismatch=-3, gap_open=3, gap_extend=2), LOCAL, pair.engine),
        LongPair(pair.query, pair.target, Scoring(match=2, mismatch=-4, gap_open=3, gap_extend=1), LOCAL, pair.engine),
    ]
    assert len({pair_name(one) for one in [pair, *others]}) == 6
    assert pair_name(long_pair(LOCAL)) == pair_name(pair)


FOREIGN = ["notes.txt", "slab-1.lines", "slab-000000.lines.bak", "slab-000000.txt", "path-abc.steps", ".hidden"]


def test_foreign_files_stay_and_leftovers_are_deleted(tmp_path: Path) -> None:
    """Only names that a store writes are deleted, and a folder of that name is not."""
    own = ["slab-000007.lines", "carry-000009.lines", "path-000123.steps", "manifest.json." + "0a" * 16]
    own += [".slab-000001.lines." + "1b" * 16, ".manifest.json." + "2c" * 16]
    for name in [*FOREIGN, *own]:
        (tmp_path / name).write_text("content")
    (tmp_path / "slab-000008.lines").mkdir()
    pair = long_pair(LOCAL)
    assert same(align_in(tmp_path, pair), by_definition(pair))
    names = {path.name for path in tmp_path.iterdir()}
    assert names & {*FOREIGN, *own, "slab-000008.lines"} == {*FOREIGN, "slab-000008.lines"}
    assert all((tmp_path / name).read_text() == "content" for name in FOREIGN)


@pytest.mark.parametrize("name", ["slab-000000.lines", "carry-000000.lines", "path-000000.steps", ".lock"])
def test_symbolic_links_in_a_work_directory_are_not_followed(tmp_path: Path, name: str) -> None:
    """Somebody else may have put them there: what they point to is not written to."""
    precious, work = tmp_path / "precious", tmp_path / "work"
    precious.write_text("as it was")
    work.mkdir()
    (work / name).symlink_to(precious)
    pair = long_pair(LOCAL)
    if name == ".lock":
        with pytest.raises(OutputError, match="work: cannot be written"):
            align_in(work, pair)
    else:
        assert same(align_in(work, pair), by_definition(pair))
    assert precious.read_text() == "as it was"


def test_a_stored_file_that_is_a_symbolic_link_is_refused(interrupted: Path, tmp_path: Path) -> None:
    path = next(interrupted.glob("slab-*"))
    path.rename(tmp_path / "real")
    path.symlink_to(tmp_path / "real")
    with pytest.raises(DatabaseError, match=rf"{path.name}: cannot be read: a symbolic link, not a file"):
        align_in(interrupted, long_pair(LOCAL))
