"""Alphabets: letters, codes, custom alphabets, and detection from a sample."""

import pickle

import numpy as np
import pytest
from hypothesis import given

from exaln.errors import InputError
from exaln.sequences.alphabet import BLANK, BUILT_IN, DNA, GAP, NOT_A_LETTER, PROTEIN, RNA, Alphabet, detect
from strategies import alphabets


@given(alphabets)
def test_every_letter_survives_encoding_in_both_cases(alphabet):
    codes = np.arange(len(alphabet.letters))
    assert np.array_equal(alphabet.encode(alphabet.letters), codes)
    assert np.array_equal(alphabet.encode(alphabet.letters.lower()), codes)
    assert alphabet.decode(codes) == alphabet.letters
    assert alphabet.decode(bytes(codes.tolist())) == alphabet.letters


@pytest.mark.parametrize("alphabet", BUILT_IN.values(), ids=BUILT_IN)
def test_every_byte_is_a_letter_a_gap_a_blank_or_nothing(alphabet):
    letters = (alphabet.letters + alphabet.letters.lower()).encode()
    for byte in range(256):
        if byte in letters:
            assert alphabet.letters[alphabet.table[byte]] == chr(byte).upper()
        else:
            expected = GAP if byte in b"-." else BLANK if byte in b" \t\v\f" else NOT_A_LETTER
            assert alphabet.table[byte] == expected


def test_built_in_alphabets_have_the_documented_letters():
    assert set("ARNDCQEGHILKMFPSTWYV" + "BZJXUO*") == set(PROTEIN.letters)
    assert set("ACGT" + "RYSWKMBDHVN" + "U") == set(DNA.letters) == set(RNA.letters)
    assert DNA.letters.startswith("ACGT")
    assert RNA.letters.startswith("ACGU")
    assert (PROTEIN.is_nucleotide, DNA.is_nucleotide, RNA.is_nucleotide) == (False, True, True)


@pytest.mark.parametrize("alphabet", BUILT_IN.values(), ids=BUILT_IN)
def test_odd_letters_stand_for_plain_letters(alphabet):
    for letter, plain in alphabet.synonyms.items():
        assert letter in alphabet.letters
        assert set(plain) <= set(alphabet.letters) - alphabet.synonyms.keys()


@pytest.mark.parametrize(
    ("sequence", "complaint"),
    [
        ("ACG-T", "'-' at position 4 is not a dna letter"),
        ("ACGE", "'E' at position 4"),
        ("AC GT", "byte 0x20 at position 3"),
        (b"A\x00C", "byte 0x00 at position 2"),
        ("\u00c4C", "byte 0xc3 at position 1"),
    ],
)
def test_a_character_outside_the_alphabet_is_named_with_its_position(sequence, complaint):
    with pytest.raises(InputError, match=complaint):
        DNA.encode(sequence)


def test_empty_sequences_are_encoded_and_decoded():
    assert DNA.encode("").size == 0
    assert DNA.decode([]) == ""


@pytest.mark.parametrize(
    ("letters", "complaint"),
    [
        ("", "has no letters"),
        ("ABa", "repeats a letter"),
        ("A-B", "'-' cannot be a letter"),
        ("A>B", "'>' cannot be a letter"),
        ("A B", "' ' cannot be a letter"),
        ("A\u00c4", "cannot be a letter"),
        ("ABCDEFGHIJKLMNOPQRSTUVWXYZ012345", "has 32 letters; at most 31"),
    ],
)
def test_impossible_alphabets_are_refused(letters, complaint):
    with pytest.raises(InputError, match=complaint):
        Alphabet("mine", letters)


def test_names_and_letters_on_the_command_line():
    assert Alphabet.parse("protein") is Alphabet.parse("PROTEIN") is PROTEIN
    assert Alphabet.parse("RNA") is RNA
    assert Alphabet.parse("HPN").letters == "HPN"
    for typo in ("protien", "Dna2", ""):
        with pytest.raises(InputError):
            Alphabet.parse(typo)


def test_alphabets_compare_hash_and_pickle_by_name_and_letters():
    restored = pickle.loads(pickle.dumps(PROTEIN))
    assert restored == PROTEIN
    assert hash(restored) == hash(PROTEIN)
    assert restored.synonyms == PROTEIN.synonyms
    assert Alphabet("custom", "hp") == Alphabet("custom", "HP") != Alphabet("custom", "PH")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ACGTACGT", DNA),
        ("acgtnnnn", DNA),
        ("ACGUACGU", RNA),
        ("ACGTU", DNA),
        ("GGGGGG", DNA),
        ("ACGTACGTACGTACGTACR", DNA),
        ("GTGYCAGCMGCCGCGGTAA", DNA),
        ("RYSWKM", PROTEIN),
        ("ACGTE", PROTEIN),
        ("MKVLAAGIVG", PROTEIN),
        ("ACGT*", PROTEIN),
        ("", PROTEIN),
        ("--..12", PROTEIN),
    ],
)
def test_alphabets_are_detected_from_letter_counts(text, expected):
    counts = np.bincount(np.frombuffer(text.encode(), np.uint8), minlength=256)
    before = counts.copy()
    assert detect(counts) is expected
    assert np.array_equal(counts, before)
