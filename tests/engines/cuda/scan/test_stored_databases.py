"""Databases in files on a driver without a GPU: read piece by piece while they are scanned, changed, interrupted."""

import os
import signal
import threading
from pathlib import Path

import numpy as np
import pytest

from cuda_plans import IN_STREAMS
from database_samples import TINY, random_sequences, records_of
from exaln.database.database import Database
from exaln.database.segment import Segment
from exaln.engines.cpu.engine import CpuEngine
from exaln.engines.cuda import engine as cuda_engine
from exaln.engines.cuda.device_pool import DevicePool
from exaln.engines.cuda.engine import CudaEngine
from exaln.engines.cuda.scan import cache, code_uploads, division
from exaln.engines.cuda.scan.planner import Planner
from exaln.errors import DatabaseError
from exaln.scoring.scoring import Scoring
from exaln.search.options import SearchOptions
from exaln.search.pipeline import Search
from fake_cuda import FakeDriver, install

pytestmark = pytest.mark.usefixtures("no_thread_is_left")

PLAIN = random_sequences(60, seed=5)
QUERY = max(PLAIN, key=lambda one: len(one[2]))[2].upper()[:40]
STREAMED = {"divide_resident": lambda *arguments: None}


@pytest.fixture
def database(tmp_path):
    """Of several segments, whose files are an hour old."""
    built = Database.build_records([records_of(PLAIN)], tmp_path / "db", limits=TINY)
    assert len(built.segments) > 3
    for segment in built.segments:
        hour_ago = Path(segment.name).stat().st_mtime - 3600
        os.utime(segment.name, (hour_ago, hour_ago))
    return Database.open(tmp_path / "db")


@pytest.fixture(params=["resident", "streamed"])
def engine(request, monkeypatch, database):
    """With units of few codes, so that several threads read each batch."""
    install(monkeypatch, FakeDriver(), len(database.alphabet.letters))
    monkeypatch.setattr(cuda_engine, "MIN_MEMORY", 1)
    monkeypatch.setattr(code_uploads, "UNIT_BYTES", 64)
    monkeypatch.setattr(cache, "MAX_COUNTED_RESIDUES", 0)
    monkeypatch.setattr(division, "MIN_BATCH_RESIDUES", 1)
    return CudaEngine(pool=DevicePool(Planner(**IN_STREAMS, **(STREAMED if request.param == "streamed" else {}))))


def hits_of(database, engine):
    """Scores and ids of the hits of one query."""
    search = Search(database, Scoring(), engine, SearchOptions(evalue=1e9))
    (found,) = search.run([records_of([("q", "", QUERY)])])
    return found.target_ids, found.score.tolist(), found.ordinal.tolist()


def on_read(monkeypatch, number, action):
    """Do something when the codes of a segment are read the `number`-th time."""
    read, lock, calls = Segment.read_codes, threading.Lock(), iter(range(10**9))

    def reading(self, begin, out):
        read(self, begin, out)
        with lock:
            if next(calls) == number:
                action()

    monkeypatch.setattr(Segment, "read_codes", reading)


def test_hits_are_those_of_the_cpu_engine(database, engine):
    expected = hits_of(Database.open(database.path), CpuEngine(1))
    for _ in range(2):
        assert hits_of(database, engine) == expected
    first, end = database.n_residues // 5, database.n_residues // 2
    expected = hits_of(Database.open(database.path).part(first, end), CpuEngine(1))
    assert hits_of(database.part(first, end), engine) == expected


@pytest.mark.parametrize("number", [0, 5, 20])
@pytest.mark.parametrize("size", [0, 5000])
def test_a_file_that_changes_while_it_is_read_is_named(database, engine, monkeypatch, number, size):
    path = database.segments[2].name
    on_read(monkeypatch, number, lambda: os.truncate(path, size))
    with pytest.raises(DatabaseError, match="changed while it was in use, so nothing is reported") as raised:
        hits_of(database, engine)
    assert path in str(raised.value)


def test_a_damaged_file_is_named_by_the_thread_that_reads_it(database, engine):
    segment = database.segments[-1]
    place = segment._file.place_of(segment._columns.codes)
    segment = Database.open(database.path).segments[-1]
    content = np.fromfile(segment.name, np.uint8)
    content[place] ^= 1
    content.tofile(segment.name)
    with pytest.raises(DatabaseError, match="damaged between byte 0 and"):
        hits_of(Database.open(database.path), engine)


@pytest.mark.parametrize("number", [0, 7, 25])
def test_an_interrupt_while_codes_are_read_ends_all_threads(database, engine, monkeypatch, number):
    expected = hits_of(Database.open(database.path), CpuEngine(1))
    with monkeypatch.context() as patched:
        on_read(patched, number, lambda: os.kill(os.getpid(), signal.SIGINT))
        with pytest.raises(KeyboardInterrupt):
            hits_of(database, engine)
    assert hits_of(database, engine) == expected
