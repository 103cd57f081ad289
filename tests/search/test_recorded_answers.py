"""Alignments, E-values and rankings against what ssearch36, blastp and an exact search of SCOP domains recorded.

With EXALN_DATA all of them; without it the part that is in tests/golden/.
"""

import gzip
import importlib.util
import re
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import engine_calls
import golden_data
import real_data
from exaln import Database, Scoring, search
from exaln.engines.cpu.engine import CpuEngine
from exaln.search.hits import Hit
from exaln.search.pipeline import SearchOptions
from exaln.sequences.fasta import read_records
from exaln.statistics.evalues import format_bits, format_evalue

BLOSUM62 = Scoring("BLOSUM62")
SCOP_RESIDUES = 1_315_854
COOPTIMAL = golden_data.GOLDEN / "ssearch36_cooptimal.tsv"


class Recorded(NamedTuple):
    """An alignment of ssearch36: 1-based inclusive positions, CIGAR with I for residues of the query alone."""

    query: str
    target: str
    positions: tuple[int, int, int, int]
    cigar: str


def recorded(row: list[str]) -> Recorded:
    """From query, target, four positions and the CIGAR, in which ssearch36 calls a gap in the query I."""
    query, target, *positions, cigar = row
    a, b, c, d = map(int, positions)
    return Recorded(query, target, (a, b, c, d), cigar.translate(str.maketrans("ID", "DI")))


def in_ssearch_terms(hit: Hit) -> Recorded:
    positions = (hit.query_start + 1, hit.query_end, hit.target_start + 1, hit.target_end)
    return Recorded(hit.query_id, hit.target_id, positions, hit.cigar)


def rescored(path: Recorded, query: str, target: str) -> int:
    """The score of a path, letter by letter; a gap of length k costs 11 + k."""
    score, at_query, at_target = 0, path.positions[0] - 1, path.positions[2] - 1
    for length, operation in re.findall(r"(\d+)([MID])", path.cigar):
        n = int(length)
        if operation == "M":
            pair = (query[at_query : at_query + n], target[at_target : at_target + n])
            rows, columns = (BLOSUM62.alphabet.encode(text) for text in pair)
            score += int(BLOSUM62.matrix[rows, columns].sum())
        else:
            score -= 11 + n
        at_query += 0 if operation == "D" else n
        at_target += 0 if operation == "I" else n
    assert (at_query, at_target) == (path.positions[1], path.positions[3])
    return score


def check_paths(wanted: list[Recorded], found: dict[tuple[str, str], Hit], queries: dict, targets: dict) -> list[str]:
    """Each recorded path and each of ours has the optimal score; those that differ, as lines."""
    differ = []
    for path in wanted:
        hit = found[path.query, path.target]
        mine = in_ssearch_terms(hit)
        assert rescored(mine, queries[path.query], targets[path.target]) == hit.score
        assert rescored(path, queries[path.query], targets[path.target]) == hit.score
        if mine != path:
            texts = ["-".join(map(str, p.positions)) + f"\t{p.cigar}" for p in (path, mine)]
            differ.append("\t".join([path.query, path.target, str(hit.score), *texts]))
    return differ


def check_evalues(rows: list[list[str]], found: dict[tuple[str, str], Hit]) -> int:
    """Where blastp found the optimum, the same texts of E-value and bits, and the same order; how many those are."""
    by_query = defaultdict(list)
    for query, target, evalue, bits, score in rows:
        hit = found[query, target]
        assert int(score) <= hit.score, "blastp cannot score above the optimum"
        if int(score) == hit.score:
            assert (format_evalue(hit.evalue), format_bits(hit.bits)) == (evalue, bits.strip()), (query, target)
            by_query[query].append(hit)
    for hits in by_query.values():  # in the order of blastp
        texts = [float(format_evalue(hit.evalue)) for hit in hits]
        assert texts == sorted(texts)
        assert [hit.evalue for hit in hits] == sorted(hit.evalue for hit in hits)
    return sum(map(len, by_query.values()))


@pytest.fixture(scope="module")
def golden_hits(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], Hit]:
    database = Database.open(golden_data.GOLDEN / "scop20_part.fasta")
    options = SearchOptions(evalue=1e9, max_hsps=1, dbsize=SCOP_RESIDUES)
    hits = search(golden_data.GOLDEN / "cudasw4q_part.fasta", database, options=options)
    assert len(hits) == 600
    return {(hit.query_id, hit.target_id): hit for hit in hits}


def test_shipped_alignments_agree_with_ssearch(golden_hits: dict[tuple[str, str], Hit]) -> None:
    wanted = [recorded(row) for row in golden_data.rows("ssearch36_part.tsv")]
    differ = check_paths(wanted, golden_hits, golden_data.queries(), golden_data.targets())
    assert len(wanted) == 20
    assert set(differ) <= set(COOPTIMAL.read_text().splitlines())


def test_shipped_evalues_agree_with_blastp(golden_hits: dict[tuple[str, str], Hit]) -> None:
    rows = golden_data.rows("blastp_part.tsv")
    assert len(rows) == 21
    assert check_evalues(rows, golden_hits) == 19


def lines_of(path: Path) -> list[list[str]]:
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as lines:
        return [line.rstrip("\n").split("\t") for line in lines if not line.startswith("#")]


@pytest.fixture(scope="module")
def all_hits() -> dict[tuple[str, str], Hit]:
    """The pairs that ssearch36 or blastp reported, among more."""
    folder = real_data.FOLDER
    database = Database.open(folder / "scop/scop20.fasta.gz")
    rows = [row for name in (SSEARCH, BLASTP) for row in lines_of(folder / name)]
    include = np.array(sorted(target.ordinal for target in database.fetch(sorted({row[1] for row in rows}))))
    options = SearchOptions(evalue=1e9, max_hsps=1, max_target_seqs=len(include), include=include)
    hits = search(folder / "protein/cudasw4_allqueries.fasta", database, options=options)
    return {(hit.query_id, hit.target_id): hit for hit in hits}


SSEARCH = "oracle/ssearch36_cudasw4q_x_scop20.m8CC"
BLASTP = "oracle/blastp2.12_cbsF_segno_cudasw4q_x_scop20.tsv"


@real_data.needs_real_data
def test_all_alignments_agree_with_ssearch(all_hits: dict[tuple[str, str], Hit]) -> None:
    """372: 222 are the same, 150 are other paths of the same score, listed in tests/golden/ssearch36_cooptimal.tsv."""
    wanted = [recorded([*row[:2], *row[6:10], row[12]]) for row in lines_of(real_data.FOLDER / SSEARCH)]
    queries, targets = real_data.fasta("protein/cudasw4_allqueries.fasta"), real_data.fasta("scop/scop20.fasta.gz")
    differ = check_paths(wanted, all_hits, queries, targets)
    print(f"{len(wanted) - len(differ)} same, {len(differ)} co-optimal")
    assert (len(wanted), len(differ)) == (372, 150)
    assert [line for line in COOPTIMAL.read_text().splitlines() if not line.startswith("#")] == differ


@real_data.needs_real_data
def test_all_evalues_agree_with_blastp(all_hits: dict[tuple[str, str], Hit]) -> None:
    rows = [[*row[:2], *row[10:13]] for row in lines_of(real_data.FOLDER / BLASTP)]
    assert len(rows) == 317
    assert check_evalues(rows, all_hits) == 311


class Scop:
    """200 labelled queries and 7,616 labelled targets, with all exact scores."""

    def __init__(self) -> None:
        folder = real_data.FOLDER / "scop"
        self.database = Database.open(folder / "scop20.fasta.gz")
        self.targets = read_records(folder / "scop20.fasta.gz")
        records = read_records(folder / "mmseqs_query_labelled.fasta.gz")
        rows = {name: row for row, name in enumerate(records.ids.to_list())}
        self.names = (folder / "mmseqs_query_x_scop20_200q.queries.txt").read_text().split()
        chosen = [rows[name] for name in self.names]
        self.labels = [records.descriptions[row].split()[0].split(".") for row in chosen]
        self.queries = type(records).of(records.alphabet, [records.sequence(row) for row in chosen], self.names)
        engine = CpuEngine()
        self.scores = engine_calls.scores(engine, self.queries, self.database, BLOSUM62)
        own = [text.split()[0].split(".") for text in self.targets.descriptions.to_list()]
        self.shared = np.array([[shared_levels(label, other) for other in own] for label in self.labels])

    def roc1(self, badness: np.ndarray) -> dict[int, float]:
        """Per number of shared levels (4 family, 3 superfamily, 2 fold): the mean part of the targets found before the
        first of another fold; a tie with that one counts as not found."""
        found = badness < np.where(self.shared < 2, badness, np.inf).min(axis=1, keepdims=True)
        parts = {}
        for level in (4, 3, 2):
            related = self.shared == level
            counted = related.any(axis=1)
            parts[level] = float(((found & related).sum(axis=1)[counted] / related.sum(axis=1)[counted]).mean())
        return parts


def shared_levels(a: list[str], b: list[str]) -> int:
    return next((level for level in range(4) if a[level] != b[level]), 4)


@pytest.fixture(scope="module")
def scop() -> Scop:
    return Scop()


@real_data.needs_real_data
def test_scop_top_50_by_score_are_exact(scop: Scop) -> None:
    """The table has the 50 best of each query, and all that tie with the last."""
    table = defaultdict(list)
    for query, target, score, _ in lines_of(real_data.FOLDER / "scop/mmseqs_query_x_scop20_200q.top50.tsv.gz"):
        table[query].append((int(score), target))
    names = scop.targets.ids.to_list()
    for query, scores in zip(scop.names, scop.scores, strict=True):
        last = np.sort(scores)[-50]
        mine = [(int(scores[row]), names[row]) for row in np.flatnonzero(scores >= last)]
        assert sorted(mine) == sorted(table[query])


@real_data.needs_real_data
def test_scop_roc1_is_the_recorded_one(scop: Scop) -> None:
    """By score the recorded values; by E-value, which knows the lengths, a little better."""
    by_score = scop.roc1(-scop.scores.astype(float))
    assert {level: f"{value:.6f}" for level, value in by_score.items()} == {4: "0.648468", 3: "0.019553", 2: "0.000397"}
    evalue = evalues_of_oracle(scop)
    by_evalue = scop.roc1(evalue)
    print("ROC1 by E-value:", {level: round(value, 6) for level, value in by_evalue.items()})
    assert {level: f"{value:.6f}" for level, value in by_evalue.items()} == {
        4: "0.653283",
        3: "0.023267",
        2: "0.000507",
    }


@real_data.needs_real_data
def test_scop_hits_are_the_50_with_the_least_evalue(scop: Scop) -> None:
    evalue = evalues_of_oracle(scop)
    hits = search(scop.queries, scop.database, evalue=1e9, max_hsps=1, max_target_seqs=50)
    assert len(hits) == 50 * len(scop.names)
    for number in range(len(scop.names)):
        own = list(hits[50 * number : 50 * number + 50])
        assert [hit.query_index for hit in own] == [number] * 50
        ordinals = [hit.target_ordinal for hit in own]
        assert [hit.score for hit in own] == scop.scores[number, ordinals].tolist()
        assert [hit.evalue for hit in own] == sorted(hit.evalue for hit in own)
        np.testing.assert_allclose([hit.evalue for hit in own], np.sort(evalue[number])[:50], rtol=1e-9, atol=1e-300)
        np.testing.assert_allclose([hit.evalue for hit in own], evalue[number, ordinals], rtol=1e-9, atol=1e-300)


def evalues_of_oracle(scop: Scop) -> np.ndarray:
    """float64[200, 7616], by the formula that stands with the data."""
    spec = importlib.util.spec_from_file_location("blast_evalue", real_data.FOLDER / "oracle/blast_evalue.py")
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    assert spec.loader is not None
    spec.loader.exec_module(module)
    known: dict[tuple[int, int, int], float] = {}
    lengths = scop.targets.lengths.tolist()
    values = np.empty(scop.scores.shape)
    for number, (m, scores) in enumerate(zip(scop.queries.lengths.tolist(), scop.scores.tolist(), strict=True)):
        values[number] = [
            known.get((s, m, n)) or known.setdefault((s, m, n), module.evalue(s, m, n, SCOP_RESIDUES))
            for s, n in zip(scores, lengths, strict=True)
        ]
    return values
