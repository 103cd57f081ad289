"""E-values from shuffled targets: what a copy is, one answer everywhere, and what they say of biased sequences."""

import json
import math
import random

import numpy as np
import pyarrow.parquet as pq
import pytest

import exaln
from exaln import Database, Scoring, SearchOptions
from exaln.__main__ import run
from exaln.cluster.part_checks import require_possible
from exaln.cluster.part_hits import from_bytes, to_bytes
from exaln.database.segment_limits import SegmentLimits
from exaln.engines.choice import choose_engine
from exaln.errors import InputError
from exaln.search import shuffling
from exaln.search.hits import Hits
from exaln.search.pipeline import Search
from exaln.search.shuffling import ShuffledTarget
from exaln.search.spec import SearchSpec
from exaln.sequences.inputs import as_records
from exaln.sequences.strands import reverse_complement
from exaln.statistics.evalues import format_evalue
from golden_data import GOLDEN
from hit_forgery import forged, of_hit
from search_outputs import found

QUERIES, TARGETS = GOLDEN / "cudasw4q_part.fasta", GOLDEN / "scop20_part.fasta"
AMINO_ACIDS = "ACDEFGHIKLMNPQRSTVWY"


def letters(n, seed, of=AMINO_ACIDS):
    return "".join(random.Random(seed).choices(of, k=n))


def relative(sequence, seed):
    """A sequence with two of five letters drawn again."""
    chance = random.Random(seed)
    return "".join(chance.choice(AMINO_ACIDS) if chance.random() < 0.4 else letter for letter in sequence)


FAMILY = letters(150, 1)
BIASED = "QQQQQQHPAS"
SEQUENCES = [relative(FAMILY, 2), letters(60, 3) + letters(80, 4, BIASED), letters(90, 5), letters(200, 6)]
PROTEINS = as_records([FAMILY, letters(90, 7, BIASED) + letters(30, 8)])


def targets(sequences=SEQUENCES):
    return Database.in_memory([as_records(sequences)])


def searched(queries=PROTEINS, database=None, engine="cpu", **options):
    return exaln.search(queries, database or targets(), engine=engine, **{"shuffles": 40, "max_hsps": 2, **options})


def test_copies_have_the_letters_of_the_target_anywhere():
    codes = np.arange(24, dtype=np.uint8).repeat(10)
    copies = ShuffledTarget(codes, 1, 5).copies(300)
    assert copies.shape == (300, 240)
    assert (np.sort(copies, axis=1) == codes).all()
    assert len(np.unique(copies, axis=0)) == 300
    means = copies.mean(axis=0)  # every letter may be anywhere: all places have the same mean
    assert abs(means - codes.mean()).max() < 5 * codes.std() / math.sqrt(300)


@pytest.mark.parametrize("window", [1, 7, 10, 239, 240, 1000])
def test_letters_stay_within_their_window(window):
    codes = np.random.default_rng(3).integers(0, 24, 240).astype(np.uint8)
    copies = ShuffledTarget(codes, 1, 5, window).copies(20)
    for begin in range(0, 240, window):
        own = np.sort(codes[begin : begin + window])
        assert (np.sort(copies[:, begin : begin + window], axis=1) == own).all()
    assert (copies == codes).all() if window == 1 else len(np.unique(copies, axis=0)) == 20


def test_copies_depend_on_the_seed_and_the_ordinal_alone():
    codes = np.random.default_rng(3).integers(0, 24, 50).astype(np.uint8)
    whole = ShuffledTarget(codes, 1, 5).copies(8)
    again = ShuffledTarget(codes, 1, 5)
    assert (np.concatenate([again.copies(3), again.copies(5)]) == whole).all()
    for seed, ordinal in ((2, 5), (1, 6)):
        assert (ShuffledTarget(codes, seed, ordinal).copies(8) != whole).any()
    # On every machine: the numbers of PCG64 and of the hash are given.
    assert ShuffledTarget(np.arange(8, dtype=np.uint8), 1, 0).copies(1).tolist() == [[4, 5, 0, 1, 3, 7, 6, 2]]


def test_biased_pairs_lose_their_e_values_and_relatives_keep_them():
    hits = {(hit.query_index, hit.target_ordinal): hit for hit in searched(shuffles=100)}
    relatives, biased = hits[0, 0], hits[1, 1]
    assert relatives.evalue < 1e-30
    assert relatives.evalue2 < 1e-20
    assert biased.evalue < 1e-20
    assert biased.evalue2 > 1e-3
    for hit in hits.values():
        if hit not in (relatives, biased):
            assert 0.02 < hit.evalue2 / hit.evalue < 50


def test_e_values_are_those_of_the_database_size():
    plain, large = searched(max_target_seqs=1), searched(max_target_seqs=1, dbsize=10 * sum(map(len, SEQUENCES)))
    for one, other in zip(plain, large, strict=True):
        assert other.evalue2 == pytest.approx(10 * one.evalue2, rel=1e-3)


def test_engines_and_rounds_agree(monkeypatch):
    sequences = [text[:60] for text in SEQUENCES]
    options = {"database": targets(sequences), "shuffles": 20, "evalue": 100}
    expected = searched(**options)
    assert len(expected) > 4
    assert searched(engine="reference", **options) == expected
    for n_letters, n_pairs in ((700, 1 << 20), (1 << 20, 30), (1, 1)):
        monkeypatch.setattr(shuffling, "ROUND_LETTERS", n_letters)
        monkeypatch.setattr(shuffling, "ROUND_PAIRS", n_pairs)
        assert searched(**options) == expected


def test_each_strand_has_its_own_law():
    codes = letters(80, 9, "AACG")
    gene = as_records([codes])
    both = codes + letters(60, 10, "ACGT") + reverse_complement_of(gene)
    hits = exaln.search(gene, targets([both]), shuffles=30, max_hsps=2)
    plus, minus = hits[0].alignments
    assert {plus.strand, minus.strand} == {1, -1}
    assert plus.score == minus.score
    for one in (plus, minus):
        strand = "plus" if one.strand > 0 else "minus"
        (alone,) = exaln.search(gene, targets([both]), shuffles=30, max_hsps=1, strand=strand)
        assert alone.evalue2 == one.evalue2
    assert plus.evalue2 != minus.evalue2


def reverse_complement_of(records):
    codes = reverse_complement(records.sequence(0), records.alphabet)
    return "".join(records.alphabet.letters[code] for code in codes.tolist())


def test_a_target_whose_copies_are_all_equal_has_no_value():
    hit = exaln.search(["Q" * 30], targets(["Q" * 40, FAMILY]), shuffles=20, max_hsps=1)[0]
    assert hit.evalue < 1e-5
    assert hit.evalue2 is None


def test_scorings_without_e_values_have_those_of_shuffles():
    hits = searched(statistics="none", max_target_seqs=1)
    assert hits[0].evalue is None
    assert hits[0].evalue2 < 1e-15


def test_hard_masks_are_shuffled_and_soft_ones_are_not(tmp_path):
    fasta = tmp_path / "masked.fasta"
    fasta.write_text(f">a\n{FAMILY[:100]}{FAMILY[100:].lower()}\n")
    values = [searched([FAMILY], fasta, target_mask=mask, max_hsps=1)[0] for mask in ("none", "soft", "hard")]
    assert values[1].evalue2 == values[0].evalue2 != values[2].evalue2
    assert values[2].score < values[0].score


def test_output_does_not_depend_on_threads_segments_shards_and_clusters(tmp_path):
    one, many, out = tmp_path / "one.exaln", tmp_path / "six.exaln", tmp_path / "out"
    Database.build(TARGETS, one)
    Database.build(TARGETS, many, limits=SegmentLimits(rows=10))
    form = "6 std evalue2"
    options = ["--shuffles", 20, "--shuffle-window", 20, "--evalue", 100, "--max-target-seqs", 4, "--max-hsps", 2]
    expected = found(out, QUERIES, one, form, [*options, "--threads", 1])
    assert expected.count(b"\n") > 25
    assert all(line.split(b"\t")[12] for line in expected.splitlines())
    assert found(out, QUERIES, many, form, [*options, "--threads", 2]) == expected
    assert found(out, QUERIES, many, form, [*options, "--cluster", "local:2"]) == expected
    parts = [tmp_path / f"part{number}.parquet" for number in (1, 2, 3)]
    for number, part in enumerate(parts, start=1):
        places = ["--query", QUERIES, "--db", many, "--out", part, "--shard", f"{number}/3"]
        assert run([str(word) for word in ("search", *places, "--quiet", *options)]) == 0
    assert run(["merge", *map(str, parts), "--outfmt", form, "--out", str(out), "--quiet"]) == 0
    assert out.read_bytes() == expected


@pytest.mark.parametrize("value", [-0.5, math.inf, math.nan])
def test_parts_with_impossible_values_are_refused(value):
    database, options = Database.in_memory([as_records(SEQUENCES)]), SearchOptions(shuffles=20)
    search = Search(database, Scoring("BLOSUM62"), choose_engine("cpu", 1), options)
    batch = from_bytes(to_bytes(list(search.run([PROTEINS]))))
    spec = SearchSpec("db", "0", database.search_space, search.scoring, options)
    require_possible(batch, spec, 0)
    with pytest.raises(ValueError, match="shuffled targets"):
        require_possible(forged(batch, of_hit(evalue2=value)), spec, 0)


def test_reports_have_the_values(tmp_path):
    hits = searched()
    values = [hit.evalue2 for hit in hits for hit in hit.alignments]
    assert hits.to_arrow()["evalue2"].to_pylist() == values
    hits.write(tmp_path / "hits.parquet")
    assert pq.read_table(tmp_path / "hits.parquet")["evalue2"].to_pylist() == values
    hits.write(tmp_path / "hits.json")
    entries = [hit for query in json.loads((tmp_path / "hits.json").read_text())["queries"] for hit in query["hits"]]
    assert [one["evalue2"] for hit in entries for one in (hit, *hit.get("further_alignments", []))] == values
    hits.write(tmp_path / "hits.tsv", "6 evalue2")
    assert (tmp_path / "hits.tsv").read_text().split("\n")[:-1] == list(map(format_evalue, values))
    assert Hits(pq.read_table(tmp_path / "hits.parquet"))[0].evalue2 == values[0]


def test_without_shuffles_there_is_no_column(tmp_path):
    hits = searched(shuffles=0)
    assert "evalue2" not in hits.to_arrow().column_names
    assert hits[0].evalue2 is None
    hits.write(tmp_path / "hits.json")
    assert "evalue2" not in (tmp_path / "hits.json").read_text()
    hits.write(tmp_path / "hits.tsv", "6 qseqid evalue2")
    assert all(line.endswith("\t") for line in (tmp_path / "hits.tsv").read_text().splitlines())


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--shuffles", "19"], "--shuffles 19 is not possible; choose 20 to 10,000 copies, or 0 for none"),
        (["--shuffles", "10001"], "--shuffles 10001 is not possible"),
        (["--shuffle-window", "5"], "--shuffle-window needs --shuffles"),
        (["--shuffles", "50", "--comp-based-stats", "2"], "--shuffles and --comp-based-stats cannot be combined"),
        (["--shuffles", "50", "--preset", "blast"], "--shuffles and --comp-based-stats cannot be combined"),
    ],
)
def test_what_cannot_be_shuffled_is_refused(options, problem, capsys):
    assert run(["search", "--query", str(QUERIES), "--db", str(TARGETS), *options]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert problem in said.err
    assert said.err.count("\n") == 1


def test_options_are_checked_in_python():
    with pytest.raises(InputError, match="shuffles"):
        SearchOptions(shuffles=-1)
    with pytest.raises(InputError, match="20 to 10,000"):
        searched(scoring=Scoring("BLOSUM62"), shuffles=3)
