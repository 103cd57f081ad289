"""The measure of benchmarks/sensitivity.py on rankings worked out by hand, and how it reads reports."""

import math

import pytest
from sensitivity_parts.measure import (
    Row,
    found_before_false_positive,
    mean_and_error,
    numbers_of_relatives,
    shares,
)
from sensitivity_parts.programs import last_iterations, target_table, twelve_columns

LABELS = {
    "q": "a.1.1.1",
    "family1": "a.1.1.1",
    "family2": "a.1.1.1",
    "family3": "a.1.1.1",
    "super1": "a.1.1.2",
    "super2": "a.1.1.3",
    "fold1": "a.1.2.1",
    "other1": "a.2.1.1",
    "other2": "b.1.1.1",
}
ORDER = ["q", "family1", "super1", "family2", "fold1", "other1", "family3", "super2", "other2"]


def ranking(order=ORDER):
    """Rows with E-values 1, 2, 3 and so on."""
    return [Row(target, float(place), str(100 - place)) for place, target in enumerate(order, 1)]


def found(rows, query="q"):
    return found_before_false_positive(query, "a.1.1.1", rows, LABELS)


def test_relatives_before_the_first_other_fold_count_on_their_finest_level():
    """Before other1: two of three of the family, one of two of the superfamily, the only one of the fold."""
    relatives = numbers_of_relatives(["a.1.1.1"], LABELS.values(), is_target=True)
    assert relatives == [{"family": 3, "superfamily": 2, "fold": 1}]
    of_query = found(ranking())
    assert of_query.counts == {"family": 2, "superfamily": 1, "fold": 1}
    assert of_query.has_false_positive
    assert shares([of_query], relatives, "family") == [2 / 3]
    assert shares([of_query], relatives, "superfamily") == [1 / 2]


def test_a_query_that_is_no_target_has_one_relative_more():
    assert numbers_of_relatives(["a.1.1.1"], LABELS.values(), is_target=False)[0]["family"] == 4


def test_hits_of_coarser_levels_are_no_false_positives():
    assert found(ranking(["fold1", "super1", "family1", "other1"])).counts["family"] == 1


def test_without_a_false_positive_all_reported_relatives_count():
    of_query = found(ranking(["family1", "super1", "family3"]))
    assert of_query.counts == {"family": 2, "superfamily": 1, "fold": 0}
    assert not of_query.has_false_positive


def test_rows_are_sorted_by_evalue_and_the_first_of_a_target_counts():
    rows = [Row("other1", 5.0, "30"), Row("family1", 9.0, "20"), Row("family1", 1.0, "50")]
    assert found(rows).counts["family"] == 1


@pytest.mark.parametrize(("score", "expected"), [("30", 0), ("31", 1)])
def test_ties_with_the_first_false_positive_count_against_the_program(score, expected):
    rows = [Row("family1", 5.0, score), Row("other1", 5.0, "30")]
    assert found(rows).counts["family"] == expected


def test_a_query_without_relatives_on_a_level_is_left_out_of_its_mean():
    some = [found(ranking()), found(ranking(["other1", "family1"]))]
    relatives = [{"family": 3, "superfamily": 2, "fold": 1}, {"family": 3, "superfamily": 0, "fold": 1}]
    assert shares(some, relatives, "superfamily") == [1 / 2]
    assert shares(some, relatives, "family") == [2 / 3, 0]


def test_the_standard_error_of_one_value_is_not_a_number():
    mean, error = mean_and_error([0.25])
    assert mean == 0.25
    assert math.isnan(error)


def test_of_several_iterations_the_last_counts():
    report = """# PSIBLAST 2.12.0+
# Iteration: 1
# Query: a
a\tt1\t1.0\t40
# Iteration: 2
# Query: a
a\tt2\t0.5\t50

Search has CONVERGED!
# Iteration: 1
# Query: b
b\tt3\t2.0\t30
# BLAST processed 2 queries
"""
    assert list(last_iterations(report.splitlines(keepends=True))) == [
        ("a", "t2", "0.5", "50"),
        ("b", "t3", "2.0", "30"),
    ]


def test_columns_of_hmmer_and_fasta():
    table = "# comment\nd1 - q1 - 1e-5 30.1 0.2 2e-5 29 0.2 1.0 1 0 0 1 1 1 1 -\n"
    assert list(target_table(table.splitlines())) == [("q1", "d1", "1e-5", "30.1")]
    line = "q1\td1\t90.0\t10\t1\t0\t1\t10\t1\t10\t0.5\t20.1\n"
    assert list(twelve_columns([line])) == [("q1", "d1", "0.5", "20.1")]
