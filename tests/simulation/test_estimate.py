"""Simulated parameters: the fit on samples of a known law, the same sample on each engine, and the linear phase."""

import math

import numpy as np
import pytest

from exaln import Scoring
from exaln.engines.choice import choose_engine
from exaln.sequences.alphabet import Alphabet
from exaln.simulation.estimate import PILOT, NoGumbelLawError, sampled, simulated_parameters, without_common_factor
from exaln.simulation.random_sequences import background
from exaln.statistics.evalues import ProteinStatistics
from exaln.statistics.gumbel_fit import NATS_BEFORE, ScoreSample, fit
from exaln.statistics.karlin_altschul import ProteinParameters, parameters_of
from exaln.statistics.simulated import SimulatedParameters
from exaln.statistics.ungapped import UngappedLaw, ungapped_law

SMALL = ((400, 192), (800, 32))
CPU = choose_engine("cpu", 2)


def law_of(scoring: Scoring) -> UngappedLaw:
    weights = background(scoring.alphabet)
    found = ungapped_law(scoring.matrix, weights / weights.sum())
    assert found is not None
    return found


def expected_sample(parameters: ProteinParameters, length: int, n_pairs: float) -> ScoreSample:
    """The most likely scores of pairs under a law."""
    statistics = ProteinStatistics(parameters, db_residues=1, db_targets=1)
    expected = statistics.evalues(np.arange(400.0), length, length) * length
    reaches = -np.expm1(-np.minimum.accumulate(expected))
    return ScoreSample(length, np.rint(n_pairs * -np.diff(np.append(reaches, 0))).astype(np.int64))


@pytest.mark.parametrize(("lambda_", "k", "a"), [(0.267, 0.041, 1.9), (0.292, 0.071, 1.2), (0.206, 0.011, 3.6)])
def test_the_fit_finds_the_law_that_the_scores_follow(lambda_: float, k: float, a: float) -> None:
    b = -NATS_BEFORE * a / lambda_
    true = ProteinParameters(lambda_, k, lambda_ / a, a, b, 30, 30 * b / a, 30, 30 * b / a, b)
    samples = [expected_sample(true, length, n) for length, n in ((400, 3e6), (800, 1e6), (1600, 3e5))]
    found = fit(samples, law_of(Scoring("BLOSUM62")), 1, 1)
    assert found is not None
    assert found.lambda_ == pytest.approx(lambda_, rel=0.005)
    assert found.k == pytest.approx(k, rel=0.05)
    assert abs(found.lambda_ / lambda_ - 1) < 4 * found.lambda_error


def test_standard_errors_fall_with_the_size_of_the_sample() -> None:
    true = parameters_of(Scoring("BLOSUM62"))
    assert isinstance(true, ProteinParameters)
    small, large = (
        fit([expected_sample(true, length, n) for length in (400, 800)], law_of(Scoring("BLOSUM62")), 1, 1)
        for n in (1e4, 1e6)
    )
    assert small is not None
    assert large is not None
    assert 2 < small.lambda_error / large.lambda_error < 10.1


@pytest.mark.parametrize(
    ("name", "expected"),
    [("BLOSUM62", (0.3176, 0.7916, 4.96466)), ("BLOSUM45", (0.2291, 0.9113, 9.61106)), ("PAM30", (0.34, 0.1938, 0.1))],
)
def test_the_ungapped_law_is_that_of_ncbis_table(name: str, expected: tuple[float, float, float]) -> None:
    law = law_of(Scoring(name))
    assert law.lambda_ == pytest.approx(expected[0], rel=0.005)
    if name.startswith("BLOSUM"):
        assert (law.a, law.alpha) == pytest.approx(expected[1:], rel=0.02)


@pytest.mark.parametrize(
    "scoring", [Scoring("BLOSUM62"), Scoring(match=2, mismatch=-3), Scoring("BLOSUM62", gap_open=0, gap_extend=8)]
)
def test_each_engine_scores_the_same_sample(scoring: Scoring) -> None:
    weights = background(scoring.alphabet)
    plan = ((24, 33), (40, 8))
    reference, cpu = (sampled(scoring, choose_engine(name), weights, plan, 7) for name in ("reference", "cpu"))
    for ours, theirs in zip(reference, cpu, strict=True):
        assert ours.n_pairs == 32 * (33 if ours.length == 24 else 8)
        assert ours.counts.tolist() == theirs.counts.tolist()


def test_a_simulation_finds_ncbis_parameters_and_depends_on_the_seed_alone() -> None:
    scoring, table = Scoring("BLOSUM62"), parameters_of(Scoring("BLOSUM62"))
    assert table is not None
    one = simulated_parameters(scoring, CPU, seed=3, plan=SMALL)
    assert one == simulated_parameters(scoring, choose_engine("cpu", 1), seed=3, plan=SMALL)
    other = simulated_parameters(scoring, CPU, seed=4, plan=SMALL)
    assert one != other
    for found in (one, other):
        assert abs(found.lambda_ / table.lambda_ - 1) < 4 * found.lambda_error < 0.1
        assert abs(math.log(found.k / table.k)) < 4 * found.k_error


def test_the_fit_of_these_scores_has_these_digits_on_every_machine() -> None:
    found = simulated_parameters(Scoring(match=1, mismatch=-3, gap_open=5, gap_extend=2), CPU, seed=1, plan=SMALL)
    assert (found.lambda_, found.k) == (1.356, 0.5783)


@pytest.mark.parametrize(
    "scoring",
    [
        Scoring("BLOSUM62", gap_open=2, gap_extend=2),
        Scoring("BLOSUM62", gap_open=0, gap_extend=0),
        Scoring(match=1, mismatch=-1, gap_open=0, gap_extend=1),
        Scoring("PAM250", gap_open=5, gap_extend=1),
    ],
    ids=lambda scoring: scoring.describe(),
)
def test_scores_that_grow_with_length_are_refused(scoring: Scoring) -> None:
    with pytest.raises(NoGumbelLawError, match=r"grow in proportion to the length.*raise the gap costs"):
        simulated_parameters(scoring, CPU, plan=SMALL)


def test_a_matrix_with_a_positive_mean_is_refused() -> None:
    with pytest.raises(NoGumbelLawError, match=r"mean score .* not negative; lower the scores of mismatches"):
        simulated_parameters(Scoring(match=3, mismatch=-1, alphabet="dna"), CPU, plan=SMALL)


@pytest.mark.parametrize(
    ("name", "gap_open", "gap_extend"), [("BLOSUM62", 6, 2), ("BLOSUM62", 9, 1), ("BLOSUM45", 16, 1), ("PAM250", 17, 1)]
)
def test_ncbis_scorings_with_the_cheapest_gaps_are_not_refused(name: str, gap_open: int, gap_extend: int) -> None:
    scoring = Scoring(name, gap_open=gap_open, gap_extend=gap_extend)
    assert simulated_parameters(scoring, CPU, plan=SMALL).lambda_ < law_of(scoring).lambda_
    assert len(PILOT) == 3


def test_custom_alphabets_have_statistics() -> None:
    letters = Alphabet("custom", "ABCDE")
    found = simulated_parameters(
        Scoring(match=4, mismatch=-5, gap_open=8, gap_extend=2, alphabet=letters), CPU, plan=SMALL
    )
    assert 0 < found.lambda_ < law_of(Scoring(match=4, mismatch=-5, alphabet=letters)).lambda_


def test_a_common_factor_of_scores_and_gaps_is_divided_out() -> None:
    doubled = Scoring(match=2, mismatch=-6, gap_open=10, gap_extend=4)
    plain, divisor = without_common_factor(doubled)
    assert divisor == 2
    assert (plain.max_score, plain.min_score, plain.gap_open, plain.gap_extend) == (1, -3, 5, 2)
    assert without_common_factor(plain)[1] == 1


def test_values_of_parameters_are_checked() -> None:
    found = simulated_parameters(Scoring("BLOSUM62"), CPU, plan=SMALL)
    values = found.to_values()
    assert SimulatedParameters.from_values(values) == found
    for wrong in ({"lambda_": -1}, {"k": float("nan")}, {"seed": "1"}, {"a": 1e300}, {"more": 1}):
        with pytest.raises(ValueError, match="statistics"):
            SimulatedParameters.from_values(values | wrong)
