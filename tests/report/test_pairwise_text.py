"""Pairwise text and drawings, against texts written by hand."""

import re

import numpy as np
import pytest
from hypothesis import given

from exaln.alignments.query_hits import QueryHits
from exaln.errors import InputError
from exaln.report.drawing import draw, draw_all
from hit_samples import BLOSUM, DNA, GLOBIN, MINUS, NOTHING, Pair, query_hits, random_hits, report

PROTEIN_TEXT = """\
exaln 0.1.0


Database: targets
           3 sequences; 300 total letters



Query= q1 a query

Length=10
                                                                      Score     E
Sequences producing significant alignments:                          (Bits)  Value

sp|P1.2|ONE_TEST first, of two                                        12.3    1e-04
two                                                                   123     2.5


>sp|P1.2|ONE_TEST first, of two
Length=7

 Score = 12.3 bits (16),  Expect = 1e-04
 Identities = 4/5 (80%), Positives = 4/5 (80%), Gaps = 1/5 (20%)

Query  5  AWGHE  9
          AW HE
Sbjct  2  AW-HE  5


>two
Length=9

 Score = 123 bits (41),  Expect = 2.5
 Identities = 7/8 (88%), Positives = 7/8 (88%), Gaps = 0/8 (0%)

Query  3   AGAWGHEE  10
           AGAWG EE
Sbjct  2   AGAWGREE  9



Lambda    K         H
0.267     0.041     0.14



Query= q2

Length=4


***** No hits found *****



Lambda    K         H
0.267     0.041     0.14


  Database: targets
  Number of letters in database: 300
  Number of sequences in database: 3


Matrix: BLOSUM62
Gap Penalties: Existence: 11, Extension: 1
"""

MINUS_TEXT = """\
>chr1 plasmid
Length=12

 Score = 20.1 bits (9),  Expect = 0.020
 Identities = 8/9 (89%), Gaps = 1/9 (11%)
 Strand=Plus/Minus

Query  2   CGTTG-CAA  9
           ||||| |||
Sbjct  11  CGTTGTCAA  3

"""


def test_the_report_equals_that_written_by_hand() -> None:
    assert report("0", [GLOBIN, NOTHING]) == PROTEIN_TEXT


def test_a_hit_on_the_minus_strand_equals_that_written_by_hand() -> None:
    text = report("0", [MINUS], scoring=DNA)
    assert MINUS_TEXT in text
    assert "\nEffective search space used: " in text
    assert text.endswith("\nMatrix: match 2, mismatch -3\nGap Penalties: Existence: 5, Extension: 2\n")


def test_without_statistics_the_raw_score_is_shown() -> None:
    text = report("0", [query_hits("AWHE", [Pair("AWHE", "4M")])])
    assert "\n Score = 28\n Identities" in text
    assert re.search(r"\nt1 {66}  28\n", text)
    assert "Expect" not in text
    assert "E\n" not in text.split("Query= ")[1].split("Sequences")[0]


def test_blocks_of_sixty_and_rows_of_gaps_alone() -> None:
    hits = query_hits("W" * 30 + "H" * 30, [Pair("W" * 30 + "A" * 110 + "H" * 30, "30M110D30M")])
    (drawn,) = draw_all(hits)
    w, a, h = "W" * 30, "A", "H" * 30
    assert drawn.split("\n\n") == [
        f"Query  1    {w}{'-' * 30}  30\n            {w}{' ' * 30}\nSbjct  1    {w}{a * 30}  60",
        f"Query       {'-' * 60}\n            {' ' * 60}\nSbjct  61   {a * 60}  120",
        f"Query  31   {'-' * 20}{h}  60\n            {' ' * 20}{h}\nSbjct  121  {a * 20}{h}  170",
    ]


def test_positive_pairs_and_mismatches_in_the_middle() -> None:
    (drawn,) = draw_all(query_hits("IIWW", [Pair("LIWA", "4M")]))
    assert drawn.split("\n")[1] == "          +IW "


def test_drawing_with_other_names_and_width() -> None:
    hits = query_hits("AWGHE", [Pair("AWGHE", "5M")])
    drawn = draw(hits.query, hits.target_slices[0], hits.paths[0], scoring=BLOSUM, width=3, names=("HBA_HUMAN", "HBB"))
    assert drawn == (
        "HBA_HUMAN  1  AWG  3\n              AWG\nHBB        1  AWG  3\n\n"
        "HBA_HUMAN  4  HE  5\n              HE\nHBB        4  HE  5"
    )
    with pytest.raises(InputError, match="width is 0"):
        draw(hits.query, hits.target_slices[0], hits.paths[0], scoring=BLOSUM, width=0)


def test_an_empty_path_draws_nothing() -> None:
    assert draw(BLOSUM.alphabet.encode("A"), BLOSUM.alphabet.encode("W"), np.empty(0, np.uint32), scoring=BLOSUM) == ""


@given(random_hits())
def test_colours_add_no_letters_and_draw_equals_draw_all(sample: tuple[str, list[Pair], QueryHits]) -> None:
    hits = sample[2]
    for hit, drawn in enumerate(draw_all(hits)):
        places = {
            "query_start": int(hits.query_start[hit]),
            "target_start": int(hits.target_start[hit]),
            "strand": int(hits.strand[hit]),
        }
        whole = hits.alphabet.encode(sample[1][hit].target)
        one = (hits.query, whole, hits.paths[hit])
        assert draw(*one, scoring=hits.scoring, **places) == drawn
        coloured = draw(*one, scoring=hits.scoring, colour=True, **places)
        assert "\x1b[" in coloured
        assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == drawn
        lines = drawn.split("\n")
        first, last = int(lines[2].split()[1]), int(drawn.split()[-1])
        assert {first, last} == {places["target_start"] + 1, int(hits.target_end[hit])}


def test_long_and_hostile_titles_are_wrapped() -> None:
    title = "word > Length=9 \t\x1b" * 100_000
    pair = Pair("AWHE", "4M", target_id="t", target_description=title, bits=1, evalue=1)
    text = report("0", [query_hits("AWHE", [pair], query_id="q", query_description=title)])
    assert len(re.findall("^>", text, re.MULTILINE)) == 1
    assert len(re.findall("^Length=", text, re.MULTILINE)) == 2
    assert max(map(len, text.splitlines())) <= 90
    assert not set(text) & {"\t", "\x1b"}
    assert len(re.findall(r"\.\.\. \(1,800,002\s+characters\)", text)) == 2
