"""Databases and work directories with right hashes and wrong content: every command gives one line and exit code 2."""

from __future__ import annotations

import io
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import exaln
from database_samples import TINY, content_of, random_sequences, records_of
from exaln.database.database import Database
from exaln.engines.cpu.engine import CpuEngine
from exaln.errors import DatabaseError, ExalnError
from exaln.pairwise.long.store import MANIFEST_NAME
from exaln.scoring.modes import LOCAL
from exaln.scoring.scoring import Scoring
from exaln.search.score_table import score_lines
from forged_segments import Columns, forge_bytes, forge_columns, forge_manifest
from long_cases import align_in, long_pair

PLAIN = [("first", "eins", "MKVLAAGIVGAAAA"), *random_sequences(30, seed=3, longest=40)]
IDS = [id_ for id_, _, _ in PLAIN]

USES: dict[str, Callable[[Database], object]] = {
    "search by cpu": lambda db: exaln.search(["MKVLAAGIVG"], db, evalue=1e9, engine="cpu"),
    "search by reference": lambda db: exaln.search(["MKVLA"], db, evalue=1e9, engine="reference"),
    "scores": lambda db: exaln.scores(["MKVLAAGIVG"], db),
    "score table": lambda db: list(score_lines(records_of(PLAIN[:1]), db, Scoring(), CpuEngine(1))),
    "fetch each": lambda db: [db.fetch(id_) for id_ in IDS],
    "fetch many": lambda db: db.fetch(IDS * 3),
    "targets": lambda db: [segment.target(row) for segment in db.segments for row in range(segment.n_rows)],
    "export": lambda db: db.export(io.BytesIO()),
    "verify": lambda db: db.verify(),
    "part": lambda db: db.part(0, db.n_residues // 2),
    "compact": lambda db: db.append_records([records_of(random_sequences(3, seed=1))]).compact(),
}
READS_SOME_ROWS = {"fetch each", "fetch many", "targets"}
"""These read only the rows that they need, so what is wrong elsewhere does not matter to them."""
ORDINALS = ("an ordinal", "a negative ordinal", "a far ordinal", "a repeated ordinal")
TEXTS = ("id_", "an id", "description_", "a description")
DOES_NOT_READ = {
    "search by cpu": ("mask", "a mask", "by_id", "a repeated ordinal", *TEXTS),
    "search by reference": ("mask", "a mask", "by_id", "a repeated ordinal", *TEXTS),
    "scores": ("mask", "a mask", "by_id", *TEXTS),
    "part": ("mask", "a mask", "by_id", "a code", *TEXTS, *ORDINALS),
}
"""What is wrong with a column, by how its name begins, does not matter to these, which do not use the column."""


def error_of(call: Callable[[], object]) -> ExalnError | None:
    """What went wrong, which must be one line; anything else than an error of exaln fails the test."""
    try:
        call()
    except ExalnError as error:
        found = error
    else:
        return None
    assert len(str(found).splitlines()) == 1
    return found


def set_at(name: str, place: int, value: int) -> Callable[[Columns], None]:
    def forge(columns: Columns) -> None:
        columns[name][place] = value

    return forge


def swap(name: str) -> Callable[[Columns], None]:
    def forge(columns: Columns) -> None:
        columns[name][[0, 1]] = columns[name][[1, 0]]

    return forge


def repeat(name: str) -> Callable[[Columns], None]:
    def forge(columns: Columns) -> None:
        columns[name][0] = columns[name][1]

    return forge


def reverse_lengths(columns: Columns) -> None:
    lengths = np.diff(columns["offsets"])[::-1]
    columns["offsets"][1:] = np.cumsum(lengths)


FAR = 1 << 40
N_FLIPS = int(os.environ.get("EXALN_FLIPS", "0"))
FORGED: dict[str, Callable[[Columns], None]] = {
    **{
        f"{name} {label}": set_at(name, place, value)
        for name in ("id_offsets", "description_offsets", "offsets", "mask_offsets")
        for label, place, value in (
            ("falls", 5, 0),
            ("is negative", 3, -5),
            ("begins late", 0, 2),
            ("is far beyond", -1, FAR),
            ("is the largest number", 4, (1 << 63) - 1),
            ("is the least number", 4, -(1 << 63)),
        )
    },
    "a code beyond the alphabet": set_at("codes", 20, 27),
    "a code beyond all alphabets": set_at("codes", 20, 255),
    "an ordinal out of range": set_at("ordinals", 2, 1000),
    "a negative ordinal": set_at("ordinals", 2, -1),
    "a far ordinal": set_at("ordinals", 2, 1 << 62),
    "a repeated ordinal": repeat("ordinals"),
    "by_id out of range": set_at("by_id", 10, 31),
    "by_id negative": set_at("by_id", 10, -1),
    "by_id far": set_at("by_id", 15, (1 << 31) - 1),
    "by_id repeated": repeat("by_id"),
    "lengths that are not sorted": reverse_lengths,
    "a mask that begins before its sequence": set_at("mask_starts", 0, -1),
    "a mask that ends beyond its sequence": set_at("mask_ends", 0, FAR),
    "a mask that ends before it begins": set_at("mask_ends", 0, 0),
    "an id that is not UTF-8": set_at("id_data", 4, 0xFF),
    "an id cut within a character": set_at("id_data", -1, 0xC3),
    "a description that is not UTF-8": set_at("description_data", 0, 0xFE),
}


@pytest.fixture
def database(tmp_path: Path) -> Database:
    built = Database.build_records([records_of(PLAIN)], tmp_path / "db")
    assert len(built.segments) == 1
    return built


@pytest.mark.parametrize("what", FORGED)
def test_forged_columns_are_one_line_that_names_the_segment(database: Database, what: str) -> None:
    path = forge_columns(database, FORGED[what])
    for use, call in USES.items():
        error = error_of(lambda call=call: call(Database.open(path.parent)))
        if error is None or not isinstance(error, DatabaseError):
            assert use in READS_SOME_ROWS or what.startswith(DOES_NOT_READ.get(use, "?")), use
        else:
            assert re.search(rf"{path.name}: not a (valid )?segment", str(error)), use
    with pytest.raises(DatabaseError, match=path.name):
        Database.open(path.parent).verify()


@pytest.mark.parametrize("column", ["id", "description"])
@pytest.mark.parametrize("forged", ["not UTF-8", "far", "negative", "falling"])
def test_texts_of_hits_are_checked(database: Database, column: str, forged: str) -> None:
    """The other texts are not read by a search."""

    def forge(columns: Columns) -> None:
        row = int(np.flatnonzero(columns["ordinals"] == 0)[0])
        offsets = columns[f"{column}_offsets"]
        if forged == "not UTF-8":
            columns[f"{column}_data"][offsets[row]] = 0xFF
        else:
            offsets[row + 1] = {"far": FAR, "negative": -5, "falling": offsets[row] - 1}[forged]

    path = forge_columns(database, forge)
    with pytest.raises(DatabaseError, match=f"{path.name}: not a valid segment"):
        exaln.search([PLAIN[0][2]], Database.open(path.parent), engine="cpu", max_target_seqs=1)


def test_a_rewritten_segment_without_changes_is_read(database: Database) -> None:
    """The forger itself changes nothing."""
    path = forge_columns(database, lambda columns: None)
    assert content_of(Database.open(path.parent)) == PLAIN
    for call in USES.values():
        call(Database.open(path.parent))


def test_unsorted_ids_are_found_by_verify(database: Database) -> None:
    path = forge_columns(database, swap("by_id"))
    with pytest.raises(DatabaseError, match=f"{path.name}: by_id is not the order of the ids"):
        Database.open(path.parent).verify()


def test_forged_bytes_of_the_arrow_format_are_one_line(database: Database) -> None:
    """Each byte of the metadata at either end changed, with right hashes: Arrow must not be led astray."""
    path = Path(database.segments[0].name)
    content = path.read_bytes()
    random = np.random.default_rng(7)
    places = np.concatenate([np.arange(1200), np.arange(len(content) - 1500, len(content))])
    n_refused = 0
    for place in random.choice(places, min(len(places), max(50, N_FLIPS // 10)), replace=False):
        forged = bytearray(content)
        forged[place] ^= int(random.integers(1, 256))
        opened = Database.open(forge_bytes(database, bytes(forged)).parent)
        for use in ("search by cpu", "fetch each", "export", "verify"):
            error = error_of(lambda use=use, opened=opened: USES[use](opened))
            n_refused += error is not None
            assert error is None or path.name in str(error) or "no sequence with the id" in str(error), use
    assert n_refused > 20


@pytest.mark.parametrize("content", [b"", b"ARROW1", b"ARROW1\0\0" * 50, bytes(5000), b"\xff" * 5000])
def test_a_segment_that_is_no_arrow_file_is_one_line(database: Database, content: bytes) -> None:
    path = Path(database.segments[0].name)
    if not content:
        path.write_bytes(b"")
        with pytest.raises(DatabaseError, match=path.name):
            Database.open(path.parent)
        return
    forge_bytes(database, content)
    for use, call in USES.items():
        with pytest.raises(DatabaseError, match=f"{path.name}: not a segment of this format"):
            call(Database.open(path.parent))
        assert use


def test_a_compressed_segment_is_refused(database: Database) -> None:
    """Arrow would unpack it into other memory, where no hash was compared."""
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    batch = database.segments[0].batch
    with pa.ipc.new_file(sink, batch.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_batch(batch)
    path = forge_bytes(database, sink.getvalue().to_pybytes())
    for call in USES.values():
        with pytest.raises(
            DatabaseError, match=f"{path.name}: not a valid segment: a column is compressed or lies outside the file"
        ):
            call(Database.open(path.parent))


# Manifests

VALUES: list[Any] = [None, True, -1, 0, 1, 1.5, 1 << 62, 1 << 70, "", "x", "../x", "/etc/passwd", [], [1], {}, {"a": 1}]
SOME_VALUES = VALUES if N_FLIPS else VALUES[::3]


def leaves(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The places of all values of a JSON object, those of objects and lists included."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(leaf for key, one in inner for leaf in leaves(one, (*path, key)))]


def replace_at(content: dict[str, Any], path: tuple[Any, ...], value: Any) -> None:
    for key in path[:-1]:
        content = content[key]
    content[path[-1]] = value


def delete_at(content: dict[str, Any], path: tuple[Any, ...]) -> None:
    for key in path[:-1]:
        content = content[key]
    del content[path[-1]]


def assert_manifests_are_checked(path: Path, use: Callable[[], object], values: list[Any]) -> int:
    """Every value of a manifest replaced by others, or taken away, with a right hash; how many were refused.

    What is accepted must give a result or an error of its own: nothing but ExalnError may be raised.
    """
    good = path.read_text()
    refused = 0
    for place in leaves(json.loads(good))[1:-1]:
        for value in [*values, delete_at]:
            path.write_text(good)
            if value is delete_at:
                forge_manifest(path, lambda content, place=place: delete_at(content, place))
            else:
                forge_manifest(path, lambda content, place=place, value=value: replace_at(content, place, value))
            error = error_of(use)
            refused += error is not None
            assert error is None or str(path.parent) in str(error)
    path.write_text(good)
    return refused


def test_every_value_of_a_database_manifest_is_checked(tmp_path: Path) -> None:
    database = Database.build_records([records_of(PLAIN[:12])], tmp_path / "db", limits=TINY)
    assert database.path is not None
    path = database.path / "manifest.json"
    n_leaves = len(leaves(json.loads(path.read_text())))
    refused = assert_manifests_are_checked(path, lambda: Database.open(path.parent).n_targets, SOME_VALUES)
    assert refused > 0.8 * len(SOME_VALUES) * n_leaves
    assert Database.open(path.parent).n_targets == 12


def test_every_value_of_a_work_directory_is_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda file: None)
    pair = long_pair(LOCAL)
    stop_after(monkeypatch, 7)
    with pytest.raises(KeyboardInterrupt):
        align_in(tmp_path, pair)
    path = tmp_path / MANIFEST_NAME
    refused = assert_manifests_are_checked(path, lambda: open_store(tmp_path), SOME_VALUES)
    assert refused > 0.8 * len(SOME_VALUES) * 60


def open_store(directory: Path) -> None:
    from exaln.pairwise.long.store import DirectoryStore
    from long_cases import SMALL_PLAN

    pair = long_pair(LOCAL)
    DirectoryStore(directory, SMALL_PLAN, len(pair.query), len(pair.target)).close()


def stop_after(monkeypatch: pytest.MonkeyPatch, n_commits: int) -> None:
    """The work on a pair is interrupted after so many commits."""
    from exaln.pairwise.long.store import DirectoryStore

    commit, left = DirectoryStore._commit, n_commits

    def counting(self: DirectoryStore, **changes: Any) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise KeyboardInterrupt
        commit(self, **changes)

    monkeypatch.setattr(DirectoryStore, "_commit", counting)


@pytest.mark.parametrize("depth", [100, 900, 990, 1000, 5000, 100_000])
@pytest.mark.parametrize("text", ['{"a":', "["])
def test_deeply_nested_json_is_one_line(tmp_path: Path, depth: int, text: str) -> None:
    database = Database.build_records([records_of(PLAIN[:3])], tmp_path / "db")
    assert database.path is not None
    end = "}" if text.startswith("{") else "]"
    nested = text * depth + "1" + end * depth
    whole = f'{{"format": "exaln database", "format_version": 1, "x": {nested}, "xxh3_64": "{0:016x}"}}'
    for content in (nested, whole):
        (database.path / "manifest.json").write_text(content)
        with pytest.raises(DatabaseError, match=r"manifest\.json: damaged"):
            Database.open(database.path)


@pytest.mark.parametrize("kind", ["symbolic link", "folder", "pipe"])
def test_a_manifest_that_is_no_file_is_refused(tmp_path: Path, kind: str) -> None:
    database = Database.build_records([records_of(PLAIN[:3])], tmp_path / "db")
    assert database.path is not None
    path = database.path / "manifest.json"
    path.rename(tmp_path / "elsewhere.json")
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to(tmp_path / "elsewhere.json")
    with pytest.raises(DatabaseError, match=r"manifest\.json: cannot be read"):
        Database.open(database.path)


def test_databases_of_earlier_versions_are_read_and_written_as_before(tmp_path: Path) -> None:
    """The text of manifest.json, byte by byte, as version 1 has it."""
    database = Database.build_records([records_of(PLAIN[:2])], tmp_path / "db")
    assert database.path is not None
    lines = (database.path / "manifest.json").read_text().splitlines()
    assert lines[:3] == ["{", ' "format": "exaln database",', ' "format_version": 1,']
    assert re.fullmatch(r' "xxh3_64": "[0-9a-f]{16}"', lines[-2])
    keys = [line.split('"')[1] for line in lines if re.match(r' "', line)]
    assert keys == [
        "format",
        "format_version",
        "written_by",
        "alphabet",
        "targets",
        "residues",
        "next_ordinal",
        "length_histogram",
        "segments",
        "xxh3_64",
    ]
