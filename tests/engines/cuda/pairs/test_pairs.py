"""Pairs on the GPU, in every mode and shape: scores and paths equal those of the other engines."""

from itertools import product

import numpy as np
import pytest

from engine_calls import align_pairs, score_pairs
from exaln.alignments.aligned_pairs import PairList
from exaln.engines.cpu.engine import CpuEngine
from exaln.engines.cuda.engine import CudaEngine
from exaln.engines.cuda.pairs.shapes import PAIR_SHAPES
from exaln.engines.reference.engine import ReferenceEngine
from exaln.scoring.modes import Mode
from exaln.scoring.scoring import Scoring
from exaln.sequences.alphabet import DNA, PROTEIN
from exaln.sequences.records import Records

pytestmark = pytest.mark.gpu

MODES = [
    "local",
    "global",
    "semiglobal",
    "overlap",
    "free:qs",
    "free:qe",
    "free:ts",
    "free:te",
    "free:qs,te",
    "free:qe,ts",
]
SCORINGS = {
    "DNA": Scoring(match=2, mismatch=-3, gap_open=5, gap_extend=2),
    "linear": Scoring(match=1, mismatch=-1, gap_open=0, gap_extend=1),
    "free gaps": Scoring(match=1, mismatch=-1, gap_open=0, gap_extend=0),
    "protein": Scoring("BLOSUM62", gap_open=11, gap_extend=1),
}


def random_records(rng, scoring, lengths):
    n_letters = 4 if scoring.alphabet == DNA else len(scoring.alphabet.letters)
    return [rng.integers(0, n_letters, int(n)).astype(np.uint8) for n in lengths]


def changed(rng, codes, n_letters, rate):
    """A copy with substitutions and gaps."""
    out = []
    for code in codes.tolist():
        what = rng.random()
        if what < rate:
            out.append(int(rng.integers(0, n_letters)))
        elif what < rate * 1.3:
            out.extend([code, *rng.integers(0, n_letters, int(rng.integers(1, 6))).tolist()])
        elif what > rate * 1.6:
            out.append(code)
    return np.array(out, np.uint8)


def pairs_of(rng, scoring, n, longest):
    """Random and similar pairs of mixed lengths, empty ones among them."""
    n_letters = 4 if scoring.alphabet == DNA else 20
    queries = random_records(rng, scoring, rng.integers(0, longest, n))
    targets = [
        changed(rng, query, n_letters, 0.15)
        if number % 3
        else random_records(rng, scoring, [rng.integers(0, longest)])[0]
        for number, query in enumerate(queries)
    ]
    return Records.of(scoring.alphabet, queries), Records.of(scoring.alphabet, targets)


def assert_same(found, expected):
    for name in ("scores", "positions", "counts"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)
    np.testing.assert_array_equal(found.paths.offsets, expected.paths.offsets)
    np.testing.assert_array_equal(found.paths.operations, expected.paths.operations)


@pytest.fixture(scope="module")
def engine():
    reason = CudaEngine.unavailable_reason()
    if reason is not None:
        pytest.skip(reason)
    return CudaEngine()


@pytest.mark.parametrize(
    ("scoring", "mode"),
    [*product(["DNA"], MODES), *product(["linear", "free gaps", "protein"], ["local", "global", "overlap"])],
)
def test_small_pairs_against_the_definition(engine, scoring, mode):
    rng = np.random.default_rng(1)
    queries, targets = pairs_of(rng, SCORINGS[scoring], 50, 30)
    pairs = PairList(np.arange(50), np.arange(50))
    arguments = (queries, targets, pairs, SCORINGS[scoring], Mode.parse(mode))
    expected = align_pairs(ReferenceEngine(), *arguments)
    assert_same(align_pairs(engine, *arguments), expected)
    np.testing.assert_array_equal(score_pairs(engine, *arguments), expected.scores)


@pytest.mark.parametrize(
    ("scoring", "mode"), [*product(["DNA"], MODES[:6]), ("protein", "local"), ("protein", "global")]
)
def test_pairs_of_all_shapes_against_the_cpu(engine, scoring, mode):
    """Lengths around every strip, and queries of several strips."""
    rng = np.random.default_rng(2)
    edges = [shape.strip_rows + more for shape in PAIR_SHAPES for more in (-1, 0, 1)]
    own = SCORINGS[scoring]
    queries = random_records(rng, own, [*edges, *rng.integers(1, 1500, 60)])
    n_letters = 4 if own.alphabet == DNA else 20
    targets = [changed(rng, query, n_letters, 0.2) for query in queries]
    records = Records.of(own.alphabet, queries), Records.of(own.alphabet, targets)
    pairs = PairList(np.arange(len(queries)), np.arange(len(queries)))
    case = (*records, pairs, own, Mode.parse(mode))
    assert_same(align_pairs(engine, *case), cpu(*case))


def cpu(*arguments):
    return align_pairs(CpuEngine(), *arguments)


@pytest.mark.parametrize("mode", ["local", "global", "overlap"])
def test_pairs_that_share_sequences_in_any_order(engine, mode):
    """Also in batches of little memory."""
    rng = np.random.default_rng(3)
    scoring = SCORINGS["DNA"]
    queries, targets = pairs_of(rng, scoring, 300, 400)
    pairs = PairList(rng.integers(0, 300, 2000), rng.integers(0, 300, 2000))
    arguments = (queries, targets, pairs, scoring, Mode.parse(mode))
    expected = cpu(*arguments)
    assert_same(align_pairs(engine, *arguments), expected)
    assert_same(align_pairs(CudaEngine(memory=64 << 20), *arguments), expected)


def test_pairs_too_large_for_16_bits_go_to_the_cpu(engine):
    rng = np.random.default_rng(4)
    scoring = Scoring(match=200, mismatch=-300, gap_open=500, gap_extend=200)
    queries, targets = pairs_of(rng, scoring, 60, 600)
    pairs = PairList(np.arange(60), np.arange(60))
    for mode in ("local", "global"):
        arguments = (queries, targets, pairs, scoring, Mode.parse(mode))
        assert_same(align_pairs(engine, *arguments), cpu(*arguments))


def test_an_empty_list_of_pairs(engine):
    nothing = Records.of(PROTEIN, [])
    pairs = PairList(*[np.empty(0, np.int64)] * 2)
    found = align_pairs(engine, nothing, nothing, pairs, SCORINGS["protein"])
    assert len(found) == len(found.paths) == 0


@pytest.mark.parametrize("devices", [[0], [0, 0], [0, 0, 0]])
def test_several_devices_give_the_results_of_one(monkeypatch, devices):
    """One device, opened several times; a share may have a pair that is left to the CPU."""
    monkeypatch.setattr("exaln.engines.cuda.engine.LEAST_SHARE", 1)
    rng, scoring = np.random.default_rng(11), SCORINGS["DNA"]
    queries = random_records(rng, scoring, [*rng.integers(1, 300, 60), 20_000])
    targets = [changed(rng, query, 4, 0.1) for query in queries]
    rows = rng.permutation(len(queries))
    pairs = PairList(rows, rows)
    records = Records.of(DNA, queries), Records.of(DNA, targets)
    for mode in map(Mode.parse, ("local", "global")):
        case = (*records, pairs, scoring, mode)
        expected = cpu(*case)
        assert_same(align_pairs(CudaEngine(devices), *case), expected)
        assert score_pairs(CudaEngine(devices), *case).tolist() == expected.scores.tolist()
