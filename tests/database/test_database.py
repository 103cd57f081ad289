"""The public interface of databases: build, append, compact, fetch, export, and their errors."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from database_samples import TINY, Plain, content_of, files_in, needed_files, random_sequences, records_of
from exaln.database.database import Database
from exaln.database.segment import Segment
from exaln.database.segment_limits import SegmentLimits
from exaln.database.writer import DatabaseWriter
from exaln.errors import DatabaseError, ExalnWarning, InputError, OutputError
from exaln.sequences.alphabet import DNA, Alphabet
from exaln.sequences.records import Records
from exaln.statistics.length_bins import length_histogram

PLAIN = random_sequences(95, seed=7)


def fasta(plain: list[Plain], width: int = 60) -> str:
    """FASTA text, the obvious way."""
    lines = []
    for id_, description, sequence in plain:
        lines.append(f">{id_} {description}" if description else f">{id_}")
        step = width or max(len(sequence), 1)
        lines.extend(sequence[i : i + step] for i in range(0, len(sequence), step))
    return "\n".join(lines) + "\n"


@pytest.fixture
def database(tmp_path: Path) -> Database:
    """95 sequences in ten segments, given in uneven batches."""
    batches = [records_of(PLAIN[begin:end]) for begin, end in ((0, 1), (1, 40), (40, 40), (40, 95))]
    return Database.build_records(batches, tmp_path / "db", limits=TINY)


def test_a_database_gives_back_its_sequences(database: Database) -> None:
    assert len(database.segments) >= 10
    assert content_of(database) == PLAIN
    lengths = [len(sequence) for _, _, sequence in PLAIN]
    assert (database.n_targets, database.n_residues) == (95, sum(lengths))
    assert np.array_equal(database.length_histogram, length_histogram(lengths))
    assert (database.info.shortest, database.info.longest) == (min(lengths), max(lengths))
    database.verify()


def test_segments_keep_their_limits(database: Database) -> None:
    assert all(segment.n_rows <= TINY.rows and segment.n_residues <= TINY.residues for segment in database.segments)


def test_a_long_sequence_gets_its_own_segment() -> None:
    plain = [("a", "", "ACD"), ("long", "", "A" * 5000), ("b", "", "W"), ("text", "x" * 5000, "AC"), ("c", "", "Y")]
    database = Database.in_memory([records_of(plain)], limits=TINY)
    assert [segment.n_rows for segment in database.segments] == [1, 1, 1, 1, 1]
    assert content_of(database) == plain


@given(st.integers(1, 40), st.integers(0, 2**32 - 1), st.integers(1, 12), st.integers(1, 400), st.integers(1, 400))
@settings(deadline=None, max_examples=40)
def test_segment_limits_do_not_change_the_content(n: int, seed: int, rows: int, residues: int, text_bytes: int) -> None:
    plain = random_sequences(n, seed)
    cut = seed % n
    batches = [records_of(plain[:cut]), records_of(plain[cut:])]
    database = Database.in_memory(batches, limits=SegmentLimits(rows, residues, text_bytes))
    assert content_of(database) == plain
    assert database.problems() == []


@pytest.mark.parametrize("alphabet", [DNA, Alphabet("hp", "HP")])
def test_every_alphabet_is_stored(alphabet: Alphabet, tmp_path: Path) -> None:
    plain = random_sequences(5, seed=1, alphabet=alphabet)
    Database.build_records([records_of(plain, alphabet)], tmp_path / "db")
    database = Database.open(tmp_path / "db")
    assert database.alphabet == alphabet
    assert database.alphabet.synonyms == alphabet.synonyms
    assert content_of(database) == plain


def test_fetch_finds_sequences_by_id(database: Database) -> None:
    wanted = [94, 0, 50]
    targets = database.fetch([PLAIN[i][0] for i in wanted])
    assert [(t.ordinal, (t.id, t.description, t.sequence)) for t in targets] == [(i, PLAIN[i]) for i in wanted]
    for ids in (["nobody"], ["nobody"] * 100, ["\udcfc\ud800"]):
        with pytest.raises(InputError, match="no sequence with the id"):
            database.fetch(ids)
    assert database.fetch([]) == []


def test_sequences_with_equal_ids_are_all_kept(tmp_path: Path) -> None:
    plain = [("same", "", "AAAA"), ("other", "", "C"), ("same", "second", "A"), ("same", "third", "AA")]
    with pytest.warns(ExalnWarning, match="2 sequences have the id of another one"):
        database = Database.build_records([records_of(plain)], tmp_path / "db")
    assert [target.ordinal for target in database.fetch("same")] == [0, 2, 3]
    database = database.append_records([records_of([("same", "fourth", "A")])])
    assert [target.description for target in database.fetch("same")] == ["", "second", "third", "fourth"]


@pytest.mark.parametrize("width", [60, 7, 0])
def test_export_is_lossless(database: Database, tmp_path: Path, width: int) -> None:
    stream = io.BytesIO()
    database.export(stream, width=width)
    assert stream.getvalue().decode() == fasta(PLAIN, width)
    database.export(tmp_path / "out.fasta", width=width)
    with pytest.warns(ExalnWarning, match="1 record without residues"):
        again = Database.open(tmp_path / "out.fasta", alphabet="protein")
    assert content_of(again) == PLAIN


def test_export_in_small_blocks(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("exaln.database.export.EXPORT_BLOCK_BYTES", 50)
    stream = io.BytesIO()
    database.export(stream)
    assert stream.getvalue().decode() == fasta(PLAIN)


def test_export_of_some_ids(database: Database, tmp_path: Path) -> None:
    database.export(tmp_path / "out.fasta", ids=[PLAIN[3][0], PLAIN[1][0]])
    assert (tmp_path / "out.fasta").read_text() == fasta([PLAIN[3], PLAIN[1]])
    with pytest.raises(InputError, match="nobody"):
        database.export(tmp_path / "out.fasta", ids=["nobody"])
    assert (tmp_path / "out.fasta").read_text() == fasta([PLAIN[3], PLAIN[1]])


def test_export_to_a_missing_folder_is_an_output_error(database: Database, tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="No such file or directory"):
        database.export(tmp_path / "missing" / "out.fasta")
    (tmp_path / "link").symlink_to(tmp_path / "out.fasta")
    database.export(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "out.fasta").read_text() == fasta(PLAIN)
    database.export("/dev/null")
    assert not Path("/dev/null").is_file()


def test_append_adds_sequences_and_leaves_open_databases_unchanged(database: Database) -> None:
    more = random_sequences(33, seed=8)
    appended = database.append_records([records_of(more)], limits=TINY)
    assert content_of(appended) == PLAIN + more
    assert content_of(database) == PLAIN, "an open database is a snapshot"
    appended.verify()
    with pytest.raises(InputError, match="dna sequences cannot be appended to a protein database"):
        database.append_records([records_of([("x", "", "ACGT")], DNA)])
    assert content_of(Database.open(database.path or "")) == PLAIN + more


def test_compact_merges_small_segments(database: Database) -> None:
    compacted = database.compact(limits=SegmentLimits(rows=34))
    assert [segment.n_rows for segment in compacted.segments] == [30, 30, 30, 5]
    assert content_of(compacted) == PLAIN
    compacted.verify()
    assert compacted.path is not None
    assert files_in(compacted.path) == needed_files(compacted)
    before = files_in(compacted.path)
    assert content_of(compacted.compact(limits=SegmentLimits(rows=34))) == PLAIN
    assert files_in(compacted.path) == before, "nothing to do, nothing written"
    whole = compacted.compact()
    assert whole.segments[0].batch.equals(Database.in_memory([records_of(PLAIN)]).segments[0].batch)


def test_compact_refuses_a_damaged_database(database: Database) -> None:
    assert database.path is not None
    path = Path(database.segments[3].name)
    good = path.read_bytes()
    before = files_in(database.path)
    path.write_bytes(good[:-1] + b"?")
    with pytest.raises(DatabaseError, match=f"{path.name}: damaged"):
        Database.open(database.path).compact()
    path.unlink()
    with pytest.raises(DatabaseError, match=f"{path.name}: a segment is missing"):
        database.compact()
    path.write_bytes(good)
    assert files_in(database.path) == before
    assert content_of(Database.open(database.path)) == PLAIN


def test_a_database_in_memory_cannot_be_changed() -> None:
    database = Database.in_memory([records_of(PLAIN)])
    with pytest.raises(DatabaseError, match="not a single database on disk"):
        database.append_records([records_of(PLAIN)])
    with pytest.raises(DatabaseError, match="not a single database on disk"):
        database.compact()


def test_an_existing_database_is_not_overwritten(database: Database) -> None:
    assert database.path is not None
    with pytest.raises(InputError, match="exists; use append to add to it or --force to replace it"):
        Database.build_records([records_of(PLAIN[:5])], database.path)
    new = Database.build_records([records_of(PLAIN[:5])], database.path, force=True)
    assert content_of(new) == PLAIN[:5]
    assert content_of(database) == PLAIN, "who has the old one open goes on with it"
    assert files_in(database.path) == needed_files(new)


def test_force_replaces_a_damaged_database(database: Database) -> None:
    assert database.path is not None
    (database.path / "manifest.json").write_text("{")
    with pytest.raises(DatabaseError):
        Database.open(database.path)
    with pytest.raises(RuntimeError, match="bad batch"):
        Database.build_records(failing_batches(RuntimeError("bad batch")), database.path, force=True)
    assert len(files_in(database.path)) == len(database.segments) + 2, "nothing is lost before there is a new one"
    new = Database.build_records([records_of(PLAIN[:5])], database.path, force=True)
    assert files_in(database.path) == needed_files(new)


def failing_batches(error: BaseException) -> Iterator[Records]:
    """Several segments' worth of records, then trouble."""
    yield records_of(PLAIN[:50])
    raise error


@pytest.mark.parametrize("error", [InputError("line 7: '@' is not a protein letter"), KeyboardInterrupt()])
def test_a_build_that_fails_leaves_nothing(error: BaseException, tmp_path: Path) -> None:
    with pytest.raises(type(error)):
        Database.build_records(failing_batches(error), tmp_path / "db", limits=TINY)
    assert files_in(tmp_path) == set()
    database = Database.build_records([records_of(PLAIN[:20])], tmp_path / "db", limits=TINY)
    with pytest.raises(type(error)):
        database.append_records(failing_batches(error), limits=TINY)
    with pytest.raises(type(error)):
        Database.build_records(failing_batches(error), tmp_path / "db", limits=TINY, force=True)
    assert files_in(tmp_path / "db.exaln") == needed_files(database)
    assert content_of(Database.open(tmp_path / "db")) == PLAIN[:20]


def test_building_from_no_records_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no sequences"):
        Database.build_records([records_of([])], tmp_path / "db")
    with pytest.raises(InputError, match="no sequences"):
        Database.in_memory([])
    assert files_in(tmp_path) == set()


def test_directories_with_other_files_are_left_alone(tmp_path: Path) -> None:
    directory = tmp_path / "photos.exaln"
    directory.mkdir()
    (directory / "holiday.jpg").write_text("not a sequence")
    for force in (False, True):
        with pytest.raises(OutputError, match=r"not a database, and it contains other files \(holiday\.jpg\)"):
            Database.build_records([records_of(PLAIN)], directory, force=force)
    assert files_in(directory) == {"holiday.jpg"}
    with pytest.raises(DatabaseError, match="not a database"):
        Database.open(directory)
    (tmp_path / "file.exaln").write_text("")
    with pytest.raises(OutputError, match="a file with this name exists"):
        Database.build_records([records_of(PLAIN)], tmp_path / "file")
    with pytest.raises(OutputError, match="No such file or directory"):
        Database.build_records([records_of(PLAIN)], tmp_path / "missing" / "db")
    (tmp_path / "empty.exaln").mkdir()
    Database.build_records([records_of(PLAIN)], tmp_path / "empty").verify()


def test_one_writer_at_a_time(database: Database) -> None:
    assert database.path is not None
    with DatabaseWriter(database.path):
        for attempt in (
            lambda: database.append_records([records_of(PLAIN)]),
            lambda: database.compact(),
            lambda: Database.build_records([records_of(PLAIN)], database.path or "", force=True),
        ):
            with pytest.raises(DatabaseError, match=f"is being written by process {os.getpid()}"):
                attempt()
        assert content_of(Database.open(database.path)) == PLAIN, "readers need no lock"
    assert database.append_records([records_of([("new", "", "AC")])]).n_targets == 96


def test_a_database_is_found_with_and_without_its_suffix(tmp_path: Path) -> None:
    Database.build_records([records_of(PLAIN)], tmp_path / "nr.v2")
    assert files_in(tmp_path) == {"nr.v2.exaln"}
    for name in ("nr.v2", "nr.v2.exaln", "nr.v2.exaln/"):
        assert Database.open(str(tmp_path / name)).n_targets == 95
    with pytest.raises(DatabaseError, match="nothing: no such database or sequence file"):
        Database.open(tmp_path / "nothing")


def test_several_files_are_read_in_order_with_progress(tmp_path: Path) -> None:
    first, second = tmp_path / "one.fasta", tmp_path / "two.fasta"
    first.write_text(fasta(PLAIN[:30]))
    second.write_text(fasta(PLAIN[30:]))
    calls: list[tuple[int, int | None, int]] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExalnWarning)
        database = Database.build(
            [first, second], tmp_path / "db", alphabet="protein", progress=lambda *call: calls.append(call)
        )
        assert content_of(database) == PLAIN
        size = first.stat().st_size + second.stat().st_size
        assert calls[-1] == (size, size, database.n_residues)
        assert content_of(database.append(first)) == PLAIN + PLAIN[:30]
        assert content_of(Database.open(second, alphabet="protein")) == PLAIN[30:]


def test_the_first_file_decides_the_alphabet(tmp_path: Path) -> None:
    for name, text in (("dna", ">d\nACGTACGT\n"), ("protein", ">p\nMKEVTFW\n")):
        (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=r"protein: record 'p' \(line 2\): 'E' is not a dna letter"):
        Database.build([tmp_path / "dna", tmp_path / "protein"], tmp_path / "db")
    database = Database.build([tmp_path / "protein", tmp_path / "dna"], tmp_path / "db")
    assert database.alphabet.name == "protein"
    assert files_in(tmp_path) == {"dna", "protein", "db.exaln"}


def test_opening_imports_no_more_than_needed(database: Database) -> None:
    code = "import sys; from exaln.database.database import Database; print(Database.open(sys.argv[1]).n_targets); "
    code += "sys.exit(sorted({'pyarrow', 'exaln.sequences.fasta', 'click', 'pandas'} & set(sys.modules)) or 0)"
    done = subprocess.run([sys.executable, "-c", code, str(database.path)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "95\n", "")


def test_iteration_indices_and_slices_give_targets_in_input_order(database: Database) -> None:
    targets = list(database)
    assert [(one.id, one.description, one.sequence) for one in targets] == PLAIN
    assert [one.ordinal for one in targets] == list(range(95))
    for place in (0, 3, 94, -1, -95, np.int64(7)):
        assert database[place] == targets[place]
    for cut in (slice(2, 5), slice(None, None, -9), slice(90, 200), slice(5, 2), slice(None)):
        assert database[cut] == targets[cut]
    for place in (95, -96):
        with pytest.raises(IndexError):
            database[place]
    with pytest.raises(InputError, match=r"expected a position in the database; fetch\(id\) finds a sequence by id"):
        database[PLAIN[0][0]]  # type: ignore[call-overload]


def test_iteration_reads_one_target_at_a_time(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    real = Segment.target
    monkeypatch.setattr(Segment, "target", lambda self, row: (read.append(row), real(self, row))[1])
    targets = iter(database)
    for number in range(1, 4):
        next(targets)
        assert len(read) == number


def test_ids_are_in_the_database_or_not(database: Database) -> None:
    assert all(id_ in database for id_, _, _ in PLAIN)
    for absent in ("", "nobody", PLAIN[0][0] + "x", 3, None, "\udc80"):
        assert absent not in database
    assert database.ordinals([PLAIN[5][0], PLAIN[2][0], PLAIN[5][0]]).tolist() == sorted(
        {place for place, plain in enumerate(PLAIN) if plain[0] in (PLAIN[5][0], PLAIN[2][0])}
    )


def test_repr_of_a_database(database: Database, tmp_path: Path) -> None:
    assert database.name == str(tmp_path / "db.exaln")
    (tmp_path / "a[1].fasta").write_text(">x\nACGT\n")
    assert Database.open(tmp_path / "a[1].fasta").name == str(tmp_path / "a[1].fasta")


def test_a_lock_that_is_a_link_is_not_written_to(tmp_path: Path) -> None:
    """Somebody else may have put it there."""
    database = Database.build_records([records_of(random_sequences(3, seed=1))], tmp_path / "db")
    assert database.path is not None
    (tmp_path / "precious").write_text("as it was")
    (database.path / ".lock").unlink()
    (database.path / ".lock").symlink_to(tmp_path / "precious")
    with pytest.raises(OutputError, match=r"db\.exaln: cannot be written"):
        database.append_records([records_of(random_sequences(3, seed=2))])
    assert (tmp_path / "precious").read_text() == "as it was"
