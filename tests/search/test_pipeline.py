"""The pipeline: true best k, whatever engine, threads, segments or strands."""

from __future__ import annotations

import io
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import exaln
import golden_data
from exaln.alignments.aligned_pairs import AlignedPairs
from exaln.alignments.query_hits import QueryHits
from exaln.database.database import Database
from exaln.database.segment_limits import SegmentLimits
from exaln.engines.contracts import Engine, Tuning
from exaln.engines.cpu.engine import CpuEngine
from exaln.engines.reference.engine import ReferenceEngine, local_score
from exaln.engines.tasks import Candidates, PairTask, ScanTask
from exaln.errors import ExalnWarning, InputError
from exaln.report.writing import SearchSummary, parse_outfmt, write_report
from exaln.scoring.scoring import Scoring
from exaln.search import pipeline
from exaln.search.pipeline import Search, SearchOptions
from exaln.search.spec import SearchSpec
from exaln.sequences.alphabet import DNA, PROTEIN
from exaln.sequences.records import Records
from exaln.statistics.evalues import Statistics
from threads import no_new_threads

BLOSUM62 = Scoring("BLOSUM62")


def records(texts: dict[str, str], alphabet: Any = PROTEIN) -> Records:
    return Records.of(alphabet, [alphabet.encode(text) for text in texts.values()], list(texts))


QUERIES, TARGETS = records(golden_data.queries()), records(golden_data.targets())


def database(rows_per_segment: int = 1000) -> Database:
    return Database.in_memory([TARGETS], limits=SegmentLimits(rows=rows_per_segment))


def report(engine: Engine, searched: Database, options: SearchOptions, outfmt: str = "6 std score cigar btop") -> bytes:
    search = Search(searched, BLOSUM62, engine, options)
    file = io.BytesIO()
    summary = SearchSummary("golden", searched.n_targets, searched.n_residues, BLOSUM62)
    write_report(parse_outfmt(outfmt), search.run([QUERIES]), summary, file)
    return file.getvalue()


class ShufflingEngine(CpuEngine):
    """Two devices that deliver a superset of what was asked for, in pieces, in any order."""

    name = "shuffling"

    def __init__(self) -> None:
        super().__init__(threads=1)

    def scan(self, task: ScanTask) -> Iterator[Candidates]:
        parts = list(super().scan(replace(task, cutoff=None)))
        query, row, score = (
            np.concatenate([getattr(part, name) for part in parts]) for name in ("query", "row", "score")
        )
        order = np.random.default_rng(1).permutation(len(query))
        for device in (order[::2], order[1::2]):
            for piece in np.array_split(device, 7):
                yield Candidates(query[piece], row[piece], score[piece])


def test_hits_are_the_true_best_by_evalue() -> None:
    options = SearchOptions(evalue=1000, max_target_seqs=7, max_hsps=1)
    statistics = Statistics.of(BLOSUM62, db_residues=TARGETS.n_residues, db_targets=len(TARGETS))
    assert statistics is not None
    for found in Search(database(), BLOSUM62, CpuEngine(), options).run([QUERIES]):
        scores = [local_score(found.query, TARGETS.sequence(row), BLOSUM62) for row in range(len(TARGETS))]
        evalues = statistics.evalues(np.array(scores), np.full(len(scores), len(found.query)), TARGETS.lengths)
        order = sorted(range(len(scores)), key=lambda row: (evalues[row], -scores[row], row))
        expected = [row for row in order if evalues[row] <= options.evalue and scores[row] > 0][:7]
        assert found.ordinal.tolist() == expected
        assert found.score.tolist() == [scores[row] for row in expected]
        assert np.allclose(found.evalue, evalues[expected])


@pytest.mark.parametrize("options", [SearchOptions(), SearchOptions(evalue=1e4, max_target_seqs=3, min_identity=25.0)])
def test_hits_do_not_depend_on_threads_segments_blocks_and_order(
    options: SearchOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = report(CpuEngine(threads=1), database(), options)
    assert expected.count(b"\n") > 10
    assert report(CpuEngine(threads=2), database(), options) == expected
    assert report(CpuEngine(threads=2), database(rows_per_segment=7), options) == expected
    assert report(ShufflingEngine(), database(), options) == expected
    monkeypatch.setattr(pipeline, "MAX_BLOCK_QUERIES", 3)
    monkeypatch.setattr(pipeline, "PRUNE_CANDIDATES", 10)
    monkeypatch.setattr(pipeline, "ROUND_ALIGNMENTS", 9)
    monkeypatch.setattr("exaln.engines.tasks.PIECE_SCORES", 25)
    assert report(ShufflingEngine(), database(rows_per_segment=7), options) == expected
    monkeypatch.setattr(ShufflingEngine, "tuning", Tuning(scans_beside_cpu=True))
    assert report(ShufflingEngine(), database(rows_per_segment=7), options) == expected


def test_a_block_is_scanned_while_the_one_before_is_aligned(monkeypatch: pytest.MonkeyPatch) -> None:
    began = [threading.Event() for _ in range(4)]
    scans = iter(began)

    class Idle(ShufflingEngine):
        tuning = Tuning(scans_beside_cpu=True)

        def scan(self, task: ScanTask) -> Iterator[Candidates]:
            next(scans).set()
            assert task.progress is not None
            task.progress(0)
            yield from super().scan(task)

        def align(self, task: PairTask) -> AlignedPairs:
            assert began[1].wait(10)
            assert not began[2].is_set()
            return super().align(task)

    monkeypatch.setattr(pipeline, "MAX_BLOCK_QUERIES", 3)
    cells: list[int] = []
    with no_new_threads():
        found = Search(database(), BLOSUM62, Idle(), SearchOptions()).run([QUERIES], cells.append)
        assert next(found).index == 0
        found.close()
    assert cells[0] == 0


def test_filters_act_before_the_best_k_are_taken() -> None:
    everything = list(Search(database(), BLOSUM62, CpuEngine(), SearchOptions(evalue=1e4)).run([QUERIES]))
    options = SearchOptions(
        evalue=1e4, max_target_seqs=2, min_identity=30, min_query_coverage=10, min_target_coverage=20
    )
    filtered = list(Search(database(), BLOSUM62, CpuEngine(), options).run([QUERIES]))
    assert max(hits.n_targets for hits in filtered) == 2
    for whole, cut in zip(everything, filtered, strict=True):
        identity = whole.identities / whole.columns
        query_part = (whole.query_end - whole.query_start) / len(whole.query)
        target_part = (whole.target_end - whole.target_start) / whole.target_lengths
        passes = (identity >= 0.3) & (query_part >= 0.1) & (target_part >= 0.2)
        ordinal, evalue, score = (column[passes].tolist() for column in (whole.ordinal, whole.evalue, whole.score))
        place = sorted(range(len(ordinal)), key=lambda i: (evalue[i], -score[i], ordinal[i]))
        best = list(dict.fromkeys(ordinal[i] for i in place))[:2]
        assert cut.ordinal.tolist() == [target for one in best for target in ordinal if target == one]
        assert cut.score.tolist() == [
            s for one in best for target, s in zip(ordinal, score, strict=True) if target == one
        ]


def test_filters_by_bits_ids_and_scores() -> None:
    options = SearchOptions(evalue=1e4, min_bits=20.0, min_score=40, exclude=np.array([3, 5]))
    for found in Search(database(), BLOSUM62, CpuEngine(), options).run([QUERIES]):
        assert not set(found.ordinal.tolist()) & {3, 5}
        assert (found.bits >= 20).all()
        assert (found.score >= 40).all()
    only = SearchOptions(evalue=1e9, include=np.array([8]))
    for found in Search(database(), BLOSUM62, CpuEngine(), only).run([QUERIES]):
        assert set(found.ordinal.tolist()) <= {8}


def dna_search(query: str, target: str, **options: Any) -> QueryHits:
    searched = Database.in_memory([records({"t": target}, DNA)])
    search = Search(searched, Scoring.default(DNA), CpuEngine(threads=1), SearchOptions(evalue=1e6, **options))
    (found,) = search.run([records({"q": query}, DNA)])
    return found


def test_both_strands_of_dna_are_searched() -> None:
    piece = "ACGTTGCATGCCAAGTC"
    reverse = "GACTTGGCATGCAACGT"
    target = "TTTTT" + reverse[:9] + "A" + reverse[9:] + "CCC"
    found = dna_search("TT" + piece, target, max_hsps=1)
    assert found.strand.tolist() == [-1]
    assert (found.query_start[0], found.query_end[0]) == (2, 19)
    assert (found.target_start[0], found.target_end[0]) == (5, 23)
    lengths, codes = found.paths[0] >> 4, found.paths[0] & 15
    assert lengths.tolist() == [9, 1, 8]
    assert codes.tolist() == [7, 2, 7]
    assert (
        len(dna_search(piece, reverse, strand="plus")) == 0 or dna_search(piece, reverse, strand="plus").score[0] < 20
    )
    assert dna_search(piece, piece, strand="both", max_hsps=1).strand.tolist() == [1]
    assert dna_search(piece, reverse, strand="minus", max_hsps=1).strand.tolist() == [-1]
    assert set(dna_search(piece, piece, strand="both").strand.tolist()) == {1, -1}


def test_without_statistics_hits_are_ranked_by_score() -> None:
    scoring = Scoring("VTML200")
    with pytest.warns(ExalnWarning, match="no E-value statistics"):
        search = Search(database(), scoring, CpuEngine(), SearchOptions(max_target_seqs=5))
    for found in search.run([QUERIES]):
        assert np.isnan(found.evalue).all()
        assert found.score.tolist() == sorted(found.score.tolist(), reverse=True)
        assert len(found) == 5


def test_the_reference_engine_gives_the_same_hits() -> None:
    few = QUERIES.rows(0, 1)
    small = Database.in_memory([TARGETS.rows(0, 12)])
    options = SearchOptions(evalue=1e6)
    (fast,), (slow,) = (Search(small, BLOSUM62, e, options).run([few]) for e in (CpuEngine(), ReferenceEngine()))
    assert fast.ordinal.tolist() == slow.ordinal.tolist()
    assert fast.paths.operations.tolist() == slow.paths.operations.tolist()
    assert fast.query_start.tolist() == slow.query_start.tolist()


def test_wrong_alphabets_and_options_are_refused() -> None:
    with pytest.raises(InputError, match="scores dna"):
        Search(database(), Scoring.default(DNA), CpuEngine(), SearchOptions())
    search = Search(database(), BLOSUM62, CpuEngine(), SearchOptions())
    with pytest.raises(InputError, match="the queries are dna"):
        list(search.run([records({"q": "ACGT"}, DNA)]))
    for wrong in ({"strand": "left"}, {"max_target_seqs": 0}, {"evalue": 0.0}, {"evalue": float("nan")}):
        with pytest.raises(InputError):
            SearchOptions(**wrong)  # type: ignore[arg-type]


def test_an_empty_query_has_no_hits() -> None:
    (found,) = Search(database(), BLOSUM62, CpuEngine(), SearchOptions()).run([records({"empty": ""})])
    assert len(found) == 0
    assert found.query_id == "empty"


def test_targets_are_chosen_by_their_ids(tmp_path: Path) -> None:
    targets = Database.in_memory([TARGETS])
    everything = exaln.search(QUERIES, targets, evalue=100)
    some = sorted({hit.target_id for hit in everything})[:3]
    path = tmp_path / "some.ids"
    path.write_text("\n".join(some) + "\n\n")
    for ids in (some, tuple(some), iter(some), path):
        found = exaln.search(QUERIES, targets, evalue=100, ids=ids)
        assert list(found) == [hit for hit in everything if hit.target_id in some]
    rest = exaln.search(QUERIES, targets, evalue=100, exclude_ids=path)
    assert list(rest) == [hit for hit in everything if hit.target_id not in some]
    assert {hit.target_id for hit in exaln.search(QUERIES, targets, evalue=100, ids=some[0])} == {some[0]}
    with pytest.raises(InputError, match=r"ids: .*no sequence with the id 'nobody'"):
        exaln.search(QUERIES, targets, ids=[some[0], "nobody"])
    with pytest.raises(InputError, match="ids: the list of ids is empty; leave ids out to search all targets"):
        exaln.search(QUERIES, targets, ids=[])
    with pytest.raises(InputError, match=r"nothing\.ids: the list of ids cannot be read"):
        exaln.search(QUERIES, targets, exclude_ids=tmp_path / "nothing.ids")


def test_parts_of_a_database_refuse_unresolved_ids() -> None:
    targets = Database.in_memory([TARGETS])
    options = SearchOptions(ids=[TARGETS.ids[0]])
    assert options.resolved(targets).include.tolist() == [0]
    with pytest.raises(InputError, match=r"call options\.resolved\(database\) first"):
        Search(targets.part(0, 10), BLOSUM62, CpuEngine(1), options)
    with pytest.raises(InputError, match=r"call options\.resolved\(database\) first"):
        SearchSpec.of("db", targets.manifest, BLOSUM62, options)
