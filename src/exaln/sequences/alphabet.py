"""Letters and codes: what each byte of a sequence means.

A sequence is stored as one code per letter, so nothing is lost: U stays U, N stays N. What an odd letter *scores* where
a matrix does not say is decided by `letter_rules`, from what it stands for (`Alphabet.synonyms`); for the reasons
see docs/letters.md.

| alphabet | letters | a letter that the matrix lacks |
|---|---|---|
| protein | the 20 amino acids, B Z J X, U O, `*` | U scores as C, O as K, J as I and L, B as D and N, Z as E and Q |
| dna | A C G T, the IUPAC codes, U | U scores as T, a code as the mean of its bases |
| rna | A C G U, the IUPAC codes, T | T scores as U, a code as the mean of its bases |
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from exaln.errors import InputError
from exaln.foundation import arguments

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAX_LETTERS = 31
"""Codes fit five bits, and one of the 32 is kept for padding inside the engines."""

NOT_A_LETTER = 255
GAP = 254
BLANK = 253
"""Entries of `Alphabet.table` that are not codes: gap characters, white space (space, tab, vertical tab, form feed)."""

GAP_CHARACTERS = "-."
BLANK_CHARACTERS = " \t\v\f"


@dataclass(frozen=True)
class Alphabet:
    """An ordered set of letters; the code of a letter is its place in `letters`.

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
    """The plain letters that an odd letter stands for: {"U": "C", "J": "IL"}."""

    def __post_init__(self) -> None:
        """Refuse alphabets that cannot be told from gaps, blanks or headers, or that do not fit the codes."""
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
        """The built-in alphabet `protein`, `dna` or `rna`."""
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
        """What `--alphabet` means: the name of a built-in alphabet, or the letters of one's own in upper case.

        >>> Alphabet.parse("DNA").name, Alphabet.parse("HP")
        ('dna', Alphabet(name='custom', letters='HP'))
        """
        arguments.text("text", text, f"one of {', '.join(BUILT_IN)}, or letters in upper case")
        if text.lower() in BUILT_IN or text != text.upper():
            return Alphabet.named(text)
        return Alphabet("custom", text)

    def to_values(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return {"name": self.name, "letters": self.letters, "synonyms": dict(self.synonyms)}

    @staticmethod
    def from_values(values: dict[str, Any]) -> Alphabet:
        """The alphabet that these values are of; a built-in one is that one itself."""
        alphabet = Alphabet(values["name"], values["letters"], values["synonyms"])
        built_in = BUILT_IN.get(alphabet.name)
        return built_in if built_in == alphabet else alphabet

    @property
    def is_nucleotide(self) -> bool:
        """Whether both strands exist."""
        return self.name in ("dna", "rna")

    @cached_property
    def table(self) -> NDArray[np.uint8]:
        """uint8[256]: the code of each byte, or NOT_A_LETTER, GAP or BLANK. Upper and lower case are equal."""
        table = np.full(256, NOT_A_LETTER, np.uint8)
        for characters, meaning in ((GAP_CHARACTERS, GAP), (BLANK_CHARACTERS, BLANK)):
            table[[ord(c) for c in characters]] = meaning
        for code, letter in enumerate(self.letters):
            table[ord(letter)] = table[ord(letter.lower())] = code
        table.flags.writeable = False
        return table

    def encode(self, sequence: str | bytes) -> NDArray[np.uint8]:
        """Codes of a sequence; a character outside the alphabet is an error that names it and its place."""
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
        """The letters of codes, in upper case."""
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
        raise arguments.wrong("synonyms", synonyms, "a dict from letters to the letters that they stand for")


def as_alphabet(alphabet: Alphabet | str | None) -> Alphabet | None:
    """What users pass as an alphabet: an Alphabet, the name of a built-in one, letters in upper case, or None."""
    if alphabet is None or isinstance(alphabet, Alphabet):
        return alphabet
    expected = f"an Alphabet, one of {', '.join(BUILT_IN)}, or letters in upper case"
    return Alphabet.parse(arguments.text("alphabet", alphabet, expected))


def describe_byte(byte: int) -> str:
    """How an unexpected byte is named in messages.

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


def detect(letter_counts: NDArray[np.int64]) -> Alphabet:
    """The built-in alphabet that a sample of sequence text is written in.

    `letter_counts` is int64[256], how often each byte occurs. Nucleotide when every letter is an IUPAC nucleotide code
    and at least nine in ten are A, C, G, T, U or N; half of them are enough (degenerate primers) where A, C, G and T or
    U all occur. Then RNA when there is U and no T. Everything else is protein, a sample without letters too.

    >>> def kind(sequence: str) -> str:
    ...     return detect(np.bincount(np.frombuffer(sequence.encode(), np.uint8), minlength=256)).name
    >>> kind("GATTACA"), kind("gauuaca"), kind("GTGYCAGCMGCCGCGGTAA"), kind("GAGAGS"), kind("MAGIC")
    ('dna', 'rna', 'dna', 'protein', 'protein')
    """
    folded = letter_counts[ord("A") : ord("Z") + 1] + letter_counts[ord("a") : ord("z") + 1]
    count = {chr(ord("A") + place): int(n) for place, n in enumerate(folded)}
    n_letters = sum(count.values()) + int(letter_counts[ord("*")])
    n_iupac = sum(count[letter] for letter in DNA.letters)
    n_plain = sum(count[letter] for letter in "ACGTUN")
    has_all_bases = min(count["A"], count["C"], count["G"], count["T"] + count["U"]) > 0
    if n_letters == 0 or n_iupac < n_letters or n_plain < (0.5 if has_all_bases else 0.9) * n_letters:
        return PROTEIN
    return RNA if count["U"] and not count["T"] else DNA
