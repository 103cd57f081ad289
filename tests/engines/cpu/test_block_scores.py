"""Scores of blocks of targets."""

import numpy as np
import pytest

import exaln
from exaln import _core
from exaln.database import windows
from exaln.database.database import Database
from exaln.scoring.scoring import Scoring
from exaln.sequences.alphabet import DNA
from kernel_cases import ISAS
from several_searches import any_text, records


@pytest.mark.parametrize("isa", ISAS)
def test_a_query_without_letters_scores_nothing_in_any_block(isa):
    """Also after another query, whose scores lie in the same memory."""
    matrix = np.ascontiguousarray(Scoring.default(DNA).matrix, np.int32)
    codes, offsets = np.zeros(700, np.uint8), np.array([0, 10, 200, 700])
    found = _core.score_all(codes[:30], np.array([0, 30, 30]), codes, offsets, matrix, 7, 2, 1, isa, None, 64)
    assert (found[0] > 0).all()
    assert (found[1] == 0).all()


@pytest.mark.parametrize("max_hsps", [None, 1, 3])
def test_queries_without_letters_are_searched_in_long_targets(monkeypatch, max_hsps):
    monkeypatch.setattr(windows, "LONG_TARGET", 1000)
    rng = np.random.default_rng(1)
    targets = [any_text(rng, "ACGT", 20_000 + n) for n in range(4)]
    database = Database.in_memory([records(DNA, targets)])
    queries = {"first": targets[0][:300], "none": "", "second": targets[1][500:800]}
    found = exaln.search(queries, database, engine="cpu", max_hsps=max_hsps)
    assert {hit.query_id for hit in found} == {"first", "second"}
