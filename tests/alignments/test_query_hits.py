"""Hits of a query: rows are alignments, and the rows of one target are a hit."""

from hit_samples import Pair, query_hits


def test_alignments_of_one_target_are_one_hit() -> None:
    pairs = [Pair("HEAGAWGHEE", "4M", target_id=f"t{ordinal}", ordinal=ordinal) for ordinal in (7, 7, 2, 9, 9, 9)]
    hits = query_hits("HEAGAWGHEE", pairs)
    assert hits.target_offsets.tolist() == [0, 2, 3, 6]
    assert (hits.n_targets, len(hits)) == (3, 6)
    assert query_hits("HEAGAWGHEE").target_offsets.tolist() == [0]
    assert query_hits("HEAGAWGHEE").n_targets == 0
