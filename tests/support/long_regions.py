"""Shared by the tests of regions: scorings, boundaries, tasks, and the comparison of two engines."""

import numpy as np

from exaln.engines.cuda import engine as cuda_engine
from exaln.engines.cuda.long import regions as cuda_regions
from exaln.engines.regions import (
    Boundary,
    Checkpoints,
    PairTable,
    Region,
    RegionResult,
    RegionTask,
    table_left,
    table_top,
)
from exaln.scoring.scoring import Scoring
from exaln.sequences.alphabet import DNA

INT32, INT64 = np.dtype(np.int32), np.dtype(np.int64)

SCORINGS = {
    "DNA": Scoring(match=1, mismatch=-3, gap_open=3, gap_extend=2),
    "linear": Scoring(match=1, mismatch=-1, gap_open=0, gap_extend=1),
    "free gaps": Scoring(match=1, mismatch=-1, gap_open=0, gap_extend=0),
    "protein": Scoring("BLOSUM62", gap_open=11, gap_extend=1),
    "largest": Scoring(match=32767, mismatch=-32767, gap_open=20000, gap_extend=12767),
}


def n_letters(scoring):
    return 4 if scoring.alphabet == DNA else 20


class OnDevices:
    """An engine that fills regions on these GPUs, small ones as well."""

    def __init__(self, devices=(0,), memory=None):
        self.devices, self.memory = devices, memory

    def fill(self, task):
        checkpoints = task.room()
        with cuda_engine.PROCESS_POOL.lend(self.devices, self.memory) as workspaces:
            return RegionResult(checkpoints, cuda_regions.fill_region(workspaces, task, checkpoints))


def outside(region, scoring, mode, score=INT32):
    """The boundary of a region that begins in the corner of the table."""
    lines = (*table_top(0, region.end_column, scoring, mode), *table_left(0, region.end_row, scoring, mode))
    return Boundary(*(line.astype(score) for line in lines), corner=0)


def core_region(n_rows, n_columns, *, is_local):
    """The arguments of the core that describe a region and its boundary."""
    return {
        "query": np.zeros(n_rows, np.uint8),
        "target": np.zeros(n_columns, np.uint8),
        "matrix": np.ones((4, 4), np.int32),
        "gap_first": 2,
        "gap_extend": 1,
        "is_local": is_local,
        "top_h": np.zeros(n_columns, np.int32),
        "top_f": np.zeros(n_columns, np.int32),
        "left_h": np.zeros(n_rows, np.int32),
        "left_e": np.zeros(n_rows, np.int32),
        "corner": 0,
    }


def some(rng, n, at_most):
    """int64: at most so many random rows or columns from 1 to n, ascending."""
    return np.unique(rng.integers(1, n + 1, int(rng.integers(0, at_most + 1)))).astype(np.int64)


def filled(by, pair, region, boundary, rows, columns, score=INT32, **options):
    """(end, checkpoints) of a region."""

    def room():
        made = Checkpoints.empty(region, rows, columns, score)
        for array in (made.row_H, made.row_F, made.column_H, made.column_E):
            array.fill(-99_999)
        return made

    task = RegionTask(PairTable(*pair), region, boundary, rows, columns, room, finds_end=True, **options)
    result = by.fill(task)
    return result.end, result.checkpoints


def assert_same(found, expected):
    for name in ("row_H", "row_F", "column_H", "column_E"):
        np.testing.assert_array_equal(getattr(found[1], name), getattr(expected[1], name), err_msg=name)
    assert found[0] == expected[0]


def assert_as(engine, other, query, target, scoring, mode, rows, columns, score=INT32):
    """Fill a whole table on two engines, and compare checkpoints and best cells."""
    region = Region(0, len(query), 0, len(target))
    case = ((query, target, scoring, mode), region, outside(region, scoring, mode, score), rows, columns, score)
    assert_same(filled(engine, *case), filled(other, *case))
