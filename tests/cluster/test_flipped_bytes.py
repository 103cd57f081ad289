"""Flipped bytes in resume folders and part files: the same report, or an error that names the file. Nothing else.

EXALN_FLIPS=N makes N flips, a third of them in part files, in manifests and in unit files; without it there are 300.
"""

import io
import os
import shutil
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from exaln import Database, ExalnWarning, Scoring, SearchOptions
from exaln.alignments.query_hits import QueryHits
from exaln.cluster import unit_pool
from exaln.cluster.division import Plan
from exaln.cluster.groups import GroupResults
from exaln.cluster.local_search import LocalSearch
from exaln.cluster.part_file import Shard, write_part
from exaln.cluster.shards import Parts
from exaln.cluster.unit_search import Resources, Settings
from exaln.cluster.unit_store import Store
from exaln.cluster.units import chunks_of
from exaln.engines.cpu.engine import CpuEngine
from exaln.errors import ExalnError
from exaln.report.writing import parse_outfmt, write_report
from exaln.search.pipeline import Search
from exaln.search.spec import SearchSpec
from exaln.sequences.fasta import read_records
from exaln.sequences.records import Records
from golden_data import GOLDEN

N_FLIPS = max(1, int(os.environ.get("EXALN_FLIPS", "300")) // 3)
PATTERNS = [1 << bit for bit in range(8)] + [0xFF]
SCORING, OPTIONS = Scoring("BLOSUM62"), SearchOptions(evalue=3)


def flips(files: list[Path], n: int, seed: int) -> Iterator[tuple[Path, int, int]]:
    """(file, place, pattern), in random order: no byte again before every one was flipped."""
    rng = np.random.default_rng(seed)
    starts = np.concatenate([[0], np.cumsum([path.stat().st_size for path in files])])
    rounds = 1 + n // int(starts[-1])
    order = np.concatenate([rng.permutation(int(starts[-1])) for _ in range(rounds)])
    for place in order[:n].tolist():
        number = int(np.searchsorted(starts, place, side="right")) - 1
        yield files[number], place - int(starts[number]), int(rng.choice(PATTERNS))


def outcome_of(report: Callable[[], bytes]) -> bytes | ExalnError:
    """A report, or the error that came instead."""
    try:
        return report()
    except ExalnError as error:
        return error


def require_same_or_named(files: list[Path], seed: int, report: Callable[[], bytes]) -> tuple[int, int]:
    """Flips bytes, one at a time; how many gave the same report, and how many an error."""
    expected, n_same, n_errors = report(), 0, 0
    for path, place, pattern in flips(files, N_FLIPS, seed):
        content, flip = path.read_bytes(), f"{path.name}: byte {place} ^ {pattern}"
        damaged = bytearray(content)
        damaged[place] ^= pattern
        path.write_bytes(damaged)
        outcome = outcome_of(report)
        path.write_bytes(content)
        if isinstance(outcome, ExalnError):
            assert path.name in str(outcome), f"{flip}: {outcome}"
            assert outcome.exit_code in (1, 2), f"{flip}: {outcome}"
            n_errors += 1
        else:
            assert outcome == expected, f"{flip}: another report"
            n_same += 1
    assert report() == expected
    return n_same, n_errors


def table(hits: Iterator[QueryHits] | Parts, spec: SearchSpec) -> bytes:
    file = io.BytesIO()
    write_report(parse_outfmt("6 std score cigar qtitle stitle"), hits, spec.summary, file)
    return file.getvalue()


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> tuple[Database, Records, SearchSpec]:
    database = Database.build(GOLDEN / "scop20_part.fasta", tmp_path_factory.mktemp("flips") / "db.exaln")
    queries = read_records(GOLDEN / "cudasw4q_part.fasta").rows(0, 2)
    return database, queries, SearchSpec.of("db", database.manifest, SCORING, OPTIONS)


def test_flipped_bytes_of_part_files_are_harmless_or_named(
    tmp_path: Path, searched: tuple[Database, Records, SearchSpec]
) -> None:
    database, queries, spec = searched
    files = [tmp_path / f"part-{number}.parquet" for number in (1, 2)]
    for number, file in enumerate(files, start=1):
        shard = Shard(number, 2)
        write_part(Search(shard.of(database), SCORING, CpuEngine(1), OPTIONS).run([queries]), spec, shard, file)

    def report() -> bytes:
        with Parts([str(file) for file in files]) as parts:
            return table(parts, parts.spec)

    assert report().count(b"\n") >= 5
    n_same, n_errors = require_same_or_named(files, 1, report)
    assert n_errors > n_same / 4


def resume(folder: Path, database: Database, queries: Records, spec: SearchSpec, resources: Resources) -> bytes:
    """The report of a search that goes on with what is in a folder."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExalnWarning)
        store = Store(folder, spec, queries)
    with store:
        chunks = chunks_of(database.manifest)
        plan = Plan.of(chunks, queries.lengths, 1, [1e9], edges=store.edges, done=store.units)
        store.edges = plan.edges
        results = GroupResults(plan.groups, database.manifest, spec, queries, store)
        search = LocalSearch(resources, spec, str(database.path), queries, plan.pool(), results, store, 1e9)
        return table(search.run(), spec)


@pytest.mark.parametrize("which", ["manifest", "units"])
def test_flipped_bytes_of_resume_folders_are_harmless_or_named(
    tmp_path: Path,
    searched: tuple[Database, Records, SearchSpec],
    which: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(unit_pool, "LEAST_PLACES", 6000)
    monkeypatch.setattr(unit_pool.UnitSize, "cells", lambda self, speed, total_speed, cells_left: 0.0)
    database, queries, spec = searched
    resources, original, folder = Resources(Settings("cpu", 1)), tmp_path / "original", tmp_path / "folder"
    expected = resume(original, database, queries, spec, resources)
    assert len(list(original.glob("unit-*"))) > 1
    names = [path.name for path in sorted(original.iterdir()) if (path.suffix == ".json") == (which == "manifest")]
    shutil.copytree(original, folder)

    def report() -> bytes:
        """Of the folder as it is; then it is as before, but for the file that is flipped."""
        try:
            return resume(folder, database, queries, spec, resources)
        finally:
            shutil.rmtree(folder)
            shutil.copytree(original, folder)

    assert report() == expected
    n_same, n_errors = require_same_or_named([folder / name for name in names], 2, report)
    assert (n_same, n_errors)[which == "manifest"] > N_FLIPS / 2
    assert (n_errors, n_same)[which == "manifest"] == 0
