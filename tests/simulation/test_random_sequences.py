"""Random sequences must be the same everywhere, and have the composition of the background."""

import numpy as np

from exaln.sequences.alphabet import DNA, PROTEIN, Alphabet
from exaln.simulation.random_sequences import RandomSequences, background
from exaln.statistics.background import ROBINSON


def letters(alphabet: Alphabet, n: int, seed: int) -> str:
    return alphabet.decode(RandomSequences(alphabet, background(alphabet), seed).codes(n))


def test_a_seed_gives_these_letters_on_every_machine() -> None:
    assert letters(PROTEIN, 30, 1) == "ILPVANSVQETGQSQGKLRATPTLSEISRE"
    assert letters(DNA, 30, 1) == "CGTTAATTACTCCTCCGGAATTTGTCCTAC"
    assert letters(Alphabet("hp", "HP"), 30, 2) == "PHHHHPHHHPPPPHPHPHHPHPHHPHPPPH"


def test_the_stream_does_not_depend_on_how_it_is_cut() -> None:
    stream = RandomSequences(PROTEIN, background(PROTEIN), 5)
    first, second = stream.records(3, 10), stream.records(2, 8)
    assert (first.codes.tobytes() + second.codes.tobytes()) == RandomSequences(PROTEIN, background(PROTEIN), 5).codes(
        46
    ).tobytes()
    assert first.lengths.tolist() == [10, 10, 10]


def test_letters_are_as_frequent_as_the_background() -> None:
    codes = RandomSequences(PROTEIN, background(PROTEIN), 3).codes(200_000)
    counts = np.bincount(codes, minlength=len(PROTEIN.letters))
    expected = 2 * background(PROTEIN)
    assert sum(ROBINSON.values()) == 100_000
    assert np.all(np.abs(counts - expected) <= 5 * np.sqrt(expected))
