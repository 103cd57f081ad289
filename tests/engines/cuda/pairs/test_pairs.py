"""Pairs on the GPU: every mode and shape, scores and paths as the other engines have them."""

from itertools import product

import numpy as np
import pytest

from exaln.engines.contracts import PairList
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
    (scores, traces), (expected_scores, expected_traces) = found, expected
    np.testing.assert_array_equal(scores, expected_scores)
    np.testing.assert_array_equal(traces.positions, expected_traces.positions)
    np.testing.assert_array_equal(traces.counts, expected_traces.counts)
    np.testing.assert_array_equal(traces.paths.offsets, expected_traces.paths.offsets)
    np.testing.assert_array_equal(traces.paths.operations, expected_traces.paths.operations)


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
    expected = ReferenceEngine().align_pairs(*arguments)
    assert_same(engine.align_pairs(*arguments), expected)
    np.testing.assert_array_equal(engine.score_pairs(*arguments), expected[0])


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
    assert_same(engine.align_pairs(*records, pairs, own, Mode.parse(mode)), cpu(*records, pairs, own, Mode.parse(mode)))


def cpu(*arguments):
    return CpuEngine().align_pairs(*arguments)


@pytest.mark.parametrize("mode", ["local", "global", "overlap"])
def test_any_rows_in_any_order(engine, mode):
    """Pairs that share sequences, in an order of their own, in batches of little memory."""
    rng = np.random.default_rng(3)
    scoring = SCORINGS["DNA"]
    queries, targets = pairs_of(rng, scoring, 300, 400)
    pairs = PairList(rng.integers(0, 300, 2000), rng.integers(0, 300, 2000))
    arguments = (queries, targets, pairs, scoring, Mode.parse(mode))
    expected = cpu(*arguments)
    assert_same(engine.align_pairs(*arguments), expected)
    assert_same(CudaEngine(memory=64 << 20).align_pairs(*arguments), expected)


def test_pairs_too_large_for_16_bits_go_to_the_cpu(engine):
    rng = np.random.default_rng(4)
    scoring = Scoring(match=200, mismatch=-300, gap_open=500, gap_extend=200)
    queries, targets = pairs_of(rng, scoring, 60, 600)
    pairs = PairList(np.arange(60), np.arange(60))
    for mode in ("local", "global"):
        arguments = (queries, targets, pairs, scoring, Mode.parse(mode))
        assert_same(engine.align_pairs(*arguments), cpu(*arguments))


def test_no_pairs_at_all(engine):
    nothing = Records.of(PROTEIN, [])
    scores, traces = engine.align_pairs(
        nothing, nothing, PairList(*[np.empty(0, np.int64)] * 2), SCORINGS["protein"], Mode.parse("local")
    )
    assert len(scores) == len(traces.paths) == 0


@pytest.mark.parametrize("devices", [[0], [0, 0], [0, 0, 0]])
def test_several_devices_change_nothing(monkeypatch, devices):
    """One device, opened several times; a share may have a pair that is left to the CPU."""
    monkeypatch.setattr("exaln.engines.cuda.engine.LEAST_SHARE", 1)
    rng, scoring = np.random.default_rng(11), SCORINGS["DNA"]
    queries = random_records(rng, scoring, [*rng.integers(1, 300, 60), 20_000])
    targets = [changed(rng, query, 4, 0.1) for query in queries]
    rows = rng.permutation(len(queries))
    pairs = PairList(rows, rows)
    records = Records.of(DNA, queries), Records.of(DNA, targets)
    for mode in map(Mode.parse, ("local", "global")):
        expected = CpuEngine().align_pairs(*records, pairs, scoring, mode)
        scores, traces = CudaEngine(devices).align_pairs(*records, pairs, scoring, mode)
        assert scores.tolist() == expected[0].tolist()
        for name in ("positions", "counts"):
            assert np.array_equal(getattr(traces, name), getattr(expected[1], name)), name
        assert traces.paths.operations.tolist() == expected[1].paths.operations.tolist()
        assert CudaEngine(devices).score_pairs(*records, pairs, scoring, mode).tolist() == scores.tolist()
