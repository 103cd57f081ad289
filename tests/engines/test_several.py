"""Several alignments of a pair: a textbook implementation of the definition against every engine."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine_calls import pair_task
from exaln.alignments.aligned_pairs import PairList
from exaln.alignments.cigar import OPERATIONS
from exaln.engines.cpu.engine import CpuEngine
from exaln.engines.reference.engine import ReferenceEngine
from exaln.engines.tasks import SeveralTask
from exaln.errors import OutOfMemoryError
from exaln.scoring.scoring import Scoring
from exaln.sequences.alphabet import DNA, PROTEIN
from exaln.sequences.records import Records
from strategies import scorings
from waterman_eggert import textbook

ENGINES = {"reference": ReferenceEngine(), "cpu": CpuEngine(2)}


def found_by(engine, pairs, scoring, most, least):
    """For each pair, what `textbook` returns."""
    alphabet = scoring.alphabet
    queries, targets = (Records.of(alphabet, [pair[side] for pair in pairs]) for side in (0, 1))
    rows = PairList(np.arange(len(pairs)), np.arange(len(pairs)))
    task = SeveralTask(pair_task(queries, targets, rows, scoring), most, np.full(len(pairs), least))
    several = engine.align_several(task)
    found = [[] for _ in pairs]
    for place, pair in enumerate(several.pair.tolist()):
        aligned = several.aligned
        letters = "".join(OPERATIONS[run & 15] * (run >> 4) for run in aligned.paths[place].tolist())
        _, row, _, column = aligned.positions[place].tolist()
        steps = letters.replace("=", "M").replace("X", "M")
        assert score_of(pairs[pair], aligned.positions[place].tolist(), steps, scoring) == aligned.scores[place]
        found[pair].append((int(aligned.scores[place]), (row, column), steps))
    return found


def score_of(pair, positions, steps, scoring):
    """The score of a path, from its letters and gaps."""
    query, target = pair
    row, column, score, previous = positions[0], positions[2], 0, ""
    for step in steps:
        if step == "M":
            score += int(scoring.matrix[query[row], target[column]])
        else:
            score -= scoring.gap_extend if step == previous else scoring.gap_first
        row, column, previous = row + (step != "D"), column + (step != "I"), step
    assert (row, column) == (positions[1], positions[3])
    return score


def repeats(rng, n_letters, longest):
    """A sequence with repeats: copies of a unit, some letters of it changed, some removed."""
    unit = rng.integers(0, n_letters, rng.integers(1, 8))
    letters = np.tile(unit, longest)[: rng.integers(1, longest + 1)].astype(np.uint8)
    is_new = rng.random(len(letters)) < rng.choice([0, 0.1, 0.4])
    letters[is_new] = rng.integers(0, n_letters, int(is_new.sum()))
    return letters[rng.random(len(letters)) < 0.95]


SCORINGS = [
    Scoring(match=1, mismatch=-1, gap_open=0, gap_extend=1),
    Scoring(match=2, mismatch=-3, gap_open=5, gap_extend=2),
    Scoring(match=3, mismatch=-1, gap_open=2, gap_extend=0),
    Scoring("BLOSUM62"),
    Scoring("BLOSUM50", gap_open=3, gap_extend=1),
]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("scoring", SCORINGS, ids=lambda scoring: scoring.describe())
def test_repeats_are_found_as_the_definition_says(engine: str, scoring: Scoring) -> None:
    rng = np.random.default_rng(20)
    n_letters = 4 if scoring.alphabet == DNA else 20
    pairs = [(repeats(rng, n_letters, 40), repeats(rng, n_letters, 40)) for _ in range(30)]
    pairs += [(one, one) for one, _ in pairs[:5]]
    most, least = 6, 4
    expected = [textbook(query.tolist(), target.tolist(), scoring, most, least) for query, target in pairs]
    assert max(map(len, expected)) == most
    assert found_by(ENGINES[engine], pairs, scoring, most, least) == expected


def test_repeats_that_cross_and_nest_are_all_found() -> None:
    scoring = Scoring(match=2, mismatch=-3, gap_open=5, gap_extend=2)
    a, b = "ACGTTGCATGCCATAA", "GGATCCTTAACCGGTA"
    query, target = DNA.encode(a + b), DNA.encode(b + a + b + a)
    (found,) = found_by(ENGINES["cpu"], [(query, target)], scoring, 10, 20)
    assert found == textbook(query.tolist(), target.tolist(), scoring, 10, 20)
    assert [score for score, _, _ in found[:3]] == [64, 32, 32]  # a with b behind it, then b alone and a alone


@settings(max_examples=60)
@given(st.data())
def test_any_scoring_and_any_pair(data: st.DataObject) -> None:
    alphabet = data.draw(st.sampled_from([DNA, PROTEIN]))
    scoring = data.draw(scorings(alphabet))
    few = st.lists(st.integers(0, 3), max_size=18)
    pairs = [tuple(np.array(data.draw(few), np.uint8) for _ in range(2)) for _ in range(3)]
    most, least = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 6))
    expected = [textbook(query.tolist(), target.tolist(), scoring, most, least) for query, target in pairs]
    for engine in ENGINES.values():
        assert found_by(engine, pairs, scoring, most, least) == expected


def test_no_letters_are_aligned_twice() -> None:
    scoring = Scoring("BLOSUM62")
    glutamines = np.full(60, PROTEIN.letters.index("Q"), np.uint8)
    (found,) = found_by(ENGINES["cpu"], [(glutamines, glutamines)], scoring, 200, 1)
    used = set()
    for _, (row, column), steps in found:
        for step in reversed(steps):
            if step == "M":
                assert (row, column) not in used
                used.add((row, column))
            row, column = row - (step != "D"), column - (step != "I")
    assert [score for score, _, _ in found] == sorted((score for score, _, _ in found), reverse=True)
    assert len(used) == 60 * 60


def test_threads_do_not_change_the_alignments() -> None:
    rng = np.random.default_rng(4)
    pairs = [(repeats(rng, 4, 90), repeats(rng, 4, 90)) for _ in range(40)]
    one, many = (found_by(CpuEngine(threads), pairs, SCORINGS[1], 8, 5) for threads in (1, 7))
    assert one == many
    assert sum(map(len, one)) > 100


def test_a_table_that_does_not_fit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("exaln.engines.cpu.core_calls.available_memory", lambda: 10_000)
    letters = np.zeros(100, np.uint8)
    with pytest.raises(OutOfMemoryError, match=r"several alignments of 100 with 100 letters need .* GiB, and 0.0 GiB"):
        found_by(ENGINES["cpu"], [(letters, letters)], SCORINGS[0], 2, 1)
