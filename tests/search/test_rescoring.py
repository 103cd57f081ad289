"""Composition-based statistics of a search: blastp's rows, one answer everywhere, and what the margin decides."""

import csv
import sys
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import exaln
import exaln.statistics.matrix_frequencies
from exaln import Database, Scoring, SearchOptions
from exaln.__main__ import run
from exaln.alignments.cigar import OPERATIONS
from exaln.cluster.part_checks import require_possible
from exaln.cluster.part_hits import from_bytes, part_schema, to_bytes
from exaln.database.segment_limits import SegmentLimits
from exaln.engines.choice import choose_engine
from exaln.errors import InputError
from exaln.search.pipeline import Search
from exaln.search.rescoring import KeptTables, masked_codes, screening_options
from exaln.search.spec import SearchSpec
from exaln.sequences.fasta import read_records
from exaln.sequences.inputs import as_records
from exaln.statistics.composition import SCALE, Compositions, CompositionScores
from exaln.statistics.evalues import format_bits, format_evalue
from golden_data import GOLDEN
from search_outputs import found

QUERIES, TARGETS = GOLDEN / "cudasw4q_part.fasta", GOLDEN / "scop20_part.fasta"
POLY_Q = "MSLNNLTTCDEQVLAEHRAFRKKWLDEQ" + "Q" * 40 + "ACDEFGHIKLMNPQRSTVWYACDEFGHIKLMNPQRSTVWY"


def searched(options, engine="cpu", queries=QUERIES, targets=TARGETS, scoring=None):
    return exaln.search(queries, targets, scoring=scoring, options=options, engine=engine)


@pytest.mark.parametrize("matrix", exaln.statistics.matrix_frequencies.names())
def test_blastp_s_rows_are_found(matrix):
    expected = defaultdict(list)
    with (GOLDEN / "blastp_composition.tsv").open() as file:
        for name, mode, *row in csv.reader(file, delimiter="\t"):
            if name == matrix:
                expected[int(mode)].append(tuple(row))
    assert expected
    for mode, rows in expected.items():
        hits = searched(SearchOptions(max_hsps=1, comp_based_stats=mode), scoring=Scoring(matrix))
        own = {
            tuple(
                map(
                    str,
                    (
                        hit.query_id,
                        hit.target_id,
                        hit.score,
                        format_bits(hit.bits),
                        format_evalue(hit.evalue),
                        hit.query_start + 1,
                        hit.query_end,
                        hit.target_start + 1,
                        hit.target_end,
                        hit.columns,
                        hit.identities,
                        hit.positives,
                    ),
                )
            )
            for hit in hits
        }
        assert own.issuperset(rows)


@pytest.mark.parametrize("mode", [1, 2, 3])
def test_engines_agree(mode):
    queries = as_records([POLY_Q[:60], "MKTAYIAKQRQISFVKSHFSRQLEERLGLIEVQAPILSRVGDGTQDNLSGAEK"])
    targets = write_targets(
        ["QQQQQAQQQQ" * 6, "MKTAYIAKQRQISFVKSHFSRQLEERLGLIEVQ" * 2, POLY_Q[:40], "XXXXXX", "BZJUO*MKTAYIAKQRQ"]
    )
    options = SearchOptions(evalue=100, comp_based_stats=mode, max_hsps=3)
    found = [searched(options, engine, queries, targets) for engine in ("reference", "cpu")]
    assert len(found[0]) > 4
    assert found[0] == found[1]


def write_targets(sequences):
    return Database.in_memory([as_records(sequences)])


def test_output_does_not_depend_on_threads_segments_shards_and_clusters(tmp_path):
    one, many = tmp_path / "one.exaln", tmp_path / "six.exaln"
    Database.build(TARGETS, one)
    Database.build(TARGETS, many, limits=SegmentLimits(rows=10))
    out = tmp_path / "out"
    for options in (
        ["-comp_based_stats", "D", "--evalue", 100],
        ["--comp-based-stats", 1, "--evalue", 1000, "--max-target-seqs", 3, "--min-identity", 25, "--max-hsps", 1],
    ):
        expected = found(out, QUERIES, one, "6 std score cigar", [*options, "--threads", 1])
        assert expected.count(b"\n") > 25
        assert found(out, QUERIES, many, "6 std score cigar", [*options, "--threads", 2]) == expected
        if "D" in options:
            assert found(out, QUERIES, many, "6 std score cigar", [*options, "--cluster", "local:2"]) == expected
        parts = [tmp_path / f"part{number}.parquet" for number in (1, 2, 3)]
        for number, part in enumerate(parts, start=1):
            part.unlink(missing_ok=True)
            searched_shard(part, many, [*options, "--shard", f"{number}/3"])
        assert merged(parts, out) == expected


def test_tables_that_are_not_kept_are_made_again(monkeypatch):
    options = SearchOptions(evalue=100, comp_based_stats=2)
    expected = list(searched(options))
    for most in (0, 7):
        monkeypatch.setattr(sys.modules[KeptTables.__module__], "MOST_KEPT", most)
        assert list(searched(options)) == expected
    kept, tables = KeptTables(), np.arange(10 * 27 * 27, dtype=np.int32).reshape(10, 27, 27)
    keys = np.array([9, 2, 7, 4, 3, 8, 1, 0, 6, 5])
    kept.keep(keys[:4], tables[:4])
    kept.keep(keys[4:], tables[4:])  # three more fit
    written = np.zeros_like(tables)
    assert kept.write(keys[::-1].copy(), written).tolist() == [0, 1, 2]
    assert np.array_equal(written[3:], tables[:7][::-1])
    assert not written[:3].any()


def searched_shard(part, database, options):
    places = ["--query", QUERIES, "--db", database, "--out", part]
    assert run([str(argument) for argument in ("search", *places, "--quiet", *options)]) == 0


def merged(parts, out):
    columns = ["--outfmt", "6 std score cigar", "--out", str(out), "--quiet"]
    assert run(["merge", *map(str, parts), *columns]) == 0
    return out.read_bytes()


def test_alignments_re_score_under_the_scores_of_their_pair():
    """The path, the masked letters and the table of a pair give the scaled score; the score is its rounded part."""
    queries, targets = read_records(QUERIES), read_records(TARGETS)
    options, scoring = SearchOptions(comp_based_stats=2), Scoring("BLOSUM62")
    hits = list(Search(Database.in_memory([targets]), scoring, choose_engine("cpu", 1), options).run([queries]))
    masked = masked_codes(targets)
    compositions = [
        Compositions.of(codes, records.offsets) for codes, records in ((queries.codes, queries), (masked, targets))
    ]
    scores, n_masked = CompositionScores.of(scoring, 2), 0
    for own in hits:
        place = np.full(1, own.index)
        for row in range(len(own)):
            table = scores.tables(*compositions, place, own.ordinal[row : row + 1])[0]
            q = own.query[own.query_start[row] :]
            begin = targets.offsets[own.ordinal[row]] + own.target_start[row]
            t, stored = masked[begin:], targets.codes[begin:]
            score = i = j = 0
            for operation in own.paths[row].tolist():
                kind, length = OPERATIONS[operation & 15], operation >> 4
                if kind in "=X":
                    score += int(table[q[i : i + length], t[j : j + length]].sum())
                    assert ((q[i : i + length] == stored[j : j + length]) == (kind == "=")).all()
                    n_masked += int((t[j : j + length] != stored[j : j + length]).sum())
                else:
                    score -= SCALE * (scoring.gap_open + length * scoring.gap_extend)
                i, j = i + length * (kind != "D"), j + length * (kind != "I")
            assert score == own.scaled_score[row]
            assert (score + 16) // 32 == own.score[row]
    assert n_masked


def test_the_margin_decides_what_is_rescored():
    """With a wider margin no hit is lost, and pairs are found that the standard matrix leaves beyond the E-value."""

    def ids(margin):
        hits = searched(SearchOptions(evalue=1, comp_based_stats=2, margin=margin))
        return {(hit.query_id, hit.target_id, hit.score) for hit in hits}

    narrow, usual, wide = map(ids, (1, 5, 1e9))
    assert narrow <= usual <= wide
    assert len(narrow) < len(wide)
    options = SearchOptions(evalue=2, margin=3, min_bits=50, min_score=70, comp_based_stats=2)
    assert screening_options(options) == SearchOptions(evalue=6, margin=3)


def test_no_cut_to_the_best_comes_before_rescoring():
    every = searched(SearchOptions(comp_based_stats=2, evalue=1000, max_hsps=1))
    best = searched(SearchOptions(comp_based_stats=2, evalue=1000, max_target_seqs=2, max_hsps=1))
    for query in {hit.query_id for hit in every}:
        assert [hit.target_id for hit in best.of(query)] == [hit.target_id for hit in every.of(query)[:2]]


def test_low_complexity_scores_less_unless_the_pair_is_nearly_identical():
    copy = write_targets([POLY_Q, "W" * 30 + "Q" * 60 + "W" * 30])
    hits = {hit.target_id: hit for hit in searched(SearchOptions(comp_based_stats=2), queries=POLY_Q, targets=copy)}
    plain = searched(SearchOptions(), queries=POLY_Q, targets=copy)
    assert {hit.target_id for hit in plain} == {"seq1", "seq2"}
    assert set(hits) == {"seq1"}
    assert hits["seq1"].columns == hits["seq1"].identities == len(POLY_Q)


@pytest.mark.filterwarnings("ignore::exaln.ExalnWarning")
@pytest.mark.parametrize(
    ("options", "scoring", "problem"),
    [
        ({"comp_based_stats": 2}, "VTML160", "VTML160 has no composition-based scores"),
        ({"comp_based_stats": 1, "statistics": "table"}, Scoring("BLOSUM62", gap_open=3), "has no E-values"),
        ({"comp_based_stats": 1, "statistics": "none"}, None, "has no E-values"),
        ({"comp_based_stats": 2, "target_mask": "soft"}, None, "soft masks cannot be combined"),
        ({"comp_based_stats": 4}, None, "at most 3"),
        ({"comp_based_stats": 1, "margin": 0.5}, None, "at least 1"),
    ],
)
def test_what_cannot_be_adjusted_is_refused(options, scoring, problem):
    with pytest.raises(InputError, match=problem):
        exaln.search(QUERIES, TARGETS, scoring=scoring, **options)


def batch_of(mode=2):
    options, scoring = SearchOptions(comp_based_stats=mode), Scoring("BLOSUM62")
    database = Database.in_memory([read_records(TARGETS)])
    hits = list(Search(database, scoring, choose_engine("cpu", 1), options).run([read_records(QUERIES)]))
    return hits, SearchSpec.of("db", database.manifest, scoring, options)


def test_parts_with_other_scores_or_compositions_are_refused():
    hits, spec = batch_of()
    require_possible(from_bytes(to_bytes(hits)), spec, 0)
    first = next(place for place, own in enumerate(hits) if len(own))

    def problem(**changes):
        changed = [*hits]
        changed[first] = replace(hits[first], **changes)
        with pytest.raises(ValueError, match=r".+") as error:
            require_possible(from_bytes(to_bytes(changed)), spec, 0)
        return str(error.value)

    own = hits[first]
    other = [shown.copy() for shown in own.adjustments]
    for shown in other:
        shown[0] += 1
    assert problem(scaled_score=own.scaled_score + 1) == "a score differs from that of its path"
    assert problem(score=own.score + 1) == "a score differs from that of its path"
    assert problem(adjustments=other) in (
        "a score differs from that of its path",
        "a composition does not fit its target",
    )
    assert problem(adjustments=[shown[:100] for shown in own.adjustments]) == "a target has no composition"
    longer = [np.append(shown, np.zeros(1000, np.uint8)) for shown in own.adjustments]
    assert problem(adjustments=longer) == "a mask does not fit its alignment"


def test_a_search_without_composition_takes_no_adjusted_alignments():
    hits, spec = batch_of()
    with pytest.raises(ValueError, match="adjusted, but not by the search"):
        require_possible(from_bytes(to_bytes(hits)), replace(spec, options=SearchOptions()), 0)
    assert "adjustment" in {field.name for field in part_schema().field("hits").type.value_type}


def test_explain_names_the_adjustment(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--query", str(QUERIES), "--db", str(TARGETS), "--comp-based-stats", "2"]
    assert run(["explain", *options]) == 0
    assert "mode 2: pairs within 5 times the E-value are rescored" in " ".join(capsys.readouterr().out.split())
