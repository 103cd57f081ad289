"""Files that other programs change while exaln has them open: an error with the file's name, never results, never a
signal. Deleting them is fine.
"""

from __future__ import annotations

import ast
import io
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import exaln
from database_samples import TINY, random_sequences, records_of
from exaln.database.database import Database
from exaln.engines.contracts import Engine
from exaln.engines.cpu.engine import CpuEngine
from exaln.engines.reference.engine import ReferenceEngine
from exaln.engines.tasks import Candidates
from exaln.errors import DatabaseError
from exaln.foundation.mapped_file import WatchedFile
from exaln.pairwise.long.checkpoints import SlabCheckpoints
from exaln.scoring.modes import LOCAL
from exaln.scoring.scoring import Scoring
from exaln.search.options import SearchOptions
from exaln.search.pipeline import Search
from exaln.search.score_table import score_lines
from long_cases import align_in, by_definition, long_pair, same

PLAIN = random_sequences(25, seed=5)
QUERY = max(PLAIN, key=lambda one: len(one[2]))[2].upper()
PACKAGE = Path(exaln.__file__).parent


def truncate(path: Path) -> None:
    """To nothing."""
    os.truncate(path, 0)


def shorten(path: Path) -> None:
    """To the half."""
    os.truncate(path, path.stat().st_size // 2)


def zero(path: Path) -> None:
    """All bytes, in place."""
    with path.open("r+b") as file:
        file.write(bytes(path.stat().st_size))


def rewrite(path: Path) -> None:
    """The same bytes, in place."""
    content = path.read_bytes()
    with path.open("r+b") as file:
        file.write(content)


def append(path: Path) -> None:
    """Some bytes at the end."""
    with path.open("ab") as file:
        file.write(b"more")


CHANGES = [truncate, shorten, zero, rewrite, append]
Change = Callable[[Path], None]


@pytest.fixture
def database(tmp_path: Path) -> Database:
    """Of three segments, whose files are an hour old: the clock of a file system may tick rarely."""
    built = Database.build_records([records_of(PLAIN)], tmp_path / "db", limits=TINY)
    assert len(built.segments) > 2
    for segment in built.segments:
        make_old(Path(segment.name))
    return Database.open(tmp_path / "db")


def make_old(path: Path) -> None:
    hour_ago = path.stat().st_mtime - 3600
    os.utime(path, (hour_ago, hour_ago))


def changed_segment(database: Database) -> Path:
    return Path(database.segments[1].name)


def is_reported(path: Path) -> Any:
    return pytest.raises(DatabaseError, match=rf"{path.name}: changed while it was in use, so nothing is reported")


USES: dict[str, Callable[[Database], object]] = {
    "search by cpu": lambda db: exaln.search([QUERY], db, evalue=1e9, max_hsps=1, engine="cpu"),
    "search by reference": lambda db: exaln.search([QUERY[:9]], db, evalue=1e9, max_hsps=1, engine="reference"),
    "scores by cpu": lambda db: exaln.scores([QUERY], db, engine="cpu"),
    "scores by reference": lambda db: exaln.scores([QUERY[:9]], db, engine="reference"),
    "score table": lambda db: list(score_lines(records_of([("q", "", QUERY)]), db, Scoring(), CpuEngine(1))),
    "fetch": lambda db: db.fetch([PLAIN[0][0]]),
    "fetch many": lambda db: db.fetch([id_ for id_, _, _ in PLAIN] * 5),
    "export": lambda db: db.export(io.BytesIO()),
    "export some": lambda db: db.export(io.BytesIO(), ids=[PLAIN[0][0]]),
    "verify": lambda db: db.verify(),
    "part": lambda db: list(search_of(db.part(0, db.n_residues + 1), CpuEngine(1))),
}


def search_of(database: Any, engine: Engine) -> Iterator[Any]:
    options = SearchOptions(evalue=1e9, max_hsps=1)
    return Search(database, Scoring(), engine, options).run([records_of([("q", "", QUERY)])])


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("use", USES)
def test_a_segment_that_changes_between_opening_and_use_is_named(database: Database, use: str, change: Change) -> None:
    change(changed_segment(database))
    with is_reported(changed_segment(database)):
        USES[use](database)


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("use", USES)
def test_a_segment_that_changes_after_its_first_use_is_named(database: Database, use: str, change: Change) -> None:
    USES[use](database)
    change(changed_segment(database))
    with is_reported(changed_segment(database)):
        USES[use](database)


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("kind", [CpuEngine, ReferenceEngine])
@pytest.mark.parametrize("stage", ["scan", "align"])
def test_a_segment_that_changes_during_a_search_gives_no_hits(
    database: Database, kind: type[Engine], change: Change, stage: str
) -> None:
    """While the scan is read, or after it and before the hits are handed out."""

    class Disturbed(kind):  # type: ignore[valid-type, misc]
        def scan(self, *arguments: Any, **options: Any) -> Iterator[Candidates]:
            for number, found in enumerate(super().scan(*arguments, **options)):
                if number == 1 and stage == "scan":
                    change(changed_segment(database))
                yield found

        def align(self, *arguments: Any, **options: Any) -> Any:
            found = super().align(*arguments, **options)
            if stage == "align":
                change(changed_segment(database))
            return found

    handed_out = []
    with is_reported(changed_segment(database)):
        handed_out.extend(search_of(database, Disturbed()))
    assert handed_out == []


@pytest.mark.parametrize("change", CHANGES)
def test_a_segment_that_changes_during_export_is_not_committed(
    database: Database, change: Change, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from exaln.database.segment import Segment

    as_text, out = Segment.fasta, tmp_path / "all.fasta"
    out.write_text("as it was")

    def disturbed(self: Segment, *arguments: Any) -> Any:
        text = as_text(self, *arguments)
        if Path(self.name) == changed_segment(database):
            change(changed_segment(database))
        return text

    monkeypatch.setattr(Segment, "fasta", disturbed)
    with is_reported(changed_segment(database)):
        database.export(out)
    assert out.read_text() == "as it was"


@pytest.mark.parametrize("change", CHANGES)
def test_compact_of_a_segment_that_changes_meanwhile_leaves_the_old_database(
    database: Database, change: Change, monkeypatch: pytest.MonkeyPatch
) -> None:
    from exaln.database import build

    assert database.path is not None
    manifest = database.path / "manifest.json"
    before = manifest.read_bytes()
    finish = build.SegmentBuilder.finish

    def disturbed(self: Any) -> None:
        finish(self)
        change(changed_segment(database))

    monkeypatch.setattr(build.SegmentBuilder, "finish", disturbed)
    with is_reported(changed_segment(database)):
        database.compact()
    assert manifest.read_bytes() == before


def test_deleted_renamed_and_linked_segments_do_not_matter(database: Database, tmp_path: Path) -> None:
    first, second, third = (Path(segment.name) for segment in database.segments[:3])
    expected = exaln.search([QUERY], database, evalue=1e9, max_hsps=1).to_arrow()
    first.unlink()
    second.rename(tmp_path / "elsewhere")
    (tmp_path / "twice").hardlink_to(third)
    assert exaln.search([QUERY], database, evalue=1e9, max_hsps=1).to_arrow().equals(expected)
    truncate(tmp_path / "elsewhere")
    with is_reported(second):
        exaln.search([QUERY], database, evalue=1e9, max_hsps=1)


def test_compact_while_a_database_is_open_does_not_matter(database: Database) -> None:
    expected = exaln.search([QUERY], database, evalue=1e9, max_hsps=1).to_arrow()
    assert len(database.compact().segments) == 1
    assert exaln.search([QUERY], database, evalue=1e9, max_hsps=1).to_arrow().equals(expected)


def test_reading_what_is_no_longer_there_gives_zeros_on_every_thread(tmp_path: Path) -> None:
    """Four threads read while the file is truncated again and again: nobody gets SIGBUS, and the fault is known."""
    path, n_bytes = tmp_path / "file", 8 << 20
    for _ in range(5):
        path.write_bytes(b"\1" * n_bytes)
        file = WatchedFile(tmp_path, "file")
        sums: list[int] = []
        threads = [threading.Thread(target=lambda f=file, s=sums: s.append(int(f.bytes.sum()))) for _ in range(4)]
        for thread in threads[:2]:
            thread.start()
        truncate(path)
        for thread in threads[2:]:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(sums) == 4
        assert all(total <= n_bytes for total in sums)
        assert file._mapped.has_faulted
        path.write_bytes(b"\1" * n_bytes)
        os.utime(path, ns=(0, file._identity[3]))
        with is_reported(path):
            file.require_unchanged()


def test_an_empty_file_can_be_watched(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    file = WatchedFile(tmp_path, "file")
    assert len(file.bytes) == 0
    file.require_unchanged()


FOREIGN = """
import faulthandler, mmap, os, sys
from pathlib import Path
from exaln.foundation.mapped_file import WatchedFile
path = Path(sys.argv[1], "file")
path.write_bytes(bytes(100_000))
if sys.argv[2] == "faulthandler first":
    faulthandler.enable()
watched = WatchedFile(path.parent, "file")
if sys.argv[2] == "faulthandler second":
    faulthandler.enable()
    WatchedFile(path.parent, "file")
with path.open("r+b") as file:
    mapped = mmap.mmap(file.fileno(), 0)
os.truncate(path, 0)
print(int(watched.bytes.sum()), flush=True)
mapped[50_000]
"""


@pytest.mark.parametrize("order", ["no other handler", "faulthandler first", "faulthandler second"])
def test_faults_elsewhere_still_end_the_process(tmp_path: Path, order: str) -> None:
    """What exaln did not map is not its affair, and handlers that were there before it still hear of it."""
    done = subprocess.run(
        [sys.executable, "-c", FOREIGN, str(tmp_path), order], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout) == (-signal.SIGBUS, "0\n")
    assert ("Fatal Python error: Bus error" in done.stderr) == (order != "no other handler")


def test_more_files_than_descriptors_raise_the_limit_or_are_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    code = """
import resource, sys
from pathlib import Path
from exaln.foundation.mapped_file import WatchedFile
resource.setrlimit(resource.RLIMIT_NOFILE, (30, int(sys.argv[2])))
files = []
try:
    for _ in range(100):
        files.append(WatchedFile(Path(sys.argv[1]), "file"))
except OSError as error:
    print(error.strerror)
print(len(files) == 100)
"""
    for most, expected in ((200, "True\n"), (60, "Too many open files\nFalse\n")):
        done = subprocess.run(
            [sys.executable, "-c", code, str(tmp_path), str(most)], capture_output=True, text=True, check=True
        )
        assert done.stdout == expected


@pytest.mark.parametrize("change", CHANGES)
def test_checkpoints_of_a_work_directory_that_change_during_traceback_are_named(
    tmp_path: Path, change: Change, monkeypatch: pytest.MonkeyPatch
) -> None:
    pair = long_pair(LOCAL)
    window = SlabCheckpoints.window
    calls = 0

    def disturbed(self: SlabCheckpoints, *arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        found = window(self, *arguments)
        if calls == 3:
            path = next(tmp_path.glob("slab-000002*"))
            make_old(path) if change is rewrite else None
            change(path)
        return found

    monkeypatch.setattr(SlabCheckpoints, "window", disturbed)
    with pytest.raises(DatabaseError, match=r"slab-000002\.lines: changed while it was in use"):
        align_in(tmp_path, pair)
    assert calls >= 3


def test_a_path_that_changes_while_it_is_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from exaln.pairwise.long import driver

    pair = long_pair(LOCAL)
    assert same(align_in(tmp_path, pair), by_definition(pair))
    rescored = driver.rescored

    def disturbed(*arguments: Any) -> Any:
        found = rescored(*arguments)
        zero(tmp_path / "path-000000.steps")
        return found

    for path in tmp_path.glob("path-*"):
        make_old(path)
    monkeypatch.setattr(driver, "rescored", disturbed)
    with pytest.raises(DatabaseError, match=r"path-000000\.steps: changed while it was in use"):
        align_in(tmp_path, pair)


READERS = {"scan", "score_blocks", "outline"}
READING_FUNCTIONS = {"score_matrix"}
GUARDS = {"read_unchanged", "unchanged"}
UNGUARDED = ("engines", "cluster/unit_search.py")
"""Engines themselves, and what scores only sequences in memory."""


def test_every_function_that_passes_a_database_to_an_engine_checks_for_changes() -> None:
    """Every function that calls an engine's scan, or makes all scores, also calls one of the guards."""
    found = 0
    for path in PACKAGE.rglob("*.py"):
        if str(path.relative_to(PACKAGE)).startswith(UNGUARDED):
            continue
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(function, ast.FunctionDef):
                continue
            calls = [node.func for node in ast.walk(function) if isinstance(node, ast.Call)]
            reads = [call for call in calls if isinstance(call, ast.Attribute) and call.attr in READERS]
            names = {call.id for call in calls if isinstance(call, ast.Name)}
            if reads or names & READING_FUNCTIONS:
                found += 1
                assert names & GUARDS, f"{path}: {function.name} reads a database and does not look at its files"
    assert found >= 4


def test_the_segments_of_a_database_are_no_symbolic_links(database: Database, tmp_path: Path) -> None:
    path = changed_segment(database)
    path.rename(tmp_path / "real")
    path.symlink_to(tmp_path / "real")
    with pytest.raises(DatabaseError, match=rf"{path.name}: cannot be read: a symbolic link, not a file"):
        Database.open(path.parent)


def test_arrays_outlive_the_segment_they_come_from(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"abc" * 5000)
    view = WatchedFile(tmp_path, "file").bytes[3:6]
    assert bytes(view) == b"abc"
    assert np.array_equal(view, np.frombuffer(b"abc", np.uint8))
