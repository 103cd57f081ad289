"""The Gumbel law of plain samples of scores: known laws are found again, and a row decides alone."""

import numpy as np
import pytest

from exaln.statistics.gumbel_scores import GumbelLaws


def sample(lambda_, mu, shape, seed=1):
    uniform = np.random.default_rng(seed).random(shape)
    return mu - np.log(-np.log(uniform)) / lambda_


@pytest.mark.parametrize(("lambda_", "mu"), [(0.267, 40.0), (1.3, 7.5), (0.005, 900.0)])
def test_a_known_law_is_found_again(lambda_, mu):
    laws = GumbelLaws.fit(sample(lambda_, mu, (3, 40_000)))
    assert laws.lambda_ == pytest.approx(lambda_, rel=0.02)
    assert laws.mu == pytest.approx(mu, abs=0.03 / lambda_)


def test_the_most_likely_law_is_found():
    """No law nearby makes the sample more likely."""
    scores = np.rint(sample(0.3, 35, (1, 60)))
    laws = GumbelLaws.fit(scores)

    def log_likelihood(lambda_, mu):
        height = lambda_ * (scores - mu)
        return float((np.log(lambda_) - height - np.exp(-height)).sum())

    best = log_likelihood(laws.lambda_[0], laws.mu[0])
    for factor, shift in ((1.001, 0), (0.999, 0), (1, 0.01), (1, -0.01), (1.001, 0.01), (0.999, -0.01)):
        assert log_likelihood(laws.lambda_[0] * factor, laws.mu[0] + shift) < best


def test_a_row_alone_decides_its_law():
    scores = np.rint(sample(0.3, 35, (50, 30))).astype(np.int64)
    scores[7], scores[8, 1:] = 12, 0
    together = GumbelLaws.fit(scores)
    assert np.isnan(together.lambda_[7])
    assert np.isfinite(np.delete(together.lambda_, 7)).all()
    for row in range(len(scores)):
        alone = GumbelLaws.fit(scores[row : row + 1])
        np.testing.assert_array_equal([alone.lambda_[0], alone.mu[0]], [together.lambda_[row], together.mu[row]])
    assert len(GumbelLaws.fit(scores[:0]).lambda_) == 0


def test_chances_are_those_of_the_law():
    laws = GumbelLaws(np.array([0.3, np.nan]), np.array([30.0, np.nan]))
    found = laws.chances(np.array([0, 0, 0, 0, 1]), np.array([30, 60, 100_000, -100_000, 5]))
    expected = [1 - np.exp(-1), 1 - np.exp(-np.exp(-9)), 0, 1, np.nan]
    np.testing.assert_allclose(found, expected)
