"""The description of a search that other processes and files give: wrong values are errors of three kinds."""

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exaln import Database, Scoring, SearchOptions
from exaln.search.spec import SearchSpec
from exaln.sequences.fasta import read_records
from exaln.statistics.simulated import SimulatedParameters
from golden_data import GOLDEN

ALLOWED = (KeyError, TypeError, ValueError)
SPEC = SearchSpec.of(
    "db",
    Database.in_memory([read_records(GOLDEN / "cudasw4q_part.fasta")]).manifest,
    Scoring(match=1, mismatch=-2.5, alphabet="protein"),
    SearchOptions(include=np.array([1, 2]), min_identity=20.0),
    SimulatedParameters(0.3, 0.1, 0.2, 1.5, -20.0, 20.0, -100.0, 20.0, -100.0, -20.0, 0.01, 0.05, 1),
)
JUNK = [None, True, -1, 1 << 70, 1.5, float("inf"), float("nan"), "", "x", "1/0", [], [[]], {}, {"a": 1}, ["A", "C"]]


def places_in(values: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of all values within values; of a matrix, some."""
    found = [path] if path else []
    items = values.items() if isinstance(values, dict) else enumerate(values[:2]) if isinstance(values, list) else ()
    for key, value in items:
        found += places_in(value, (*path, key))
    return found


PLACES = places_in(SPEC.to_values())


def with_value(path: tuple[Any, ...], value: Any, *, remove: bool = False) -> Any:
    values = json.loads(json.dumps(SPEC.to_values()))
    inner = values
    for key in path[:-1]:
        inner = inner[key]
    if remove:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return values


def assert_used_or_refused(values: Any) -> None:
    """Read a spec and use it. It must work, or reading must raise one of the three allowed errors."""
    try:
        spec = SearchSpec.from_values(values)
    except ALLOWED:
        return
    assert json.dumps(spec.to_values())
    assert spec.digest
    _ = spec.options.needs_alignments, spec.scoring.max_score


@pytest.mark.parametrize("path", PLACES, ids=lambda path: ".".join(map(str, path)))
def test_any_value_at_any_place_of_a_spec_is_used_or_refused(path: tuple[Any, ...]) -> None:
    for junk in JUNK:
        assert_used_or_refused(with_value(path, junk))
    if path[-1] != "written_by" and path[:2] != ("scoring", "alphabet"):
        with pytest.raises(ALLOWED):
            SearchSpec.from_values(with_value(path, None, remove=True))


@pytest.mark.parametrize("junk", JUNK)
def test_values_that_are_no_search_spec_are_refused(junk: Any) -> None:
    with pytest.raises(ALLOWED):
        SearchSpec.from_values(junk)


@pytest.mark.parametrize(
    ("path", "junk"),
    [
        (("database",), 5),
        (("space", "n_targets"), "5"),
        (("space", "n_residues"), -1),
        (("scoring", "scale"), 0),
        (("scoring", "gap_open"), True),
        (("scoring", "matrix"), [[1]]),
        (("scoring", "matrix", 0, 0), 1 << 40),
        (("scoring", "match"), ["1/0", "2"]),
        (("scoring", "alphabet", "letters"), ["A"]),
        (("scoring", "alphabet", "name"), 5),
        (("options", "evalue"), "1"),
        (("options", "min_score"), 1.5),
        (("options", "include"), "no base64"),
    ],
)
def test_wrong_values_in_a_spec_are_refused(path: tuple[Any, ...], junk: Any) -> None:
    with pytest.raises(ALLOWED):
        SearchSpec.from_values(with_value(path, junk))


@settings(max_examples=100, deadline=None)
@given(
    st.sampled_from(PLACES),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
        max_leaves=6,
    ),
)
def test_random_json_in_a_spec_is_used_or_refused(path: tuple[Any, ...], junk: Any) -> None:
    assert_used_or_refused(with_value(path, junk))


def test_simulated_statistics_travel_with_the_search() -> None:
    travelled = SearchSpec.from_values(json.loads(json.dumps(SPEC.to_values())))
    assert travelled.simulated == SPEC.simulated
    assert travelled.digest == SPEC.digest
    statistics = travelled.evaluator.statistics
    assert statistics is not None
    assert (statistics.lambda_, statistics.k) == (0.3, 0.1)
