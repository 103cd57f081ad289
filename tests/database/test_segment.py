"""One segment: the content of its file, other readers of the file, and that no damaged byte is used."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from database_samples import Plain, content_of, random_sequences, records_of
from exaln.database.checked_file import BLOCK_BYTES
from exaln.database.database import Database
from exaln.database.segment import MANY_IDS, Segment
from exaln.errors import DatabaseError
from exaln.sequences.alphabet import PROTEIN


def only_segment(database: Database) -> Segment:
    (segment,) = database.segments
    return segment


@pytest.fixture
def plain() -> list[Plain]:
    return random_sequences(300, seed=1)


@pytest.fixture
def segment(plain: list[Plain], tmp_path: Path) -> Segment:
    return only_segment(Database.build_records([records_of(plain)], tmp_path / "db"))


def test_rows_are_sorted_by_length_and_then_by_input(segment: Segment, plain: list[Plain]) -> None:
    expected = sorted(range(len(plain)), key=lambda i: len(plain[i][2]))
    assert segment.ordinals.tolist() == expected
    assert segment.offsets[0] == 0
    assert segment.offsets[-1] == segment.n_residues == len(segment.codes)
    assert segment.ordinals[segment.input_order].tolist() == list(range(len(plain)))


def test_any_arrow_reader_understands_the_file(segment: Segment, plain: list[Plain]) -> None:
    with pa.memory_map(segment.name) as file:
        reader = pa.ipc.open_file(file)
        assert reader.num_record_batches == 1
        table = reader.read_all()
    metadata = table.schema.metadata
    assert metadata[b"exaln.format_version"] == b"1"
    assert metadata[b"exaln.alphabet"] == b"protein"
    letters = metadata[b"exaln.letters"].decode()
    for row in table.to_pylist():
        id_, description, sequence = plain[row["ordinal"]]
        assert (row["id"], row["description"]) == (id_, description)
        assert "".join(letters[code] for code in row["sequence"]) == sequence.upper()
        masked = "".join(sequence[i["start"] : i["end"]] for i in row["mask"] or [])
        assert masked == "".join(filter(str.islower, sequence))
        assert row["mask"] is None or row["mask"]
    by_id = table["by_id"].to_numpy()
    ids = table["id"].to_pylist()
    assert [ids[row] for row in by_id] == sorted(ids, key=str.encode)


def test_columns_are_views_on_the_mapped_file(segment: Segment) -> None:
    assert segment._file is not None
    begin = segment._file.bytes.__array_interface__["data"][0]
    for column in (segment.codes, segment.offsets, segment.ordinals, segment.by_id, segment.ids.data):
        place = column.__array_interface__["data"][0]
        assert begin <= place < begin + len(segment._file.bytes)
        assert not column.flags.writeable


def test_records_restore_everything(segment: Segment, plain: list[Plain]) -> None:
    records, original = segment.records, records_of(plain)
    for row, ordinal in enumerate(segment.ordinals):
        assert records.ids[row] == original.ids[ordinal]
        assert records.descriptions[row] == original.descriptions[ordinal]
        assert np.array_equal(records.sequence(row), original.sequence(int(ordinal)))
        mask = records.mask[records.mask_offsets[row] : records.mask_offsets[row + 1]]
        assert np.array_equal(mask, original.mask[original.mask_offsets[ordinal] : original.mask_offsets[ordinal + 1]])


@pytest.mark.parametrize("n_wanted", [5, MANY_IDS + 5])
def test_rows_are_found_by_id(segment: Segment, plain: list[Plain], n_wanted: int) -> None:
    wanted = [id_ for id_, _, _ in plain[:n_wanted]] + ["", "sp|", "~~~"]
    found = segment.rows_with_ids(wanted)
    assert [segment.ordinals[rows].tolist() for rows in found] == [[i] for i in range(n_wanted)] + [[], [], []]


def test_memory_and_file_segments_agree(segment: Segment, plain: list[Plain]) -> None:
    in_memory = only_segment(Database.in_memory([records_of(plain)]))
    assert in_memory.batch.equals(segment.batch)
    assert in_memory.target(7) == segment.target(7)


def test_a_segment_of_empty_sequences(tmp_path: Path) -> None:
    plain = [("a", "", ""), ("b", "empty too", "")]
    database = Database.build_records([records_of(plain)], tmp_path / "db")
    database.verify()
    assert content_of(database) == plain
    assert len(only_segment(database).codes) == 0


def flip(path: Path, place: int, bit: int = 0) -> None:
    with path.open("r+b") as file:
        file.seek(place)
        byte = file.read(1)[0]
        file.seek(place)
        file.write(bytes([byte ^ (1 << bit)]))


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Plain]]:
    """A database of several blocks."""
    plain = random_sequences(2000, seed=2, longest=2500)
    database = Database.build_records([records_of(plain)], tmp_path_factory.mktemp("large") / "db")
    path = Path(only_segment(database).name)
    assert path.stat().st_size > 2 * BLOCK_BYTES
    return path, plain


def places_to_damage(size: int) -> list[int]:
    """Everywhere: Arrow's metadata at both ends closely, the columns at random."""
    random = np.random.default_rng(3)
    ends = [*range(0, 3000, 61), *range(size - 2000, size, 61)]
    return sorted({0, size - 1, *ends, *random.integers(0, size, 400).tolist()})


def test_a_flipped_byte_is_found_and_named(large: tuple[Path, list[Plain]]) -> None:
    path, plain = large
    out = path.parent.parent / "out.fasta"
    for i, place in enumerate(places_to_damage(path.stat().st_size)):
        flip(path, place, i % 8)
        try:
            with pytest.raises(DatabaseError, match=path.name):
                Database.open(path.parent).verify()
            with pytest.raises(DatabaseError, match=path.name):
                Database.open(path.parent).export(out)
            check_fetch(Database.open(path.parent), plain[i])
        finally:
            flip(path, place, i % 8)
        assert not out.exists()
    Database.open(path.parent).verify()


def check_fetch(database: Database, expected: Plain) -> None:
    """Fetch reads a few blocks only: it is right, or it meets the damage."""
    try:
        (target,) = database.fetch(expected[0])
    except DatabaseError:
        return
    assert (target.id, target.description, target.sequence) == expected


def test_fetch_reports_damage_only_in_blocks_that_it_reads(large: tuple[Path, list[Plain]]) -> None:
    path, plain = large
    segment = only_segment(Database.open(path.parent))
    row = int(np.flatnonzero(segment.ordinals == 11)[0])
    assert segment._file is not None
    place = segment._file.place_of(segment.codes) + int(segment.offsets[row])
    flip(path, place)
    try:
        with pytest.raises(DatabaseError, match="damaged between byte"):
            Database.open(path.parent).fetch(plain[11][0])
    finally:
        flip(path, place)


@pytest.mark.parametrize("change", [lambda n: 0, lambda n: 1, lambda n: n - 1, lambda n: n + 1, lambda n: n // 2])
def test_a_file_of_another_size_is_refused_when_it_is_opened(segment: Segment, change) -> None:
    path = Path(segment.name)
    with path.open("r+b") as file:
        file.truncate(change(path.stat().st_size))
    with pytest.raises(DatabaseError, match=path.name):
        Database.open(path.parent)


def test_a_missing_segment_is_named(segment: Segment) -> None:
    path = Path(segment.name)
    path.unlink()
    with pytest.raises(DatabaseError, match=f"{path.name}: a segment is missing"):
        Database.open(path.parent)


def test_a_damaged_manifest_is_refused(segment: Segment) -> None:
    path = Path(segment.name).parent / "manifest.json"
    good = path.read_bytes()
    for place in range(0, len(good), 3):
        flip(path, place, place % 8)
        if path.read_bytes().split() != good.split():
            with pytest.raises(DatabaseError):
                Database.open(path.parent)
        flip(path, place, place % 8)
    assert Database.open(path.parent).n_targets == segment.n_rows


@pytest.mark.parametrize("text", [b"", b"null", b"[]", b"{}", b"\xff\xfe", b'{"format_version": 1}'])
def test_a_file_that_is_no_manifest_is_refused(segment: Segment, text: bytes) -> None:
    path = Path(segment.name).parent / "manifest.json"
    path.write_bytes(text)
    with pytest.raises(DatabaseError, match=r"manifest\.json"):
        Database.open(path.parent)


def test_a_newer_format_is_named(segment: Segment) -> None:
    path = Path(segment.name).parent / "manifest.json"
    path.write_text(json.dumps({"format_version": 2}))
    with pytest.raises(DatabaseError, match="database of format 2, but this exaln reads format 1"):
        Database.open(path.parent)


def test_verify_finds_wrong_content_with_right_hashes(plain: list[Plain]) -> None:
    """A writer with a bug would hash its mistakes: the rules are checked as well."""
    good = only_segment(Database.in_memory([records_of(plain)]))
    columns = {name: good.batch.column(name) for name in good.batch.schema.names}
    codes = np.array(good.codes)
    codes[-1] = len(PROTEIN.letters)
    buffers = [None, columns["sequence"].buffers()[1], pa.py_buffer(codes)]
    ordinals = np.array(good.ordinals)
    ordinals[0] = ordinals[1]
    wrong = {
        "codes outside the alphabet": {"sequence": pa.Array.from_buffers(pa.large_binary(), 300, buffers)},
        "ordinals": {"ordinal": pa.array(ordinals)},
        "by_id": {"by_id": pa.array(np.roll(good.by_id, 1))},
        "sorted by length": {"sequence": pa.array(columns["sequence"].to_pylist()[::-1], pa.large_binary())},
    }
    for problem, change in wrong.items():
        batch = pa.RecordBatch.from_arrays(list({**columns, **change}.values()), schema=good.batch.schema)
        database = Database.in_memory([records_of(plain)])
        database.segments = (Segment.in_memory("bad", PROTEIN, batch),)
        assert any(problem in found for found in database.problems()), problem


def test_a_database_travels_to_another_process_as_its_path(plain: list[Plain], tmp_path: Path) -> None:
    """Its bytes do not; what was checked here is checked there again."""
    database = Database.build_records([records_of(plain)], tmp_path / "db")
    database.verify()
    packed = pickle.dumps(database)
    assert b"segment-" in packed
    assert len(packed) < Path(database.segments[0].name).stat().st_size
    assert content_of(pickle.loads(packed)) == plain
    flip(Path(database.segments[0].name), 2000)
    with pytest.raises(DatabaseError, match="damaged between byte"):
        pickle.loads(packed).verify()
    in_memory = Database.in_memory([records_of(plain)])
    assert content_of(pickle.loads(pickle.dumps(in_memory))) == plain
