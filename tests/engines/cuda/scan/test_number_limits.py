"""Both sides of every limit of the cuda engine's packed numbers: low and high half, first and later strips."""

import numpy as np
import pytest

from cuda_cases import assert_as_cpu, custom_alphabet, scored
from exaln.scoring.scoring import Scoring
from kernel_cases import sequence_scoring

pytestmark = pytest.mark.gpu

INT16, HALF = 32767, 2048
"""The largest numbers that the two kinds of packed numbers hold exactly; the limit is that less the largest score."""

LETTERS = {
    # scores of letters with themselves: long sequences over several strips, or short ones within one
    "11": [11, 1],
    "40": [40, 7, 1],
    "1000": [1000, 50, 1],
    "1024": [1024, 60, 1],
    "8192": [8192, 300, 20, 1],
    "32767": [32767, 2000, 100, 1],
}
GAPS = {"11": (11, 1), "40": (0, 37), "1000": (100, 0), "1024": (1023, 1), "8192": (8191, 1), "32767": (32766, 1)}


class Ladder:
    """Letters that match only themselves, and one more that matches nothing; sequences of any score."""

    def __init__(self, name):
        self.letter_scores = LETTERS[name]
        n_letters, largest = len(self.letter_scores) + 1, max(self.letter_scores)
        matrix = np.full((n_letters, n_letters), -largest)
        np.fill_diagonal(matrix[:-1, :-1], self.letter_scores)
        gap_open, gap_extend = GAPS[name]
        self.nothing = n_letters - 1
        self.scoring = Scoring(matrix, gap_open=gap_open, gap_extend=gap_extend, alphabet=custom_alphabet(n_letters))
        self.largest = largest

    def edges(self):
        """Scores at, below and above every limit."""
        limits = [HALF - self.largest, HALF, INT16 - self.largest, 32766, INT16, 65534, 65535]
        return sorted({limit + near for limit in limits for near in (-1, 0, 1, 2) if limit + near > 0})

    def sequence(self, score):
        return sequence_scoring(score, self.letter_scores)

    def unrelated(self, length):
        return np.full(length, self.nothing, np.uint8)


@pytest.mark.parametrize("name", LETTERS)
def test_self_alignments_at_every_limit_paired_and_unpaired(engine, name):
    """All against all: neighbours in length share a word, so that one half is above a limit and the other below."""
    ladder = Ladder(name)
    sequences = [ladder.sequence(score) for score in ladder.edges()]
    targets = [*sequences, ladder.unrelated(40)]
    expected = assert_as_cpu(engine, sequences, targets, ladder.scoring)
    assert np.diagonal(expected).tolist() == ladder.edges()
    for row in range(0, len(sequences), 4):
        found = scored(engine, sequences[row : row + 1], targets, ladder.scoring)
        np.testing.assert_array_equal(found[0], expected[row])


@pytest.mark.parametrize("name", ["40", "1000", "8192"])
def test_one_half_of_a_word_passes_a_limit(engine, name):
    """Two queries of equal length, of which one, the other, both or none pass the limit; the same with targets."""
    ladder = Ladder(name)
    limits = [max(HALF, ladder.largest + 1) - ladder.largest, INT16 - ladder.largest]
    below_half, above_half, below, above = (limit + near for limit in limits for near in (0, 1))
    longest = max(len(ladder.sequence(score)) for score in (below_half, above_half, below, above))

    def filled(score):
        return np.concatenate([ladder.sequence(score), ladder.unrelated(longest)])[:longest]

    quiet = ladder.unrelated(longest)
    targets = [*map(filled, (below_half, above_half, below, above)), quiet]
    targets += targets[::-1]
    for first in (above_half, above, 0):
        for second in (below_half, below, above, 0):
            queries = [filled(score) for score in (first, second)]
            assert_as_cpu(engine, queries, targets, ladder.scoring)
    for score in (below_half, above_half, below, above):
        query = filled(score)
        for order in ([query, quiet], [quiet, query], [query, query], [quiet, query, quiet]):
            expected = [score if target is query else 0 for target in order]
            assert scored(engine, [query], order, ladder.scoring).tolist() == [expected]


@pytest.mark.parametrize("name", ["11", "1000", "1024"])
@pytest.mark.parametrize("n_queries", [1, 2, 3])
def test_limits_are_passed_in_first_and_later_strips(engine, name, n_queries):
    """The stretch that scores lies at the start of a long query, in its middle or at its end, or across strips."""
    ladder = Ladder(name)
    edges = [limit + near for limit in (HALF - ladder.largest, INT16 - ladder.largest, 32766) for near in (0, 1)]
    places = (0, 60, 130, 900, 1020, 1500, 2300)
    for score in edges:
        scoring_part = ladder.sequence(score)
        queries = [
            np.concatenate([ladder.unrelated(place), scoring_part, ladder.unrelated(2400 - place)]) for place in places
        ]
        targets = [ladder.unrelated(9), np.concatenate([ladder.unrelated(50), scoring_part])]
        for first in range(0, len(queries), n_queries):
            group = queries[first : first + n_queries]
            found = scored(engine, group, targets, ladder.scoring)
            assert found[:, 1].tolist() == [score] * len(group), f"{score} at {places[first]}"
            assert not found[:, 0].any()


@pytest.mark.parametrize("name", ["1000", "8192"])
@pytest.mark.parametrize("n_queries", [1, 2])
def test_scores_far_beyond_a_half_word_do_not_spoil_other_targets(engine, name, n_queries):
    """Numbers that wrapped or became infinite must not spoil the targets that follow in the same stream."""
    ladder = Ladder(name)
    rng = np.random.default_rng(1)
    n_letters = len(ladder.letter_scores)
    top = np.full(600, int(np.argmax(ladder.letter_scores)), np.uint8)
    queries = [
        np.concatenate([rng.integers(0, n_letters, 150).astype(np.uint8), top[: 450 - 50 * i]])
        for i in range(n_queries)
    ]
    targets = [rng.integers(0, n_letters + 1, int(n)).astype(np.uint8) for n in rng.integers(0, 80, 2000)]
    for place in range(0, 2000, 7):
        targets[place] = top[: rng.integers(1, 120)]
    expected = assert_as_cpu(engine, queries, targets, ladder.scoring)
    assert (expected > 65504).any()
    assert_as_cpu(engine, queries, [*targets, top, *targets[:300]], ladder.scoring)


@pytest.mark.parametrize("n_queries", [1, 2, 5])
def test_all_pairs_are_scored_again_if_all_pass_the_limit(engine, n_queries):
    """More pairs to score again than any list of them can be expected to hold."""
    ladder = Ladder("8192")
    top = np.zeros(40, np.uint8)
    queries = [top[: 30 - i] for i in range(n_queries)]
    targets = [*[top[: 5 + i % 30] for i in range(40_000)], ladder.unrelated(4)]
    found = scored(engine, queries, targets, ladder.scoring)
    lengths = np.array([len(target) for target in targets])
    expected = np.minimum(lengths, np.array([len(query) for query in queries])[:, None]) * 8192
    expected[:, -1] = 0
    np.testing.assert_array_equal(found, expected)
