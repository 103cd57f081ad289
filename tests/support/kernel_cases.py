"""What the tests of the core share: arrays for it, the limits of its number types, the textbook's answer."""

import numpy as np

from exaln import _core
from exaln.engines.cpu.engine import CpuEngine
from exaln.engines.reference.engine import local_score
from oracle import smith_waterman

ISAS = [name for name, is_usable in _core.isas() if is_usable]
KERNELS = [(isa, family, bits) for isa in ISAS for family in ("group", "striped") for bits in (8, 16, 32)]
OVERFLOWED = -1


def engine_with(isa=ISAS[0], threads=1):
    """The cpu engine with one instruction set."""
    found = CpuEngine(threads)
    found.isa = isa
    return found


class Costs:
    """A matrix and gap costs as the core takes them; no checks, so that tests can go beyond what Scoring allows."""

    def __init__(self, matrix, gap_open, gap_extend):
        self.matrix = np.ascontiguousarray(matrix, np.int32)
        self.gap_open, self.gap_extend, self.gap_first = gap_open, gap_extend, gap_open + gap_extend

    @classmethod
    def of(cls, scoring):
        return cls(scoring.matrix, scoring.gap_open, scoring.gap_extend)

    def transposed(self):
        return Costs(self.matrix.T, self.gap_open, self.gap_extend)

    def limit(self, bits):
        """The highest score that lanes of this width can prove (Range in recurrence/ranges.hpp); None if unusable."""
        lowest, highest = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
        max_score, min_score = max(0, int(self.matrix.max())), min(-1, int(self.matrix.min()))
        depth = max(self.gap_first + self.gap_extend, -min_score)
        floor = 0 if bits == 32 else lowest + depth
        limit = highest - max_score
        return limit - floor if floor + 2 * max_score <= limit and lowest + depth <= 0 else None


def diagonal_costs(scores, gap_open, gap_extend, mismatch=None):
    """Each letter matches only itself, with a score of its own: a self-alignment scores the sum of its letters."""
    matrix = np.full((len(scores), len(scores)), -max(scores) if mismatch is None else mismatch)
    np.fill_diagonal(matrix, scores)
    return Costs(matrix, gap_open, gap_extend)


def sequence_scoring(score, letter_scores):
    """Codes whose self-alignment with `diagonal_costs` has exactly this score; one letter must score 1."""
    codes = []
    for code in np.argsort(letter_scores)[::-1]:
        count, score = divmod(score, letter_scores[code])
        codes += [code] * count
    return np.array(codes, np.uint8)


def join(sequences):
    """(codes, offsets) of a list of encoded sequences."""
    lengths = [len(sequence) for sequence in sequences]
    codes = np.concatenate([np.empty(0, np.uint8), *sequences]).astype(np.uint8)
    return codes, np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def score_all(queries, targets, costs, isa="", threads=1, on_progress=None):
    """int32[n_queries, n_targets] by the core, whatever kernels it chooses."""
    arrays = (*join(queries), *join(targets))
    return _core.score_all(*arrays, costs.matrix, costs.gap_first, costs.gap_extend, threads, isa, on_progress)


def score_kernel(kernel, query, targets, costs):
    """int32[n_targets] by one kernel, OVERFLOWED where its lanes are too narrow."""
    return _core.score_kernel(*kernel, query, *join(targets), costs.matrix, costs.gap_first, costs.gap_extend)


def textbook(queries, targets, costs):
    """int64[n_queries, n_targets] by the oracle."""
    matrix, gaps = costs.matrix.tolist(), (costs.gap_open, costs.gap_extend)
    scores = [[smith_waterman(q.tolist(), t.tolist(), matrix, *gaps) for t in targets] for q in queries]
    return np.array(scores, np.int64).reshape(len(queries), len(targets))


def by_reference(queries, targets, costs):
    """int64[n_queries, n_targets] by the NumPy programme, for sequences that are too long for the oracle."""
    scores = [[local_score(q, t, costs) for t in targets] for q in queries]
    return np.array(scores, np.int64).reshape(len(queries), len(targets))


def assert_kernels_agree(queries, targets, costs, expected):
    """Every kernel of every instruction set gives the expected score, or says truly that its lanes are too narrow."""
    for kernel in KERNELS:
        limit = costs.limit(kernel[2])
        if limit is None:
            continue
        for query, scores in zip(queries, expected, strict=True):
            found = score_kernel(kernel, query, targets, costs)
            np.testing.assert_array_equal(found, np.where(scores > limit, OVERFLOWED, scores), str(kernel))


def assert_engine_agrees(queries, targets, costs, expected, threads=(1,)):
    """The core as a whole gives the expected scores with every instruction set."""
    for isa in ISAS:
        for n in threads:
            found = score_all(queries, targets, costs, isa, n)
            np.testing.assert_array_equal(found, expected, f"{isa}, {n} threads")


def random_codes(rng, length, n_letters):
    return rng.integers(0, n_letters, length).astype(np.uint8)


def substituted(rng, codes, n_letters, rate=0.2):
    """A copy of the same length with other letters here and there."""
    return np.where(rng.random(len(codes)) < rate, random_codes(rng, len(codes), n_letters), codes)


def mutated(rng, codes, n_letters, rate=0.1):
    """A copy with substitutions, deletions and insertions, so that the two align with gaps all along."""
    kept = codes[rng.random(len(codes)) > rate / 2].copy()
    changed = rng.random(len(kept)) < rate
    kept[changed] = random_codes(rng, int(changed.sum()), n_letters)
    places = rng.integers(0, len(kept) + 1, int(len(kept) * rate / 2))
    return np.insert(kept, places, random_codes(rng, len(places), n_letters))
