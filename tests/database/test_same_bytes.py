"""A database has the same bytes for every number of threads, and those that Arrow would write."""

from __future__ import annotations

import gzip
import hashlib
import io
from pathlib import Path

import numpy as np
import pytest

from database_samples import Plain, content_of, random_sequences, records_of
from exaln.database.database import Database
from exaln.database.segment_writer import SegmentLimits
from exaln.errors import ExalnWarning, InputError
from exaln.sequences import fasta

THREADS = [1, 2, 3, 16]
LIMITS = SegmentLimits(rows=3000)


def upper(plain: list[Plain]) -> list[Plain]:
    return [(id_, description, sequence.upper()) for id_, description, sequence in plain]


SAMPLES = {"masked": random_sequences(5000, 1), "not masked": upper(random_sequences(5000, 2))}
KNOWN = {
    "masked": ["1829b8a4e638d9e9", "69842b8f8ef13a8f"],
    "not masked": ["3f72d2c25e9321e0", "a1ca64a52e6d071a"],
}
"""The first digits of the SHA-256 of each segment, as the version without threads wrote them."""


def files_of(database: Database) -> list[bytes]:
    """The segments, byte for byte."""
    assert database.path is not None
    return [(database.path / entry.file).read_bytes() for entry in database.manifest.segments]


def manifest_of(database: Database) -> list[object]:
    """What the manifest says, without the random names of the files."""
    values = database.manifest.to_values()
    for entry in values["segments"]:
        del entry["file"]
    return [values]


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("sample", SAMPLES)
def test_segments_are_those_of_the_version_without_threads(tmp_path: Path, sample: str, threads: int) -> None:
    database = Database.build_records([records_of(SAMPLES[sample])], tmp_path / "db", threads=threads, limits=LIMITS)
    assert [hashlib.sha256(file).hexdigest()[:16] for file in files_of(database)] == KNOWN[sample]
    assert content_of(database) == SAMPLES[sample]
    database.verify()


def test_a_segment_of_many_blocks_has_the_bytes_that_arrow_writes(tmp_path: Path) -> None:
    import pyarrow as pa

    random = np.random.default_rng(3)
    letters = np.frombuffer(b"ACDEFGHIKLMNPQRSTVWYacd", np.uint8)
    text = b"".join(
        b">id%d %s\n%s\n" % (random.integers(10**6), b"words " * (i % 9), random.choice(letters, i % 700).tobytes())
        for i in range(20_000)
    )
    (tmp_path / "in.fa").write_bytes(text)
    databases = []
    for threads in THREADS:
        with pytest.warns(ExalnWarning):
            databases.append(Database.build(tmp_path / "in.fa", tmp_path / f"db{threads}", threads=threads))
    (file,) = files_of(databases[0])
    assert len(file) > 8 << 20
    for database in databases[1:]:
        assert files_of(database) == [file]
        assert manifest_of(database) == manifest_of(databases[0])
    sink = io.BytesIO()
    with pa.ipc.open_file(pa.BufferReader(file)) as reader, pa.ipc.new_file(sink, reader.schema) as writer:
        writer.write_batch(reader.get_batch(0))
    assert sink.getvalue() == file
    assert databases[0].verify() is None


@pytest.fixture
def inputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Eight files, plain and compressed; the first has no records."""
    monkeypatch.setattr(fasta, "LEAST_DIVIDED_BYTES", 1)
    monkeypatch.setattr(fasta, "BLOCK_BYTES", 2000)
    paths = [tmp_path / f"{i}.fa" for i in range(8)]
    for i, path in enumerate(paths):
        text = "".join(f">{id_} {words}\n{letters}\n" for id_, words, letters in random_sequences(60 * i, i))
        path.write_bytes(gzip.compress(text.encode()) if i % 3 else text.encode())
    return paths


@pytest.mark.filterwarnings("ignore::exaln.errors.ExalnWarning")
@pytest.mark.parametrize("threads", THREADS)
def test_several_files_are_read_in_their_order(inputs: list[Path], tmp_path: Path, threads: int) -> None:
    database = Database.build(inputs, tmp_path / "db", threads=threads, limits=SegmentLimits(rows=100))
    expected = [(id_, words, letters) for i in range(8) for id_, words, letters in random_sequences(60 * i, i)]
    assert content_of(database) == expected
    assert Database.build(inputs, tmp_path / "one", threads=1, limits=SegmentLimits(rows=100)).n_targets == 60 * 28
    appended = Database.open(tmp_path / "one").append(inputs[4:6], threads=threads)
    assert content_of(appended)[-60 * 9 :] == content_of(database)[60 * 6 : 60 * 15]
    assert content_of(appended.compact(threads=threads)) == content_of(appended)


@pytest.mark.parametrize("threads", THREADS)
def test_warnings_and_the_first_error_come_in_the_order_of_the_files(
    inputs: list[Path], tmp_path: Path, threads: int
) -> None:
    for i in (5, 6, 7):
        inputs[i].write_bytes(gzip.compress(b">ok\nMKVLAAGIVG\n>bad\nMKV1\n"))
    with pytest.warns(ExalnWarning) as warned, pytest.raises(InputError, match=r"5.fa: record 'bad' \(line 4\)"):
        Database.build(inputs, tmp_path / "db", threads=threads)
    named = [str(warning.message).split(":")[0] for warning in warned]
    assert named == sorted(named)
    assert len(set(named)) >= 3
    assert not (tmp_path / "db.exaln").exists()


@pytest.mark.parametrize("threads", THREADS)
def test_the_first_file_with_records_decides_the_alphabet(inputs: list[Path], tmp_path: Path, threads: int) -> None:
    inputs[2].write_bytes(gzip.compress(b">dna\n" + b"ACGT" * 30 + b"\n"))
    inputs[1].write_bytes(b"")
    with pytest.raises(InputError, match=r"3.fa: "):
        Database.build(inputs, tmp_path / "db", threads=threads)
