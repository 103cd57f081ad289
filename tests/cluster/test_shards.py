"""Merged shards give the report of the whole search, byte for byte, however the database is divided."""

import io
import math
import random
import shutil
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exaln import Database, Scoring, SearchOptions
from exaln.__main__ import run
from exaln.cluster.merge import MergeTree, merge_batches, ranked_hits
from exaln.cluster.part_checks import require_possible
from exaln.cluster.part_hits import from_bytes, to_bytes
from exaln.database.part import n_places, segments_between
from exaln.database.segment_limits import SegmentLimits
from exaln.engines.cpu.engine import CpuEngine
from exaln.errors import ExalnWarning, InputError
from exaln.report.writing import parse_outfmt, write_report
from exaln.search.pipeline import Search
from exaln.search.spec import SearchSpec
from exaln.sequences.fasta import read_records
from exaln.simulation import kept
from golden_data import GOLDEN
from hit_samples import Pair, query_hits

QUERIES, TARGETS = GOLDEN / "cudasw4q_part.fasta", GOLDEN / "scop20_part.fasta"
DNA = ">a\nACGTACGTTAGC\n>b\nTTTTGCTAACGTACGTTT\n>c\n\n>d\nGATTACA\n>e\nACGTAC\n"
FORMATS = ["6 std score cigar", "7", "0", "json", "fasta aligned", "parquet", "arrow", "sam"]


def exaln(*arguments: object) -> int:
    return run([str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Proteins in three segments."""
    path = tmp_path_factory.mktemp("shards") / "proteins.exaln"
    Database.build(TARGETS, path, limits=SegmentLimits(rows=20))
    assert len(Database.open(path).segments) >= 3
    return path


def shards(folder: Path, n: int, *options: object) -> list[Path]:
    parts = [folder / f"part-{number}.parquet" for number in range(1, n + 1)]
    for number, part in enumerate(parts, start=1):
        assert exaln("search", *options, "--shard", f"{number}/{n}", "--out", part, "--quiet") == 0
    return parts


@pytest.mark.parametrize(
    "options",
    [
        ["--evalue", 100],
        ["--evalue", 1e9, "--max-target-seqs", 5, "--min-identity", 20],
        ["--match", 2, "--mismatch", -3, "--max-target-seqs", 3],
    ],
    ids=["plain", "filtered", "without statistics"],
)
def test_seven_shards_are_the_whole_in_every_format(tmp_path: Path, database: Path, options: list[object]) -> None:
    arguments = ["--query", QUERIES, "--db", database, *options]
    parts = shards(tmp_path, 7, *arguments)
    whole, merged = tmp_path / "whole", tmp_path / "merged"
    for form in FORMATS:
        assert exaln("search", *arguments, "--out", whole, "--outfmt", form, "--quiet") == 0
        assert exaln("merge", *reversed(parts), "--out", merged, "--outfmt", form, "--quiet") == 0
        assert merged.read_bytes() == whole.read_bytes()
        assert len(whole.read_bytes()) > 500


def test_simulated_statistics_are_those_of_the_part_files(
    tmp_path: Path, database: Path, simulation: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ["--query", QUERIES, "--db", database, "--gap-open", 9, "--gap-extend", 3]
    parts = shards(tmp_path, 2, *arguments)
    assert exaln("search", *arguments, "--out", tmp_path / "whole", "--quiet") == 0
    monkeypatch.setattr(kept, "parameters_of_any", None)  # a merge does not simulate
    assert exaln("merge", *parts, "--out", tmp_path / "merged", "--quiet") == 0
    assert (tmp_path / "merged").read_bytes() == (tmp_path / "whole").read_bytes()


def test_more_shards_than_targets_both_strands_and_empty_sequences(tmp_path: Path) -> None:
    fasta = tmp_path / "dna.fasta"
    fasta.write_text(DNA)
    with pytest.warns(ExalnWarning, match="without residues"):
        Database.build(fasta, tmp_path / "dna.exaln", limits=SegmentLimits(rows=2))
    arguments = ["--query", fasta, "--db", tmp_path / "dna.exaln", "--evalue", 1e6, "--dbsize", 1000]
    parts = shards(tmp_path, 45, *arguments)
    assert exaln("search", *arguments, "--out", tmp_path / "whole", "--quiet") == 0
    assert exaln("merge", *parts, "--out", tmp_path / "merged", "--quiet") == 0
    assert (tmp_path / "whole").read_bytes() == (tmp_path / "merged").read_bytes()
    assert (tmp_path / "whole").read_bytes().count(b"\n") > 5


@settings(max_examples=15, deadline=None)
@given(cuts=st.lists(st.floats(0, 1), max_size=12), k=st.sampled_from([1, 3, 500]), data=st.data())
def test_any_cut_and_any_tree_of_merges_give_the_same(
    database: Path, cuts: list[float], k: int, data: st.DataObject
) -> None:
    opened, queries = Database.open(database), read_records(QUERIES).rows(0, 2)
    scoring, options, engine = Scoring("BLOSUM62"), SearchOptions(evalue=1e4, max_target_seqs=k), CpuEngine(1)
    spec = SearchSpec.of("db", opened.manifest, scoring, options)
    places = n_places(opened.manifest)
    edges = [0, *sorted(int(cut * places) for cut in cuts), places]
    parts = []
    for first, end in pairwise(edges):
        part = Search(opened.part(first, end), scoring, engine, options)
        parts.append(from_bytes(to_bytes(list(part.run([queries])))))
    assert sum(opened.part(*edge).n_targets for edge in pairwise(edges)) == opened.n_targets
    tree = MergeTree(spec)
    for part in data.draw(st.permutations(parts)):
        tree.add(part)
    while len(parts) > 1:
        first = data.draw(st.integers(0, len(parts) - 2))
        parts[first : first + 2] = [merge_batches(parts[first : first + 2], spec)]
    merged = [list(ranked_hits(merge_batches(parts, spec), spec)), list(tree.result())]
    whole = list(Search(opened, scoring, engine, options).run([queries]))
    for form in ("json", "0"):
        assert [report(one, form, spec) for one in merged] == [report(whole, form, spec)] * 2


def report(hits: list, form: str, spec: SearchSpec) -> bytes:
    file = io.BytesIO()
    write_report(parse_outfmt(form), hits, spec.summary, file)
    return file.getvalue()


def test_a_part_needs_only_the_segments_that_it_begins_in(database: Path) -> None:
    opened = Database.open(database)
    ends = np.cumsum([entry.residues for entry in opened.manifest.segments]).tolist()
    assert segments_between(opened.manifest, 0, n_places(opened.manifest)) == list(range(len(ends)))
    assert segments_between(opened.manifest, 0, ends[0]) == [0]
    assert segments_between(opened.manifest, ends[0], ends[0] + 1) == [1]
    assert segments_between(opened.manifest, ends[0] - 1, ends[0] + 1) == [0, 1]
    assert segments_between(opened.manifest, 5, 5) == []


def test_a_search_survives_serialization() -> None:
    options = SearchOptions(include=np.array([3, 1 << 40]), min_bits=20.5)
    manifest = Database.in_memory([read_records(TARGETS)]).manifest
    for scoring in (Scoring("BLOSUM62", gap_open=9.5, gap_extend=0.5), Scoring(match=1, mismatch=-2.5)):
        spec = SearchSpec.of("name", manifest, scoring, options)
        back = SearchSpec.from_values(spec.to_values())
        assert back.scoring == scoring
        assert back.scoring.describe() == scoring.describe()
        assert back.digest == spec.digest == replace(spec, database="other").digest
        assert back.options.include is not None
        assert back.options.include.tolist() == [3, 1 << 40]
        assert replace(spec, options=SearchOptions()).digest != spec.digest


def test_a_search_of_an_earlier_version_is_refused_with_both_versions() -> None:
    manifest = Database.in_memory([read_records(TARGETS)]).manifest
    values = SearchSpec.of("name", manifest, Scoring("BLOSUM62"), SearchOptions()).to_values()
    assert set(values["options"]) >= {"max_target_seqs", "strand", "dbsize"}
    assert not {"max_hits", "strands", "db_residues", "ids", "exclude_ids"} & set(values["options"])
    with pytest.raises(ValueError, match="format 1, but this exaln reads format 4"):
        SearchSpec.from_values({**values, "format_version": 1})


@pytest.mark.parametrize("text", ["", "0/3", "4/3", "a/b", "1/0", "-1/3", "3"])
def test_texts_that_are_not_shards_are_refused(
    text: str, database: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--query", QUERIES, "--db", database, "--out", tmp_path / "p.parquet"]
    assert exaln("search", *arguments, f"--shard={text}") == 1
    assert f"{text!r} is not a shard" in capsys.readouterr().err


def test_incomplete_and_mixed_parts_cannot_be_merged(
    database: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def says(*parts: object, code: int = 1) -> str:
        assert exaln("merge", *parts, "--out", tmp_path / "merged") == code
        assert not (tmp_path / "merged").exists()
        error = capsys.readouterr().err
        assert error.count("\n") == 1
        return error

    one, two, three = shards(tmp_path, 3, "--query", QUERIES, "--db", database)
    assert "1 of 3 shards is missing: shard 2" in says(one, three)
    assert "2 of 3 shards are missing: shards 1, 3" in says(two)
    assert "both shard 2/3" in says(one, two, two)
    assert "no such file" in says(one, tmp_path / "none.parquet")
    assert "not a part file" in says(one, QUERIES)
    pq.write_table(pq.read_table(one).replace_schema_metadata(None), tmp_path / "other.parquet")
    assert "not a part file" in says(one, tmp_path / "other.parquet")
    other = tmp_path / "other"
    other.mkdir()
    assert "different searches" in says(one, *shards(other, 3, "--query", QUERIES, "--db", database, "--evalue", 1)[1:])
    assert "queries, but" in says(one, *shards(other, 3, "--query", TARGETS, "--db", database)[1:])
    queries = tmp_path / "queries.fasta"
    queries.write_text(QUERIES.read_text().replace("\nM", "\nA", 1))
    assert "different queries" in says(one, *shards(other, 3, "--query", queries, "--db", database)[1:])
    chunks = pq.read_metadata(two).row_group(0)
    largest = max((chunks.column(n) for n in range(chunks.num_columns)), key=lambda one: one.total_compressed_size)
    content = bytearray(two.read_bytes())
    begin = largest.dictionary_page_offset if largest.has_dictionary_page else largest.data_page_offset
    content[begin + largest.total_compressed_size // 2] ^= 1
    two.write_bytes(content)
    assert f"{two}: damaged" in says(one, two, three, code=2)


def test_a_shard_needs_a_database_and_a_file(
    database: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shard = ["--query", QUERIES, "--shard", "1/2"]
    assert exaln("search", *shard, "--db", TARGETS, "--out", tmp_path / "part.parquet") == 1
    assert "build one with exaln makedb" in capsys.readouterr().err
    assert exaln("search", *shard, "--db", database) == 1
    assert "name it" in capsys.readouterr().err
    assert exaln("search", *shard, "--db", database, "--outfmt", 6, "--out", tmp_path / "part.parquet") == 1
    assert "give --outfmt to exaln merge" in capsys.readouterr().err
    with pytest.raises(InputError, match="no bit scores"):
        _ = SearchSpec.of(
            "db",
            Database.open(database).manifest,
            Scoring(match=1, mismatch=-1, alphabet="protein"),
            SearchOptions(min_bits=1),
        ).evaluator


def test_a_hit_in_a_genome_does_not_take_the_genome_along(tmp_path: Path) -> None:
    genome = "".join(random.Random(5).choices("ACGT", k=1_000_000))
    (tmp_path / "genome.fasta").write_text(f">chr\n{genome}\n")
    (tmp_path / "gene.fasta").write_text(f">gene\n{genome[500_000:500_100]}\n")
    Database.build(tmp_path / "genome.fasta", tmp_path / "db.exaln")
    (part,) = shards(tmp_path, 1, "--query", tmp_path / "gene.fasta", "--db", tmp_path / "db.exaln", "--evalue", 1e-9)
    assert part.stat().st_size < 20_000
    (hit,) = pq.read_table(part).column("hits").to_pylist()[0]
    assert (len(hit["target_slice"]), hit["target_length"]) == (100, 1_000_000)


def test_whole_targets_are_read_from_the_database_that_was_searched(
    tmp_path: Path, database: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    moved, other, out = tmp_path / "moved.exaln", tmp_path / "other.exaln", tmp_path / "merged"
    here = tmp_path / "db.exaln"
    shutil.copytree(database, here)
    Database.build(QUERIES, other)
    search = ["--query", QUERIES, "--db", here, "--evalue", 10]
    parts = shards(tmp_path, 3, *search)
    assert exaln("search", *search, "--outfmt", "fasta", "--out", tmp_path / "whole", "--quiet") == 0
    assert exaln("merge", *parts, "--outfmt", "fasta", "--out", out, "--quiet") == 0
    assert out.read_bytes() == (tmp_path / "whole").read_bytes() != b""
    here.rename(moved)
    out.unlink()
    assert exaln("merge", *parts, "--outfmt", "fasta", "--out", out) == 1
    assert "give the database with --db, or write --outfmt 'fasta aligned'" in capsys.readouterr().err
    assert exaln("merge", *parts, "--outfmt", "fasta", "--db", other, "--out", out) == 1
    assert "not the database that was searched" in capsys.readouterr().err
    assert exaln("merge", *parts, "--outfmt", "fasta", "--db", moved, "--out", out, "--quiet") == 0
    assert out.read_bytes() == (tmp_path / "whole").read_bytes()


def several(ordinal: int, *starts: int) -> list[Pair]:
    """Alignments of the query WAHEW with parts of a target, of scores that fall with each."""
    shapes = ("5M", "4M", "3M", "2M")
    return [Pair("WAHEW" * 9, shapes[n], 0, start, ordinal=ordinal) for n, start in enumerate(starts)]


def test_merged_targets_keep_their_alignments_together_and_are_counted_as_targets(database: Path) -> None:
    manifest = Database.open(database).manifest
    first = query_hits("WAHEW", [*several(4, 0, 10), *several(9, 5, 20, 40)])
    second = query_hits("WAHEW", [*several(2, 10), *several(3, 0, 5)[1:]])
    for k, wanted in ((9, [2, 4, 4, 9, 9, 9, 3]), (2, [2, 4, 4]), (3, [2, 4, 4, 9, 9, 9])):
        spec = SearchSpec.of("db", manifest, Scoring("BLOSUM62"), SearchOptions(evalue=math.inf, max_target_seqs=k))
        parts = [from_bytes(to_bytes([hits])) for hits in (first, second)]
        for part in parts:
            require_possible(part, spec, 0)
        for order in (parts, parts[::-1]):
            (merged,) = ranked_hits(merge_batches(order, spec), spec)
            assert merged.ordinal.tolist() == wanted
            assert merged.n_targets == len(set(wanted))
            nine = merged.ordinal == 9
            assert merged.target_start[nine].tolist() == [5, 20, 40][: int(nine.sum())]
    with pytest.raises(ValueError, match="a target occurs twice"):
        merge_batches([parts[0], parts[0]], spec)


def test_alignments_that_do_not_reach_the_evalue_leave_alone(database: Path) -> None:
    manifest = Database.open(database).manifest
    (hits,) = [query_hits("WAHEW", [*several(4, 0, 10, 20, 30), *several(9, 5, 20)])]
    spec = SearchSpec.of("db", manifest, Scoring("BLOSUM62"), SearchOptions(evalue=math.inf, min_score=20))
    (merged,) = ranked_hits(merge_batches([from_bytes(to_bytes([hits]))], spec), spec)
    assert merged.score.tolist() == [39, 28, 23, 39, 28]
