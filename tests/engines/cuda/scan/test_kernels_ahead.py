"""Kernels are compiled and loaded on a thread while the first batch is sent; errors reach the caller."""

import threading

import numpy as np
import pytest

from engine_calls import scores
from exaln.engines.cpu.engine import CpuEngine
from exaln.engines.cuda.engine import CudaEngine
from exaln.engines.cuda.runtime import compiler
from exaln.engines.cuda.scan import launches
from exaln.errors import EngineError
from exaln.scoring.scoring import Scoring
from exaln.sequences.alphabet import PROTEIN
from exaln.sequences.records import Records
from fake_cuda import FakeDriver, install
from memory_targets import memory_targets

BLOSUM62 = Scoring()
THREAD = "exaln kernels"


def sequences(seed, n, length):
    return list(np.random.default_rng(seed).integers(0, 20, (n, length)).astype(np.uint8))


@pytest.fixture
def case(monkeypatch):
    """Queries, a database, and the sources that were compiled, with the threads that did it."""
    install(monkeypatch, FakeDriver(), len(BLOSUM62.matrix))
    fake, calls = compiler.cubins, []

    def watched(sources, arch, *more):
        calls.append((threading.current_thread().name, sources))
        return fake(sources, arch)

    monkeypatch.setattr(compiler, "cubins", watched)
    return Records.of(PROTEIN, sequences(1, 3, 40)), memory_targets(PROTEIN, sequences(2, 20, 50), 1), calls


def no_thread_is_left():
    return THREAD not in {thread.name for thread in threading.enumerate()}


def test_all_kernels_of_a_scan_are_loaded_ahead(case):
    queries, database, calls = case
    expected = scores(CpuEngine(1), queries, database, BLOSUM62)
    np.testing.assert_array_equal(scores(CudaEngine([0]), queries, database, BLOSUM62), expected)
    assert {name for name, _ in calls} == {THREAD}
    files = {source.file for _, sources in calls for source in sources}
    assert files == {"stream.cu", "pack.cu", "expand.cu", "collect.cu", "block.cu"}
    assert no_thread_is_left()


def test_a_second_scan_compiles_nothing(case):
    queries, database, calls = case
    engine = CudaEngine([0])
    scores(engine, queries, database, BLOSUM62)
    n_calls = len(calls)
    scores(engine, queries, database, BLOSUM62)
    assert len(calls) == n_calls


def test_a_kernel_that_does_not_compile_is_an_error_of_the_scan(case, monkeypatch):
    queries, database, _ = case

    def fails(sources, arch, *more):
        raise EngineError("kernel stream.cu does not compile")

    monkeypatch.setattr(compiler, "cubins", fails)
    with pytest.raises(EngineError, match=r"^kernel stream\.cu does not compile$"):
        scores(CudaEngine([0]), queries, database, BLOSUM62)
    assert no_thread_is_left()


def test_an_interrupt_while_kernels_are_compiled_ends_the_thread(case, monkeypatch):
    queries, database, _ = case
    monkeypatch.setattr(launches.BatchScanner, "start", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        scores(CudaEngine([0]), queries, database, BLOSUM62)
    assert no_thread_is_left()


@pytest.mark.parametrize(("seconds", "n_notes"), [(0.2, 0), (3.14, 1)])
def test_a_note_names_exaln_warm_if_kernels_took_long(case, seconds, n_notes):
    engine = CudaEngine([0])
    engine.times.compile = seconds
    notes = engine.notes()
    assert len(notes) == n_notes
    assert all("3.1 s" in note and "exaln warm" in note for note in notes)
