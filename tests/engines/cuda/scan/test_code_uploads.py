"""Codes are sent whole from memory and from files, through few pinned buffers, and every byte of a file is checked."""

import threading
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from database_samples import records_of
from exaln.database.database import Database
from exaln.engines.cuda.runtime.device import Device
from exaln.engines.cuda.runtime.workspace import Workspace
from exaln.engines.cuda.scan import code_uploads
from exaln.engines.cuda.scan.code_uploads import UNIT_BYTES, CodeUploads, units_of
from exaln.engines.cuda.scan.in_flight import Cancelled
from exaln.errors import DatabaseError
from fake_cuda import FakeDriver, install
from memory_targets import Rows
from threads import no_new_threads


@pytest.fixture
def driver(monkeypatch):
    return install(monkeypatch, FakeDriver(memory=1 << 30), 4)


@pytest.fixture
def workspace(driver):
    device = Device(0)
    device.set_budget(1 << 29)
    return Workspace(device)


@pytest.fixture
def uploads(workspace):
    with no_new_threads():
        opened = CodeUploads(workspace, threading.Event())
        yield opened
        opened.close()


@pytest.fixture
def segment(tmp_path):
    """Of 100 sequences in a file of several blocks; its codes begin within a block."""
    random = np.random.default_rng(1)
    plain = [("id" * 99 + str(i), "", "".join(random.choice(list("ACDEFGHIKL"), 30_000 + i))) for i in range(100)]
    database = Database.build_records([records_of(plain)], tmp_path / "db")
    (segment,) = database.segments
    return segment


def sent(workspace, uploads, segment, ranges):
    """What lies on the device after the codes of these ranges were sent."""
    n = sum(end - begin for begin, end in ranges)
    memory, back = workspace.allocate(max(n, 1)), np.zeros(n, np.uint8)
    uploads.send(memory.address, segment, ranges)
    workspace.device.download(back, memory.address, workspace.copy_stream)
    return back


@pytest.mark.parametrize("ranges", [[], [(0, 0)], [(5, 9)], [(0, 2_500_000), (2_500_000, 2_500_003)], [(1, 3_000_000)]])
@pytest.mark.parametrize("unit_bytes", [UNIT_BYTES, 1 << 18])
def test_codes_of_a_file_are_sent_whole(workspace, uploads, segment, ranges, unit_bytes, monkeypatch):
    monkeypatch.setattr(code_uploads, "UNIT_BYTES", unit_bytes)
    codes = np.array(segment.codes)
    for _ in range(2):
        expected = np.concatenate([codes[:0], *(codes[begin:end] for begin, end in ranges)])
        np.testing.assert_array_equal(sent(workspace, uploads, segment, ranges), expected)


@pytest.mark.parametrize("n", [1, 1000, UNIT_BYTES + 1, 7 * UNIT_BYTES + 17])
def test_codes_in_memory_are_sent_whole(workspace, uploads, driver, n):
    codes = np.resize(np.random.default_rng(n).integers(0, 20, UNIT_BYTES + 3).astype(np.uint8), n)
    rows = Rows(codes, np.array([0, n]), np.zeros(1, np.int64))
    np.testing.assert_array_equal(sent(workspace, uploads, rows, [(0, n // 3), (n // 3, n)]), codes)
    assert driver.sent == n
    most = uploads._n_threads + code_uploads.SPARE_BUFFERS
    assert len(driver.pinned) <= most
    assert {len(block) for block in driver.pinned.values()} == {UNIT_BYTES}


def test_rows_need_not_begin_at_their_first_code(workspace, uploads):
    rows = Rows(np.arange(20, dtype=np.uint8), np.array([5, 9, 19]), np.arange(2))
    assert sent(workspace, uploads, rows, [(0, 4), (6, 14)]).tolist() == [5, 6, 7, 8, *range(11, 19)]


def test_units_have_all_codes_once_and_are_cut_at_blocks():
    ranges = [(3, 4 * UNIT_BYTES), (9 * UNIT_BYTES, 9 * UNIT_BYTES + 1)]
    units = list(units_of(77, ranges, 1000))
    assert sum(unit.size for unit in units) == sum(end - begin for begin, end in ranges)
    assert units[0].address == 77
    for one, other in pairwise(units):
        assert other.address == one.address + one.size
        assert other.begin == one.begin + one.size or other.begin == 9 * UNIT_BYTES
        assert (other.begin + 1000) % UNIT_BYTES == 0 or other.begin == 9 * UNIT_BYTES


def damage(segment, place, value):
    path = Path(segment.name)
    content = bytearray(path.read_bytes())
    content[segment._file.place_of(segment._columns.codes) + place] = value
    path.write_bytes(content)
    return Database.open(path.parent).segments[0]


@pytest.mark.parametrize("place", [0, 1_234_567, -1])
def test_a_damaged_block_is_never_sent_silently(workspace, uploads, segment, place):
    n = segment.n_residues
    damaged = damage(segment, place % n, 25)
    with pytest.raises(DatabaseError, match="damaged between byte"):
        sent(workspace, uploads, damaged, [(0, n)])


def test_after_an_error_the_next_batch_is_sent(workspace, uploads, segment):
    damaged = damage(segment, 99, 25)
    for _ in range(3):
        with pytest.raises(DatabaseError, match="damaged"):
            sent(workspace, uploads, damaged, [(0, segment.n_residues)])
    rows = Rows(np.arange(9, dtype=np.uint8), np.array([0, 9]), np.zeros(1, np.int64))
    assert sent(workspace, uploads, rows, [(2, 9)]).tolist() == [2, 3, 4, 5, 6, 7, 8]


def test_a_scan_that_is_given_up_sends_no_more(workspace, segment):
    stop = threading.Event()
    uploads = CodeUploads(workspace, stop)
    stop.set()
    with pytest.raises(Cancelled):
        sent(workspace, uploads, segment, [(0, segment.n_residues)])
    uploads.close()
