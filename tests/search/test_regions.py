"""Regions around the ends of alignments: where they begin, and what is asked for in them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from exaln.database import windows
from exaln.engines.cpu.engine import CpuEngine
from exaln.scoring.scoring import Scoring
from exaln.search.ranking import Ranked, empty_ranking
from exaln.search.regions import Ends, regions_of
from exaln.sequences.alphabet import DNA
from several_searches import Case, any_text, expected, found_by


def ends_at(blocks: list[tuple[int, int]], *, span: int, least: int) -> Ends:
    """The ends of alignments of one query in one target, each with a score of 50."""
    n, start_and_end = len(blocks), np.array(blocks, np.int64)
    every = {name: np.zeros(n, column.dtype) for name, column in vars(empty_ranking()).items()}
    columns = {"start": start_and_end[:, 0], "end": start_and_end[:, 1], "length": np.full(n, 10_000)}
    found = replace(Ranked(**every), strand=np.ones(n, np.int8), score=np.full(n, 50, np.int32), **columns)
    return Ends(found, np.zeros(n, np.int64), np.full(n, span), np.full(n, least - 1))


@pytest.mark.parametrize("lead", [0, 1, 255, 256, 257, 512, 513])
def test_the_column_before_a_region_is_outside_of_all_ends(lead: int) -> None:
    """H may be above the upper limit in the columns of a block, the last one included."""
    blocks = [(256, 512), (512, 768), (1024, 1280), (1536, 1792), (2560, 2816)]
    found, _ = regions_of(ends_at(blocks, span=4000, least=20), np.full(len(blocks), lead))
    for start, upper in zip(found.start.tolist(), found.upper.tolist(), strict=True):
        if start > 0:
            assert upper == 19
            assert not any(begin <= start - 1 < end for begin, end in blocks)


@pytest.mark.parametrize("max_hsps", [1, 2, 3])
@pytest.mark.filterwarnings("ignore:.*has no E-value statistics")
def test_an_alignment_that_reaches_into_another_region_does_not_hide_a_third(
    monkeypatch: pytest.MonkeyPatch, max_hsps: int
) -> None:
    """Two ends far apart belong to one alignment with a long gap, so the second best one is elsewhere."""
    monkeypatch.setattr(windows, "LONG_TARGET", 1000)
    rng = np.random.default_rng(1)

    def text(n: int) -> str:
        return any_text(rng, "ACGT", n)

    query = text(120)
    target = text(300) + query[:60] + text(1700) + query[60:] + text(19_000) + query[:40] + text(300)
    scoring = Scoring(alphabet=DNA, match=1, mismatch=-10, gap_open=20, gap_extend=0.02)
    options = {"min_score": 35, "max_hsps": max_hsps, "strand": "plus"}
    case = Case(scoring, [query], [target], options)
    want = expected(case)
    assert len(want[0]) == min(max_hsps, 2)
    assert found_by(CpuEngine(2), case) == want


@pytest.mark.filterwarnings("ignore:.*has no E-value statistics")
@pytest.mark.parametrize("max_hsps", [1, 3])
def test_a_gap_that_is_extended_for_free_may_be_as_long_as_the_target(
    monkeypatch: pytest.MonkeyPatch, max_hsps: int
) -> None:
    monkeypatch.setattr(windows, "LONG_TARGET", 1000)
    rng = np.random.default_rng(0)
    target = any_text(rng, "ACGT", 20_000)
    query = target[3000:3100] + target[17_000:17_100]
    scoring = Scoring(alphabet=DNA, match=2, mismatch=-7, gap_open=60, gap_extend=0)
    case = Case(scoring, [query], [target], {"min_score": 150, "max_hsps": max_hsps, "strand": "plus"})
    want = expected(case)
    assert [row[5:7] for row in want[0]] == [(3000, 17_100)]
    assert found_by(CpuEngine(1), case) == want
