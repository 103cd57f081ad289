"""Values of hits that no search can have found are refused, and those of real searches are not."""

import random
import re
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import exaln
from exaln import Database, ExalnWarning, Scoring, SearchOptions
from exaln.cluster import part_checks
from exaln.cluster.part_checks import require_once, require_possible
from exaln.cluster.part_hits import content_hash, from_bytes, part_schema, to_bytes
from exaln.engines.choice import choose_engine
from exaln.search.pipeline import Search
from exaln.search.spec import SearchSpec
from exaln.sequences.alphabet import DNA, PROTEIN
from exaln.sequences.fasta import read_records
from exaln.sequences.records import Records
from golden_data import GOLDEN
from hit_forgery import IMPOSSIBLE, forged, of_hit
from hit_samples import DNA as NUCLEOTIDE_SCORING
from hit_samples import Pair, other_strand, query_hits

EVERYTHING = SearchOptions(evalue=1e9)


def searched(
    queries: Records, targets: Records, scoring: Scoring, options: SearchOptions = EVERYTHING, engine: str = "cpu"
) -> tuple[Any, SearchSpec]:
    """The hits of a search as a batch, and what was searched for."""
    database = Database.in_memory([targets])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExalnWarning)  # of scorings without statistics
        hits = list(Search(database, scoring, choose_engine(engine, 1), options).run([queries]))
    assert sum(map(len, hits)) > 0
    return from_bytes(to_bytes(hits)), SearchSpec.of("db", database.manifest, scoring, options)


def problem_with(batch: Any, spec: SearchSpec) -> str | None:
    """What `require_possible` finds wrong with hits of the first queries; None if it finds nothing."""
    try:
        require_possible(batch, spec, 0)
    except ValueError as error:
        return str(error)
    return None


@pytest.fixture(scope="module")
def proteins() -> tuple[Any, SearchSpec]:
    queries = read_records(GOLDEN / "cudasw4q_part.fasta").rows(0, 3)
    return searched(queries, read_records(GOLDEN / "scop20_part.fasta"), Scoring("BLOSUM62"))


def test_hits_of_a_real_search_pass_the_checks(proteins: tuple[Any, SearchSpec]) -> None:
    assert problem_with(*proteins) is None


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_every_impossible_change_of_a_hit_is_refused(proteins: tuple[Any, SearchSpec], name: str) -> None:
    batch, spec = proteins
    change, problem = IMPOSSIBLE[name]
    with pytest.raises(ValueError, match=problem):
        require_possible(forged(batch, change), spec, 0)


def test_every_number_of_a_hit_is_checked(proteins: tuple[Any, SearchSpec]) -> None:
    batch, spec = proteins
    numbers = [field.name for field in part_schema().field("hits").type.value_type if pa.types.is_integer(field.type)]
    assert len(numbers) == 16
    rng = np.random.default_rng(5)
    for name in numbers:
        for _ in range(8):
            value = 40 if name == "strand" else int(rng.integers(200, 1 << 30))
            if name != "ordinal" or value >= spec.space.n_targets:
                with pytest.raises(ValueError):
                    require_possible(forged(batch, of_hit(**{name: value})), spec, 0)


def test_targets_of_other_segments_are_refused(proteins: tuple[Any, SearchSpec]) -> None:
    batch, spec = proteins
    require_possible(batch, spec, 0, [(0, 10), (10, spec.space.n_targets)])
    ordinal = min(hit["ordinal"] for row in batch.to_pylist() for hit in row["hits"])
    for ranges in ([(ordinal + 1, spec.space.n_targets)], [(0, ordinal), (ordinal + 1, spec.space.n_targets)]):
        with pytest.raises(ValueError, match="not searched"):
            require_possible(batch, spec, 0, ranges)


NUCLEOTIDES = Records.of(
    DNA,
    [DNA.encode(text) for text in ("ACGTTGCATGCCATTTGACCAGNNRYACGTU", "GGGATCCATTTACGGACTNNAC", "TTTTGCTAACGTACGTTT")],
)


@pytest.mark.parametrize("strands", ["both", "plus", "minus"])
def test_both_strands_are_scored_as_they_were_found(strands: str, monkeypatch: pytest.MonkeyPatch) -> None:
    options = SearchOptions(evalue=1e9, strands=strands)
    queries = Records.of(DNA, [NUCLEOTIDES.sequence(0), NUCLEOTIDES.sequence(2)])
    asymmetric = Scoring(np.random.default_rng(3).integers(-4, 6, (16, 16)), alphabet=DNA, gap_open=3, gap_extend=1)
    for scoring in (Scoring(match=2, mismatch=-3, gap_open=2, gap_extend=1), asymmetric):
        batch, spec = searched(queries, NUCLEOTIDES, scoring, options)
        for columns in (1 << 17, 4):
            monkeypatch.setattr(part_checks, "COLUMNS_AT_ONCE", columns)
            require_possible(batch, spec, 0)
        other = {"both": 0, "plus": -1, "minus": 1}[strands]
        with pytest.raises(ValueError, match="strand"):
            require_possible(forged(batch, of_hit(strand=other)), spec, 0)


@pytest.mark.parametrize("engine", ["reference", "cpu"])
def test_positives_are_counted_as_the_engines_count_them(engine: str) -> None:
    odd = Records.of(PROTEIN, [PROTEIN.encode("MKXXWHEAEBZXUOKWWW*JJ"), PROTEIN.encode("MKXXWHEAEDEXCKKWWW*IL")])
    assert problem_with(*searched(odd, odd, Scoring("BLOSUM62"), engine=engine)) is None
    nucleotides = searched(NUCLEOTIDES, NUCLEOTIDES, Scoring(match=1, mismatch=-1), engine=engine)
    assert problem_with(*nucleotides) is None


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_hits_of_any_search_pass_the_checks(data: st.DataObject) -> None:
    letters = st.text("ARNDCQEGHILKMFPSTWYVBZXJUO*", min_size=1, max_size=60)
    sequences = data.draw(st.lists(letters, min_size=1, max_size=6))
    records = Records.of(PROTEIN, [PROTEIN.encode(text) for text in [*sequences, "WWWW"]])
    gaps = data.draw(st.tuples(st.integers(0, 12), st.integers(0, 3)))
    scoring = Scoring("BLOSUM62", gap_open=gaps[0], gap_extend=gaps[1])
    assert problem_with(*searched(records, records, scoring)) is None


def test_a_target_in_two_parts_is_noticed() -> None:
    require_once(np.array([0, 0, 1]), np.array([4, 5, 4]))
    with pytest.raises(ValueError, match="twice"):
        require_once(np.array([0, 1, 0]), np.array([4, 5, 4]))


def test_a_hash_is_of_the_values_wherever_they_lie(proteins: tuple[Any, SearchSpec]) -> None:
    batch = proteins[0]
    again = pa.RecordBatch.from_pylist(batch.to_pylist(), part_schema())
    sliced = pa.Table.from_batches([batch, batch]).combine_chunks().to_batches()[0].slice(3, 3)
    assert content_hash(again) == content_hash(sliced) == content_hash(batch)
    assert content_hash(batch.slice(0, 2)) != content_hash(batch)
    assert content_hash(forged(batch, of_hit(score=1))) != content_hash(batch)
    assert content_hash(forged(batch, of_hit(target_id=lambda text: text + "x"))) != content_hash(batch)


def test_hits_and_json_enter_at_places_that_check_them() -> None:
    """A new reader of either has to be listed here, and to check what it reads."""
    folder = Path(part_checks.__file__).parent
    found = dict[str, set[str]]()
    for path in folder.glob("*.py"):
        code = path.read_text(encoding="utf-8")
        for call in re.findall(r"(?<!def )\b(json\.loads?|as_batch|from_bytes|require_possible)\(", code):
            found.setdefault(call, set()).add(path.stem)
    assert found == {
        "as_batch": {"part_hits", "part_file", "unit_store"},
        "from_bytes": {"groups"},
        "require_possible": {"part_file", "groups"},
        "json.loads": {"part_file", "unit_store", "unit_search", "worker_process"},
    }


GENE = "ACGTTGCAACGGATCCAATGACCA"
GENOME = "TT" + GENE + "CCC" + other_strand(GENE) + "GG" + GENE + "A"
COPIES = [
    Pair(GENOME, "24M", 0, 2, 1, ordinal=1),
    Pair(GENOME, "24M", 0, 29, -1, ordinal=1),
    Pair(GENOME, "24M", 0, 55, 1, ordinal=1),
]


def several(*pairs: Pair) -> tuple[Any, SearchSpec]:
    """Hits made by hand, and the search of a database that has their target."""
    manifest = Database.in_memory([Records.of(DNA, [DNA.encode("A"), DNA.encode(GENOME)])]).manifest
    hits = query_hits(GENE, pairs, scoring=NUCLEOTIDE_SCORING)
    return from_bytes(to_bytes([hits])), SearchSpec.of("db", manifest, NUCLEOTIDE_SCORING, EVERYTHING)


def test_several_alignments_of_a_target_may_share_letters_but_no_pair_of_letters() -> None:
    assert problem_with(*several(*COPIES)) is None
    overlapping = Pair(GENOME, "4M", 20, 22, 1, ordinal=1)
    assert problem_with(*several(COPIES[0], Pair(GENOME, "4M", 20, 75, 1, ordinal=1))) is None
    assert problem_with(*several(COPIES[0], overlapping)) == "two alignments of a target share a pair of letters"
    on_minus = Pair(GENOME, "5M", 19, 29, -1, ordinal=1)
    assert problem_with(*several(COPIES[1], on_minus)) == "two alignments of a target share a pair of letters"
    assert problem_with(*several(COPIES[0], on_minus)) is None


def test_alignments_of_a_target_that_lie_apart_are_refused() -> None:
    other = Pair("A", "1M", 0, 0, 1, ordinal=0)
    assert problem_with(*several(COPIES[0], COPIES[2], other)) is None
    assert problem_with(*several(COPIES[0], other, COPIES[2])) == "a target occurs twice for one query"


@pytest.mark.parametrize("seed", range(6))
def test_several_alignments_of_real_pairs_pass_the_checks(seed: int) -> None:
    """Repeats on both strands, crossing and nested, as the engines find them."""
    chance = random.Random(seed)
    unit = "".join(chance.choices("ACGT", k=12))
    gene = unit * 3 + "".join(chance.choices("ACGT", k=20)) + other_strand(unit) * 2
    letters = [gene + "TT" + other_strand(gene) + unit * 4, other_strand(unit * 5), "".join(chance.choices("AC", k=40))]
    targets = Records.of(DNA, [DNA.encode(text) for text in letters])
    found = exaln.align_many([gene] * 3, letters, scoring=NUCLEOTIDE_SCORING, max_hsps=50, strand="both")
    database = Database.in_memory([targets])
    spec = SearchSpec.of("db", database.manifest, NUCLEOTIDE_SCORING, EVERYTHING)
    several = [replace(hits, index=0) for hits in found.query_hits(joined=True)]
    assert max(len(hits) - hits.n_targets for hits in several) > 5
    for hits in several:
        assert problem_with(from_bytes(to_bytes([hits])), spec) is None
