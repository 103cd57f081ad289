"""Biopython: its aligner gives the same scores in every mode, and alignments convert in both directions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from Bio.Align import Alignment as BioAlignment
from Bio.Align import PairwiseAligner, substitution_matrices
from Bio.Seq import Seq
from Bio.SeqRecord import SeqRecord

import exaln
import golden_data
from exaln.errors import InputError
from exaln.scoring.modes import Mode
from exaln.scoring.scoring import Scoring
from exaln.sequences.alphabet import DNA
from mode_cases import ALL_MODES

N_CASES = 10_000
N_SCORINGS = 20
BIOPYTHON_ENDS = {
    "query_start": "left_insertion_score",
    "query_end": "right_insertion_score",
    "target_start": "left_deletion_score",
    "target_end": "right_deletion_score",
}


def biopython_aligner(scoring: Scoring, mode: Mode) -> PairwiseAligner:
    """The same costs in Biopython's words: the first residue of a gap, each further one, free ends as scores of 0."""
    aligner = PairwiseAligner(mode="local" if mode.is_local else "global")
    letters = scoring.alphabet.letters
    aligner.substitution_matrix = substitution_matrices.Array(letters, 2, scoring.matrix.astype(float))
    aligner.open_gap_score, aligner.extend_gap_score = -scoring.gap_first, -scoring.gap_extend
    if not mode.is_local:
        for end, attribute in BIOPYTHON_ENDS.items():
            if getattr(mode, end):
                setattr(aligner, attribute, 0)
    return aligner


def random_pairs(rng: np.random.Generator, n_letters: int, n: int) -> tuple[list[Any], list[Any]]:
    """Small sequences, half of them with something in common; Biopython refuses those without letters."""
    first = [rng.integers(0, n_letters, rng.integers(1, 16)).astype(np.uint8) for _ in range(n)]
    second = []
    for one in first:
        other = rng.integers(0, n_letters, rng.integers(1, 16)).astype(np.uint8)
        start = int(rng.integers(0, len(one)))
        second.append(np.concatenate([other[:4], one[start:], other[8:]]) if rng.random() < 0.5 else other)
    return first, second


@pytest.mark.parametrize("mode", ALL_MODES, ids=str)
def test_biopythons_aligner_agrees(mode: Mode) -> None:
    rng = np.random.default_rng([5, *mode.name.encode()])
    for number in range(N_SCORINGS):
        costs = {"gap_open": int(rng.integers(0, 8)), "gap_extend": int(rng.integers(0, 4))}
        if number % 2:
            scoring = Scoring("BLOSUM62", **costs)
        else:
            scoring = Scoring(match=int(rng.integers(1, 5)), mismatch=-int(rng.integers(0, 5)), **costs)
        aligner = biopython_aligner(scoring, mode)
        queries, targets = random_pairs(rng, 20 if number % 2 else 4, N_CASES // N_SCORINGS)
        found = exaln.align_many(queries, targets, scoring=scoring, mode=mode).scores.tolist()
        texts = [[scoring.alphabet.decode(one) for one in side] for side in (targets, queries)]
        # `aligner.score` of Biopython 1.88 differs from its own alignments for linear gaps with one free end of a side.
        assert found == [aligner.align(*pair).score for pair in zip(*texts, strict=True)]


@pytest.mark.parametrize("mode", ["local", "global", "semiglobal", "overlap"])
def test_conversion_to_biopython_and_back_keeps_the_alignment(mode: str) -> None:
    hba, hbb = golden_data.fasta("hba_hbb.fasta").items()
    scoring = Scoring("BLOSUM62", gap_open=9.5, gap_extend=0.5)
    query, target = (SeqRecord(Seq(letters), id=name, description="") for name, letters in (hba, hbb))
    found = exaln.align(query, target, scoring=scoring, mode=mode)
    there = found.to_biopython()
    assert there.score == found.score
    assert [one.id for one in there.sequences] == [hbb[0], hba[0]]
    assert there.coordinates[:, 0].tolist() == [found.target_start, found.query_start]
    assert there.coordinates[:, -1].tolist() == [found.target_end, found.query_end]
    counts = there.counts()
    assert (counts.identities, counts.mismatches, counts.gaps) == (found.identities, found.mismatches, found.gaps)
    back = exaln.Alignment.from_biopython(there, scoring)
    for name in (
        "score",
        "cigar_extended",
        "query_id",
        "target_id",
        "positives",
        "gap_opens",
        "columns",
        "query_start",
    ):
        assert getattr(back, name) == getattr(found, name), name
    assert str(back).splitlines()[2:] == str(found).splitlines()[2:]
    assert back.mode.name == ("local" if mode == "local" else "global")  # the others, too, cover both sequences here


def test_alignments_of_biopythons_aligner_can_be_converted() -> None:
    scoring = Scoring.default(DNA)
    aligner = biopython_aligner(scoring, Mode.parse("global"))
    for target, query in (("ACGTTGA", "ACTTGAC"), ("AAAA", "AA"), ("ACGT", "ACGT")):
        for theirs in aligner.align(target, query):
            ours = exaln.Alignment.from_biopython(theirs)
            assert ours.score == theirs.score
            assert ours.mode.name == "global"
            np.testing.assert_array_equal(ours.to_biopython().coordinates, theirs.coordinates)


def test_biopython_alignments_that_are_not_pairs_are_refused() -> None:
    with pytest.raises(InputError, match="3 sequences; expected two"):
        exaln.Alignment.from_biopython(BioAlignment(["ACGT"] * 3, np.array([[0, 4]] * 3)))
    with pytest.raises(InputError, match="on the other strand"):
        exaln.Alignment.from_biopython(BioAlignment(["ACGT", "ACGT"], np.array([[0, 4], [4, 0]])))
    with pytest.raises(InputError, match="skips letters of both sequences"):
        exaln.Alignment.from_biopython(BioAlignment(["ACGTA", "ACGT"], np.array([[0, 5], [0, 4]])))
    with pytest.raises(InputError, match="no letters are aligned"):
        exaln.align("AAAA", "CCCC").to_biopython()
