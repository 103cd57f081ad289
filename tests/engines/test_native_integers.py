"""Every binding of the core with negative, huge and inconsistent integers: an exception or an answer, never a crash.

Each call of BINDINGS is good. Each of its integers, and each array of offsets, places or scores, is replaced by values
that make no sense. The calls run in one process, so a crash fails everything: the name is printed by faulthandler.
"""

from __future__ import annotations

import ast
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import exaln
from exaln import _core
from exaln.scoring.scoring import Scoring
from exaln.statistics.composition import SCALE
from exaln.statistics.matrix_frequencies import frequencies_of
from senseless_arguments import LARGEST, LEAST, check_senseless_arguments

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


def text_rows() -> Any:
    """Two rows of letters."""
    rows = _core.TextRows()
    rows.add_items(["ACGT", b"AC"], np.ndarray)
    return rows


def short_pairs(**changed: Any) -> Any:
    """A core for short pairs, whose letters are a and b."""
    codes = np.full(256, 255, np.uint8)
    codes[[97, 98]] = 0, 1
    good = {"matrix": MATRIX, "gap_first": 3, "gap_extend": 1, "codes": codes, "complements": np.zeros(0, np.uint8)}
    return _core.ShortPairs(**good | {"is_nucleotide": False, "isa": ""} | changed)


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


def blosum62() -> Any:
    """What the core needs of BLOSUM62."""
    behind = frequencies_of(Scoring("BLOSUM62"))
    assert behind is not None
    return behind.joint, behind.background, behind.ratios, behind.lambda_ / SCALE


def device_block(**more: Any) -> dict[str, Any]:
    """A batch of two pairs, planned, and a block with what the device returns for it: a path of two runs each."""
    lengths, tables, head = np.array([3, 2]), (True, False, True), 16
    order, batch = _core.plan_device_pairs(
        lengths, lengths, [(8, 8, 1)], tables, (1 << 20, 1 << 20), (True, True), head
    )
    counters, runs = int(batch[7]), int(batch[9])
    block = np.zeros(runs + 4 * 10, np.uint8)
    block[counters : counters + 16].view(np.uint32)[2] = 4
    results = block[counters + 16 : counters + 16 + 2 * 52].view(np.uint32).reshape(2, 13)
    results[:, 11], results[:, 12] = 2, (0, 2)
    return {"block": block, "batch": batch, "order": order, **more}


TABLES = (np.stack([MATRIX, 3 * MATRIX]), 3, 1)
COUNTS = (np.arange(40, dtype=np.int64).reshape(2, 20), np.array([190, 600]))
SIDE = (CODES, OFFSETS, np.array([0, 1]), True, 0)
PATHS = {"operations": np.array([55, 24, 39], np.uint32), "offsets": np.array([0, 1, 3]), "extended": False}

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
    "align_several": (
        _core.align_several,
        {
            "queries": SEQUENCES,
            "targets": SEQUENCES,
            "pairs": PAIRS,
            "costs": COSTS,
            "most": 3,
            "least": np.ones(2, np.int64),
            "known_scores": None,
            "upper": np.ones(2, np.int64),
            "margin": np.ones(2, np.int64),
            "threads": 2,
            "max_bytes": 1 << 20,
            "tile": (64, 3),
            "least_bits": 16,
        },
    ),
    "several_bytes": (_core.several_bytes, {"n_rows": 100, "n_columns": 200, "costs": COSTS}),
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
    "plan_scan": (
        _core.plan_scan,
        {"query_lengths": np.array([3, 9]), "target_lengths": np.array([1, 5, 40]), "threads": 2},
    ),
    "bare_loop": (_core.bare_loop, {"isa": "", "bits": 16, "seconds": 0.001}),
    "argsort_stable": (_core.argsort_stable, {"keys": np.array([3, 1, 2], np.int64)}),
    "argsort_bytes": (_core.argsort_bytes, {"data": CODES, "offsets": OFFSETS}),
    "take_rows": (_core.take_rows, {"data": CODES, "begins": OFFSETS[:-1].copy(), "ends": OFFSETS[1:].copy()}),
    "letters_in": (_core.letters_in, {"codes": CODES}),
    "problem_of_offsets": (_core.problem_of_offsets, {"offsets": OFFSETS, "n_values": 5, "is_sorted": True}),
    "length_runs": (_core.length_runs, {"offsets": np.array([0, 2, 5], np.int64)}),
    "OrderedColumn": (
        _core.OrderedColumn,
        {
            "data": [CODES, CODES],
            "offsets": [OFFSETS, OFFSETS],
            "ranks": np.array([3, 0, 1, 2], np.int32),
            "threads": 2,
        },
    ),
    "OrderedColumn.copy": (
        _core.OrderedColumn([CODES], [OFFSETS], np.array([1, 0], np.int32)).copy,
        {"begin": 1, "end": 3, "out": np.zeros(5, np.uint8), "threads": 2},
    ),
    "FastaBlocks": (
        _core.FastaBlocks,
        {
            "descriptor": os.open(__file__, os.O_RDONLY),
            "size": 1000,
            "table": np.zeros(256, np.uint8),
            "strip_gaps": False,
            "max_header_bytes": 100,
            "max_record_bytes": 100,
            "block_bytes": 100,
            "threads": 2,
        },
    ),
    "start_writeback": (
        _core.start_writeback,
        {"descriptor": os.open(__file__, os.O_RDONLY), "begin": 0, "n_bytes": 10},
    ),
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
    "seg": (
        _core.seg,
        {
            "codes": CODES,
            "offsets": OFFSETS,
            "kinds": np.arange(256, dtype=np.uint8),
            "window": 2,
            "locut": 1.0,
            "hicut": 1.5,
            "threads": 2,
        },
    ),
    "plan_device_pairs": (
        _core.plan_device_pairs,
        {
            "m": np.array([3, 70, 9]),
            "n": np.array([1, 5, 40]),
            "shapes": [(8, 8, 1), (32, 16, 2)],
            "tables": (True, False, True),
            "limits": (1 << 20, 1 << 20),
            "sends": (True, True),
            "head_bytes": 300,
        },
    ),
    "pair_couple_bytes": (
        _core.pair_couple_bytes,
        {"m": np.array([3, 70]), "n": np.array([1, 5]), "shapes": [(8, 8), (32, 16)], "tables": (False, True, True)},
    ),
    "used_codes": (_core.used_codes, {"side": SIDE, "few": 4, "threads": 2}),
    "fill_pair_block": (
        _core.fill_pair_block,
        device_block(queries=SIDE, targets=SIDE, shape=(8, 8), tables=(True, False, True), threads=2),
    ),
    "collect_pair_block": (
        _core.collect_pair_block,
        device_block(
            columns=(np.zeros(2, np.int64), np.zeros(8, np.int64), np.zeros(12, np.int32), *np.zeros((2, 2), np.int64)),
            runs=np.zeros(4, np.uint32),
            n_runs=4,
            first_run=0,
            threads=2,
        ),
    ),
    "collect_pair_scores": (_core.collect_pair_scores, device_block(scores=np.zeros(2, np.int64))),
    "gather_paths": (
        _core.gather_paths,
        {
            "pieces": [PATHS["operations"], PATHS["operations"]],
            "first_runs": np.array([3, 0]),
            "offsets": np.array([0, 1, 3]),
            "operations": np.zeros(3, np.uint32),
            "threads": 2,
        },
    ),
    "cigar_column": (_core.cigar_column, {**PATHS, "threads": 2}),
    "cigar_list": (_core.cigar_list, {**PATHS, "threads": 2}),
    "ascii_strings": (_core.ascii_strings, {"data": CODES, "offsets": OFFSETS}),
    "TextRows.add_column": (
        lambda **columns: _core.TextRows().add_column(**columns),
        {"data": CODES, "offsets": OFFSETS},
    ),
    "TextRows.bytes_of": (text_rows().bytes_of, {"row": 1, "most": 3}),
    "TextRows.is_codes": (text_rows().is_codes, {"row": 1}),
    "TextRows.letter_counts": (text_rows().letter_counts, {"threads": 2}),
    "TextRows.encode": (
        text_rows().encode,
        {"table": np.zeros(256, np.uint8), "n_codes": 4, "codes": np.zeros(6, np.uint8), "threads": 2},
    ),
    "count_amino_acids": (_core.count_amino_acids, {"sequences": SEQUENCES}),
    "adjusted_scores": (
        lambda **given: _core.adjusted_scores(blosum62(), **given),
        {"queries": COUNTS, "targets": COUNTS, "pairs": PAIRS, "mode": 2, "threads": 2},
    ),
    "score_own_tables": (
        _core.score_own_tables,
        {"queries": SEQUENCES, "targets": SEQUENCES, "pairs": PAIRS, "tables": TABLES, "threads": 2},
    ),
    "align_own_tables": (
        _core.align_own_tables,
        {
            "queries": SEQUENCES,
            "targets": SEQUENCES,
            "pairs": PAIRS,
            "tables": TABLES,
            "most": 3,
            "least": np.ones(2, np.int64),
            "known_scores": None,
            "threads": 2,
            "max_bytes": 1 << 20,
        },
    ),
    "align_own_tables, known scores": (
        _core.align_own_tables,
        {
            "queries": SEQUENCES,
            "targets": SEQUENCES,
            "pairs": PAIRS,
            "tables": TABLES,
            "most": 1,
            "least": np.ones(2, np.int64),
            "known_scores": np.array([2, 12], np.int32),
        },
    ),
    "ShortPairs": (short_pairs, {"gap_first": 3, "gap_extend": 1}),
    "ShortPairs.align": (short_pairs().align, {"query": "abba", "target": b"bab", "mode": LOCAL, "strand": 0}),
    "MappedFile": (_core.MappedFile, {"descriptor": os.open(__file__, os.O_RDONLY)}),
}
WITHOUT_INTEGERS = {"FastaReader", "isas", "kernel_shapes", "STRIP_ROWS", "class_counts", "pair_times"}
WITHOUT_INTEGERS |= {"target_frequencies"}


def test_every_binding_of_the_core_is_tested() -> None:
    stubs = ast.parse((Path(exaln.__file__).parent / "_core.pyi").read_text(encoding="utf-8"))
    names = {node.name for node in stubs.body if isinstance(node, ast.ClassDef | ast.FunctionDef)}
    called = {name.split(" ")[0].split(".")[0].rstrip(",") for name in BINDINGS}
    assert called == names - WITHOUT_INTEGERS


@pytest.mark.parametrize("name", BINDINGS)
def test_valid_arguments_are_accepted_and_senseless_integers_do_no_harm(name: str) -> None:
    function, good = BINDINGS[name]
    function(**good)
    check_senseless_arguments(function, good)


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
