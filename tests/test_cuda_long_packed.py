"""Regions in halves of words: the kernel itself on an emulated card, and on a GPU."""

import numpy as np
import pytest

import emulated_cuda
from emulated_cuda import EmulatedDriver
from exaln.cuda import long_pair
from exaln.cuda.variants import LongShape
from exaln.engines.cpu import CpuEngine
from exaln.longpair.region import Borders, Pruning, Region
from exaln.modes import GLOBAL, LOCAL, SEMIGLOBAL
from fake_cuda import install
from kernel_cases import mutated, random_codes
from long_regions import SCORINGS, OnCards, assert_as, assert_same, filled, outside, some

DNA = SCORINGS["DNA"]
SMALL = LongShape(4, 64, 1, 8, is_packed=True)


@pytest.fixture
def card(monkeypatch):
    """A card that computes all regions in a packed shape."""
    if emulated_cuda.COMPILER is None:
        pytest.skip("no g++")
    install(monkeypatch, EmulatedDriver(memory=1 << 30), 20)
    monkeypatch.setattr(long_pair, "PACKED_SHAPES", (SMALL,))
    monkeypatch.setattr(long_pair, "long_shapes", lambda *_: [])
    return OnCards()


def similar(seed, length, rate=0.1):
    rng = np.random.default_rng(seed)
    query = random_codes(rng, length, 4)
    return query, mutated(rng, query, 4, rate)


@pytest.mark.parametrize("mode", [LOCAL, GLOBAL, SEMIGLOBAL], ids=str)
def test_lines_and_ends(card, mode):
    rng = np.random.default_rng(1)
    for length in (1, 5, 200, 700):
        query, target = similar(length, length)
        lines = some(rng, len(query), 9), some(rng, len(target), 9)
        assert_as(card, CpuEngine(), query, target, DNA, mode, *lines)
