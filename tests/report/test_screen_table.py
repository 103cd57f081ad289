"""The table for a terminal, against text written by hand."""

import io

import numpy as np

from exaln.report.screen_table import write_table
from exaln.scoring.scoring import Scoring
from hit_samples import GLOBIN, MINUS, NOTHING, Pair, query_hits, report

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
