"""GFF3: places, the path in `Gap`, and names that the format cannot hold as they are."""

import re

import pytest
from hypothesis import given

from exaln.alignments.query_hits import QueryHits
from exaln.report.formats import parse_outfmt
from hit_samples import DNA, Pair, query_hits, random_hits, report, steps


def features(text: str) -> list[list[str]]:
    """The fields of each feature."""
    first, *lines = text.splitlines()
    assert first == "##gff-version 3"
    return [line.split("\t") for line in lines]


def attributes(field: str) -> dict[str, str]:
    return dict(pair.split("=", 1) for pair in field.split(";"))


@given(random_hits())
def test_features_have_the_places_of_the_table(drawn: tuple[str, list[Pair], QueryHits]) -> None:
    _, pairs, hits = drawn
    table = [
        line.split("\t")
        for line in report("6 sstart send qstart qend score", [hits], scoring=hits.scoring).splitlines()
    ]
    found = features(report("gff", [hits], scoring=hits.scoring))
    assert len(found) == len(pairs)
    for fields, row, pair in zip(found, table, pairs, strict=True):
        assert sorted(map(int, row[:2])) == [int(fields[3]), int(fields[4])]
        assert fields[6] == ("+" if pair.strand > 0 else "-")
        about = attributes(fields[8])
        assert about["Target"].split()[1:] == row[2:4]
        assert about["score"] == row[4]
        gap = [(int(step[1:]), step[0]) for step in about["Gap"].split()]
        assert gap == [(length, "M" if kind in "=X" else kind) for length, kind in steps(pair.cigar)]


def test_names_are_escaped() -> None:
    pair = Pair("ACGT", "4M", target_id=">chr 1;é", bits=9.0, evalue=1e-3, strand=-1)
    text = report("gff", [query_hits("ACGT", [pair], scoring=DNA, query_id="read,1 =%")], scoring=DNA)
    (fields,) = features(text)
    assert fields[0] == "%3Echr%201%3B%C3%A9"
    assert fields[1:3] == ["exaln", "nucleotide_match"]
    assert attributes(fields[8])["Target"] == "read%2C1%20%3D%25 1 4"
    assert re.fullmatch(r"[ -~\t\n]+", text)


@pytest.mark.parametrize("name", ["hits.gff", "hits.gff3", "hits.gff3.gz"])
def test_the_extension_chooses_gff(name: str) -> None:
    assert parse_outfmt(None, name).kind == "gff"
    assert parse_outfmt("gff3").kind == "gff"
