"""Hard and soft masks of queries and targets, against the textbook: which hits, which scores, on every engine."""

from __future__ import annotations

import random
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import exaln
from exaln.cluster.merge import merge_batches, ranked_hits
from exaln.cluster.part_hits import from_bytes, to_bytes
from exaln.cluster.unit_search import queries_from_bytes, queries_to_bytes
from exaln.database.database import Database
from exaln.database.part import n_places
from exaln.database.windows import LONG_TARGET
from exaln.engines.choice import choose_engine
from exaln.engines.cpu.engine import CpuEngine
from exaln.engines.cuda import engine as cuda_engine
from exaln.engines.cuda.engine import CudaEngine
from exaln.errors import InputError
from exaln.masking.intervals import Intervals
from exaln.scoring.scoring import Scoring
from exaln.search.options import SearchOptions
from exaln.search.pipeline import Search
from exaln.search.spec import SearchSpec
from exaln.sequences.alphabet import DNA, PROTEIN, Alphabet
from exaln.sequences.records import Records, offsets_of
from fake_cuda import FakeDriver, install
from hit_samples import other_strand
from oracle import smith_waterman

LEAST = 25
PROTEINS, NUCLEOTIDES = Scoring("BLOSUM62"), Scoring(match=2, mismatch=-3, gap_open=5, gap_extend=2)


@dataclass(frozen=True)
class Masked:
    """A sequence, and its masks as [begin, end)."""

    letters: str
    mask: list[tuple[int, int]]

    def hidden(self, unknown: str) -> str:
        letters = list(self.letters)
        for begin, end in self.mask:
            letters[begin:end] = unknown * (end - begin)
        return "".join(letters)


def records_of(sequences: list[Masked], alphabet: Alphabet) -> Records:
    plain = Records.of(alphabet, [alphabet.encode(one.letters) for one in sequences])
    pairs = np.array([pair for one in sequences for pair in one.mask], np.int64).reshape(-1, 2)
    found = Intervals(pairs[:, 0], pairs[:, 1], offsets_of(len(one.mask) for one in sequences))
    return found.masks(plain)


def related(n: int, letters: str, seed: int, longest: int = 70) -> list[Masked]:
    """Sequences that share pieces, some of them masked."""
    rng = random.Random(letters)
    pieces = ["".join(rng.choices(letters, k=rng.randrange(8, 25))) for _ in range(6)]
    rng, sequences = random.Random(seed), []
    for _ in range(n):
        text, mask = "", []
        while len(text) < rng.randrange(10, longest):
            piece = rng.choice(pieces) if rng.random() < 0.6 else "".join(rng.choices(letters, k=9))
            if rng.random() < 0.4:
                mask.append((len(text), len(text) + rng.randrange(1, len(piece) + 1)))
            text += piece
        sequences.append(Masked(text, mask))
    return sequences


def best(query: str, target: str, scoring: Scoring) -> int:
    """The best score on all strands."""
    letters = scoring.alphabet.letters
    scores = dict(zip(letters, (dict(zip(letters, row, strict=True)) for row in scoring.matrix.tolist()), strict=True))
    strands = [query, other_strand(query)] if scoring.alphabet.is_nucleotide else [query]
    return max(int(smith_waterman(one, target, scores, scoring.gap_open, scoring.gap_extend)) for one in strands)


def expected(queries: list[Masked], targets: list[Masked], of_query: str, of_target: str, scoring: Scoring) -> Any:
    """(query, target, score) of all hits, by the definitions."""
    unknown = "N" if scoring.alphabet.is_nucleotide else "X"
    hits = set()
    for (i, q), (j, t) in product(enumerate(queries), enumerate(targets)):
        given = [
            one.hidden(unknown) if kind == "hard" else one.letters for one, kind in ((q, of_query), (t, of_target))
        ]
        screened = [
            letters if kind == "none" else one.hidden(unknown)
            for one, letters, kind in zip((q, t), given, (of_query, of_target), strict=True)
        ]
        score = best(*given, scoring)
        if best(*screened, scoring) >= LEAST and score >= LEAST:
            hits.add((i, j, score))
    return hits


def options_of(of_query: str, of_target: str, **others: Any) -> SearchOptions:
    query = {} if of_query == "none" else {"query_mask": "lowercase", "query_masking": of_query}
    return SearchOptions(evalue=1e9, min_score=LEAST, max_hsps=1, target_mask=of_target, **query, **others)


def hits_of(found: Any) -> set[tuple[int, int, int]]:
    return {
        (hits.index, ordinal, score)
        for hits in found
        for ordinal, score in zip(hits.ordinal.tolist(), hits.score.tolist(), strict=True)
    }


KINDS = [("none", "none"), ("hard", "none"), ("none", "hard"), ("soft", "none"), ("none", "soft"), ("hard", "soft")]
KINDS += [("soft", "hard"), ("soft", "soft"), ("hard", "hard")]


@pytest.mark.parametrize("engine", ["reference", "cpu"])
@pytest.mark.parametrize(("letters", "scoring"), [("ACDEFGHIKLMNPQRSTVWY", PROTEINS), ("ACGT", NUCLEOTIDES)])
def test_hits_and_scores_are_those_of_the_definition(engine: str, letters: str, scoring: Scoring) -> None:
    queries, targets = related(4, letters, 1), related(8, letters, 2)
    database = Database.in_memory([records_of(targets, scoring.alphabet)])
    records, running = records_of(queries, scoring.alphabet), choose_engine(engine, 2)
    all_hits = []
    for of_query, of_target in KINDS:
        found = Search(database, scoring, running, options_of(of_query, of_target)).run([records])
        want = expected(queries, targets, of_query, of_target, scoring)
        assert hits_of(found) == want, (of_query, of_target)
        all_hits.append(frozenset(want))
    assert len(set(all_hits)) >= 4  # the masks matter


class ScansOnDevices(CudaEngine):
    """The cuda engine, with pairs scored by the CPU: the fake driver has no kernels for pairs."""

    def score(self, task: Any) -> Any:
        return CpuEngine(1).score(task)


@pytest.mark.parametrize("kinds", [("hard", "hard"), ("soft", "soft")])
def test_the_cuda_engine_on_a_fake_driver(kinds: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    letters = "ACDEFGHIKLMNPQRSTVWY"
    queries, targets = related(3, letters, 8), related(12, letters, 9)
    monkeypatch.setattr(cuda_engine, "MIN_MEMORY", 1)
    install(monkeypatch, FakeDriver(), len(PROTEIN.letters))
    database = Database.in_memory([records_of(targets, PROTEIN)])
    found = Search(database, PROTEINS, ScansOnDevices(threads=2), options_of(*kinds)).run(
        [records_of(queries, PROTEIN)]
    )
    assert hits_of(found) == expected(queries, targets, *kinds, PROTEINS)


def test_soft_masks_of_a_long_target() -> None:
    """A hit in a masked stretch counts only if its target has another that is not masked."""
    rng = random.Random(3)
    gene = "".join(rng.choices("ACGT", k=80))
    worse = "".join(rng.choice("ACGT") if place % 9 == 4 else letter for place, letter in enumerate(gene))
    filler = "".join(rng.choices("ACGT", k=LONG_TARGET))
    both = Masked(filler[:5000] + gene + filler[5080:60000] + worse + filler[60080:], [(4990, 5090)])
    masked = Masked(filler[:5000] + other_strand(gene) + filler[5080:], [(4990, 5090)])
    database = Database.in_memory([records_of([both, masked], DNA)])
    query = records_of([Masked(gene, [])], DNA)
    running = choose_engine("cpu", 2)
    for kind, ordinals in (("none", {0, 1}), ("soft", {0}), ("hard", {0})):
        options = SearchOptions(evalue=1e-5, min_score=60, target_mask=kind)
        (hits,) = Search(database, NUCLEOTIDES, running, options).run([query])
        assert set(hits.ordinal.tolist()) == ordinals
        starts = set(hits.target_start[hits.ordinal == 0].tolist())
        assert (5000 in starts) == (kind != "hard")
        assert any(start > 50000 for start in starts)


@pytest.mark.parametrize("kind", ["hard", "soft"])
def test_parts_of_a_database_find_what_the_whole_does(kind: str) -> None:
    letters = "ACDEFGHIKLMNPQRSTVWY"
    queries, targets = related(5, letters, 4), related(30, letters, 5)
    database, records = Database.in_memory([records_of(targets, PROTEIN)]), records_of(queries, PROTEIN)
    options, running = options_of(kind, kind), choose_engine("cpu", 1)
    whole = list(Search(database, PROTEINS, running, options).run([records]))
    spec = SearchSpec.of("db", database.manifest, PROTEINS, options)
    again = SearchSpec.from_values(spec.to_values())
    assert again.options == options
    assert again.digest == spec.digest
    assert SearchSpec.of("db", database.manifest, PROTEINS, options_of("none", "none")).digest != spec.digest
    middle = n_places(database.manifest) // 3
    parts = [database.part(0, middle), database.part(middle, n_places(database.manifest))]
    batches = [
        from_bytes(to_bytes(list(Search(one, PROTEINS, running, again.options).run([records])))) for one in parts
    ]
    merged = list(ranked_hits(merge_batches(batches, again), again))
    assert to_bytes(merged) == to_bytes(whole)
    assert hits_of(whole) == expected(queries, targets, kind, kind, PROTEINS)


def test_queries_travel_with_their_masks() -> None:
    queries = records_of(related(6, "ACGT", 7), DNA)
    database = Database.in_memory([queries])
    spec = SearchSpec.of("db", database.manifest, NUCLEOTIDES, options_of("soft", "none"))
    again = queries_from_bytes(queries_to_bytes(queries.rows(1, 5)), spec)
    own = slice(int(queries.mask_offsets[1]), int(queries.mask_offsets[5]))
    assert again.mask.tolist() == queries.mask[own].tolist()
    assert np.diff(again.mask_offsets).tolist() == np.diff(queries.mask_offsets)[1:5].tolist()


def test_methods_find_the_masks_of_queries() -> None:
    rng = random.Random(6)
    ends = ["".join(rng.choices("ACDEFGHIKLMNPQRSTVWY", k=60)) for _ in range(2)]
    query, target = ends[0] + "Q" * 60 + ends[1], "Q" * 80
    database = Database.in_memory([records_of([Masked(target, []), Masked(query, [])], PROTEIN)])
    assert len(exaln.search([query], database, max_hsps=1)) == 2
    for masking, score in (("hard", None), ("soft", "whole")):
        hits = exaln.search([query], database, query_mask="seg 12 2.2 2.5", query_masking=masking, max_hsps=1)
        assert [hit.target_id for hit in hits] == ["seq2"]
        assert (hits[0].score == exaln.score(query, query)) == (score == "whole")


def test_masks_of_a_database_on_disk(tmp_path: Path) -> None:
    fasta = tmp_path / "t.fasta"
    fasta.write_text(">a\n" + "Q" * 60 + "MKVLAWDEFGHIKLCNPRST\n>b\nmkvlawdefghiklcnprstWYVA\n")
    plain = Database.build(fasta, tmp_path / "plain")
    masked = Database.build(fasta, tmp_path / "masked", mask="seg")
    again = Database.build(fasta, tmp_path / "again", threads=1).append(fasta, mask="seg")
    assert [plain[0].sequence.islower(), masked[0].sequence[:60].islower()] == [False, True]
    assert masked[1].sequence == plain[1].sequence == "mkvlawdefghiklcnprstWYVA"
    assert [target.sequence for target in again] == [one[i].sequence for one in (plain, masked) for i in range(2)]
    query = "MKVLAWDEFGHIKLCNPRST"
    found = {
        kind: {hit.target_id for hit in exaln.search(query, masked, target_mask=kind)} for kind in ("none", "soft")
    }
    assert found == {"none": {"a", "b"}, "soft": {"a"}}


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"query_mask": "segg"}, "mask is 'segg'"),
        ({"query_mask": ""}, "query_mask is ''"),
        ({"query_masking": "none"}, "query_masking is 'none'"),
        ({"target_mask": "seg"}, "target_mask is 'seg'; expected one of none, hard, soft"),
    ],
)
def test_wrong_masks_are_refused(options: dict[str, str], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        SearchOptions(**options)


def test_masks_that_do_not_fit_the_sequences_are_refused() -> None:
    database = Database.in_memory([records_of([Masked("ACGT" * 9, [])], DNA)])
    with pytest.raises(InputError, match="seg masks proteins, not dna sequences; use dust"):
        exaln.search("ACGT", database, query_mask="seg")
    letters = Alphabet("custom", "HP")
    custom = Database.in_memory([records_of([Masked("HPPH", [])], letters)])
    scoring = Scoring(match=1, mismatch=-1, gap_open=1, gap_extend=1, alphabet=letters)
    with pytest.raises(InputError, match="custom sequences have no unknown letter, which hard masks need"):
        exaln.search("HPPH", custom, scoring=scoring, target_mask="hard")
