"""Hains et al., Figure 7: CPUs for comparison, with exaln's engine and with parasail."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from exaln.engines.bench.swissprot import synthetic_swissprot
from exaln.engines.cpu.engine import CpuEngine
from exaln.engines.reference.engine import local_score
from exaln.sequences.alphabet import PROTEIN
from exaln_studies.search_lab import QUERIES, QUICK_QUERIES, Launch, every, gcups, random_query
from exaln_studies.searches import TargetList, expected_scores, scoring, sorted_targets
from exaln_studies.study import Bench, NotMeasurable, Row

CPU_TARGETS, QUICK_CPU_TARGETS = 20_000, 2000


def measure_core(bench: Bench) -> Iterator[Row]:
    """Figure 7, instead of SWPS3: exaln's engine on the CPU, by length of the query."""
    targets = cpu_targets(bench)
    few = every(targets, max(1, len(targets) // 20))
    for query in map(random_query, QUICK_QUERIES if bench.quick else QUERIES):
        expected = [local_score(query, few.records.sequence(row), scoring()) for row in range(min(8, len(few)))]
        bench.check("cpu engine", expected_scores(CpuEngine(), query, few)[: len(expected)], expected)
        for threads in sorted({1, bench.threads}):
            bench.progress(f"query {len(query)}, {threads} threads")
            seconds = bench.seconds(partial(expected_scores, CpuEngine(threads), query, targets))
            rate = gcups(query, int(targets.lengths.sum()), seconds)
            yield {"query": len(query), "threads": threads, "gcups": rate}


def cpu_targets(bench: Bench) -> TargetList:
    """A synthetic Swiss-Prot that is small enough for a CPU."""
    return sorted_targets(synthetic_swissprot(QUICK_CPU_TARGETS if bench.quick else CPU_TARGETS))


def measure_parasail(bench: Bench) -> Iterator[Row]:
    """Figure 7: parasail on one core, called from Python for each target, and exaln on the same core."""
    try:
        parasail = import_module("parasail")
    except ImportError:
        raise NotMeasurable("parasail is not installed; pip install parasail") from None
    targets = every(cpu_targets(bench), 4)
    residues, costs = int(targets.lengths.sum()), scoring()
    letters = np.frombuffer(PROTEIN.letters.encode(), np.uint8)
    texts = [bytes(letters[targets.records.sequence(row)]).decode() for row in range(len(targets))]
    for query in map(random_query, QUICK_QUERIES if bench.quick else QUERIES):
        bench.progress(f"query {len(query)}, parasail")
        profile = parasail.profile_create_sat(bytes(letters[query]).decode(), parasail.blosum62)

        def scores(profile: Any = profile) -> list[int]:
            align = parasail.sw_striped_profile_sat
            return [align(profile, text, costs.gap_first, costs.gap_extend).score for text in texts]

        bench.check("parasail", scores(), expected_scores(CpuEngine(1), query, targets))
        works: dict[str, Launch] = {"parasail": scores, "exaln": partial(expected_scores, CpuEngine(1), query, targets)}
        for name, work in works.items():
            yield {"query": len(query), "name": name, "gcups": gcups(query, residues, bench.seconds(work))}
