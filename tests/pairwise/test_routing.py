"""Pairs are routed once: to batches or to the region algorithm, with the caller's options."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import exaln
from exaln.pairwise.long import driver


def related(rng: np.random.Generator, length: int) -> tuple[str, str]:
    """A random sequence and a copy of it with a tenth of its letters replaced."""
    letters = rng.integers(0, 4, length)
    other = np.where(rng.random(length) < 0.1, rng.integers(0, 4, length), letters)
    return "".join(np.array(list("ACGT"))[letters]), "".join(np.array(list("ACGT"))[other])


def test_one_long_pair_among_others_is_the_only_long_one_and_gets_the_options(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The long pair cuts the others into batches of ten, which must not be routed again by their number."""
    calls: list[Any] = []
    align_long = driver.align_long

    def recorded(engine: Any, query: Any, target: Any, scoring: Any, mode: Any, options: Any) -> Any:
        calls.append((len(query), options.work_dir, options.memory, options.watch is not None))
        return align_long(engine, query, target, scoring, mode, options)

    monkeypatch.setattr(driver, "align_long", recorded)
    rng = np.random.default_rng(18)
    pairs = [related(rng, 12_500 if place == 10 else 3_000) for place in range(21)]
    cells: list[int] = []
    found = exaln.align_many(
        [query for query, _ in pairs],
        [target for _, target in pairs],
        engine="cpu",
        work_dir=tmp_path,
        memory=1 << 28,
        progress=cells.append,
    )
    assert calls == [(12_500, tmp_path, 1 << 28, True)]
    assert cells == sorted(cells)
    assert cells[-1] == 20 * 3_000**2 + 12_500**2
    for place in (0, 10, 20):
        assert found[place].cigar == exaln.align(*pairs[place]).cigar
