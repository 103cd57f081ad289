"""Hains et al., 2011: an improved kernel for the long targets of CUDASW++, and the paper's open questions."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, replace
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from exaln.engines.bench.cpu import synthetic_proteins
from exaln.engines.bench.swissprot import synthetic_swissprot
from exaln.engines.cpu.engine import CpuEngine
from exaln_studies.counters import ProfiledLaunch, counted
from exaln_studies.gpu import Lab, source
from exaln_studies.hains_databases import DATABASES, measure_databases
from exaln_studies.hains_et_al_page import SECTIONS, findings
from exaln_studies.hains_peers import measure_core, measure_parasail
from exaln_studies.pairs import SEED
from exaln_studies.search_lab import (
    BEST,
    LONGEST,
    POOL,
    QUICK_QUERIES,
    QUICK_TARGETS,
    THRESHOLD,
    Launch,
    cuda_engine,
    cut_from,
    every,
    gcups,
    long_lengths,
    random_query,
    timed,
)
from exaln_studies.searches import BOUNDARIES, VERSIONS, CopiedSearch, GpuSearch, Shape, expected_scores, sorted_targets
from exaln_studies.study import Bench, Part, Row, Study

if TYPE_CHECKING:
    from numpy.typing import NDArray

N_SWISSPROT = 570_000
SPREADS, QUICK_SPREADS = (100, 525, 950, 1375, 1800), (100, 900, 1800)
SAMPLED = 4096
"""Number of targets of Fig. 2 that the intra-task kernels score; their rate does not depend on the number."""

LONG_TARGETS, QUICK_LONG = 1000, 100
THRESHOLD_TARGETS = 285_000
COPY_QUERIES = (64, 144, 567)
SHAPE_THREADS, SHAPE_HEIGHTS, SHAPE_WIDTHS = (64, 128, 192, 256, 320), (4, 8), (1, 2, 4)


def measure_variance(bench: Bench) -> Iterator[Row]:
    """Figure 2: one group of targets with log-normal lengths of growing standard deviation; query 567."""
    lab, query, random = Lab(bench.gpu), random_query(567), np.random.default_rng(SEED)
    letters = synthetic_proteins(random, np.array([POOL])).codes
    size = GpuSearch(lab, sorted_targets(synthetic_proteins(random, np.array([10]))), query).group_size
    n = min(size, QUICK_TARGETS) if bench.quick else size
    for spread in QUICK_SPREADS if bench.quick else SPREADS:
        bench.progress(f"standard deviation {spread}")
        mean = 1000 + 600 * (spread - 100) / 1700
        sigma = math.sqrt(math.log(1 + (spread / mean) ** 2))
        drawn = random.lognormal(math.log(mean) - sigma**2 / 2, sigma, n)
        lengths = np.clip(drawn, 10, LONGEST).astype(np.int64)
        whole = sorted_targets(cut_from(letters, lengths))
        row: Row = {"spread": spread, "mean": round(float(lengths.mean())), "targets": n, "group": size}
        search, expected = GpuSearch(lab, whole, query), expected_scores(cuda_engine(), query, whole)
        seconds = timed(bench, search, "inter-task", [search.inter(n)], expected)
        row["inter"] = gcups(query, int(lengths.sum()), seconds)
        del search
        part = every(whole, max(1, n // SAMPLED))
        few, few_expected = GpuSearch(lab, part, query), expected_scores(cuda_engine(), query, part)
        residues = int(part.lengths.sum())
        for name, launch in (("original", few.original(0)), ("improved", few.improved(0, BEST))):
            row[name] = gcups(query, residues, timed(bench, few, name, [launch], few_expected))
        yield row


def measure_shapes(bench: Bench) -> Iterator[Row]:
    """Strips and tiles of the improved kernel, the steps by which it was built, and the open questions."""
    lab, random = Lab(bench.gpu), np.random.default_rng(SEED)
    n = QUICK_LONG if bench.quick else LONG_TARGETS
    lengths = np.minimum(THRESHOLD + random.exponential(1500, n), 9000).astype(np.int64)
    targets = sorted_targets(synthetic_proteins(random, lengths))
    residues = int(targets.lengths.sum())
    bench.gpu.load(source("intra_improved.cu", **asdict(shape)) for shape in shapes(quick=bench.quick))
    for query in map(random_query, (567,) if bench.quick else (567, 5478)):
        search = GpuSearch(lab, targets, query)
        expected = expected_scores(cuda_engine(), query, targets)

        def rate(
            what: str, launch: Launch, search: GpuSearch = search, expected: NDArray[np.int32] = expected
        ) -> float:
            bench.progress(f"query {len(search.query)}, {what}")
            return gcups(search.query, residues, timed(bench, search, what, [launch], expected))

        head = {"query": len(query)}
        for bypass in (False, True):
            name = "original, L1 bypassed" if bypass else "original"
            yield {**head, "what": "kernel", "name": name, "gcups": rate(name, search.original(0, bypass=bypass))}
        for version, name in enumerate(VERSIONS):
            yield {
                **head,
                "what": "version",
                "name": name,
                "gcups": rate(name, search.improved(0, replace(BEST, version=version))),
            }
        bypassed = rate("L1 bypassed", search.improved(0, replace(BEST, bypass=1)))
        yield {**head, "what": "kernel", "name": "improved, L1 bypassed", "gcups": bypassed}
        for boundary, name in enumerate(BOUNDARIES):
            for one_fill in (0, 1):
                shape = replace(BEST, boundary=boundary, one_fill=one_fill)
                value = rate(f"boundary {name}, {one_fill}", search.improved(0, shape))
                yield {**head, "what": "boundary", "name": name, "one_fill": bool(one_fill), "gcups": value}
        for shape in shapes(quick=bench.quick):
            value = rate(str(shape), search.improved(0, shape))
            size = {"threads": shape.threads, "height": shape.height, "width": shape.width, "strip": shape.strip}
            yield {**head, "what": "shape", **size, "gcups": value}


def shapes(*, quick: bool) -> list[Shape]:
    """Shapes to compare: threads, and height and width of a thread's tile."""
    if quick:
        return [Shape(64, 4), Shape(256, 4), Shape(256, 4, 2)]
    return [Shape(*shape) for shape in product(SHAPE_THREADS, SHAPE_HEIGHTS, SHAPE_WIDTHS)]


def measure_threshold(bench: Bench) -> Iterator[Row]:
    """Figures 3, 5 and 6: thresholds from 3072 down in steps of 100, and all targets in the inter-task kernel."""
    lab, query = Lab(bench.gpu), random_query(576)
    targets = sorted_targets(synthetic_swissprot(QUICK_TARGETS if bench.quick else THRESHOLD_TARGETS))
    search, expected = GpuSearch(lab, targets, query), expected_scores(cuda_engine(), query, targets)
    thresholds = range(THRESHOLD, THRESHOLD - 2000, -500 if bench.quick else -100)
    for threshold in [*thresholds, int(targets.lengths[-1])]:
        first = targets.first_over(threshold)
        bench.progress(f"threshold {threshold:,}")
        below, above = (np.where((np.arange(len(targets)) < first) == side, expected, -1) for side in (True, False))
        row: Row = {"threshold": threshold, "targets": len(targets), "over": len(targets) - first}
        row |= {"residues": int(targets.lengths.sum()), "query": len(query)}
        n_bytes = 8 * min(search.group_size, max(first, 1)) * threshold
        if n_bytes > lab.device.budget * 3 // 4:
            yield {**row, "refused": True, "needs": n_bytes}
            continue
        row["inter"] = timed(bench, search, "inter-task", [search.inter(first)], below)
        if first < len(targets):
            for name, launch in intra_launches(search, first).items():
                row[name] = timed(bench, search, name, [launch], above)
        yield row


def intra_launches(search: GpuSearch, first: int) -> dict[str, Launch]:
    """Both kernels for long targets, with and without L1, and the improved one with one fill of its pipeline."""
    return {
        "original": search.original(first),
        "improved": search.improved(first, BEST),
        "one_fill": search.improved(first, replace(BEST, one_fill=1)),
        "original_bypassed": search.original(first, bypass=True),
        "improved_bypassed": search.improved(first, replace(BEST, bypass=1)),
    }


def measure_copies(bench: Bench) -> Iterator[Row]:
    """An open question of the paper: copying a group of targets to the device while another is scored."""
    lab = Lab(bench.gpu)
    targets = sorted_targets(synthetic_swissprot(QUICK_TARGETS if bench.quick else THRESHOLD_TARGETS))
    for query in map(random_query, QUICK_QUERIES if bench.quick else COPY_QUERIES):
        bench.progress(f"copies, query {len(query)}")
        search, expected = GpuSearch(lab, targets, query), expected_scores(cuda_engine(), query, targets)
        copying, first = CopiedSearch(search), targets.first_over(THRESHOLD)
        row: Row = {"query": len(query), "targets": len(targets), "residues": int(targets.lengths.sum())}
        row["groups"] = len(search.groups(first))
        intra = search.improved(first, BEST)
        works = {
            "copy": [copying.copy_all],
            "compute": [search.inter(first), intra],
            "plain": [copying.copy_all, search.inter(first), intra],
            "overlapped": [copying.overlapped(first, intra)],
        }
        for name, launches in works.items():
            if name in ("plain", "overlapped"):
                copying.invalidate()
                row[name] = timed(bench, search, f"{name}, query {len(query)}", launches, expected)
            else:
                row[name] = lab.fastest(lambda: [launch() for launch in launches])  # noqa: B023
        yield row


COUNTERS = {
    "load_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "store_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
    "load_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "store_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "l2_sectors": "lts__t_sectors_srcunit_tex.sum",
    "dram_bytes": "dram__bytes.sum",
}
COUNTED_QUERIES = (567, 5478)


def measure_counters(bench: Bench) -> Iterator[Row]:
    """Table I: accesses of global memory by both kernels for long targets."""
    return counted(bench, "hains-et-al", COUNTERS)


def launches(bench: Bench) -> Iterator[ProfiledLaunch]:
    """Targets over the threshold, as in a synthetic database with Swiss-Prot's share of them."""
    lab, random = Lab(bench.gpu), np.random.default_rng(SEED)
    n = QUICK_LONG if bench.quick else round(N_SWISSPROT * DATABASES["Swiss-Prot"] / 100)
    targets = sorted_targets(synthetic_proteins(random, long_lengths(random, n)))
    for query in map(random_query, COUNTED_QUERIES[: 1 if bench.quick else 2]):
        search, expected = GpuSearch(lab, targets, query), expected_scores(CpuEngine(), query, targets)
        kernels = {"original": search.original(0), "improved": search.improved(0, BEST)}
        for name, launch in kernels.items():
            label = {"kernel": name, "query": len(query), "targets": n, "residues": int(targets.lengths.sum())}
            search.invalidate()
            compare = lambda: bench.check(name, search.scores(), expected)  # noqa: E731, B023
            yield ProfiledLaunch(label, launch, compare)


STUDY = Study(
    name="hains-et-al",
    title="Hains et al.: CUDASW++'s kernel for long targets, improved",
    paper=(
        "D. Hains, Z. Cashero, M. Ottenberg, W. Bohm, S. Rajopadhye, *Improving CUDASW++, a Parallelization of"
        " Smith-Waterman for CUDA Enabled Devices*, IPDPS Workshops 2011."
    ),
    summary="""
CUDASW++ scores targets up to a threshold (3072) with one thread each (inter-task) and longer ones with one block each
(intra-task). The paper replaces the second kernel: strips of the query, a few rows per thread in registers, a query
profile. The paper measured on a Tesla C1060 and a C2050. It does not state its scoring; here it is BLOSUM62 with gaps
of 10 for the first residue and 2 for each further one (exaln: 8/2). The kernels are `inter_task.cu`,
`intra_original.cu` and `intra_improved.cu` in `studies/src/exaln_studies/kernels`.

Times are those of the kernels, with targets and query on the GPU. The databases are synthetic; those of Table II have
the paper's shares of targets over 3072, not its sequences. All scores of every run are compared with those of exaln's
engine, which the tests compare with the reference. The L2 cache of today's GPUs cannot be turned off, so instead of
Fig. 6 only L1 is bypassed. The query of Fig. 3 has 572 residues in the text, but 576 in the caption of Fig. 5, which
repeats it; here it has 576.
""",
    parts=(
        Part("variance", "gpu", "spread of lengths", measure_variance),
        Part("shapes", "gpu", "strips, tiles, steps, open questions", measure_shapes),
        Part("threshold", "gpu", "the threshold", measure_threshold),
        Part("databases", "gpu", "databases", measure_databases),
        Part("copies", "gpu", "copying while computing", measure_copies),
        Part("counters", "gpu", "counters of the profiler", measure_counters),
        Part("core", "cpu", "exaln's engine on the CPU", measure_core),
        Part("parasail", "cpu", "parasail and exaln on one core", measure_parasail),
    ),
    sections=SECTIONS,
    findings=findings,
    launches=launches,
)
