"""Alignment modes: every engine against the oracle, and the path rule against all optimal alignments."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import engine_calls
import strategies
from exaln.alignments.aligned_pairs import PairList
from exaln.engines.choice import choose_engine
from exaln.engines.reference.path import fill_table
from exaln.errors import InputError
from exaln.scoring.modes import GLOBAL, LOCAL, NAMED, OVERLAP, SEMIGLOBAL, Mode
from exaln.scoring.scoring import Scoring
from exaln.sequences.alphabet import DNA, PROTEIN
from exaln.sequences.records import Records
from mode_cases import ALL_MODES, FOUR, TWO, aligned, oracle_score

ENGINES = ["reference", "cpu"]


@st.composite
def cases(draw: st.DrawFn, max_size: int = 20) -> tuple[list[list[int]], list[list[int]], Scoring]:
    """Pairs of sequences, related or not, some empty or of one letter or of equal letters, and what they score."""
    alphabet = draw(st.sampled_from([PROTEIN, DNA, TWO, FOUR]))
    scoring = draw(strategies.scorings(alphabet))
    pairs = draw(st.lists(strategies.related_pairs(alphabet, max_size=max_size), max_size=2))
    texts = strategies.sequences(alphabet, max_size=max_size)
    pairs += draw(st.lists(st.tuples(texts, texts), min_size=1, max_size=2))
    short = strategies.sequences(alphabet, max_size=1)
    pairs += draw(st.lists(st.tuples(short, texts) | st.tuples(texts, short), max_size=2))
    codes = [[alphabet.encode(text).tolist() for text in pair] for pair in pairs]
    return [pair[0] for pair in codes], [pair[1] for pair in codes], scoring


@pytest.mark.parametrize("mode", ALL_MODES, ids=str)
@settings(max_examples=30)
@given(case=cases())
def test_every_engine_agrees_with_the_oracle_and_with_the_reference(
    mode: Mode, case: tuple[list[list[int]], list[list[int]], Scoring]
) -> None:
    queries, targets, scoring = case
    expected = aligned("reference", *case, mode)
    for (score, _, _), query, target in zip(expected, queries, targets, strict=True):
        assert score == oracle_score(query, target, scoring, mode)
    for engine in ENGINES[1:]:
        assert aligned(engine, *case, mode) == expected


Decisions = tuple[int, ...]
STOP, DIAGONAL, OPEN_E, OPEN_F = -1, 0, 1, 2
CLOSE, EXTEND = 0, 1


def backward_paths(
    query: list[int], target: list[int], scoring: Scoring, mode: Mode, i: int, j: int, state: str = "H"
) -> Iterator[tuple[int, Decisions, str]]:
    """Every way back from a cell: its score, the decisions in the order of the rule, and the steps. No table."""
    costs = query, target, scoring, mode
    if state == "H":
        may_start = mode.is_local or i == j == 0 or (i == 0 and mode.target_start) or (j == 0 and mode.query_start)
        if may_start:
            yield 0, (STOP,), ""
        if i > 0 and j > 0:
            step, gain = "=" if query[i - 1] == target[j - 1] else "X", int(scoring.matrix[query[i - 1], target[j - 1]])
            for score, decisions, steps in backward_paths(*costs, i - 1, j - 1):
                yield score + gain, (DIAGONAL, *decisions), steps + step
        for decision, gap in ((OPEN_E, "D"), (OPEN_F, "I")):
            for score, decisions, steps in backward_paths(*costs, i, j, gap):
                yield score, (decision, *decisions), steps
        return
    if (j if state == "D" else i) == 0:
        return
    before = (i, j - 1) if state == "D" else (i - 1, j)
    for decision, cost, next_state in (
        (CLOSE, scoring.gap_first, "H"),
        (EXTEND, scoring.gap_extend, state),
    ):
        for score, decisions, steps in backward_paths(*costs, *before, next_state):
            yield score - cost, (decision, *decisions), steps + state


def best_by_rule(query: list[int], target: list[int], scoring: Scoring, mode: Mode) -> tuple[int, list[int], str]:
    """The alignment to report, chosen among all that there are."""
    m, n = len(query), len(target)
    corner = [(m, n)]
    last_row = [(m, j) for j in range(n + 1)] if mode.target_end else []
    last_column = [(i, n) for i in range(m + 1)] if mode.query_end else []
    everywhere = [(i, j) for i in range(m + 1) for j in range(n + 1)] if mode.is_local else []
    candidates = (
        (-score, j, i, decisions, steps)
        for i, j in {*chain(corner, last_row, last_column, everywhere)}
        for score, decisions, steps in backward_paths(query, target, scoring, mode, i, j)
    )
    loss, j, i, _, steps = min(candidates)
    n_query, n_target = len(steps) - steps.count("D"), len(steps) - steps.count("I")
    return -loss, [i - n_query, i, j - n_target, j], steps


tiny = st.lists(st.integers(0, 1), max_size=3)


@pytest.mark.parametrize("mode", ALL_MODES, ids=str)
@settings(max_examples=40)
@given(
    query=tiny,
    target=tiny,
    match=st.integers(1, 3),
    mismatch=st.integers(-3, 0),
    gaps=st.tuples(st.integers(0, 2), st.integers(0, 2)),
)
@example([], [], 1, 0, (0, 0))
@example([0, 0, 0], [0, 0, 0], 1, 0, (0, 0))
@example([0, 1, 0], [1, 0, 1], 1, -1, (1, 0))
@example([0, 1, 1], [1, 1], 2, -3, (1, 1))
@example([], [0, 1, 0], 1, -1, (2, 1))
def test_the_path_is_the_one_the_rule_chooses_among_all_optimal_alignments(
    mode: Mode, query: list[int], target: list[int], match: int, mismatch: int, gaps: tuple[int, int]
) -> None:
    scoring = Scoring(match=match, mismatch=mismatch, gap_open=gaps[0], gap_extend=gaps[1], alphabet=TWO)
    expected = best_by_rule(query, target, scoring, mode)
    for engine in ENGINES:
        assert aligned(engine, [query], [target], scoring, mode) == [expected]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("query", "target", "mode", "score", "positions", "path"),
    [
        ("", "ACG", "global", -(5 + 6), [0, 0, 0, 3], "DDD"),
        ("ACG", "", "global", -(5 + 6), [0, 3, 0, 0], "III"),
        ("", "", "global", 0, [0, 0, 0, 0], ""),
        ("ACG", "", "semiglobal", -(5 + 6), [0, 3, 0, 0], "III"),
        ("", "ACG", "semiglobal", 0, [0, 0, 0, 0], ""),
        ("ACG", "TT", "overlap", 0, [3, 3, 0, 0], ""),
        ("ACG", "TT", "local", 0, [0, 0, 0, 0], ""),
        ("ACG", "TTACGT", "semiglobal", 6, [0, 3, 2, 5], "==="),
        ("ACGTT", "GGACG", "overlap", 6, [0, 3, 2, 5], "==="),
        ("ACGTT", "GGACG", "free:qe,ts", 6, [0, 3, 2, 5], "==="),
        ("ACGT", "ACGA", "global", 3, [0, 4, 0, 4], "===X"),
    ],
)
def test_alignments_worked_out_by_hand_in_each_mode(
    engine: str, query: str, target: str, mode: str, score: int, positions: list[int], path: str
) -> None:
    scoring = Scoring.default(DNA)
    found = aligned(engine, [DNA.encode(query).tolist()], [DNA.encode(target).tolist()], scoring, Mode.parse(mode))
    assert found == [(score, positions, path)]


PARASAIL = [
    ("AAAA", "CCCC", "overlap", -3, 0),
    ("ACG", "T", "overlap", -3, 0),
    ("ACGTT", "GGACG", "overlap", 6, 6),
    ("AACC", "GGTT", "free:qs,te", -3, 0),
    ("AACC", "GGTT", "free:qe,ts", -3, 0),
    ("AC", "G", "free:te", -10, -9),
    ("CGATGCG", "AC", "free:te", -20, -19),
    ("A", "GG", "free:qe", -10, -9),
    ("AA", "CTGTT", "free:qe", -16, -15),
]
"""Query, target, mode, the score of parasail 1.3.4 (sg, sg_qb_de, sg_qe_db, sg_de, sg_qe), and that of exaln."""


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("query", "target", "mode", "parasail", "score"), PARASAIL)
def test_an_alignment_may_end_on_the_border_where_those_of_parasail_do_not(
    engine: str, query: str, target: str, mode: str, parasail: int, score: int
) -> None:
    """The best cell with letters of both sequences has parasail's score; cells without are candidates here."""
    scoring, ends = Scoring.default(DNA), Mode.parse(mode)
    codes = DNA.encode(query), DNA.encode(target)
    h = fill_table(scoring.matrix[np.ix_(*codes)], scoring, ends).h
    inner = [h[-1, -1], *(h[-1, 1:] if ends.target_end else []), *(h[1:, -1] if ends.query_end else [])]
    assert max(inner) == parasail
    assert aligned(engine, [codes[0].tolist()], [codes[1].tolist()], scoring, ends)[0][0] == score


@pytest.mark.parametrize("engine", ENGINES)
def test_an_empty_list_of_pairs_and_pairs_in_any_order(engine: str) -> None:
    scoring, working = Scoring.default(DNA), choose_engine(engine)
    records = Records.of(DNA, [DNA.encode(text) for text in ("ACGT", "", "AC")])
    nothing = PairList(np.empty(0, np.int64), np.empty(0, np.int64))
    traces = engine_calls.align_pairs(working, records, records, nothing, scoring, GLOBAL)
    scores = traces.scores
    assert len(scores) == len(traces.positions) == len(traces.counts) == len(traces.paths) == 0
    assert len(engine_calls.score_pairs(working, records, records, nothing, scoring, LOCAL)) == 0
    some = PairList(np.array([2, 0, 0, 1]), np.array([0, 0, 2, 1]))
    assert engine_calls.score_pairs(working, records, records, some, scoring, SEMIGLOBAL).tolist() == [4, 8, 4 - 9, 0]
    part = records.rows(1, 3)
    assert engine_calls.score_pairs(
        working, part, records, PairList(np.array([1]), np.array([0])), scoring, OVERLAP
    ).tolist() == [4]


@pytest.mark.parametrize("engine", ENGINES)
def test_letters_of_another_kind_are_refused(engine: str) -> None:
    proteins, dna = Records.of(PROTEIN, [PROTEIN.encode("HEAG")]), Records.of(DNA, [DNA.encode("ACGT")])
    one = PairList(np.zeros(1, np.int64), np.zeros(1, np.int64))
    with pytest.raises(InputError, match="the targets are protein, but 2/-3 scores dna"):
        engine_calls.score_pairs(choose_engine(engine), dna, proteins, one, Scoring.default(DNA), LOCAL)
    with pytest.raises(InputError, match="the queries are protein"):
        engine_calls.align_pairs(choose_engine(engine), proteins, dna, one, Scoring.default(DNA), GLOBAL)


def test_modes_are_parsed_from_their_names() -> None:
    assert [Mode.parse(name).name for name in NAMED] == ["local", "global", "semiglobal", "overlap"]
    assert Mode.parse(GLOBAL) is GLOBAL
    assert Mode.parse("free:te, qs").name == "free:qs,te"
    assert Mode.parse("free:qs,qe,ts,te") is OVERLAP
    assert Mode.parse("free:te,ts") is SEMIGLOBAL
    assert len({mode.name for mode in ALL_MODES}) == 17
    assert all(Mode.parse(mode.name) == mode for mode in ALL_MODES)


@pytest.mark.parametrize("text", ["Local", "free", "free:", "free:qs,", "free:xx", "glocal", "", "qs,te"])
def test_an_unknown_mode_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(InputError, match=r"unknown mode .*; choose local, global, semiglobal, overlap, or free: with"):
        Mode.parse(text)
