"""Searches drawn from seeds find what the definition says: on every engine, however targets and databases are cut.

EXALN_SEVERAL sets the number of examples; `make test-several` uses it.
"""

from __future__ import annotations

import os
import warnings
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from exaln.cluster.merge import merge_batches, ranked_hits
from exaln.cluster.part_checks import require_possible
from exaln.cluster.part_hits import from_bytes, to_bytes
from exaln.database.part import n_places
from exaln.engines.cpu.engine import CpuEngine
from exaln.engines.cuda import engine as cuda_engine
from exaln.engines.cuda.engine import CudaEngine
from exaln.engines.reference.engine import ReferenceEngine
from exaln.errors import ExalnWarning
from exaln.search.pipeline import Search, SearchOptions
from exaln.search.spec import SearchSpec
from fake_cuda import FakeDriver, install
from several_searches import Case, SmallBlocks, database_of, drawn_case, expected, found_by, records, rows_of

EXAMPLES = int(os.environ.get("EXALN_SEVERAL", "0"))
seeds = st.integers(0, 2**32 - 1)


def examples(few: int, share: float = 1) -> Any:
    """Settings with `few` examples, or a share of the number that EXALN_SEVERAL asks for."""
    n = max(few, int(share * EXAMPLES))
    return settings(max_examples=n, deadline=None, suppress_health_check=list(HealthCheck))


class ScansOnDevices(CudaEngine):
    """The cuda engine, with pairs scored by the CPU: the fake driver has no kernels for pairs."""

    def score(self, task: Any) -> Any:
        return CpuEngine(1).score(task)


def check(case: Case, *engines: Any) -> None:
    want = expected(case)
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore", ExalnWarning)  # of scorings without statistics
        for (module, name), value in case.constants.items():
            patch.setattr(module, name, value)
        for engine in engines:
            assert found_by(engine, case) == want, (engine.describe(), case)


@examples(60)
@given(seeds)
def test_targets_in_small_windows_with_small_blocks(seed: int) -> None:
    case = drawn_case(np.random.default_rng(seed))
    check(case, SmallBlocks(1 + seed % 2, scans_blocks=True), SmallBlocks(1, scans_blocks=False))


@examples(20, 0.2)
@given(seeds)
def test_targets_of_several_blocks_of_the_kernels(seed: int) -> None:
    case = drawn_case(np.random.default_rng(seed), longest=700, kernel_blocks=True)
    check(case, CpuEngine(1 + seed % 3))


@examples(4, 0.02)
@given(seeds)
def test_the_reference_engine(seed: int) -> None:
    check(drawn_case(np.random.default_rng(seed), longest=60), ReferenceEngine())


@examples(3, 0.02)
@given(seeds)
def test_the_cuda_engine_on_a_fake_driver(seed: int) -> None:
    case = drawn_case(np.random.default_rng(seed), longest=150, kernel_blocks=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cuda_engine, "MIN_MEMORY", 1)
        install(patch, FakeDriver(), len(case.scoring.alphabet.letters))
        check(case, ScansOnDevices(threads=2))


@examples(15, 0.2)
@given(seeds)
def test_merged_parts_of_a_database(seed: int) -> None:
    rng = np.random.default_rng(seed)
    case = drawn_case(rng)
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore", ExalnWarning)
        for (module, name), value in case.constants.items():
            patch.setattr(module, name, value)
        assert merged(rng, case) == expected(case), case


def merged(rng: np.random.Generator, case: Case) -> list[list[tuple[Any, ...]]]:
    """What the parts of a database find, merged two by two in any order."""
    database, options = database_of(case), SearchOptions(**case.options)
    spec = SearchSpec.of("db", database.manifest, case.scoring, options)
    places = n_places(database.manifest)
    edges = [0, *sorted(rng.integers(0, places + 1, rng.integers(0, 5)).tolist()), places]
    parts = []
    for first, end in pairwise(edges):
        engine = SmallBlocks(1, scans_blocks=bool(rng.integers(2)))
        search = Search(database.part(first, end), case.scoring, engine, options)
        found = list(search.run([records(case.scoring.alphabet, case.queries)]))
        parts.append(from_bytes(to_bytes(found)))
        require_possible(parts[-1], spec, 0)
    while len(parts) > 1:
        first = int(rng.integers(0, len(parts) - 1))
        parts[first : first + 2] = [merge_batches(parts[first : first + 2], spec)]
    return [rows_of(hits) for hits in ranked_hits(merge_batches(parts, spec), spec)]
