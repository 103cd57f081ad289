"""Every binding of exaln_studies._native: its stub, a good call, and calls with senseless integers."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import exaln_studies
from exaln_studies import _native
from senseless_arguments import LARGEST, check_senseless_arguments

MATRIX = np.array([[2, -1], [-1, 2]], np.int32)
CODES = np.array([[0, 1], [1, 1]], np.uint8)
LETTERS = np.tile(np.array([0, 1, 1, 0, 1, 0, 0], np.uint8), 4)
LAYOUTS = ("by rows", "rotated", "by diagonals")


def table(layout: str) -> np.ndarray:
    return np.zeros(_native.table_size(layout, len(LETTERS), len(LETTERS)), np.int32)


PAIR: dict[str, Any] = {"query": LETTERS, "target": LETTERS, "matrix": MATRIX, "threads": 2}
BINDINGS: dict[str, tuple[Any, dict[str, Any]]] = {
    "table_size": (_native.table_size, {"layout": "rotated", "m": 4, "n": 5}),
    **{
        f"fill_table {layout}": (
            _native.fill_table,
            {**PAIR, "gap": 1, "layout": layout, "chunk": 3, "table": table(layout)},
        )
        for layout in LAYOUTS
    },
    "time_empty_steps": (_native.time_empty_steps, {"threads": 2, "n_steps": 5}),
    "fill_tiles": (
        _native.fill_tiles,
        {**PAIR, "gap_first": 3, "gap_extend": 1, "side": 4, **{name: table("by rows") for name in "HEF"}},
    ),
    "align_pairs": (_native.align_pairs, {"queries": CODES, "targets": CODES, "matrix": MATRIX, "gap": 1}),
}


def test_the_stubs_name_every_binding_and_every_binding_is_called() -> None:
    stubs = ast.parse((Path(exaln_studies.__file__).parent / "_native.pyi").read_text(encoding="utf-8"))
    names = {node.name for node in stubs.body if isinstance(node, ast.FunctionDef)}
    assert names == {name for name in dir(_native) if not name.startswith("__")}
    assert names == {name.split(" ")[0] for name in BINDINGS}


@pytest.mark.parametrize("name", BINDINGS)
def test_a_good_call_is_accepted(name: str) -> None:
    function, good = BINDINGS[name]
    function(**good)


@pytest.mark.parametrize("name", BINDINGS)
def test_senseless_integers_are_exceptions_or_harmless(name: str) -> None:
    check_senseless_arguments(*BINDINGS[name])


@pytest.mark.parametrize("chunk", [2**31, 2**62, LARGEST])
@pytest.mark.parametrize("layout", LAYOUTS[1:])
def test_a_chunk_larger_than_the_table_is_one_chunk(chunk: int, layout: str) -> None:
    function, good = BINDINGS[f"fill_table {layout}"]
    expected, result = table(layout), table(layout)
    function(**(good | {"table": expected}))
    function(**(good | {"table": result, "chunk": chunk}))
    np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"layout": "by columns"}, "layout must be"),
        ({"threads": 0}, "threads must be"),
        ({"chunk": 0}, "at least one cell"),
        ({"table": np.zeros(3, np.int32)}, "another size"),
        ({"query": np.array([99], np.uint8)}, "outside the matrix"),
        ({"matrix": np.full((2, 2), 1 << 26, np.int32)}, "too large for a table of int32"),
    ],
)
def test_wrong_arguments_are_named(change: dict[str, Any], says: str) -> None:
    function, good = BINDINGS["fill_table by rows"]
    with pytest.raises(ValueError, match=says):
        function(**(good | change))


def test_empty_steps_take_time() -> None:
    assert 0 < _native.time_empty_steps(2, 100) < 10
