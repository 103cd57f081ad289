"""Every binding of the core with negative, huge and inconsistent integers: an exception or an answer, never a crash.

Each call of BINDINGS is good. Each of its integers, and each array of offsets, places or scores, is replaced by values
that make no sense. The calls run in one process, so a crash fails everything: the name is printed by faulthandler.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import exaln
from exaln import _core

LARGEST, LEAST = 2**63 - 1, -(2**63)
INTEGERS = [
    *(LEAST, LEAST + 1, -(2**62), -(2**61) - 1, -(2**32), -(2**31), -(2**31) + 1, -1, 0, 1, 2, 3, 7),
    *(2**15, 2**31 - 1, 2**31, 2**32, 2**61 + 1, 2**62, 2**62 + 1, LARGEST - 1, LARGEST, 2**63, 2**64 - 1, 2**64),
]
ALLOWED = (ValueError, TypeError, IndexError, OverflowError, MemoryError, RuntimeError, OSError)
MATRIX = np.array([[2, -1], [-1, 2]], np.int32)
CODES, OFFSETS = np.array([0, 1, 1, 1, 0], np.uint8), np.array([0, 3, 5], np.int64)
SEQUENCES, PAIRS, COSTS = (CODES, OFFSETS), (np.array([0, 1]), np.array([1, 1])), (MATRIX, 3, 1)
LOCAL = (True, False, False, False, False)
LETTERS = np.tile(np.array([0, 1, 1, 0, 1, 0, 0], np.uint8), 4)
N = len(LETTERS)


def region(dtype: type[np.signedinteger[Any]]) -> dict[str, Any]:
    """A local table with lines every 7 letters."""
    line, none = np.zeros(N, dtype), np.full(N, -3, dtype)
    return {
        "query": LETTERS,
        "target": LETTERS,
        "matrix": MATRIX,
        "gap_first": 3,
        "gap_extend": 1,
        "is_local": True,
        "top_h": line,
        "top_f": none,
        "left_h": line,
        "left_e": none,
        "corner": 0,
    }


def filled(dtype: type[np.signedinteger[Any]]) -> dict[str, Any]:
    places, shape = np.array([7, 14, 21], np.int64), (3, N)
    lines = {name: np.zeros(shape, dtype) for name in ("row_h", "row_f", "column_h", "column_e")}
    return {**region(dtype), "rows": places, "columns": places, **lines, "threads": 2, "pruning": (4, N, N)}


def walked(dtype: type[np.signedinteger[Any]]) -> dict[str, Any]:
    good = filled(dtype)
    _core.fill_region(**good)
    del good["threads"], good["pruning"]
    firsts = np.zeros(3, np.int64)
    return {
        **good,
        "spacing": 7,
        "row_firsts": firsts,
        "column_firsts": firsts,
        "row": N - 1,
        "column": N - 1,
        "left": 9,
    }


def table(layout: str) -> np.ndarray:
    return np.zeros(_core.study_table_size(layout, N, N), np.int32)


BINDINGS: dict[str, tuple[Any, dict[str, Any]]] = {
    "score_all": (
        _core.score_all,
        {
            "query_codes": CODES,
            "query_offsets": OFFSETS,
            "target_codes": CODES,
            "target_offsets": OFFSETS,
            "matrix": MATRIX,
            "gap_first": 3,
            "gap_extend": 1,
            "threads": 2,
        },
    ),
    **{
        f"score_kernel {family}": (
            _core.score_kernel,
            {
                "isa": "",
                "family": family,
                "bits": 16,
                "query": CODES,
                "target_codes": CODES,
                "target_offsets": OFFSETS,
                "matrix": MATRIX,
                "gap_first": 3,
                "gap_extend": 1,
            },
        )
        for family in ("group", "striped")
    },
    "trace_all": (
        _core.trace_all,
        {
            "queries": SEQUENCES,
            "targets": SEQUENCES,
            "pairs": PAIRS,
            "costs": COSTS,
            "scores": np.array([2, 4], np.int32),
            "threads": 2,
            "max_bytes": 1 << 20,
        },
    ),
    "score_pairs": (
        _core.score_pairs,
        {"queries": SEQUENCES, "targets": SEQUENCES, "pairs": PAIRS, "costs": COSTS, "mode": LOCAL, "threads": 2},
    ),
    "align_pairs": (
        _core.align_pairs,
        {
            "queries": SEQUENCES,
            "targets": SEQUENCES,
            "pairs": PAIRS,
            "costs": COSTS,
            "mode": LOCAL,
            "threads": 2,
            "max_bytes": 1 << 20,
        },
    ),
    "fill_region int32": (_core.fill_region, filled(np.int32)),
    "fill_region int64": (_core.fill_region, filled(np.int64)),
    "BlockWalker.walk int32": (_core.BlockWalker(2).walk, walked(np.int32)),
    "BlockWalker.walk int64": (_core.BlockWalker(2).walk, walked(np.int64)),
    "BlockWalker": (_core.BlockWalker, {"threads": 2}),
    "study_table_size": (_core.study_table_size, {"layout": "rotated", "m": 4, "n": 5}),
    **{
        f"study_fill {layout}": (
            _core.study_fill,
            {
                "query": LETTERS,
                "target": LETTERS,
                "matrix": MATRIX,
                "gap": 1,
                "layout": layout,
                "threads": 2,
                "chunk": 3,
                "table": table(layout),
            },
        )
        for layout in ("by rows", "rotated", "by diagonals")
    },
    "study_empty_steps": (_core.study_empty_steps, {"threads": 2, "n_steps": 5}),
    "study_fill_tiles": (
        _core.study_fill_tiles,
        {
            "query": LETTERS,
            "target": LETTERS,
            "matrix": MATRIX,
            "gap_first": 3,
            "gap_extend": 1,
            "threads": 2,
            "side": 4,
            "H": table("by rows"),
            "E": table("by rows"),
            "F": table("by rows"),
        },
    ),
    "study_align_plainly": (
        _core.study_align_plainly,
        {"queries": CODES[:4].reshape(2, 2), "targets": CODES[:4].reshape(2, 2), "matrix": MATRIX, "gap": 1},
    ),
    "bare_loop": (_core.bare_loop, {"isa": "", "bits": 16, "seconds": 0.001}),
    "argsort_stable": (_core.argsort_stable, {"keys": np.array([3, 1, 2], np.int64)}),
    "argsort_bytes": (_core.argsort_bytes, {"data": CODES, "offsets": OFFSETS}),
    "scatter_rows": (
        _core.scatter_rows,
        {"data": CODES, "offsets": OFFSETS, "starts": np.array([2, 0], np.int64), "out": np.zeros(5, np.uint8)},
    ),
    "join_pieces": (_core.join_pieces, {"pieces": [CODES, CODES], "out": np.zeros(10, np.uint8), "threads": 2}),
    "find_bytes": (
        _core.find_bytes,
        {
            "data": CODES,
            "offsets": OFFSETS,
            "order": np.array([0, 1], np.int32),
            "wanted_data": CODES,
            "wanted_offsets": OFFSETS,
        },
    ),
    "fasta_text": (
        _core.fasta_text,
        {
            "ids": CODES,
            "id_offsets": OFFSETS,
            "descriptions": CODES,
            "description_offsets": OFFSETS,
            "codes": CODES,
            "offsets": OFFSETS,
            "mask_starts": np.array([0], np.int64),
            "mask_ends": np.array([2], np.int64),
            "mask_offsets": np.array([0, 1, 1], np.int64),
            "upper": CODES,
            "lower": CODES,
            "width": 60,
            "rows": np.array([1, 0], np.int32),
        },
    ),
    "MappedFile": (_core.MappedFile, {"descriptor": os.open(__file__, os.O_RDONLY)}),
}
WITHOUT_INTEGERS = {"FastaReader", "isas", "kernel_shapes", "STRIP_ROWS"}


def spoiled(value: Any) -> Iterator[Any]:
    """What an argument is replaced by: each integer and array in it by senseless ones, one at a time."""
    if isinstance(value, bool | str):
        return
    if isinstance(value, tuple):
        for place, part in enumerate(value):
            for other in spoiled(part):
                yield (*value[:place], other, *value[place + 1 :])
    elif isinstance(value, float):  # seconds: some that are few would be waited for
        yield from (float("nan"), float("inf"), 1e300, -1.0, 0.0, *(other for other in INTEGERS if abs(other) > 2**14))
    elif isinstance(value, int):
        yield from INTEGERS
    elif isinstance(value, np.ndarray):
        yield from spoiled_arrays(value)


def spoiled_arrays(array: np.ndarray) -> Iterator[np.ndarray]:
    limits = np.iinfo(array.dtype)
    yield array[:0]
    yield array[:-1]
    yield np.concatenate([array, array])
    for value in INTEGERS:
        if limits.min <= value <= limits.max:
            for place in {0, array.size // 2, array.size - 1}:
                other = array.copy()
                other.reshape(-1)[place] = value
                yield other
            yield np.full_like(array, value)


def test_every_binding_is_called() -> None:
    stubs = ast.parse((Path(exaln.__file__).parent / "_core.pyi").read_text(encoding="utf-8"))
    names = {node.name for node in stubs.body if isinstance(node, ast.ClassDef | ast.FunctionDef)}
    called = {name.split(" ")[0].split(".")[0] for name in BINDINGS}
    assert called == names - WITHOUT_INTEGERS


@pytest.mark.parametrize("name", BINDINGS)
def test_a_good_call_is_good(name: str) -> None:
    function, good = BINDINGS[name]
    function(**good)


@pytest.mark.parametrize("name", BINDINGS)
def test_senseless_integers_are_exceptions_or_harmless(name: str) -> None:
    function, good = BINDINGS[name]
    n_calls = 0
    for argument, value in good.items():
        for other in spoiled(value):
            if argument == "threads" and other in (2**15, 2**31 - 1) and isinstance(other, int):
                with pytest.raises(ValueError, match="threads must be"):
                    function(**(good | {argument: other}))
                continue
            n_calls += 1
            try:
                function(**copies(good | {argument: other}))
            except ALLOWED:
                continue
    assert n_calls > 10


def copies(arguments: dict[str, Any]) -> dict[str, Any]:
    """So that outputs of one call are no inputs of the next."""
    return {name: np.copy(value) if isinstance(value, np.ndarray) else value for name, value in arguments.items()}


@pytest.mark.parametrize("chunk", [2**31, 2**62, LARGEST])
@pytest.mark.parametrize("layout", ["rotated", "by diagonals"])
def test_a_chunk_larger_than_the_table_is_one_chunk(chunk: int, layout: str) -> None:
    function, good = BINDINGS[f"study_fill {layout}"]
    expected, found = table(layout), table(layout)
    function(**(good | {"table": expected}))
    function(**(good | {"table": found, "chunk": chunk}))
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", ["fill_region int64", "BlockWalker.walk int64"])
@pytest.mark.parametrize("argument", ["top_h", "top_f", "left_h", "left_e", "corner"])
@pytest.mark.parametrize("value", [2**61 + 1, LARGEST, -(2**61) - 1, LEAST])
def test_scores_beyond_61_bits_are_refused(name: str, argument: str, value: int) -> None:
    """Sums of two such scores would not fit 64 bits."""
    function, good = BINDINGS[name]
    inside = {"rows": np.zeros(0, np.int64), "columns": np.zeros(0, np.int64)} if "walk" in name else {}
    wrong = value if argument == "corner" else np.full(N, value)
    if "walk" in name:
        firsts, lines = np.zeros(0, np.int64), np.zeros((0, N), np.int64)
        inside |= {"row_firsts": firsts, "column_firsts": firsts, "spacing": 2**20}
        inside |= dict.fromkeys(("row_h", "row_f", "column_h", "column_e"), lines)
    with pytest.raises(ValueError, match=r"beyond 2\^61"):
        function(**(good | inside | {argument: wrong}))
