"""Arguments that make no sense are exceptions, never a crash; a score too large is an error, never a wrong one."""

from types import SimpleNamespace

import numpy as np
import pytest

from exaln import _core
from exaln.engines.cpu.core_calls import score_arrays
from exaln.engines.reference.engine import local_score
from exaln.errors import EngineError, OutOfMemoryError
from kernel_cases import ISAS, diagonal_costs, join, score_all, sequence_scoring

CODES, OFFSETS = join([np.array([0, 1, 1], np.uint8), np.array([1, 0], np.uint8)])
GOOD = {
    "query_codes": CODES,
    "query_offsets": OFFSETS,
    "target_codes": CODES,
    "target_offsets": OFFSETS,
    "matrix": np.array([[2, -1], [-1, 2]], np.int32),
    "gap_first": 3,
    "gap_extend": 1,
    "threads": 2,
    "isa": "",
}


def call(**changes):
    return _core.score_all(**(GOOD | changes))


def test_valid_arguments_are_scored():
    assert call().tolist() == [[6, 2], [2, 4]]


@pytest.mark.parametrize("isa", ["", *ISAS])
@pytest.mark.parametrize("which", ["query", "target"])
@pytest.mark.parametrize("code", [32, 127, 128, 255])
@pytest.mark.parametrize("n_copies", [1, 200])
def test_codes_beyond_the_matrix_are_refused(isa, which, code, n_copies):
    """A single target is striped, many of them are grouped: both must look."""
    codes, offsets = join([np.array([0] * 40 + [code], np.uint8)] * n_copies)
    with pytest.raises(ValueError, match="a code of 32 or more"):
        call(**{f"{which}_codes": codes, f"{which}_offsets": offsets, "isa": isa})


@pytest.mark.parametrize("which", ["query_offsets", "target_offsets"])
@pytest.mark.parametrize(
    ("offsets", "message"),
    [
        ([0, 3, 2], "decrease"),
        ([3, 0], "decrease"),
        ([0, 6], "beyond the codes"),
        ([0, 2**62], "beyond the codes"),
        ([-1, 2], "negative"),
        ([-(2**63), 2**63 - 1], "negative"),
        ([0, -(2**63), 2**63 - 1], "decrease"),
        ([], "empty"),
    ],
)
def test_invalid_offsets_are_refused(which, offsets, message):
    with pytest.raises(ValueError, match=message):
        call(**{which: np.array(offsets, np.int64)})


@pytest.mark.parametrize("shape", [(2, 3), (3, 2), (0, 0), (32, 32), (40, 40)])
def test_matrices_of_the_wrong_shape_are_refused(shape):
    with pytest.raises(ValueError, match="n x n"):
        call(matrix=np.ones(shape, np.int32))


@pytest.mark.parametrize(("first", "extend"), [(-1, -1), (0, -1), (1, 2), (-(2**31), 0)])
def test_invalid_gap_costs_are_refused(first, extend):
    with pytest.raises(ValueError, match="gap costs"):
        call(gap_first=first, gap_extend=extend)


@pytest.mark.parametrize("threads", [0, -1, -(2**31)])
def test_zero_threads_are_refused(threads):
    with pytest.raises(ValueError, match="threads must be at least 1"):
        call(threads=threads)


@pytest.mark.parametrize("isa", ["mmx", "AVX2", " avx2", "avx2\0", "avx"])
def test_unknown_instruction_sets_are_refused(isa):
    with pytest.raises(ValueError, match="unknown instruction set"):
        call(isa=isa)


@pytest.mark.parametrize(
    "change",
    [
        {"query_codes": "ACGT"},
        {"query_codes": None},
        {"query_codes": CODES.reshape(1, -1)},
        {"matrix": np.ones(4, np.int32)},
        {"gap_first": 2**31},
        {"gap_extend": 0.5},
        {"threads": "two"},
        {"isa": None},
        {"on_progress": 3},
    ],
)
def test_arguments_of_the_wrong_type_are_refused(change):
    with pytest.raises(TypeError):
        call(**change)


def test_queries_and_targets_may_be_empty():
    nothing = {"codes": np.empty(0, np.uint8), "offsets": np.zeros(1, np.int64)}
    no_queries = {f"query_{name}": array for name, array in nothing.items()}
    no_targets = {f"target_{name}": array for name, array in nothing.items()}
    assert call(**no_queries).shape == (0, 2)
    assert call(**no_targets).shape == (2, 0)
    assert call(**no_queries, **no_targets).shape == (0, 0)


def test_the_arguments_are_not_changed():
    before = {name: np.copy(value) for name, value in GOOD.items()}
    call()
    for name, value in before.items():
        np.testing.assert_array_equal(GOOD[name], value)


HUGE = diagonal_costs([500_000_000, 10_000_000, 100_000, 1000, 30, 1], 1, 1)
HUGE_LETTERS = np.diagonal(HUGE.matrix).tolist()


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("n_targets", [1, 100])
def test_a_score_beyond_31_bits_is_an_error(isa, n_targets):
    fits, too_large = (sequence_scoring(HUGE.limit(32) + more, HUGE_LETTERS) for more in (0, 1))
    assert set(score_all([fits], [fits] * n_targets, HUGE, isa)[0].tolist()) == {HUGE.limit(32)}
    with pytest.raises(EngineError, match="does not fit 31 bits"):
        score_arrays(join([too_large]), join([too_large] * n_targets), HUGE, threads=2, isa=isa)


def test_a_score_beyond_31_bits_is_an_error_of_the_reference_too():
    largest, too_large = (sequence_scoring(2**31 - 1 + more, HUGE_LETTERS) for more in (0, 1))
    assert local_score(largest, largest, HUGE) == 2**31 - 1
    with pytest.raises(EngineError, match="does not fit 31 bits"):
        local_score(too_large, too_large, HUGE)


@pytest.mark.parametrize("costs", [(2**31 - 1, 0), (2**30, 2**30), (2**31 - 1, 2**31 - 1)])
def test_costs_that_no_width_can_hold_are_an_error_or_exact(costs):
    """Gaps so dear that even 32 bits may not hold them: no wrong score."""
    first, extend = costs
    try:
        assert call(gap_first=first, gap_extend=extend).tolist() == [[6, 2], [2, 4]]
    except OverflowError:
        assert first + extend > 2**31


def test_more_scores_than_memory_are_an_error():
    offsets = np.zeros(2**24 + 1, np.int64)
    nothing = (np.empty(0, np.uint8), offsets)
    scoring = SimpleNamespace(matrix=GOOD["matrix"], gap_first=3, gap_extend=1)
    with pytest.raises(OutOfMemoryError, match="not enough memory"):
        score_arrays(nothing, nothing, scoring, threads=1, isa="")
