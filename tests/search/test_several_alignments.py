"""Several alignments per target and windows of long targets: the textbook against every engine and every way to cut."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import exaln
from exaln.database import windows
from exaln.database.database import Database
from exaln.database.segment_limits import SegmentLimits
from exaln.engines.contracts import Tuning
from exaln.engines.cpu.engine import CpuEngine
from exaln.engines.reference.engine import ReferenceEngine
from exaln.engines.tasks import QueryRows
from exaln.errors import ExalnWarning
from exaln.scoring.scoring import Scoring
from exaln.search import pipeline, scan_parts
from exaln.search.pipeline import Search, SearchOptions
from exaln.sequences.alphabet import DNA, PROTEIN
from exaln.sequences.records import Records
from exaln.statistics.evalues import Statistics
from exaln.statistics.length_bins import N_BINS
from waterman_eggert import textbook

SCORINGS = {
    "dna": Scoring.default(DNA),
    "protein": Scoring("BLOSUM62"),
    "steep": Scoring(alphabet=DNA, match=1, mismatch=-3, gap_open=5, gap_extend=2),
}
COMPLEMENT = {"A": "T", "C": "G", "G": "C", "T": "A"}


def sequences(scoring: Scoring, seed: int) -> tuple[list[str], list[str]]:
    """Queries, and targets with copies of them: changed, nested, crossing, on both strands, next to each other."""
    rng = np.random.default_rng(seed)
    letters = "ACGT" if scoring.alphabet.is_nucleotide else "ARNDCQEGHILKMFPSTWYV"

    def any_text(n: int) -> str:
        return "".join(rng.choice(list(letters), n))

    def changed(text: str) -> str:
        kept = [letter for letter in text if rng.random() > 0.05]
        return "".join(any_text(1) if rng.random() < 0.1 else letter for letter in kept)

    unit = any_text(4)
    queries = [any_text(24), any_text(9) + unit * 4, unit * 6, any_text(1)]
    targets = []
    for n in (0, 1, 12, 40, 80, 150, 220):
        text = any_text(n)
        for query in queries:
            for _ in range(int(rng.integers(0, 1 + n // 60))):
                place, copy = int(rng.integers(0, len(text) + 1)), changed(query)
                if scoring.alphabet.is_nucleotide and rng.random() < 0.4:
                    copy = "".join(COMPLEMENT[letter] for letter in reversed(copy))
                text = text[:place] + copy + text[place:]
        targets.append(text)
    return queries, targets


def records(alphabet: Any, texts: list[str]) -> Records:
    return Records.of(alphabet, [alphabet.encode(text) for text in texts], [f"s{i}" for i in range(len(texts))])


def expected(
    scoring: Scoring, queries: list[str], targets: list[str], evalue: float, most: int, k: int
) -> list[list[tuple[Any, ...]]]:
    """For each query (target, strand, score, query end, target end) of all alignments, in the order of the report."""
    statistics = Statistics.of(scoring, db_residues=sum(map(len, targets)), db_targets=len(targets))
    assert statistics is not None
    strands = (1, -1) if scoring.alphabet.is_nucleotide else (1,)
    found = []
    for query in queries:
        ranked = []
        for ordinal, target in enumerate(targets):
            own = []
            for strand in strands:
                text = query if strand > 0 else "".join(COMPLEMENT[letter] for letter in reversed(query))
                codes = scoring.alphabet.encode(text), scoring.alphabet.encode(target)
                values = statistics.evalues(np.arange(1000), len(query), len(target))
                least = max(1, int(np.argmax(values <= evalue)))
                for score, ends, steps in textbook(*codes, scoring, most, least):
                    start = ends[0] - sum(step != "D" for step in steps)
                    end = ends[0] if strand > 0 else len(query) - start
                    own.append((float(values[score]), -score, -strand, ends[1], ends[0], end, steps))
            own.sort(key=lambda one: one[1:5])
            if own:
                ranked.append((own[0][0], own[0][1], ordinal, own[:most]))
        ranked.sort(key=lambda one: one[:3])
        found.append(
            [
                (ordinal, -strand, -score, query_end, target_end)
                for *_, ordinal, own in ranked[:k]
                for _, score, strand, target_end, _, query_end, _ in own
            ]
        )
    return found


def found_by(engine: Any, scoring: Scoring, queries: list[str], targets: list[str], rows: int, **options: Any) -> Any:
    database = Database.in_memory([records(scoring.alphabet, targets)], limits=SegmentLimits(rows=rows))
    search = Search(database, scoring, engine, SearchOptions(**options))
    return [
        [
            *zip(
                *(getattr(hits, name).tolist() for name in ("ordinal", "strand", "score", "query_end", "target_end")),
                strict=True,
            )
        ]
        for hits in search.run([records(scoring.alphabet, queries)])
    ]


@pytest.fixture
def cuts_short_targets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Targets of 60 letters and more are cut, into windows that overlap as little as they may."""
    monkeypatch.setattr(windows, "LONG_TARGET", 60)
    monkeypatch.setattr(windows, "PIECE_RESIDUES", 300)
    monkeypatch.setattr(scan_parts, "LEAST_OVERLAP", 4)


def tuned(engine: Any, n_windows: int) -> Any:
    engine.tuning = Tuning(windows=n_windows)
    return engine


@pytest.mark.parametrize("name", SCORINGS)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("evalue", "most"), [(0.1, 100), (50.0, 3), (50.0, 1)])
def test_alignments_are_those_of_the_textbook(
    cuts_short_targets: None, name: str, seed: int, evalue: float, most: int
) -> None:
    scoring = SCORINGS[name]
    queries, targets = sequences(scoring, seed)
    want = expected(scoring, queries, targets, evalue, most, 5)
    if most > 1:
        assert max(map(len, want)) > 5, "there is nothing to find"
    for engine, n_windows, rows in ((ReferenceEngine(), 1, 100), (CpuEngine(1), 4, 3), (CpuEngine(2), 64, 100)):
        found = found_by(
            tuned(engine, n_windows), scoring, queries, targets, rows, evalue=evalue, max_hsps=most, max_target_seqs=5
        )
        assert found == want


@pytest.mark.parametrize("limit", [{"min_identity": 80}, {"min_query_coverage": 60}, {"min_target_coverage": 5}])
def test_targets_rank_by_their_best_alignment_that_passes_the_filters(
    cuts_short_targets: None, monkeypatch: pytest.MonkeyPatch, limit: dict[str, float]
) -> None:
    """With a few targets aligned at a time, the best k are those of all targets aligned and filtered."""
    scoring = SCORINGS["dna"]
    queries, targets = sequences(scoring, 7)
    every = found_by(CpuEngine(1), scoring, queries, targets, 100, evalue=50, **limit)
    monkeypatch.setattr(pipeline, "ROUND_ALIGNMENTS", 1)
    for k in (1, 2, 3):
        best = found_by(CpuEngine(1), scoring, queries, targets, 100, evalue=50, max_target_seqs=k, **limit)
        for own, whole in zip(best, every, strict=True):
            kept = list(dict.fromkeys(row[0] for row in whole))[:k]
            assert own == [row for row in whole if row[0] in kept]


def test_candidates_that_were_dropped_for_others_are_found_again(
    cuts_short_targets: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A target can enter the best k with its second strand or window, after the first was dropped."""
    scoring = SCORINGS["dna"]
    queries, targets = sequences(scoring, 3)
    options = {"evalue": 50.0, "max_target_seqs": 2}
    want = found_by(CpuEngine(1), scoring, queries, targets, 100, **options)
    monkeypatch.setattr(pipeline, "PRUNE_CANDIDATES", 0)
    assert found_by(ReferenceEngine(), scoring, queries, targets, 1, **options) == want
    assert found_by(CpuEngine(1), scoring, queries, targets, 2, **options) == want


POLYQ = "MKV" + "Q" * 60 + "LLKV"


def test_a_cap_on_alignments_is_reported_when_it_cuts() -> None:
    targets = {"first": "AKW" + "Q" * 80, "second": POLYQ, "third": "MKVLAWQQQ"}
    with pytest.warns(ExalnWarning) as caught:
        found = exaln.search({"q1": POLYQ}, Database.in_memory([records_of(targets)]))
    assert [str(one.message) for one in caught] == [
        "2 pairs of query and target, q1 with first first, have more than 100 alignments; only the best 100 are "
        "considered, max_hsps sets another limit"
    ]
    assert [len(hit.alignments) for hit in found][:2] == [100, 100]
    exaln.search({"q1": POLYQ}, Database.in_memory([records_of(targets)]), max_hsps=100)  # no warning: it was asked for


def records_of(targets: dict[str, str]) -> Records:
    return Records.of(PROTEIN, [PROTEIN.encode(text) for text in targets.values()], list(targets))


@pytest.mark.parametrize("name", ["dna", "protein"])
@pytest.mark.parametrize("most", [100, 1])
def test_queries_far_longer_than_all_targets_are_scanned_in_windows(
    monkeypatch: pytest.MonkeyPatch, name: str, most: int
) -> None:
    monkeypatch.setattr(scan_parts, "LONG_QUERY", 100)
    monkeypatch.setattr(scan_parts, "SPANS_PER_STEP", 1)
    scoring, rng = SCORINGS[name], np.random.default_rng(11)
    letters = list("ACGT" if name == "dna" else "ARNDCQEGHILKMFPSTWYV")
    targets = ["".join(rng.choice(letters, n)) for n in (9, 14, 20)]
    query = "".join("".join(rng.choice(letters, 40)) + targets[int(rng.integers(0, 3))] for _ in range(16))
    parts = scan_parts.ScanViews(Database.in_memory([records(scoring.alphabet, targets)]), ReferenceEngine()).parts(
        QueryRows.of_sequences(records(scoring.alphabet, [query, "ACA"]), scoring), np.ones((2, N_BINS), np.int32)
    )
    assert [len(part.rows) > 1 for part in parts] == [False, True], "the long query is not cut"
    want = expected(scoring, [query, "ACA"], targets, 50.0, most, 3)
    assert max(map(len, want)) > 2
    for engine in (ReferenceEngine(), CpuEngine(1), CpuEngine(3)):
        assert (
            found_by(engine, scoring, [query, "ACA"], targets, 2, evalue=50.0, max_hsps=most, max_target_seqs=3) == want
        )
