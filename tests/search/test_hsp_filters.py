"""-subject_besthit keeps what blastn keeps, and -culling_limit what its definition says."""

import csv

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from exaln.search.hsp_filters import culled, subject_besthit
from golden_data import GOLDEN

Row = tuple[int, int, int, int, int, int]
"""Query, target, strand, start, end, score."""


def columns(rows: list[Row]) -> list[np.ndarray]:
    return list(np.array(rows, np.int64).reshape(-1, 6).T)


def blast_rows() -> list[dict[str, str]]:
    with (GOLDEN / "blastn_subject_besthit.tsv").open() as file:
        return list(csv.DictReader(file, delimiter="\t"))


def test_the_best_hits_of_subjects_are_those_of_blastn() -> None:
    found = blast_rows()
    rows = [
        (
            0,
            int(row["sseqid"][1:]),
            1 if row["sstrand"] == "plus" else -1,
            int(row["qstart"]) - 1,
            int(row["qend"]),
            int(row["score"]),
        )
        for row in found
    ]
    kept = subject_besthit(*columns(rows))
    assert kept.tolist() == [row["kept"] == "1" for row in found]
    assert 0 < kept.sum() < len(kept)


ROWS = st.lists(
    st.tuples(
        st.integers(0, 1),
        st.integers(0, 2),
        st.sampled_from([1, -1]),
        st.integers(0, 9),
        st.integers(1, 9),
        st.integers(1, 6),
    ).map(lambda row: (*row[:4], row[3] + row[4], row[5])),
    max_size=24,
).map(lambda rows: sorted(rows, key=lambda row: (row[0], row[1], -row[5])))
"""Alignments in the order of a report."""


@given(ROWS, st.integers(0, 3))
def test_culling_follows_its_definition(rows: list[Row], limit: int) -> None:
    def better(one: int, other: int) -> bool:
        return rows[one][0] == rows[other][0] and (-rows[one][5], one) < (-rows[other][5], other)

    query, _, _, start, end, score = columns(rows)
    kept = culled(query, start, end, score, limit)
    for place, row in enumerate(rows):
        envelopes = [
            other
            for other, (_, _, _, first, last, _) in enumerate(rows)
            if better(other, place) and first <= row[3] and row[4] <= last
        ]
        assert kept[place] == (limit == 0 or len(envelopes) < limit)


@given(ROWS)
def test_every_target_keeps_its_best_alignment_and_nothing_that_it_envelops(rows: list[Row]) -> None:
    kept = subject_besthit(*columns(rows))
    targets = {row[:2] for row in rows}
    for target in targets:
        own = [(row, stays) for row, stays in zip(rows, kept, strict=True) if row[:2] == target]
        best, stays = own[0]
        assert stays
        for row, further in own[1:]:
            assert not (further and row[3] >= best[3] - 3 and row[4] <= best[4] + 3)


def test_ranges_of_other_targets_and_queries_do_not_count() -> None:
    rows = [(0, 0, 1, 0, 50, 90), (0, 1, 1, 10, 20, 30), (1, 1, 1, 10, 20, 30), (1, 1, -1, 12, 18, 20)]
    assert subject_besthit(*columns(rows)).tolist() == [True, True, True, False]
    query, _, _, start, end, score = columns(rows)
    assert culled(query, start, end, score, 1).tolist() == [True, False, True, False]


def test_the_order_within_a_strand_comes_before_the_other_strand() -> None:
    """The second is dropped by the first, on its strand, before it could drop the third on the other one."""
    rows = [(0, 0, 1, 0, 50, 90), (0, 0, 1, 3, 53, 80), (0, 0, -1, 3, 56, 70)]
    assert subject_besthit(*columns(rows)).tolist() == [True, False, True]


def test_no_alignments() -> None:
    assert subject_besthit(*columns([])).tolist() == []
    query, _, _, start, end, score = columns([])
    assert culled(query, start, end, score, 1).tolist() == []
