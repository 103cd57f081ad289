"""The textbook of `waterman_eggert` in plain C++, for thousands of pairs: Gotoh's tables, filled anew for every round.

A test compares it with the one in Python.
"""

import ctypes
import functools
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pytest

SOURCE = Path(__file__).parents[1] / "native" / "waterman_eggert.cpp"


@functools.cache
def library():
    """The compiled textbook. Skips the test where there is no C++ compiler."""
    compiler = shutil.which("c++")
    if compiler is None:
        pytest.skip("no C++ compiler")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "textbook.so"
        subprocess.run([compiler, "-std=c++17", "-O2", "-shared", "-fPIC", "-o", path, SOURCE], check=True)
        built = ctypes.CDLL(str(path))
    built.several.restype = ctypes.c_int64
    built.table.restype = None
    return built


def textbook(query, target, scoring, most, least):
    """(score, (query end, target end), steps) of each alignment, as `waterman_eggert.textbook`."""
    most = min(most, len(query) * len(target) + 1)  # each alignment aligns a pair of letters
    found, steps = np.zeros((most, 4), np.int64), np.zeros(most * (len(query) + len(target)), "S1")
    limits = map(ctypes.c_int64, (most, least))
    n = library().several(*_pair(query, target, scoring), *limits, _at(found), _at(steps), ctypes.c_int64(len(steps)))
    assert n >= 0
    text, alignments, first = steps.tobytes().decode(), [], 0
    for score, row, column, n_steps in found[:n].tolist():
        alignments.append((score, (row, column), text[first : first + n_steps]))
        first += n_steps
    return alignments


def table(query, target, scoring):
    """int64[rows + 1, columns + 1]: H of every cell."""
    h = np.zeros((len(query) + 1, len(target) + 1), np.int64)
    library().table(*_pair(query, target, scoring), _at(h))
    return h


def _pair(query, target, scoring):
    matrix = np.ascontiguousarray(scoring.matrix, np.int32)
    rows, columns = (np.ascontiguousarray(codes, np.uint8) for codes in (query, target))
    numbers = map(ctypes.c_int64, (len(rows), len(columns), len(matrix), scoring.gap_first, scoring.gap_extend))
    n_rows, n_columns, *others = numbers
    return _at(rows), n_rows, _at(columns), n_columns, _at(matrix), *others


def _at(array):
    return array.ctypes.data_as(ctypes.c_void_p)  # which keeps the array alive
