"""Lists of sequences in every form give the same results, and errors that name the sequence, on either side."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import exaln
import oracle
from exaln.errors import InputError
from exaln.sequences.alphabet import DNA, PROTEIN, Alphabet
from sequence_forms import CAPSULES, FORMS, Texts
from strategies import sequences

ALL_FORMS = {**FORMS, **CAPSULES}
MODES = ("local", "global", "semiglobal", "overlap", "free:qs,te")
SCORINGS = {
    "dna": exaln.Scoring(match=2, mismatch=-3, gap_open=5, gap_extend=2),
    "protein": exaln.Scoring("BLOSUM62", gap_open=11, gap_extend=1),
    "own": exaln.Scoring(match=3, mismatch=-1, gap_open=2, gap_extend=1, alphabet=Alphabet.parse("ABCDE")),
}
TEXTS = {
    "dna": ["ACGTTGCA", "a", "acgtnNRYACGTACGTTTGACA", "GGGTTTAAACCC" * 9, "ACGUUGCA", "TTAGCAATCC", "T"],
    "protein": ["HEAGAWGHEE", "mkvl", "W", "MKVLAAGITWYHEUOBZJX*", "WSAPSVLLNAS" * 30, "PAWHEAE"],
    "own": ["ABC", "EDCBA", "AAAAABBBBB", "d"],
}
N = 100_000
"""Sequences of a long list; the last one has the wrong letter."""


def outcome(queries: Any, targets: Any, scoring: exaln.Scoring, mode: str) -> tuple[Any, ...]:
    """Everything that a call returns."""
    found = exaln.align_many(queries, targets, scoring=scoring, mode=mode)
    return (
        found.scores.tolist(),
        found.positions.tolist(),
        found.counts.tolist(),
        found.cigars_extended,
        [found.queries.alphabet.decode(found.queries.sequence(row)) for row in range(len(found.queries))],
    )


@pytest.mark.parametrize("molecule", SCORINGS)
@pytest.mark.parametrize("form", ALL_FORMS)
def test_every_form_gives_the_results_of_a_list_of_str(form: str, molecule: str) -> None:
    texts, scoring = TEXTS[molecule], SCORINGS[molecule]
    others = [text[1:] + text[0] for text in reversed(texts)]
    for mode in MODES:
        expected = outcome(texts, others, scoring, mode)
        assert outcome(ALL_FORMS[form](texts), ALL_FORMS[form](others), scoring, mode) == expected
        assert outcome(texts, ALL_FORMS[form](others), scoring, mode) == expected
        scores = exaln.score_many(ALL_FORMS[form](texts), others, scoring=scoring, mode=mode)
        assert scores.tolist() == expected[0]


@given(st.lists(sequences(PROTEIN), max_size=6), st.sampled_from([*ALL_FORMS]), st.sampled_from([*ALL_FORMS]))
def test_scores_are_those_of_the_oracle_in_any_two_forms(texts: list[str], first: str, second: str) -> None:
    scoring = SCORINGS["protein"]
    others = [text[::-1] for text in texts]
    found = exaln.score_many(ALL_FORMS[first](texts), ALL_FORMS[second](others), scoring=scoring)
    codes = [(PROTEIN.encode(a), PROTEIN.encode(b)) for a, b in zip(texts, others, strict=True)]
    costs = scoring.matrix, scoring.gap_open, scoring.gap_extend
    assert found.tolist() == [oracle.smith_waterman(a, b, *costs) for a, b in codes]


@pytest.mark.parametrize("form", ALL_FORMS)
def test_no_sequences_have_no_scores(form: str) -> None:
    assert exaln.score_many(ALL_FORMS[form]([]), ALL_FORMS[form]([]), scoring=SCORINGS["dna"]).tolist() == []


@pytest.mark.parametrize("form", ALL_FORMS)
def test_the_alphabet_is_found_from_both_sides(form: str) -> None:
    """The letters of the queries could be nucleotides."""
    found = exaln.align_many(ALL_FORMS[form](["ACGT", "GATTACA"]), ALL_FORMS[form](["MKVL", "WWWW"]), mode="global")
    assert found.queries.alphabet == PROTEIN
    found = exaln.align_many(ALL_FORMS[form](["ACGU", "GAUUACA"]), ALL_FORMS[form](["ACGU", "GAUU"]), mode="global")
    assert found.queries.alphabet.is_nucleotide


@pytest.mark.parametrize("side", ["queries", "targets"])
@pytest.mark.parametrize("form", ALL_FORMS)
def test_a_wrong_letter_at_the_end_of_a_long_list_is_named(form: str, side: str) -> None:
    good = ["ACGTACGTAC"] * N
    bad = [*good[:-1], "ACGTAC!TAC"]
    assert len(bad) == N
    sides = {"queries": good, "targets": good, side: bad}
    with pytest.raises(InputError) as caught:
        exaln.score_many(ALL_FORMS[form](sides["queries"]), ALL_FORMS[form](sides["targets"]), scoring=SCORINGS["dna"])
    assert str(caught.value) == f"{side}, sequence {N}: '!' at position 7 is not a dna letter"


@pytest.mark.parametrize("side", ["queries", "targets"])
@pytest.mark.parametrize(
    ("form", "wrong"),
    [
        *(("list of str", wrong) for wrong in (None, 7, 2.5, [], ...)),
        ("pandas of objects", None),
        ("NumPy object", None),
    ],
    ids=str,
)
def test_what_is_not_text_at_the_end_of_a_long_list_is_named(form: str, side: str, wrong: object) -> None:
    good: Texts = ["ACGT"] * N
    bad: Any = [*good[:-1], wrong]
    sides = {"queries": good, "targets": good, side: FORMS[form](bad)}
    expected = f"{side}, sequence {N}: a sequence must be text, not "
    with pytest.raises(InputError, match=expected):
        exaln.score_many(sides["queries"], sides["targets"], scoring=SCORINGS["dna"])


@pytest.mark.parametrize("make", [pa.array, lambda texts: pa.chunked_array([texts[:9], texts[9:]])])
def test_a_null_of_a_column_is_named(make: Callable[[list[str | None]], Any]) -> None:
    column = make([*["ACGT"] * 30, None])
    with pytest.raises(InputError, match="targets, sequence 31: a sequence must be text, not null"):
        exaln.score_many("ACGT", column, scoring=SCORINGS["dna"])


@pytest.mark.parametrize("side", ["queries", "targets"])
def test_letters_outside_of_ascii_are_named(side: str) -> None:
    for form in ("list of str", "NumPy U", "Arrow string", "polars"):
        sides = {"queries": ["ACGT"] * 5, "targets": ["ACGT"] * 5, side: FORMS[form](["ACGT"] * 4 + ["ACéT"])}
        with pytest.raises(InputError, match=f"{side}, sequence 5: .* at position 3 is not a dna letter"):
            exaln.score_many(sides["queries"], sides["targets"], scoring=SCORINGS["dna"])


@pytest.mark.parametrize("is_matrix", [True, False])
def test_a_wrong_code_is_refused(is_matrix: bool) -> None:
    codes = np.zeros((1000, 4), np.uint8)
    codes[999, 2] = 77
    given = codes if is_matrix else list(codes)
    with pytest.raises(InputError, match=r"targets.*77 is not a code of dna"):
        exaln.score_many(np.zeros((1000, 4), np.uint8), given, scoring=SCORINGS["dna"])


def test_codes_and_texts_can_be_mixed() -> None:
    texts = TEXTS["dna"]
    mixed = [(text, text.encode(), DNA.encode(text))[number % 3] for number, text in enumerate(texts)]
    expected = outcome(texts, texts[::-1], SCORINGS["dna"], "overlap")
    assert outcome(mixed, mixed[::-1], SCORINGS["dna"], "overlap") == expected


def test_matrices_of_codes_need_not_be_contiguous() -> None:
    codes = np.random.default_rng(1).integers(0, 4, (40, 60)).astype(np.uint8)
    expected = exaln.score_many([DNA.decode(row) for row in codes], "ACGTACGT", scoring=SCORINGS["dna"]).tolist()
    wide = np.zeros((40, 120), np.uint8)
    wide[:, ::2] = codes
    for given_codes in (codes, np.asfortranarray(codes), wide[:, ::2], list(wide[:, ::2]), codes[::-1][::-1]):
        assert exaln.score_many(given_codes, "ACGTACGT", scoring=SCORINGS["dna"]).tolist() == expected


def test_sequences_that_the_caller_changes_later_keep_their_alignments() -> None:
    """Codes that are used without a copy must not change what was returned."""
    codes = np.random.default_rng(1).integers(0, 4, (20, 50)).astype(np.uint8)
    found = exaln.align_many(codes, codes.copy(), scoring=SCORINGS["dna"])
    cigars, texts = list(found.cigars), [alignment.query_aligned for alignment in found]
    codes[:] = 0
    assert found.cigars == cigars
    assert [alignment.query_aligned for alignment in found] == texts
