"""What the tests of the cuda engine share: engines, scorings at their limits, sequences of every length.

EXALN_TEST_ENGINE=cpu runs the same tests on another engine, on a machine without a GPU, which tests the tests.
"""

import functools
import os

import numpy as np

import engine_calls
from cuda_plans import IN_STREAMS, plan_of_shapes
from exaln.engines.choice import choose_engine
from exaln.engines.cpu.engine import CpuEngine
from exaln.scoring.scoring import Scoring
from exaln.sequences.alphabet import DNA, PROTEIN, RNA, Alphabet
from exaln.sequences.records import Records
from kernel_cases import mutated, random_codes
from memory_targets import memory_targets

TESTED = os.environ.get("EXALN_TEST_ENGINE", "cuda")
"""The engine under test."""

IS_CUDA = TESTED == "cuda"

ROOMY = 2 << 30
"""A cap on GPU memory under which all small databases are resident, so that several engines fit on a device."""


@functools.cache
def unavailable_reason():
    """Why the tests cannot run here."""
    if not IS_CUDA:
        return None
    from exaln.engines.cuda.engine import CudaEngine

    return CudaEngine.unavailable_reason()


def new_engine(devices=None, memory=ROOMY, **rules):
    """Return a new engine under test. rules: fields of its Planner. Other engines than cuda ignore all options."""
    if not IS_CUDA:
        return choose_engine(TESTED)
    from exaln.engines.cuda.engine import CudaEngine

    return CudaEngine(devices=devices, memory=memory, pool=pool_with(**rules) if rules else None)


def pool_with(**rules):
    """Return a pool with the devices of the process and these rules of planning."""
    from exaln.engines.cuda.engine import PROCESS_POOL
    from exaln.engines.cuda.scan.planner import Planner

    return PROCESS_POOL.with_planner(Planner(**rules))


@functools.cache
def shared_engine():
    """Return one engine for many tests."""
    return new_engine()


@functools.cache
def stream_engine():
    """Return one engine for many tests that scores all targets in streams."""
    return new_engine(**IN_STREAMS)


def engine_of_shapes(*in_turn):
    """Return an engine that scores all targets in streams, in strips of these shapes."""
    return new_engine(**IN_STREAMS, strips=plan_of_shapes(*in_turn))


def score_in_streams(monkeypatch):
    """Let all engines of the process score all targets in streams."""
    if IS_CUDA:
        from exaln.engines.cuda import engine

        monkeypatch.setattr(engine, "PROCESS_POOL", pool_with(**IN_STREAMS))


@functools.cache
def cpu():
    return CpuEngine()


def scored(engine, queries, targets, scoring, n_segments=1):
    """int32[n_queries, n_targets] of encoded sequences."""
    database = memory_targets(scoring.alphabet, targets, n_segments)
    return engine_calls.scores(engine, Records.of(scoring.alphabet, queries), database, scoring)


def assert_as_cpu(engine, queries, targets, scoring, n_segments=1):
    """All scores equal those of the cpu engine, which are returned."""
    found, expected = (scored(one, queries, targets, scoring, n_segments) for one in (engine, cpu()))
    assert (found.shape, found.dtype) == (expected.shape, np.int32)
    for query, target in np.argwhere(found != expected)[:1].tolist():
        n_wrong = int((found != expected).sum())
        sizes = len(queries[query]), len(targets[target])
        scores = int(found[query, target]), int(expected[query, target])
        raise AssertionError(
            f"{n_wrong:,} of {found.size:,} scores are wrong; the first is query {query} (length {sizes[0]}) with "
            f"target {target} (length {sizes[1]}): {scores[0]} instead of {scores[1]}; {scoring.describe()}"
        )
    return expected


def custom_alphabet(n_letters):
    return Alphabet(f"{n_letters} letters", "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456"[:n_letters])


def random_scoring(n_letters, largest, gap_open, gap_extend, seed=1):
    """A matrix that is not symmetric, with the largest value and its negative in it; matches mostly score well."""
    values = np.random.default_rng(seed).integers(-largest, largest // 8 + 1, (n_letters, n_letters))
    np.fill_diagonal(values, np.linspace(largest, max(1, largest // 2), n_letters).astype(int))
    if n_letters > 1:
        values[0, 1] = -largest
    return Scoring(values, gap_open=gap_open, gap_extend=gap_extend, alphabet=custom_alphabet(n_letters))


@functools.cache
def scorings():
    """By name: every kind of gap cost, matrices at the limits of the packed numbers, alphabets of 1 to 31 letters.

    Costs up to 8192 are packed as int16, up to 1024 as half; beyond that everything is computed in 32 bits.
    """
    return {
        "BLOSUM62": Scoring("BLOSUM62"),
        "fractions": Scoring("BLOSUM62", gap_open=9.5, gap_extend=0.5),
        "linear gaps": Scoring("BLOSUM50", gap_open=0, gap_extend=8),
        "extension is free": Scoring("PAM250", gap_open=14, gap_extend=0),
        "gaps are free": Scoring("BLOSUM45", gap_open=0, gap_extend=0),
        "DNA": Scoring(match=2, mismatch=-3, gap_open=5, gap_extend=2, alphabet=DNA),
        "DNA 1/-3": Scoring(match=1, mismatch=-3, gap_open=3, gap_extend=2, alphabet=DNA),
        "RNA": Scoring(match=5, mismatch=-4, gap_open=10, gap_extend=1, alphabet=RNA),
        "1 letter": random_scoring(1, 3, 2, 1),
        "2 letters": random_scoring(2, 7, 3, 1),
        "31 letters": random_scoring(31, 60, 25, 3),
        "1024": random_scoring(6, 1024, 1023, 1),
        "1025": random_scoring(6, 1025, 1000, 25),
        "8192": random_scoring(6, 8192, 8000, 192),
        "8193": random_scoring(6, 8193, 8000, 193),
        "dear gaps": random_scoring(20, 40, 32000, 700),
        "largest": random_scoring(6, 32767, 32766, 1),
        "largest linear": random_scoring(4, 32767, 0, 32767),
    }


def n_letters_of(scoring):
    """Codes that random sequences use: for proteins also B, Z, X, U and *, as real ones do."""
    return {PROTEIN: 27, DNA: 5, RNA: 5}.get(scoring.alphabet, len(scoring.alphabet.letters))


STRIPS = [128, 256, 384, 512, 640, 768, 1024]
"""Heights at which strips may end; queries around their multiples test the boundary rows."""

QUERY_LENGTHS = sorted(
    {0, 1, 2, 3, 4, 5, 15, 16, 17, 31, 33, 63, 64, 65, 96, 100, 144, 160, 189, 222, 320, 375, 464, 567, 657, 729, 850}
    | {height + near for height in STRIPS for near in (-1, 0, 1)}
    | {1280, 1281, 1500, 2005, 2047, 2048, 2049, 2504, 3073, 4097, 5478}
)
FEW_QUERY_LENGTHS = [1, 16, 60, 127, 144, 250, 257, 375, 520, 1030, 1400]


def random_letters(rng, length, scoring):
    """Codes of common letters, now and then one of the odd ones."""
    n_letters = n_letters_of(scoring)
    common = {PROTEIN: 20, DNA: 4, RNA: 4}.get(scoring.alphabet, n_letters)
    codes = random_codes(rng, length, common)
    odd = rng.random(length) < 0.01
    codes[odd] = random_codes(rng, int(odd.sum()), n_letters)
    return codes


def mixed_targets(rng, n, scoring, relatives=(), longest=3000):
    """Targets of every length class, from empty to `longest`, most as long as proteins; some related to queries."""
    lengths = np.exp(rng.normal(5.2, 0.9, n)).astype(int)
    short = rng.random(n) < 0.2
    lengths[short] = rng.integers(0, 40, int(short.sum()))
    targets = [random_letters(rng, int(length), scoring) for length in np.minimum(lengths, longest)]
    related = [codes for codes in relatives if len(codes)]
    for place in rng.choice(n, min(n, n // 50 + 1), replace=False) if related else ():
        relative = related[rng.integers(len(related))][:longest]
        targets[place] = mutated(rng, relative, n_letters_of(scoring), rng.choice([0.0, 0.02, 0.2]))
    return targets


def all_letters(scoring):
    """A target with every letter: databases that hold it have the same letters, and so the same kernels."""
    return np.arange(len(scoring.alphabet.letters), dtype=np.uint8)
