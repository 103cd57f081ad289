"""The table for a terminal, against text written by hand."""

import io

import numpy as np

from exaln.report.screen_table import write_table
from exaln.scoring.scoring import Scoring
from hit_samples import DNA, GLOBIN, MINUS, NOTHING, Pair, query_hits, report

TEXT = """\
q1 a query (10 aa): 2 hits
target             E-value  bits  identity  coverage  description
sp|P1.2|ONE_TEST  1.20e-04  12.3     80.0%       50%  first, of two
two                    2.5   123     87.5%       80%

q2 (4 aa): no hits

read (10 nt): 1 hit
target  E-value  bits  identity  coverage  strand  description
chr1      0.020  20.1     88.9%       80%   minus  plasmid
"""


def test_tables_of_several_queries_equal_those_written_by_hand() -> None:
    assert report("table", [GLOBIN, NOTHING, MINUS]) == TEXT


def test_without_statistics_the_raw_score_is_shown() -> None:
    odd = Scoring("BLOSUM62", gap_open=1, gap_extend=7)
    pair = Pair("AAGAWGREE", "8M", 2, 1, 1, "two", "", bits=np.nan, evalue=np.nan)
    heading, row = report("table", [query_hits("HEAGAWGHEE", [pair], scoring=odd)]).splitlines()[1:]
    assert heading.split() == ["target", "score", "identity", "coverage", "description"]
    assert row.split() == ["two", "41", "87.5%", "80%"]


def test_no_line_is_longer_than_the_screen_and_none_is_broken() -> None:
    pair = Pair("AAGAWGREE", "8M", 2, 1, 1, "two", "long\ttext\x1b\n" * 1000, bits=9.0, evalue=1.0)
    hits = query_hits("HEAGAWGHEE", [pair], query_description="word " * 1000)
    for width in (80, 120):
        file = io.BytesIO()
        write_table(file, [hits], width)
        lines = file.getvalue().decode().splitlines()
        assert len(lines) == 3
        assert max(map(len, lines)) == width
        assert all(line.isprintable() for line in lines)
        assert lines[2].endswith("...")


COPIES = [
    Pair("ACGTACGT", "8M", 4, 0, 1, "copy", "twice in the query", bits=16.0, evalue=0.01),
    Pair("ACGTACGT", "8M", 22, 0, -1, "copy", "twice in the query", bits=16.0, evalue=0.01),
]
CONTIG = "TTTT" + COPIES[0].target + "GGCCGGCCGG" + COPIES[0].target + "TT"


def test_two_copies_in_a_query_can_be_told_apart() -> None:
    assert report("table", [query_hits(CONTIG, COPIES, scoring=DNA)], scoring=DNA) == (
        "q1 (32 nt): 1 hit, 2 alignments\n"
        "target  E-value  bits  identity  coverage  strand  in query  in target  description\n"
        "copy      0.010  16.0    100.0%       25%    plus      5-12        1-8  twice in the query\n"
        "          0.010  16.0    100.0%       25%   minus     23-30        8-1\n"
    )


def heading_for(query: str, target: str) -> list[str]:
    hits = query_hits(query, [Pair(target, "4M", bits=16.0, evalue=0.01)], scoring=DNA)
    return report("table", [hits], scoring=DNA).splitlines()[1].split("  ")


def test_a_single_alignment_has_its_ranges_if_one_sequence_is_far_longer() -> None:
    gene, genome = "ACGT", "ACGT" * 10
    for query, target in ((gene, genome), (genome, gene)):
        assert {"in query", "in target"} <= set(heading_for(query, target))
        assert not {"in query", "in target"} & set(heading_for(query[:39], target[:39]))


def test_long_ids_and_ranges_fit_the_screen() -> None:
    """Ids are cut, and descriptions and the coverage are left out; numbers are whole."""
    target, name = "ACGT" * 300_000, "chromosome_" * 5
    pair = Pair(target, "8M", 0, 1_199_992, 1, name, "description", bits=16.0, evalue=1.25e-100)
    hits = query_hits("ACGT" * 3, [pair], scoring=DNA)
    for width, id_length in ((80, 16), (92, 16), (100, 24), (116, 40), (130, 40)):
        file = io.BytesIO()
        write_table(file, [hits], width)
        _, heading, row = file.getvalue().decode().splitlines()
        assert row.startswith(f"{name[: id_length - 3]}...  1.25e-100  16.0")
        assert "1-8  1,199,993-1,200,000" in row
        assert max(len(heading), len(row)) <= max(width, 82)
        assert ("coverage" in heading, "description" in heading) == (width >= 92, width >= 130)
