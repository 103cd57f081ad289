"""Hains et al., Table II: databases with few and with many long targets, and the threshold between the kernels."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from exaln.engines.bench.cpu import synthetic_proteins
from exaln.sequences.alphabet import PROTEIN
from exaln.sequences.fasta import read_records
from exaln_studies.gpu import Lab
from exaln_studies.pairs import SEED
from exaln_studies.search_lab import (
    BEST,
    POOL,
    QUERIES,
    QUICK_QUERIES,
    QUICK_TARGETS,
    THRESHOLD,
    cuda_engine,
    cut_from,
    long_lengths,
    random_query,
    timed,
)
from exaln_studies.searches import GpuSearch, TargetList, expected_scores, sorted_targets
from exaln_studies.study import Bench, Row

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Samples = tuple[TargetList, TargetList]

LOW_THRESHOLD = 1500
DATABASES = {"dog": 0.53, "rat": 0.35, "human": 0.56, "mouse": 0.54, "TAIR": 0.06, "Swiss-Prot": 0.12}
"""Per cent of targets over the threshold, Table II; the synthetic databases share only this with the real ones."""

SWISSPROT_TARGETS, DATABASE_TARGETS = 200_000, 60_000
REAL_FILES = {"UniProt sample, real": "protein/mmseqs_DB.fasta.gz", "yeast, real": "protein/yeast_UP000002311.fasta.gz"}


def database_like(name: str, n_targets: int) -> TargetList:
    """Synthetic proteins with the same share of targets over the threshold as the named database."""
    random = np.random.default_rng((SEED, len(name), n_targets))
    n_over = max(1, round(n_targets * DATABASES[name] / 100))
    short = np.minimum(random.lognormal(math.log(294), 0.64, n_targets - n_over), THRESHOLD).astype(np.int64)
    lengths = np.concatenate([np.maximum(short, 15), long_lengths(random, n_over)])
    return sorted_targets(synthetic_proteins(random, lengths))


def best_threshold(targets: TargetList, group: int, inter_rate: float, intra_rate: float) -> int:
    """Return the best threshold according to a model of both kernels, an open question of the paper.

    The time of a group is that of its longest target in every thread; the time of other targets is proportional to
    their residues. Rates: residues per second of a full device on targets of equal length.
    """
    lengths = targets.lengths.astype(np.float64)
    after = np.concatenate([np.cumsum(lengths[::-1])[::-1], [0.0]]) / intra_rate
    ends = np.unique(np.linspace(0, len(lengths), 400).astype(int))
    times = []
    for end in ends:
        lasts = np.arange(end, 0, -group) - 1
        times.append(float(lengths[lasts].sum()) * group / inter_rate + after[end])
    end = int(ends[int(np.argmin(times))])
    return int(lengths[end - 1]) if end > 0 else 0


def measure_databases(bench: Bench) -> Iterator[Row]:
    """Table II: databases with the paper's shares of long targets, and real ones where they are available."""
    lab = Lab(bench.gpu)
    samples = rate_samples(lab, bench)
    for name, targets in databases(bench):
        for query in map(random_query, QUICK_QUERIES if bench.quick else QUERIES):
            bench.progress(f"{name}, query {len(query)}")
            yield from database_rows(bench, lab, name, targets, query, samples)


def databases(bench: Bench) -> Iterator[tuple[str, TargetList]]:
    """Synthetic databases, and files of real proteins if the folder EXALN_DATA has them."""
    for name in ("TAIR", "Swiss-Prot") if bench.quick else DATABASES:
        n = QUICK_TARGETS if bench.quick else SWISSPROT_TARGETS if name == "Swiss-Prot" else DATABASE_TARGETS
        yield name, database_like(name, n)
    folder = os.environ.get("EXALN_DATA", "")
    for name, file in REAL_FILES.items() if folder and not bench.quick else ():
        if (path := Path(folder) / file).exists():
            yield name, sorted_targets(read_records(path, alphabet=PROTEIN))


def database_rows(
    bench: Bench, lab: Lab, name: str, targets: TargetList, query: NDArray[np.uint8], samples: Samples
) -> Iterator[Row]:
    """One query: the original kernel at the paper's threshold, the improved kernel at three, and exaln."""
    search, expected = GpuSearch(lab, targets, query), expected_scores(cuda_engine(), query, targets)
    row: Row = {"database": name, "query": len(query), "targets": len(targets), "residues": int(targets.lengths.sum())}
    row["over"] = len(targets) - targets.first_over(THRESHOLD)
    chosen = best_threshold(targets, search.group_size, *rates(lab, query, samples))
    low = [("1500", LOW_THRESHOLD)] if name == "TAIR" else []
    for label, threshold in [("3072", THRESHOLD), *low, ("model", chosen)]:
        first = targets.first_over(threshold)
        inter = [search.inter(first)] if first > 0 else []
        for kernel in ("original", "improved") if label == "3072" else ("improved",):
            intra = search.original(first) if kernel == "original" else search.improved(first, BEST)
            launches = [*inter, intra] if first < len(targets) else inter
            seconds = timed(bench, search, f"{name} {len(query)} {label} {kernel}", launches, expected)
            yield {**row, "threshold": threshold, "label": label, "kernel": kernel, "seconds": seconds}
    engine = cuda_engine()
    seconds = bench.seconds(lambda: expected_scores(engine, query, targets))
    yield {**row, "label": "exaln", "kernel": "exaln", "threshold": 0, "seconds": seconds}


def rate_samples(lab: Lab, bench: Bench) -> Samples:
    """A full group of targets of equal length, and long targets, to measure the rates of both kernels."""
    random, query = np.random.default_rng(SEED), random_query(8)
    group = GpuSearch(lab, sorted_targets(synthetic_proteins(random, np.array([10]))), query).group_size
    equal = np.full(min(group, QUICK_TARGETS) if bench.quick else group, 256)
    letters = synthetic_proteins(random, np.array([POOL])).codes
    return sorted_targets(cut_from(letters, equal)), sorted_targets(cut_from(letters, np.full(512, 4000)))


def rates(lab: Lab, query: NDArray[np.uint8], samples: Samples) -> tuple[float, float]:
    """Residues per second of both kernels, measured with this query."""
    equal, long = (GpuSearch(lab, targets, query) for targets in samples)
    inter, intra = lab.fastest(equal.inter(len(samples[0]))), lab.fastest(long.improved(0, BEST))
    return float(samples[0].lengths.sum()) / inter, float(samples[1].lengths.sum()) / intra
