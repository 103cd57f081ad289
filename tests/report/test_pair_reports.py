"""Reports of pairs: the same bytes for all pairs at once and for pairs one by one."""

import io

import numpy as np
import pytest

import exaln
from exaln.alignments.query_hits import PART_HITS, PairHits
from exaln.report.formats import BY_PAIR, BY_ROW, KINDS
from exaln.report.writing import SearchSummary, parse_outfmt, write_report

FIRST = ["ACGTACGTAC", "AAAA", "ACGGT", "TTTTTTACGTCC", "A", "ACGTNACGT"]
SECOND = ["ACGTTACGTAC", "CCCC", "ACGT", "GGACGTC", "", "ACGTACGT"]


def written(form, hits, found):
    file = io.BytesIO()
    summary = SearchSummary("targets.fasta", 0, 0, found.scoring, is_pairs=True, mode=found.mode.name)
    write_report(form, hits, summary, file)
    return file.getvalue()


@pytest.mark.parametrize("kind", [*BY_ROW, *BY_PAIR, "10 qseqid qlen qordinal qcovs qseq btop", "sam extended"])
@pytest.mark.parametrize("mode", ["local", "global", "overlap"])
def test_pairs_written_at_once_equal_pairs_written_one_by_one(kind, mode):
    scoring = exaln.Scoring(match=2, mismatch=-3, gap_open=5, gap_extend=2)
    found = exaln.align_many(FIRST, SECOND, scoring=scoring, mode=mode)
    form = parse_outfmt(kind)
    at_once = found.pair_hits(7, 9, also_empty=form.is_by_pair)
    assert len(at_once) == (len(FIRST) if form.is_by_pair else int((found.counts[:, 5] > 0).sum()))
    expected = written(form, found.query_hits(7, 9), found)
    assert written(form, [at_once], found) == expected
    assert len(expected) > 50


@pytest.mark.parametrize("kind", ["6", "json", "sam", "0", "parquet"])
def test_more_pairs_than_a_part_holds(kind):
    n = PART_HITS + 5
    codes = np.random.default_rng(1).integers(0, 4, (n, 6)).astype(np.uint8)
    found = exaln.align_many(codes, codes[::-1].copy(), scoring=exaln.Scoring(match=2, mismatch=-3))
    form = parse_outfmt(kind)
    hits = found.pair_hits(also_empty=form.is_by_pair)
    assert isinstance(hits, PairHits)
    assert len(list(hits.parts())) == (2 if len(hits) > PART_HITS else 1)
    assert written(form, [hits], found) == written(form, found.query_hits(), found)


def test_no_format_is_both_by_row_and_by_pair():
    assert not set(BY_ROW) & set(BY_PAIR)
    assert set(KINDS) - set(BY_ROW) - set(BY_PAIR) == {"table", "5", "7", "15", "fasta"}
