"""A small run of every kernel, to be watched:

    python tests/cuda_sanitize.py                    all parts, not watched
    python tests/cuda_sanitize.py pairs odd          two parts
    python tests/cuda_sanitize.py --under racecheck  each part in a process under a tool of compute-sanitizer

Every packing, every height of strip, boundary rows at top and bottom, stacks of queries that are cut, long targets,
scores beyond the limits, cutoffs, streaming, a device opened twice. EXALN_CUDA_DPX=0 is the path of
older devices. Scores are compared with the cpu engine's, and at the end every kernel must have run.
"""

import os
import re
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import cuda_cases
import cuda_plans
import engine_calls
from cuda_cases import IS_CUDA, all_letters, mixed_targets, random_letters, scored, scorings
from exaln.engines.cuda.long import device_part
from exaln.engines.cuda.long import regions as cuda_regions
from exaln.engines.cuda.long.shapes import PACKED_SHAPES, long_shapes
from exaln.engines.cuda.scan.shapes import Packing
from exaln.engines.regions import Pruning, Region
from exaln.scoring.modes import GLOBAL, LOCAL, Mode
from exaln.scoring.scoring import Scoring
from exaln.sequences.records import Records
from exaln.statistics.length_bins import N_BINS
from kernel_cases import mutated, random_codes
from long_regions import INT32, INT64, SCORINGS, OnDevices, assert_as, filled, n_letters, outside, some
from memory_targets import memory_targets
from sanitizer import watched

KERNELS = Path(__file__).parents[2] / "src" / "exaln" / "engines" / "cuda" / "kernels"
FOR_BENCHMARKS = {"bare_loop"}
"""Kernels that no scan launches."""

SMALL = 16 << 20
N_FEW = 12
N_PARTS = 4
"""Of the plans of a packing: the tools take long over each kernel that they have not seen."""

SMALL_SHARED = 164 << 10
"""Bytes of shared memory of a block, on any device from compute capability 8.0 on."""


def kernel_functions(text):
    """Names of the kernels in a file."""
    return re.findall(r'extern "C" __global__ void\s+(?:__launch_bounds__\([^)]*\)\s+)?(\w+)\s*\(', text)


def all_kernels():
    """Names of all kernels in the package."""
    return {name for path in KERNELS.glob("*.cu") for name in kernel_functions(path.read_text(encoding="utf-8"))}


class Launches:
    """Counts what is launched, by kernel and by the constants that it was compiled with."""

    def __init__(self):
        self.counts = Counter()
        self._sources = {}

    def watch(self):
        from exaln.engines.cuda.runtime.device import Device

        kernel_of, prepare = Device.kernel, Device.prepare

        def kernel(device, source, name, *rest, **more):
            made = kernel_of(device, source, name, *rest, **more)
            self._sources[id(made)] = made, source
            return made

        def prepared(device, kernel, *rest, **more):
            _, source = self._sources[id(kernel)]
            self.counts[kernel.name, source.constants] += 1
            return prepare(device, kernel, *rest, **more)

        Device.kernel, Device.prepare = kernel, prepared

    def names(self):
        return {name for name, _ in self.counts}

    def report(self):
        for (name, constants), count in sorted(self.counts.items()):
            print(f"  {count:5} x {name} {' '.join(f'{key}={value}' for key, value in constants)}")


def check(what, engine, queries, targets, scoring):
    """Together, and the last one alone: two queries in a word, two targets in a word."""
    began = time.perf_counter()
    database = memory_targets(scoring.alphabet, targets)
    records = Records.of(scoring.alphabet, queries)
    expected = scored(cuda_cases.cpu(), queries, targets, scoring)
    n_queries = len(queries)
    for first, end in ((0, n_queries), (n_queries - 1, n_queries)):
        found = engine_calls.scores(engine, records.rows(first, end), database, scoring)
        assert (found == expected[first:end]).all(), f"{what}: wrong scores"
    median = int(np.median(expected))
    candidates = engine_calls.scan(engine, records, database, scoring, np.full((n_queries, N_BINS), median, np.int32))
    assert sum(len(part.query) for part in candidates) == (expected >= median).sum(), f"{what}: wrong candidates"
    print(f"{what}: {expected.size:,} pairs, {time.perf_counter() - began:.1f} s", flush=True)


def random_sequences(rng, lengths, scoring):
    return [random_letters(rng, int(length), scoring) for length in lengths]


def check_shapes(engine):
    """Queries of every height, in pairs and alone, over few targets: the tools take long over each block."""
    for name in ("BLOSUM62", "DNA", "31 letters", "gaps are free"):
        scoring, rng = scorings()[name], np.random.default_rng(1)
        queries = random_sequences(rng, cuda_cases.FEW_QUERY_LENGTHS, scoring)
        targets = [*mixed_targets(rng, N_FEW, scoring, queries, longest=100), all_letters(scoring)]
        check(f"queries of every length, {name}", engine, queries, targets, scoring)
        if name in ("BLOSUM62", "DNA"):
            database = memory_targets(scoring.alphabet, targets)
            for query in queries:
                engine_calls.scores(engine, Records.of(scoring.alphabet, [query]), database, scoring)


def check_strips(engine):
    """Pairs whose queries differ in length by several strips."""
    scoring, rng = scorings()["BLOSUM62"], np.random.default_rng(2)
    whole = random_codes(rng, 2600, 20)
    queries = [whole, whole[:200], mutated(rng, whole, 20), whole[100:1300], whole[:1600]]
    targets = [*mixed_targets(rng, 51, scoring, queries, longest=200), all_letters(scoring)]
    for part in (queries[:2], queries[2:4], queries):
        check("strips", engine, part, targets, scoring)


def check_long_targets(engine):
    scoring, rng = scorings()["BLOSUM62"], np.random.default_rng(3)
    long = random_codes(rng, 5000, 20)
    peptides = [random_codes(rng, int(n), 20) for n in rng.integers(0, 30, N_FEW)]
    queries = [mutated(rng, long[1000 : 1000 + n], 20) for n in (50, 700, 2500)]
    check("long targets", engine, queries, [long, *peptides, long[:4000], all_letters(scoring)], scoring)


def check_limits(engine):
    for name in ("1024", "8192", "largest"):
        scoring, rng = scorings()[name], np.random.default_rng(4)
        queries = random_sequences(rng, (20, 60, 61, 300), scoring)
        targets = [*mixed_targets(rng, 100, scoring, longest=200), *queries, all_letters(scoring)]
        check(f"scores beyond the limits, {name}", engine, queries, targets, scoring)


def check_streaming(engine):
    scoring, rng = scorings()["BLOSUM62"], np.random.default_rng(5)
    targets = [*(random_codes(rng, int(n), 20) for n in rng.integers(300, 700, 5000)), all_letters(scoring)]
    check("streaming", engine, random_sequences(rng, (30, 40, 41), scoring), targets, scoring)


def check_odd(engine):
    scoring, empty = scorings()["BLOSUM62"], np.empty(0, np.uint8)
    for n_targets in (1, 2, 3, 33):
        rng = np.random.default_rng(n_targets)
        targets = [*random_sequences(rng, range(n_targets - 1), scoring), all_letters(scoring)]
        check(f"{n_targets} targets", engine, [*random_sequences(rng, (1, 5, 40), scoring), empty], targets, scoring)


def check_plans(packing, part):
    """Shapes of every number of lanes, and strips of different heights in turns: one part of them."""
    scoring, rng = cuda_cases.random_scoring(4, 9, 5, 2), np.random.default_rng(6)
    shapes = cuda_plans.shapes(packing)
    in_turns = [*((shape,) for shape in (*shapes[::7], shapes[-1])), (shapes[0], shapes[-3])]
    for in_turn in in_turns[part::N_PARTS]:
        height, name = in_turn[0].strip_rows, " and ".join(map(str, in_turn))
        queries = random_sequences(rng, (height + 1, 3, height // 2, 2 * height + 3, 5), scoring)
        targets = mixed_targets(rng, N_FEW, scoring, queries, longest=90)
        check(name, cuda_cases.engine_of_shapes(*in_turn), queries, targets, scoring)


def check_pairs(engine):
    """Pairs in every mode, of several strips, with and without paths."""
    scoring, rng = scorings()["DNA"], np.random.default_rng(7)
    queries = random_sequences(rng, [0, 1, 3, 60, 70, 130, 200, 270, 400, 520, 700], scoring)
    targets = [mutated(rng, query, 4) for query in reversed(queries)]
    records = Records.of(scoring.alphabet, queries), Records.of(scoring.alphabet, targets)
    n = len(queries)
    pairs = SimpleNamespace(query=np.repeat(np.arange(n), n), target=np.tile(np.arange(n), n))
    for name in ("local", "global", "semiglobal", "overlap"):
        arguments = (*records, pairs, scoring, Mode.parse(name))
        found, expected = (engine_calls.align_pairs(one, *arguments) for one in (engine, cuda_cases.cpu()))
        scores = engine_calls.score_pairs(engine, *arguments)
        assert (found.scores == expected.scores).all(), f"pairs, {name}: wrong scores"
        assert (scores == expected.scores).all(), f"pairs, {name}: wrong scores without paths"
        assert (found.paths.operations == expected.paths.operations).all(), f"pairs, {name}: wrong paths"
        print(f"pairs, {name}: {len(scores):,}", flush=True)


def check_long_pairs():
    """Regions in every mode and shape, in slabs and in several parts; lines and ends as the cpu engine has them."""
    rng = np.random.default_rng(8)
    for name, mode, score in product(("DNA", "protein"), (LOCAL, GLOBAL), (INT32, INT64)):
        scoring = SCORINGS[name]
        query = random_codes(rng, 700, n_letters(scoring))
        target = mutated(rng, query, n_letters(scoring))
        lines = some(rng, len(query), 9), some(rng, len(target), 9)
        for devices in ((0,), (0, 0)):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(cuda_regions, "MIN_DEVICE_COLUMNS", 100)
                for shape in long_shapes(20, score.itemsize, SMALL_SHARED):
                    patch.setattr(device_part, "long_shapes", lambda *_, shape=shape: [shape])
                    assert_as(OnDevices(devices), cuda_cases.cpu(), query, target, scoring, mode, *lines, score)
        print(f"long pairs, {name}, {mode}, {score}", flush=True)
    check_packed()
    check_pruning()


def check_packed():
    """Regions in halves of words, with letters beyond the plain ones, and bases that move."""
    rng = np.random.default_rng(10)
    query = random_codes(rng, 3000, 4)
    query[rng.random(len(query)) < 0.002] = 4
    target = mutated(rng, query, 4)
    lines = some(rng, len(query), 9), some(rng, len(target), 9)
    scoring = Scoring(match=9, mismatch=-9, gap_open=9, gap_extend=2)
    for shape, mode in product(PACKED_SHAPES, (LOCAL, GLOBAL)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(device_part, "long_shapes", lambda *_, shape=shape: [shape])
            patch.setattr(cuda_regions, "_may_pack", lambda *_, **__: True)
            assert_as(OnDevices(), cuda_cases.cpu(), query, target, scoring, mode, *lines)
    print("long pairs, packed", flush=True)


def check_pruning():
    """Skipped pieces beside others, with lines: the same end."""
    rng = np.random.default_rng(9)
    query = random_codes(rng, 2000, 4)
    target = mutated(rng, query, 4)
    region = Region(0, len(query), 0, len(target))
    rows, columns = some(rng, len(query), 9), some(rng, len(target), 9)
    case = ((query, target, SCORINGS["DNA"], LOCAL), region, outside(region, SCORINGS["DNA"], LOCAL), rows, columns)
    end, _ = filled(cuda_cases.cpu(), *case)
    for shape in long_shapes(20, 4, SMALL_SHARED, SCORINGS["DNA"]):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(device_part, "long_shapes", lambda *_, shape=shape: [shape])
            patch.setattr(cuda_regions, "_may_pack", lambda *_, **__: True)
            pruning = Pruning(end.score, len(query), len(target))
            assert filled(OnDevices(), *case, pruning=pruning)[0] == end
            assert pruning.cells > 0
    print("long pairs, pruned", flush=True)


def in_streams(check_part):
    """A part with the kernel for many targets alone, even if they are so few that it does not pay."""
    return lambda: check_part(cuda_cases.stream_engine())


def with_engine(check_part, **more):
    return lambda: check_part(cuda_cases.new_engine(**more))


PARTS = {
    "pairs": with_engine(check_pairs),
    "odd": with_engine(check_odd),
    "shapes": with_engine(check_shapes),
    "long-targets": with_engine(check_long_targets),
    "odd-in-streams": in_streams(check_odd),
    "shapes-in-streams": in_streams(check_shapes),
    "strips": in_streams(check_strips),
    "limits": in_streams(check_limits),
    "streaming": with_engine(check_streaming, memory=SMALL),
    "streaming-twice": with_engine(check_streaming, devices=(0, 0), memory=SMALL),
}
ON_A_DEVICE = {"long-pairs": check_long_pairs} | {
    f"plans-{packing.name.lower()}-{part}": partial(check_plans, packing=packing, part=part)
    for packing, part in product(Packing, range(N_PARTS))
}


def run(names):
    """All parts, after which every kernel must have run, or those that are named."""
    launches = Launches()
    parts = PARTS | ON_A_DEVICE if IS_CUDA else PARTS
    if IS_CUDA:
        launches.watch()
    for name in names or parts:
        parts[name]()
    if names:
        print(f"{' '.join(names)}: {launches.counts.total():,} launches, all scores are right")
        return
    launches.report()
    missing = all_kernels() - FOR_BENCHMARKS - launches.names() if IS_CUDA else set()
    if missing:
        sys.exit(f"kernels that did not run: {', '.join(sorted(missing))}")
    print("every kernel ran, and all scores are right")


def is_clean(tool, part):
    """Whether a part is, under a tool."""
    done, summary, seconds = watched(tool, [sys.executable, __file__, part])
    print(f"{tool}, {part}: exit code {done.returncode}, {'; '.join(summary)}, {seconds:.0f} s", flush=True)
    if done.returncode != 0:
        print(done.stdout[-4000:])
    return done.returncode == 0


def main(arguments):
    reason = cuda_cases.unavailable_reason()
    if reason:
        sys.exit(f"nothing to watch: {reason}")
    if arguments[:1] != ["--under"]:
        return run(arguments)
    tool, *parts = arguments[1:]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        are_clean = list(pool.map(lambda part: is_clean(tool, part), parts or PARTS | ON_A_DEVICE))
    if not all(are_clean):
        sys.exit(f"{tool} found something")
    return None


if __name__ == "__main__":
    main(sys.argv[1:])
