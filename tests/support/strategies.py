"""Hypothesis strategies for alphabets, sequences and scorings, for the tests of every stage."""

from typing import Any

import numpy as np
from hypothesis import strategies as st

from exaln.scoring.matrices import MAX_VALUE
from exaln.scoring.scoring import Scoring
from exaln.sequences.alphabet import BUILT_IN, GAP_CHARACTERS, MAX_LETTERS, Alphabet

LETTERS = "".join(chr(c) for c in range(ord("!"), ord("a")) if chr(c) not in GAP_CHARACTERS + ">;@+") + "{|}~"

custom_alphabets = st.builds(
    lambda letters: Alphabet("custom", "".join(letters)),
    st.lists(st.sampled_from(LETTERS), min_size=1, max_size=MAX_LETTERS, unique=True),
)
alphabets = st.sampled_from(list(BUILT_IN.values())) | custom_alphabets


def sequences(alphabet: Alphabet, min_size: int = 0, max_size: int = 60) -> st.SearchStrategy[str]:
    """Text over all letters of an alphabet, in upper and lower case; often repetitive."""
    letters = st.sampled_from(sorted(set(alphabet.letters + alphabet.letters.lower())))
    some = st.text(letters, min_size=min_size, max_size=max_size)
    repeats = st.builds(
        lambda unit, size: (unit * size)[:size],
        st.text(letters, min_size=1, max_size=4),
        st.integers(min_size, max_size),
    )
    return some | repeats


@st.composite
def related_pairs(draw: st.DrawFn, alphabet: Alphabet, max_size: int = 60) -> tuple[str, str]:
    """Two sequences of which the second holds a mutated piece of the first, so that they align with gaps."""
    first = draw(sequences(alphabet, max_size=max_size))
    start = draw(st.integers(0, len(first)))
    cut = draw(st.integers(start, len(first)))
    resume = draw(st.integers(cut, len(first)))
    insert = draw(sequences(alphabet, max_size=4))
    return first, first[start:cut] + insert + first[resume:]


@st.composite
def score_arrays(draw: st.DrawFn, n_letters: int) -> np.ndarray[Any, Any]:
    """int32[n, n] with at least one positive score: symmetric or not, small or up to the largest value allowed."""
    largest = draw(st.sampled_from([1, 5, 17, 127, 128, 255, 256, MAX_VALUE]))
    seed = draw(st.integers(0, 2**32 - 1))
    array = np.random.default_rng(seed).integers(-largest, largest, size=(n_letters, n_letters), endpoint=True)
    if draw(st.booleans()):
        array = np.tril(array) + np.tril(array, -1).T
    twin, model = draw(st.tuples(st.integers(0, n_letters - 1), st.integers(0, n_letters - 1)))
    if draw(st.booleans()):  # letters that may fold into one, or only seem to
        array[twin] = array[model]
        if draw(st.booleans()):
            array[:, twin] = array[:, model]
    place = draw(st.integers(0, n_letters - 1))
    array[place, place] = draw(st.integers(1, largest))
    return array.astype(np.int32)


gap_costs = st.one_of(
    st.tuples(st.integers(0, 20), st.integers(0, 5)),
    st.tuples(st.just(0), st.integers(0, 20)),  # linear, and free
    st.tuples(st.integers(0, 200), st.just(0)),  # only opening costs
    st.sampled_from([(127, 1), (255, 1), (254, 2), (MAX_VALUE, 0), (MAX_VALUE - 1, 1), (0, MAX_VALUE)]),
)
"""(gap_open, gap_extend)."""

fractional_costs = st.sampled_from([(9.5, 0.5), (10, 0.1), (2.25, 0), (0, 1.5), (11, 0.125)])


@st.composite
def scorings(draw: st.DrawFn, alphabet: Alphabet) -> Scoring:
    """Any scoring of an alphabet: its built-in matrices, match and mismatch, arrays; gaps of every kind."""
    gap_open, gap_extend = draw(gap_costs)
    gaps = {"gap_open": gap_open, "gap_extend": gap_extend, "alphabet": alphabet}
    kind = draw(st.sampled_from(["built-in", "match", "array"]))
    if kind == "built-in" and alphabet in BUILT_IN.values():
        is_dna = {name: name.startswith("NUC") for name in Scoring.names()}
        return Scoring(draw(st.sampled_from([n for n in is_dna if is_dna[n] == alphabet.is_nucleotide])), **gaps)
    if kind == "array":
        return Scoring(draw(score_arrays(len(alphabet.letters))), **gaps)
    return Scoring(match=draw(st.integers(1, 10)), mismatch=draw(st.integers(-10, 0)), **gaps)
