"""Flipped bytes of databases and work directories: the same output, or an error that names the file.

Output of a flip: a search, an export, a check, or a few targets, in turn.
"""

from __future__ import annotations

import io
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import exaln
from database_samples import TINY, random_sequences, records_of
from exaln.database.database import Database
from exaln.errors import DatabaseError
from exaln.foundation.state_file import StateFormat
from exaln.pairwise.long.store import DirectoryStore
from exaln.scoring.modes import GLOBAL, LOCAL, Mode
from long_cases import align_in, long_pair
from state_flips import Flip, flips_of, n_flips, violations

PLAIN = random_sequences(30, seed=8, longest=60)
QUERY = max(PLAIN, key=lambda one: len(one[2]))[2].upper()


@pytest.fixture(autouse=True)
def fast_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda file: None)


def searched(database: Database) -> object:
    return exaln.search([QUERY], database, evalue=1e9, max_hsps=1, engine="cpu").to_arrow().to_pylist()


def exported(database: Database) -> object:
    text = io.BytesIO()
    database.export(text)
    return text.getvalue()


def verified(database: Database) -> object:
    database.verify()
    return database.info


def fetched(database: Database) -> object:
    return database.fetch([PLAIN[3][0], PLAIN[20][0]])


USES: list[Callable[[Database], object]] = [searched, exported, verified, fetched]


@pytest.mark.parametrize("segments", ["one segment", "several segments", "after an append"])
def test_a_flipped_byte_of_a_database_is_found_or_does_not_matter(tmp_path: Path, segments: str) -> None:
    limits = {} if segments == "one segment" else {"limits": TINY}
    n = 20 if segments == "after an append" else len(PLAIN)
    database = Database.build_records([records_of(PLAIN[:n])], tmp_path / "db", **limits)  # type: ignore[arg-type]
    if n < len(PLAIN):
        database = database.append_records([records_of(PLAIN[n:])])
    assert (len(database.segments) > 1) == (segments != "one segment")
    assert database.path is not None
    path = database.path
    files = [file for file in path.iterdir() if file.name != ".lock"]
    flips = flips_of(files, n_flips(60, 1 / 6), seed=len(segments))
    expected = [use(Database.open(path)) for use in USES]
    place = {flip: number % len(USES) for number, flip in enumerate(flips)}

    def output(flip: Flip) -> object:
        use = place[flip]
        return use, USES[use](Database.open(path))

    found = [
        violation
        for use in range(len(USES))
        for violation in violations([flip for flip in flips if place[flip] == use], output, (use, expected[use]))
    ]
    assert found == []


STAGES = {"some scores": 2, "all scores": 3, "some path": 6}
"""The work is interrupted after so many commits: there are three slabs, then the begin of the path, and its pieces."""


def interrupted_after(n_commits: int, directory: Path, mode: Mode, monkeypatch: pytest.MonkeyPatch) -> None:
    commit, done = DirectoryStore._commit, 0

    def counting(self: DirectoryStore, **changes: Any) -> None:
        nonlocal done
        commit(self, **changes)
        done += 1
        if done == n_commits:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(DirectoryStore, "_commit", counting)
        with pytest.raises(KeyboardInterrupt):
            align_in(directory, long_pair(mode))


@pytest.mark.parametrize("mode", [LOCAL, GLOBAL], ids=lambda mode: mode.name)
@pytest.mark.parametrize("stage", [*STAGES, "complete"])
def test_a_flipped_byte_of_a_work_directory_is_found_or_does_not_matter(
    tmp_path: Path, stage: str, mode: Mode, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, work, pair = tmp_path / "kept", tmp_path / "work", long_pair(mode)
    if stage == "complete":
        align_in(kept, pair)
    else:
        interrupted_after(STAGES[stage], kept, mode, monkeypatch)
    kinds = {path.name.split("-")[0] for path in kept.iterdir()}
    paths = {
        "some scores": "slab carry",
        "all scores": "slab carry",
        "some path": "slab carry path",
        "complete": "path",
    }
    assert kinds == {".lock", "manifest.json", *paths[stage].split()}

    def aligned() -> object:
        shutil.copytree(kept, work)
        try:
            found = align_in(work, pair)
        finally:
            shutil.rmtree(work)
        return found.score, found.positions, found.counts, found.operations.tolist()

    expected = aligned()
    flips = flips_of([path for path in kept.iterdir() if path.name != ".lock"], n_flips(30, 1 / 16), seed=len(stage))
    assert violations(flips, lambda flip: aligned(), expected) == []


def test_a_file_that_is_believed_would_be_a_violation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without hashes the loop finds what it looks for."""
    database = Database.build_records([records_of(PLAIN)], tmp_path / "db")
    monkeypatch.setattr("exaln.database.checked_file.CheckedFile._check_block", lambda *arguments: None)
    assert database.path is not None
    path = Path(database.segments[0].name)
    flips = [flip for flip in flips_of([path], 2000, seed=1) if flip.place % 10 == 0]
    found = violations(flips, lambda flip: exported(Database.open(path.parent)), exported(database))
    assert len(found) > 10
    form = StateFormat("exaln database", 1, "rebuild the database")
    with pytest.raises(DatabaseError, match="hash differs"):
        form.load('{"format": "exaln database", "format_version": 1, "a": 1, "xxh3_64": "0"}', "name")
