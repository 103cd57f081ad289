"""The host side of the cuda engine on a driver without a GPU: the same scores as the cpu engine, whatever is cut."""

import numpy as np
import pytest

from exaln.alphabet import DNA, PROTEIN
from exaln.cuda import batches, job, layout, pairs, scan
from exaln.engines.base import Keep
from exaln.engines.cpu import CpuEngine
from exaln.engines.cuda import CudaEngine
from exaln.errors import EngineError, InputError, OutOfMemoryError
from exaln.lengths import N_BINS
from exaln.queries import as_records
from exaln.scoring import Scoring
from fake_cuda import FakeDriver, install
from memory_targets import memory_targets


def random_sequences(random, alphabet, lengths):
    n_letters = 20 if alphabet is PROTEIN else 4
    return [random.integers(0, n_letters, length).astype(np.uint8) for length in lengths]


def database_of(seed, alphabet, lengths, n_segments=1):
    return memory_targets(alphabet, random_sequences(np.random.default_rng(seed), alphabet, lengths), n_segments)


def queries_of(seed, alphabet, lengths):
    return as_records([alphabet.decode(s) for s in random_sequences(np.random.default_rng(seed), alphabet, lengths)], alphabet)


def same_scores(engine, queries, database, scoring):
    cpu = CpuEngine(1)
    expected = cpu.scores(queries, cpu.place(database), scoring)
    found = engine.scores(queries, engine.place(database), scoring)
    np.testing.assert_array_equal(found, expected)
    return expected


def test_resident(monkeypatch):
    driver = install(monkeypatch, FakeDriver(), len(PROTEIN.letters))
    database = database_of(1, PROTEIN, [0, 1, 3, 4, 5, 9, 17, 30, 64])
    queries = queries_of(2, PROTEIN, [5, 30, 61, 0, 1])
    same_scores(CudaEngine(), queries, database, Scoring())
