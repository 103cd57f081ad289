"""`Records`: sequences as columns, the form in which the reader, the database and the engines exchange them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from exaln.foundation import arguments
from exaln.sequences.alphabet import Alphabet

if TYPE_CHECKING:
    from numpy.typing import NDArray

T = TypeVar("T", bound=np.generic)


LEAST_CACHED, MOST_CACHED = 1 << 10, 1 << 21
"""Numbers of names of unnamed sequences that are kept, 40 MB at most."""


@dataclass(frozen=True)
class Text:
    """A column of UTF-8 strings: `data` uint8[bytes], `offsets` int64[n + 1] (Arrow's large_utf8 layout)."""

    data: NDArray[np.uint8]
    offsets: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, row: int) -> str:
        row = range(len(self))[row]
        return bytes(self.data[self.offsets[row] : self.offsets[row + 1]]).decode("utf-8")

    def to_list(self) -> list[str]:
        """All strings; much faster than indexing each row."""
        first = int(self.offsets[0])
        data = self.data[first : self.offsets[-1]].tobytes()
        return [data[start:end].decode("utf-8") for start, end in pairwise((self.offsets - first).tolist())]

    @staticmethod
    def numbered(prefix: str, n: int) -> Text:
        """Names for n unnamed sequences: prefix1, prefix2, ... The arrays are cached, so they must not be changed.

        >>> Text.numbered("seq", 10).to_list()[8:]
        ['seq9', 'seq10']
        """
        if n > MOST_CACHED:
            return _numbered(prefix, n)
        more = _cached_numbered(prefix, max(LEAST_CACHED, 1 << (n - 1).bit_length()))
        return Text(more.data[: more.offsets[n]], more.offsets[: n + 1])

    @staticmethod
    def empty(n: int) -> Text:
        """A column of n empty strings."""
        return Text(np.empty(0, np.uint8), np.zeros(n + 1, np.int64))

    @staticmethod
    def of(strings: Sequence[str]) -> Text:
        """A column of these strings."""
        joined = "".join(strings).encode("utf-8")
        lengths = map(len, strings) if joined.isascii() else (len(s.encode("utf-8")) for s in strings)
        return Text(np.frombuffer(joined, np.uint8), offsets_of(lengths))


def _numbered(prefix: str, n: int) -> Text:
    """Names for n unnamed sequences; those with equally many digits are rows of a matrix."""
    start, blocks = np.frombuffer(prefix.encode(), np.uint8), [np.empty((0, 1), np.uint8)]
    for width in range(1, len(str(n)) + 1):
        numbers = np.arange(10 ** (width - 1), min(10**width, n + 1))
        block = np.empty((len(numbers), len(start) + width), np.uint8)
        block[:, : len(start)] = start
        for column in range(1, width + 1):
            numbers, digit = np.divmod(numbers, 10)
            block[:, -column] = digit + ord("0")
        blocks.append(block)
    offsets = offsets_of(np.concatenate([np.full(len(block), block.shape[1]) for block in blocks]))
    return Text(np.concatenate([block.ravel() for block in blocks]), offsets)


_cached_numbered = lru_cache(maxsize=4)(_numbered)


@dataclass(frozen=True)
class Records:
    """Sequences of one alphabet, as columns.

    codes: uint8[residues], all sequences joined; offsets: int64[n + 1], sequence i is codes[offsets[i]:offsets[i + 1]].
    mask: int64[intervals, 2], soft-masked (lower-case) stretches, 0-based half-open within their sequence;
    mask_offsets: int64[n + 1], the intervals of sequence i are mask[mask_offsets[i]:mask_offsets[i + 1]].
    qualities: uint8[residues], the quality characters of FASTQ, one per code; None if there are none.
    """

    alphabet: Alphabet
    ids: Text
    descriptions: Text
    codes: NDArray[np.uint8]
    offsets: NDArray[np.int64]
    mask: NDArray[np.int64]
    mask_offsets: NDArray[np.int64]
    qualities: NDArray[np.uint8] | None = None

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def n_residues(self) -> int:
        """Total number of residues."""
        return int(self.offsets[-1] - self.offsets[0])

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """int64[n]: the length of each sequence."""
        return read_only(np.diff(self.offsets))

    def sequence(self, row: int) -> NDArray[np.uint8]:
        """uint8: the codes of one sequence, a view."""
        return self.codes[self.offsets[row] : self.offsets[row + 1]]

    def quality(self, row: int) -> NDArray[np.uint8] | None:
        """uint8: the qualities of one sequence, a view; None if there are none."""
        return None if self.qualities is None else self.qualities[self.offsets[row] : self.offsets[row + 1]]

    def rows(self, first: int, end: int) -> Records:
        """The sequences [first, end) as views; offsets still refer to the columns of the whole."""
        rows = slice(first, end + 1)
        return replace(
            self,
            ids=Text(self.ids.data, self.ids.offsets[rows]),
            descriptions=Text(self.descriptions.data, self.descriptions.offsets[rows]),
            offsets=self.offsets[rows],
            mask_offsets=self.mask_offsets[rows],
        )

    @staticmethod
    def of(
        alphabet: Alphabet,
        sequences: Sequence[NDArray[np.uint8]],
        ids: Sequence[str] | None = None,
        descriptions: Sequence[str] | None = None,
    ) -> Records:
        """Records of encoded sequences, uint8 each, without mask; ids default to seq1, seq2, ..."""
        arguments.instance("alphabet", alphabet, Alphabet)
        joined, n = concatenated(sequences), len(sequences)
        names = (
            Text.numbered("seq", n) if ids is None else _texts("ids", ids, n),
            Text.empty(n) if descriptions is None else _texts("descriptions", descriptions, n),
        )
        return Records.of_columns(alphabet, joined, offsets_of(len(s) for s in sequences), names)

    @staticmethod
    def of_columns(
        alphabet: Alphabet,
        codes: NDArray[np.uint8],
        offsets: NDArray[np.int64],
        names: tuple[Text, Text] | None = None,
    ) -> Records:
        """Records of joined codes, without mask. names: ids and descriptions; None for seq1, seq2, ... without any."""
        n = len(offsets) - 1
        ids, descriptions = (Text.numbered("seq", n), Text.empty(n)) if names is None else names
        nothing = np.empty((0, 2), np.int64)
        return Records(alphabet, ids, descriptions, codes, offsets, nothing, np.zeros(n + 1, np.int64))


def concatenated(sequences: Sequence[NDArray[np.uint8]]) -> NDArray[np.uint8]:
    """uint8: the codes of all sequences, joined; InputError if they are not a list of uint8 arrays."""
    are_codes = isinstance(sequences, list | tuple) and all(
        isinstance(one, np.ndarray) and one.dtype == np.uint8 and one.ndim == 1 for one in sequences
    )
    if not are_codes:
        raise arguments.wrong("sequences", sequences, "a list of uint8 arrays")
    return np.concatenate(sequences) if sequences else np.empty(0, np.uint8)


def _texts(name: str, texts: Sequence[str], n: int) -> Text:
    """A column of n strings; InputError if `texts` is not a list of n strings."""
    try:
        if isinstance(texts, list | tuple) and len(texts) == n:
            return Text.of(texts)
    except (AttributeError, TypeError, UnicodeEncodeError):  # no text, or a lone surrogate
        pass
    raise arguments.wrong(name, texts, f"a list of {n} texts")


def joined(parts: Sequence[Records]) -> Records:
    """The records of all parts, one part after the other. The offsets of each part must start at 0."""
    return Records(
        alphabet=parts[0].alphabet,
        ids=_joined_text([part.ids for part in parts]),
        descriptions=_joined_text([part.descriptions for part in parts]),
        codes=np.concatenate([part.codes for part in parts]),
        offsets=_joined_offsets([part.offsets for part in parts]),
        mask=np.concatenate([part.mask for part in parts]),
        mask_offsets=_joined_offsets([part.mask_offsets for part in parts]),
        qualities=_joined_qualities(parts),
    )


def _joined_qualities(parts: Sequence[Records]) -> NDArray[np.uint8] | None:
    found = [part.qualities for part in parts if part.qualities is not None]
    return np.concatenate(found) if len(found) == len(parts) else None


def _joined_text(parts: Sequence[Text]) -> Text:
    return Text(np.concatenate([part.data for part in parts]), _joined_offsets([part.offsets for part in parts]))


def _joined_offsets(parts: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    return offsets_of(np.concatenate([np.diff(part) for part in parts]))


def read_only(array: NDArray[T]) -> NDArray[T]:
    """The array, of which later writes are errors: for results that are computed once and shared."""
    array.flags.writeable = False
    return array


def offsets_of(lengths: Iterable[int]) -> NDArray[np.int64]:
    """int64[n + 1]: the start of each of n consecutive pieces, and the end of the last one."""
    sizes = lengths if isinstance(lengths, np.ndarray) else np.fromiter(lengths, np.int64)
    offsets = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=offsets[1:])
    return offsets


def digits(numbers: NDArray[np.integer]) -> NDArray[np.int64]:
    """int64[n]: the number of decimal digits of each number, none negative.

    >>> digits(np.array([0, 9, 10, 999], np.uint32)).tolist()
    [1, 1, 2, 3]
    """
    count = np.ones(len(numbers), np.int64)
    limit, largest = 10, int(numbers.max(initial=0))
    while limit <= largest:
        count += numbers >= limit
        limit *= 10
    return count


def write_numbers(data: NDArray[np.uint8], last: NDArray[np.int64], numbers: NDArray[np.integer]) -> None:
    """Write numbers in decimal into ASCII `data`; the last digit of number i goes to data[last[i]]."""
    while len(numbers):
        data[last] = numbers % 10 + ord("0")
        numbers = numbers // 10
        left = numbers > 0
        numbers, last = numbers[left], last[left] - 1
