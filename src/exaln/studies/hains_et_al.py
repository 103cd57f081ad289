"""Hains et al., 2011: CUDASW++'s kernel for long targets, improved: measured, with the questions left open."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from functools import partial
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from exaln.alphabet import PROTEIN
from exaln.engines.cpu import CpuEngine
from exaln.engines.reference import local_score
from exaln.fasta import read_records
from exaln.records import Records, Text, offsets_of
from exaln.selfbench.cpu import synthetic_proteins
from exaln.selfbench.swissprot import synthetic_swissprot
from exaln.studies.counters import ProfiledLaunch, counted
from exaln.studies.gpu import Lab, source
from exaln.studies.hains_et_al_page import SECTIONS, findings
from exaln.studies.pairs import SEED
from exaln.studies.searches import (
    BOUNDARIES,
    VERSIONS,
    CopiedSearch,
    GpuSearch,
    Shape,
    TargetList,
    expected_scores,
    scoring,
    sorted_targets,
)
from exaln.studies.study import Bench, NotMeasurable, Part, Row, Study

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.engines.base import Engine

    Launch = Callable[[], object]
    Samples = tuple[TargetList, TargetList]

THRESHOLD, LOW_THRESHOLD = 3072, 1500
LONGEST = 35_000
"""About the longest protein of Swiss-Prot; the rows between strips of a group of such targets take most of a card."""

N_SWISSPROT, QUICK_TARGETS = 570_000, 20_000
QUERIES, QUICK_QUERIES = (144, 1000, 2005, 3005, 4061, 5478), (144, 1000)
DATABASES = {"dog": 0.53, "rat": 0.35, "human": 0.56, "mouse": 0.54, "TAIR": 0.06, "Swiss-Prot": 0.12}
"""Per cent of targets over the threshold, Table II: all that the synthetic databases have of these."""

SPREADS, QUICK_SPREADS = (100, 440, 780, 1120, 1460, 1800), (100, 900, 1800)
SAMPLED = 4096
"""Targets of a database of Fig. 2 that the intra-task kernels score; their rate does not depend on lengths."""

LONG_TARGETS, QUICK_LONG = 1000, 100
THRESHOLD_TARGETS, SWISSPROT_TARGETS, DATABASE_TARGETS = 285_000, 200_000, 100_000
POOL = 1 << 24
"""Letters that are drawn once; the targets of large synthetic databases are cut from them."""

CPU_TARGETS, QUICK_CPU_TARGETS = 20_000, 2000
COPY_QUERIES = (64, 144, 567)
REAL_FILES = {"UniProt sample, real": "protein/mmseqs_DB.fasta.gz", "yeast, real": "protein/yeast_UP000002311.fasta.gz"}
SHAPE_THREADS, SHAPE_HEIGHTS, SHAPE_WIDTHS = (64, 128, 192, 256, 320), (4, 8), (1, 2, 4)
BEST = Shape(256, 4)


def random_query(length: int) -> NDArray[np.uint8]:
    """A protein."""
    return synthetic_proteins(np.random.default_rng((SEED, length)), np.array([length])).codes


def gcups(query: NDArray[np.uint8], residues: int, seconds: float) -> float:
    """1e9 cells per second."""
    return len(query) * residues / seconds / 1e9


def timed(bench: Bench, search: GpuSearch, what: str, launches: Sequence[Launch], expected: NDArray[np.int32]) -> float:
    """Seconds of launches, which also must give these scores."""
    search.forget()
    seconds = search.lab.fastest(lambda: [launch() for launch in launches])
    bench.check(what, search.scores(), expected)
    return seconds


def measure_variance(bench: Bench) -> Iterator[Row]:
    """Figure 2: targets of one group, of log-normal lengths with a growing spread; query 567."""
    lab, query, random = Lab(bench.gpu), random_query(567), np.random.default_rng(SEED)
    letters = synthetic_proteins(random, np.array([POOL])).codes
    size = GpuSearch(lab, sorted_targets(synthetic_proteins(random, np.array([10]))), query).group_size
    n = min(size, QUICK_TARGETS) if bench.quick else size
    for spread in QUICK_SPREADS if bench.quick else SPREADS:
        bench.tell(f"standard deviation {spread}")
        mean = 1000 + 600 * (spread - 100) / 1700
        sigma = math.sqrt(math.log(1 + (spread / mean) ** 2))
        drawn = random.lognormal(math.log(mean) - sigma**2 / 2, sigma, n)
        lengths = np.clip(drawn, 10, LONGEST).astype(np.int64)
        whole = sorted_targets(cut_from(letters, lengths))
        row: Row = {"spread": spread, "mean": round(float(lengths.mean())), "targets": n, "group": size}
        search, expected = GpuSearch(lab, whole, query), expected_scores(_engine(), query, whole)
        seconds = timed(bench, search, "inter-task", [search.inter(n)], expected)
        row["inter"] = gcups(query, int(lengths.sum()), seconds)
        del search
        part = every(whole, max(1, n // SAMPLED))
        few, wanted = GpuSearch(lab, part, query), expected_scores(_engine(), query, part)
        residues = int(part.lengths.sum())
        for name, launch in (("original", few.original(0)), ("improved", few.improved(0, BEST))):
            row[name] = gcups(query, residues, timed(bench, few, name, [launch], wanted))
        yield row


def cut_from(letters: NDArray[np.uint8], lengths: NDArray[np.int64]) -> Records:
    """Targets of these lengths, one after another from letters that are gone through as often as needed."""
    n = len(lengths)
    return Records(
        alphabet=PROTEIN,
        ids=Text.numbered("seq", n),
        descriptions=Text(np.empty(0, np.uint8), np.zeros(n + 1, np.int64)),
        codes=np.resize(letters, int(lengths.sum())),
        offsets=offsets_of(lengths),
        mask=np.empty((0, 2), np.int64),
        mask_offsets=np.zeros(n + 1, np.int64),
    )


def every(targets: TargetList, step: int) -> TargetList:
    """Each so-manieth target."""
    rows = range(0, len(targets), step)
    return sorted_targets(Records.of(targets.records.alphabet, [targets.records.sequence(row) for row in rows]))


def measure_shapes(bench: Bench) -> Iterator[Row]:
    """Strips and tiles of the improved kernel, the steps in which it was built, and the open questions."""
    lab, random = Lab(bench.gpu), np.random.default_rng(SEED)
    n = QUICK_LONG if bench.quick else LONG_TARGETS
    lengths = np.minimum(THRESHOLD + random.exponential(1500, n), 9000).astype(np.int64)
    targets = sorted_targets(synthetic_proteins(random, lengths))
    residues = int(targets.lengths.sum())
    bench.gpu.load(source("intra_improved.cu", **asdict(shape)) for shape in shapes(quick=bench.quick))
    for query in map(random_query, (567,) if bench.quick else (567, 5478)):
        search = GpuSearch(lab, targets, query)
        expected = expected_scores(_engine(), query, targets)

        def rate(
            what: str, launch: Launch, search: GpuSearch = search, expected: NDArray[np.int32] = expected
        ) -> float:
            bench.tell(f"query {len(search.query)}, {what}")
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
    """Threads x height x width of a thread's tile."""
    if quick:
        return [Shape(64, 4), Shape(256, 4), Shape(256, 4, 2)]
    return [Shape(*shape) for shape in product(SHAPE_THREADS, SHAPE_HEIGHTS, SHAPE_WIDTHS)]


def measure_threshold(bench: Bench) -> Iterator[Row]:
    """Figures 3, 5 and 6: the threshold from 3072 down by 100, and all targets by the inter-task kernel."""
    lab, query = Lab(bench.gpu), random_query(576)
    targets = sorted_targets(synthetic_swissprot(QUICK_TARGETS if bench.quick else THRESHOLD_TARGETS))
    search, expected = GpuSearch(lab, targets, query), expected_scores(_engine(), query, targets)
    thresholds = range(THRESHOLD, THRESHOLD - 2000, -500 if bench.quick else -100)
    for threshold in [*thresholds, int(targets.lengths[-1])]:
        first = targets.first_over(threshold)
        bench.tell(f"threshold {threshold:,}")
        below, above = (np.where((np.arange(len(targets)) < first) == side, expected, -1) for side in (True, False))
        row: Row = {"threshold": threshold, "targets": len(targets), "over": len(targets) - first}
        row |= {"residues": int(targets.lengths.sum()), "query": len(query)}
        room = 8 * min(search.group_size, max(first, 1)) * threshold
        if room > lab.card.budget * 3 // 4:
            yield {**row, "refused": True, "needs": room}
            continue
        row["inter"] = timed(bench, search, "inter-task", [search.inter(first)], below)
        if first < len(targets):
            for name, launch in intra_launches(search, first).items():
                row[name] = timed(bench, search, name, [launch], above)
        yield row


def intra_launches(search: GpuSearch, first: int) -> dict[str, Launch]:
    """Both kernels for long targets, with L1 and past it, and the improved one with one fill of its pipeline."""
    return {
        "original": search.original(first),
        "improved": search.improved(first, BEST),
        "one_fill": search.improved(first, replace(BEST, one_fill=1)),
        "original_bypassed": search.original(first, bypass=True),
        "improved_bypassed": search.improved(first, replace(BEST, bypass=1)),
    }


def database_like(name: str, n_targets: int) -> TargetList:
    """Synthetic proteins of which as many are over the threshold as of the database of this name."""
    random = np.random.default_rng((SEED, len(name), n_targets))
    n_over = max(1, round(n_targets * DATABASES[name] / 100))
    short = np.minimum(random.lognormal(math.log(294), 0.64, n_targets - n_over), THRESHOLD).astype(np.int64)
    lengths = np.concatenate([np.maximum(short, 15), long_lengths(random, n_over)])
    return sorted_targets(synthetic_proteins(random, lengths))


def long_lengths(random: np.random.Generator, n: int) -> NDArray[np.int64]:
    """Of targets over the threshold."""
    return np.minimum(THRESHOLD + 1 + random.exponential(1500, n), LONGEST).astype(np.int64)


def best_threshold(targets: TargetList, group: int, inter_rate: float, intra_rate: float) -> int:
    """The paper's open question: the threshold that a model of both kernels calls best.

    A group takes as long as its longest target in every thread; the others take their residues. Rates: cells per second
    of a full card on targets of equal length, per row of the query.
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
    """Table II: databases with the paper's shares of long targets, and real ones where they are at hand; a threshold
    of 1500; one chosen by the model."""
    lab = Lab(bench.gpu)
    samples = rate_samples(lab, bench)
    for name, targets in databases(bench):
        queries = (QUICK_QUERIES if bench.quick else QUERIES) if name == "Swiss-Prot" else (1000,)
        for query in map(random_query, queries):
            bench.tell(f"{name}, query {len(query)}")
            yield from database_rows(bench, lab, name, targets, query, samples)


def databases(bench: Bench) -> Iterator[tuple[str, TargetList]]:
    """Synthetic ones; and files of real proteins, if EXALN_DATA names a folder that has them."""
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
    """One query: the original kernel at the paper's threshold, the improved one at three; and exaln."""
    search, expected = GpuSearch(lab, targets, query), expected_scores(_engine(), query, targets)
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
    engine = _engine()
    seconds = bench.seconds(lambda: expected_scores(engine, query, targets))
    yield {**row, "label": "exaln", "kernel": "exaln", "threshold": 0, "seconds": seconds}


def rate_samples(lab: Lab, bench: Bench) -> Samples:
    """A full group of equal targets, and long ones."""
    random, query = np.random.default_rng(SEED), random_query(8)
    group = GpuSearch(lab, sorted_targets(synthetic_proteins(random, np.array([10]))), query).group_size
    equal = np.full(min(group, QUICK_TARGETS) if bench.quick else group, 256)
    letters = synthetic_proteins(random, np.array([POOL])).codes
    return sorted_targets(cut_from(letters, equal)), sorted_targets(cut_from(letters, np.full(512, 4000)))


def rates(lab: Lab, query: NDArray[np.uint8], samples: Samples) -> tuple[float, float]:
    """Residues per second of both kernels, measured on this query."""
    equal, long = (GpuSearch(lab, targets, query) for targets in samples)
    inter, intra = lab.fastest(equal.inter(len(samples[0]))), lab.fastest(long.improved(0, BEST))
    return float(samples[0].lengths.sum()) / inter, float(samples[1].lengths.sum()) / intra


def measure_copies(bench: Bench) -> Iterator[Row]:
    """Their open question: copying targets to the card while others are scored, a group at a time."""
    lab = Lab(bench.gpu)
    targets = sorted_targets(synthetic_swissprot(QUICK_TARGETS if bench.quick else THRESHOLD_TARGETS))
    for query in map(random_query, QUICK_QUERIES if bench.quick else COPY_QUERIES):
        bench.tell(f"copies, query {len(query)}")
        search, expected = GpuSearch(lab, targets, query), expected_scores(_engine(), query, targets)
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
                copying.forget()
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
    """Table I: accesses of global memory, of both kernels for long targets."""
    return counted(bench, "hains-et-al", COUNTERS)


def launches(bench: Bench) -> Iterator[ProfiledLaunch]:
    """Targets over the threshold, as many and as long as in the synthetic database with the share of Swiss-Prot."""
    lab, random = Lab(bench.gpu), np.random.default_rng(SEED)
    n = QUICK_LONG if bench.quick else round(N_SWISSPROT * DATABASES["Swiss-Prot"] / 100)
    targets = sorted_targets(synthetic_proteins(random, long_lengths(random, n)))
    for query in map(random_query, COUNTED_QUERIES[: 1 if bench.quick else 2]):
        search, expected = GpuSearch(lab, targets, query), expected_scores(CpuEngine(), query, targets)
        kernels = {"original": search.original(0), "improved": search.improved(0, BEST)}
        for name, launch in kernels.items():
            label = {"kernel": name, "query": len(query), "targets": n, "residues": int(targets.lengths.sum())}
            search.forget()
            compare = lambda: bench.check(name, search.scores(), expected)  # noqa: E731, B023
            yield ProfiledLaunch(label, launch, compare)


def measure_core(bench: Bench) -> Iterator[Row]:
    """Figure 7, in the place of SWPS3: exaln's engine on the CPU, by length of the query."""
    targets = cpu_targets(bench)
    few = every(targets, max(1, len(targets) // 20))
    for query in map(random_query, QUICK_QUERIES if bench.quick else QUERIES):
        wanted = [local_score(query, few.records.sequence(row), scoring()) for row in range(min(8, len(few)))]
        bench.check("cpu engine", expected_scores(CpuEngine(), query, few)[: len(wanted)], wanted)
        for threads in sorted({1, bench.threads}):
            bench.tell(f"query {len(query)}, {threads} threads")
            seconds = bench.seconds(partial(expected_scores, CpuEngine(threads), query, targets))
            rate = gcups(query, int(targets.lengths.sum()), seconds)
            yield {"query": len(query), "threads": threads, "gcups": rate}


def cpu_targets(bench: Bench) -> TargetList:
    """Enough for a CPU."""
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
        bench.tell(f"query {len(query)}, parasail")
        profile = parasail.profile_create_sat(bytes(letters[query]).decode(), parasail.blosum62)

        def scores(profile: Any = profile) -> list[int]:
            align = parasail.sw_striped_profile_sat
            return [align(profile, text, costs.gap_first, costs.gap_extend).score for text in texts]

        bench.check("parasail", scores(), expected_scores(CpuEngine(1), query, targets))
        works: dict[str, Launch] = {"parasail": scores, "exaln": partial(expected_scores, CpuEngine(1), query, targets)}
        for name, work in works.items():
            yield {"query": len(query), "name": name, "gcups": gcups(query, residues, bench.seconds(work))}


def _engine() -> Engine:
    from exaln.engines.cuda import CudaEngine

    return CudaEngine(memory=8 << 30)


STUDY = Study(
    name="hains-et-al",
    title="Hains et al.: CUDASW++'s kernel for long targets, improved",
    paper=(
        "D. Hains, Z. Cashero, M. Ottenberg, W. Bohm, S. Rajopadhye, *Improving CUDASW++, a Parallelization of"
        " Smith-Waterman for CUDA Enabled Devices*, IPDPS Workshops 2011."
    ),
    summary="""
CUDASW++ scores targets up to a threshold (3072) with a thread each (inter-task) and longer ones with a block each
(intra-task). The paper replaces the second kernel: strips of the query, a few rows per thread in registers, a
profile. Measured there on a Tesla C1060 and C2050. The paper does not state its scoring; here it is BLOSUM62 and gaps
of 10 for the first residue and 2 for each further one (exaln: 8/2). The kernels are `inter_task.cu`,
`intra_original.cu` and `intra_improved.cu` in `src/exaln/studies/kernels`.

Times are of kernels, targets and query on the card. Databases are synthetic; those of Table II have the paper's
shares of targets over 3072, not its sequences. All scores of every run are compared with those of exaln's engine,
which the tests compare with the reference. The L2 cache cannot be turned off on today's cards, so in the place of
Fig. 6 only L1 is passed by.
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
