"""SEG: the native version against plain Python and against what segmasker printed."""

import random
from itertools import pairwise

import numpy as np
import pytest

from exaln.errors import InputError
from exaln.masking.seg import SUBJECTS, SegParameters, seg_intervals
from exaln.sequences.alphabet import DNA, PROTEIN
from exaln.sequences.records import Records
from golden_data import GOLDEN, fasta
from plain_seg import STANDARD, seg, segments

DEFAULT = SegParameters()


def records_of(sequences: list[str]) -> Records:
    return Records.of(PROTEIN, [PROTEIN.encode(sequence) for sequence in sequences])


def found_in(records: Records, parameters: SegParameters, threads: int = 1) -> list[list[tuple[int, int]]]:
    found = seg_intervals(records, parameters, threads=threads)
    pairs = list(zip(found.begins.tolist(), found.ends.tolist(), strict=True))
    edges = found.offsets.tolist()
    return [pairs[begin:end] for begin, end in pairwise(edges)]


def biased_sequences(n: int, seed: int) -> list[str]:
    """Sequences with stretches of few letters, unknown letters among them."""
    rng = random.Random(seed)
    sequences = []
    for _ in range(n):
        parts = []
        for _ in range(rng.randrange(6)):
            letters = rng.sample(STANDARD + "XBZUOJ*", rng.choice([1, 2, 3, 5, 20, 26]))
            parts.append("".join(rng.choices(letters, k=rng.randrange(60))))
        sequences.append("".join(parts))
    return sequences


@pytest.mark.parametrize(
    "parameters", [(12, 2.2, 2.5), (10, 1.8, 2.1), (1, 0, 0), (25, 3.0, 3.3), (6, 2.0, 4.4)], ids=str
)
def test_the_native_version_is_the_plain_one(parameters: tuple[int, float, float]) -> None:
    sequences = biased_sequences(20, 1)
    plain = [[(first, last + 1) for first, last in segments(one, *parameters)] for one in sequences]
    assert found_in(records_of(sequences), SegParameters(*parameters)) == plain
    merged = seg_intervals(records_of(sequences), SegParameters(*parameters)).merged()
    assert list(zip(merged.begins.tolist(), merged.ends.tolist(), strict=True)) == [
        pair for one in sequences for pair in seg(one, *parameters)
    ]


@pytest.mark.parametrize("parameters", [DEFAULT, SUBJECTS], ids=str)
def test_the_stretches_are_those_of_segmasker(parameters: SegParameters) -> None:
    rows = (GOLDEN / "segmasker.tsv").read_text(encoding="ascii").splitlines()
    key = f"{parameters.window}/{parameters.locut}/{parameters.hicut}"
    expected: dict[str, list[tuple[int, int]]] = {}
    for row in rows:
        if not row.startswith("#"):
            of, id_, first, last = row.split("\t")
            if of == key:
                expected.setdefault(id_, []).append((int(first), int(last) + 1))
    sequences = fasta("cudasw4q_part.fasta") | fasta("scop20_part.fasta")
    found = found_in(records_of(list(sequences.values())), parameters)
    assert sum(map(len, expected.values())) >= 20
    assert {id_: own for id_, own in zip(sequences, found, strict=True) if own} == expected


def test_threads_and_rows_of_a_larger_column_change_nothing() -> None:
    sequences = biased_sequences(1000, 2)
    records = records_of(sequences)
    found = found_in(records, DEFAULT)
    assert found_in(records, DEFAULT, threads=3) == found
    assert found_in(records.rows(500, 700), DEFAULT) == found[500:700]
    assert any(found)


def test_sequences_shorter_than_the_window_and_unknown_letters_have_none() -> None:
    assert found_in(records_of(["", "A", "A" * 11, "X" * 40, "BZUOJ*" * 9]), DEFAULT) == [[]] * 5
    assert found_in(records_of(["A" * 12]), DEFAULT) == [[(0, 12)]]


def test_a_very_long_stretch_is_found_in_linear_time() -> None:
    codes = np.full(400_000, PROTEIN.letters.index("Q"), np.uint8)
    assert found_in(Records.of(PROTEIN, [codes]), DEFAULT) == [[(0, 400_000)]]


def test_wrong_parameters_and_sequences_are_refused() -> None:
    with pytest.raises(InputError, match=r"locut is 3, which is above hicut, 2"):
        SegParameters(12, 3, 2)
    with pytest.raises(InputError, match="window is 0"):
        SegParameters(0)
    dna = Records.of(DNA, [DNA.encode("ACGT")])
    with pytest.raises(InputError, match="seg masks proteins, not dna sequences; use dust"):
        seg_intervals(dna)
