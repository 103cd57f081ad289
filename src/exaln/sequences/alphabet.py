"""Alphabets: the letters of a sequence and their codes.

A sequence is stored as one code per letter, so nothing is lost: U stays U, N stays N. `exaln.scoring.letter_rules`
decides what a letter scores that the matrix lacks, from the letters it stands for (`Alphabet.synonyms`); the reasons
are in docs/letters.md.

| alphabet | letters | a letter that the matrix lacks |
|---|---|---|
| protein | the 20 amino acids, B Z J X, U O, `*` | U scores as C, O as K, J as I and L, B as D and N, Z as E and Q |
| dna | A C G T, the IUPAC codes, U | U scores as T, a code as the mean of its bases |
| rna | A C G U, the IUPAC codes, T | T scores as U, a code as the mean of its bases |
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from exaln.errors import InputError
from exaln.foundation import arguments

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAX_LETTERS = 31
"""Codes have five bits, and one of the 32 is reserved for padding inside the engines."""

NOT_A_LETTER = 255
GAP = 254
BLANK = 253
"""Entries of `Alphabet.table` that are not codes. BLANK stands for space, tab, vertical tab and form feed."""

GAP_CHARACTERS = "-."
BLANK_CHARACTERS = " \t\v\f"


@dataclass(frozen=True)
class Alphabet:
    """An ordered set of letters; the code of a letter is its index in `letters`.

    >>> dna = Alphabet.named("dna")
    >>> dna.encode("ACgt")
    array([0, 1, 2, 3], dtype=uint8)
    >>> dna.decode([3, 2, 1, 0])
    'TGCA'
    >>> Alphabet("hp", "HP").encode("HPPH")
    array([0, 1, 1, 0], dtype=uint8)
    """

    name: str
    letters: str
    synonyms: Mapping[str, str] = field(default_factory=dict, hash=False, compare=False, repr=False)
    """The letters that another letter stands for: {"U": "C", "J": "IL"}."""

    def __post_init__(self) -> None:
        """Raise InputError for too many or repeated letters, or for characters that mean gaps, blanks or headers."""
        arguments.text("name", self.name)
        if not isinstance(self.letters, str):
            raise arguments.wrong("letters", self.letters, "text, one character for each letter")
        _check_synonyms(self.synonyms)
        letters = self.letters
        if not letters:
            raise InputError(f"alphabet {self.name!r} has no letters")
        if len(letters) > MAX_LETTERS:
            raise InputError(f"alphabet {self.name!r} has {len(letters)} letters; at most {MAX_LETTERS} are possible")
        for letter in letters:
            if not ("!" <= letter <= "~") or letter in GAP_CHARACTERS + ">;@+":
                raise InputError(f"alphabet {self.name!r}: {letter!a} cannot be a letter")
        if len(set(letters.upper())) != len(letters):
            raise InputError(f"alphabet {self.name!r} repeats a letter (upper and lower case are the same letter)")
        object.__setattr__(self, "letters", letters.upper())

    @staticmethod
    def named(name: str) -> Alphabet:
        """The built-in alphabet "protein", "dna" or "rna", in any case; InputError for another name."""
        arguments.text("name", name, f"one of {', '.join(BUILT_IN)}")
        try:
            return BUILT_IN[name.lower()]
        except KeyError:
            known = ", ".join(BUILT_IN)
            raise InputError(
                f"unknown alphabet {name!r}; choose one of {known}, or give your own letters in upper case"
            ) from None

    @staticmethod
    def parse(text: str) -> Alphabet:
        """The alphabet for `--alphabet`: the name of a built-in one, or the letters of a custom one in upper case.

        >>> Alphabet.parse("DNA").name, Alphabet.parse("HP")
        ('dna', Alphabet(name='custom', letters='HP'))
        """
        arguments.text("text", text, f"one of {', '.join(BUILT_IN)}, or letters in upper case")
        if text.lower() in BUILT_IN or text != text.upper():
            return Alphabet.named(text)
        return Alphabet("custom", text)

    def to_values(self) -> dict[str, Any]:
        """A dict of plain values for JSON; `from_values` is the inverse."""
        return {"name": self.name, "letters": self.letters, "synonyms": dict(self.synonyms)}

    @staticmethod
    def from_values(values: dict[str, Any]) -> Alphabet:
        """The alphabet from the dict of `to_values`; a built-in one is returned as the same object."""
        alphabet = Alphabet(values["name"], values["letters"], values["synonyms"])
        built_in = BUILT_IN.get(alphabet.name)
        return built_in if built_in == alphabet else alphabet

    @property
    def is_nucleotide(self) -> bool:
        """Whether sequences have two strands."""
        return self.name in ("dna", "rna")

    @cached_property
    def table(self) -> NDArray[np.uint8]:
        """uint8[256]: the code of each byte, or NOT_A_LETTER, GAP or BLANK. Upper and lower case have the same code."""
        table = np.full(256, NOT_A_LETTER, np.uint8)
        for characters, meaning in ((GAP_CHARACTERS, GAP), (BLANK_CHARACTERS, BLANK)):
            table[[ord(c) for c in characters]] = meaning
        for code, letter in enumerate(self.letters):
            table[ord(letter)] = table[ord(letter.lower())] = code
        table.flags.writeable = False
        return table

    def encode(self, sequence: str | bytes) -> NDArray[np.uint8]:
        """uint8[n]: the codes of a sequence; InputError for a character outside the alphabet, with its position."""
        if not isinstance(sequence, str | bytes | bytearray | memoryview):
            raise arguments.wrong("sequence", sequence, "text or bytes")
        raw = arguments.encoded("sequence", sequence) if isinstance(sequence, str) else bytes(sequence)
        codes = self.table[np.frombuffer(raw, np.uint8)]
        bad = np.flatnonzero(codes >= MAX_LETTERS)
        if bad.size:
            place = int(bad[0])
            raise InputError(f"{describe_byte(raw[place])} at position {place + 1} is not a {self.name} letter")
        return codes

    def decode(self, codes: NDArray[np.uint8] | bytes | list[int]) -> str:
        """The letters for these codes, in upper case; InputError for a number that is not a code."""
        array = np.frombuffer(codes, np.uint8) if isinstance(codes, bytes) else np.asarray(codes)
        if not array.size:
            return ""
        if array.dtype.kind not in "iu" or array.ndim != 1 or array.min() < 0 or array.max() >= len(self.letters):
            raise arguments.wrong("codes", codes, f"whole numbers from 0 to {len(self.letters) - 1}")
        return bytes(self._letter_bytes[array]).decode("ascii")

    @cached_property
    def _letter_bytes(self) -> NDArray[np.uint8]:
        return np.frombuffer(self.letters.encode("ascii"), np.uint8)


def _check_synonyms(synonyms: object) -> None:
    is_text = isinstance(synonyms, Mapping) and all(isinstance(one, str) for pair in synonyms.items() for one in pair)
    if not is_text:
        raise arguments.wrong("synonyms", synonyms, "a dict from letters to the letters they stand for")


def as_alphabet(alphabet: Alphabet | str | None) -> Alphabet | None:
    """The alphabet for what a user passed: an Alphabet, the name of a built-in one, upper-case letters, or None."""
    if alphabet is None or isinstance(alphabet, Alphabet):
        return alphabet
    expected = f"an Alphabet, one of {', '.join(BUILT_IN)}, or letters in upper case"
    return Alphabet.parse(arguments.text("alphabet", alphabet, expected))


def describe_byte(byte: int) -> str:
    """An unexpected byte for a message, as a quoted character or as hexadecimal digits.

    >>> describe_byte(0x40), describe_byte(0)
    ("'@'", 'byte 0x00')
    """
    return f"'{chr(byte)}'" if 0x20 < byte < 0x7F else f"byte 0x{byte:02x}"


TWO_BASES = {"R": "AG", "Y": "CT", "S": "CG", "W": "AT", "K": "GT", "M": "AC"}
MORE_BASES = {"B": "CGT", "D": "AGT", "H": "ACT", "V": "ACG", "N": "ACGT"}
IUPAC = TWO_BASES | MORE_BASES
PROTEIN = Alphabet("protein", "ARNDCQEGHILKMFPSTWYVBZXJUO*", {"U": "C", "O": "K", "J": "IL", "B": "DN", "Z": "EQ"})
DNA = Alphabet("dna", "ACGTRYSWKMBDHVNU", {**IUPAC, "U": "T"})
RNA = Alphabet("rna", "ACGURYSWKMBDHVNT", {**{code: b.replace("T", "U") for code, b in IUPAC.items()}, "T": "U"})
BUILT_IN: dict[str, Alphabet] = {alphabet.name: alphabet for alphabet in (PROTEIN, DNA, RNA)}

_CLASSES = ("ABCDEFGHIJKLMNOPQRSTUVWXYZ*", DNA.letters, "ACGTUN", "A", "C", "G", "T", "U")
_IS_IN_CLASS = np.array([[chr(byte).upper() in letters for letters in _CLASSES] for byte in range(128)], np.int64)
LETTER_CLASSES = np.concatenate([_IS_IN_CLASS, np.zeros_like(_IS_IN_CLASS)])
"""int64[256, 8]: whether each byte belongs to each class of letters that `molecule_of` looks at."""


def detect(letter_counts: NDArray[np.int64]) -> Alphabet:
    """The built-in alphabet of a sample of sequences; letter_counts: int64[256], how often each byte occurs.

    >>> def kind(sequence: str) -> str:
    ...     return detect(np.bincount(np.frombuffer(sequence.encode(), np.uint8), minlength=256)).name
    >>> kind("GATTACA"), kind("gauuaca"), kind("GTGYCAGCMGCCGCGGTAA"), kind("GAGAGS"), kind("MAGIC")
    ('dna', 'rna', 'dna', 'protein', 'protein')
    """
    return molecule_of((letter_counts @ LETTER_CLASSES).tolist())


def molecule_of(class_counts: Sequence[int]) -> Alphabet:
    """The built-in alphabet of a sample with these numbers of letters in each class.

    Nucleotides if all letters are IUPAC nucleotide codes and at least 90 % are A, C, G, T, U or N; 50 % are enough if
    all four bases occur (degenerate primers). They are RNA if there is U and no T. Anything else is protein, also a
    sample without letters.
    """
    n_letters, n_iupac, n_plain, n_a, n_c, n_g, n_t, n_u = class_counts
    has_all_bases = n_a and n_c and n_g and (n_t or n_u)
    if n_letters == 0 or n_iupac < n_letters or n_plain < (0.5 if has_all_bases else 0.9) * n_letters:
        return PROTEIN
    return RNA if n_u and not n_t else DNA
