"""Which report is wanted: `--outfmt`, or the extension of `--out`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath

from exaln.errors import InputError
from exaln.foundation.output_file import KNOWN_EXTENSIONS, compression_of, extension_of
from exaln.report.columns import Column, parse_columns

TABLES = ("6", "7", "10")
KINDS = ("table", "0", *TABLES, "json", "parquet", "arrow", "fasta", "sam", "paf")
DEFAULT = "6"
BINARY = ("parquet", "arrow")
CIGAR_KINDS = ("sam", "paf")
BY_ROW = ("6", "10", "paf", *BINARY)
BY_PAIR = ("0", "json", "sam")

NAMES = {"pairwise": "0", "tsv": "6", "csv": "10", "feather": "arrow", "17": "sam"}
"""Other words for a kind of report; 17 is BLAST's number for SAM."""

EXTENSIONS = {
    ".tsv": "6",
    ".tab": "6",
    ".csv": "10",
    ".txt": "0",
    ".json": "json",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".fasta": "fasta",
    ".fa": "fasta",
    ".faa": "fasta",
    ".fna": "fasta",
    ".sam": "sam",
    ".paf": "paf",
}

REFUSED = {
    **dict.fromkeys("1234", "query-anchored text is not available; use 0"),
    **dict.fromkeys(("5", "14", "16", "xml"), "XML is not available; use json"),
    **dict.fromkeys(("8", "9", "11"), "ASN.1 is not available; use json or parquet"),
    **dict.fromkeys(("12", "13", "15"), "BLAST's JSON is not available; use json, which is exaln's own"),
    "18": "a report by organism needs taxonomy, which FASTA files do not carry",
}
"""BLAST's formats that cannot be written, and what to use instead."""


@dataclass(frozen=True)
class Format:
    """A kind of report (one of KINDS) and the columns of a table.

    aligned: FASTA holds the aligned parts only. extended: CIGARs of SAM and PAF have = and X in place of M.
    """

    kind: str
    columns: tuple[Column, ...] = ()
    aligned: bool = False
    extended: bool = False

    @property
    def is_by_row(self) -> bool:
        """Whether hits are written row by row, with nothing between those of different queries."""
        return self.kind in BY_ROW

    @property
    def is_by_pair(self) -> bool:
        """Whether pairs are written one by one, those where nothing aligns as well."""
        return self.kind in BY_PAIR

    @property
    def is_binary(self) -> bool:
        """Whether this is no text, so that a terminal cannot show it."""
        return self.kind in BINARY


def parse_outfmt(wanted: str | Sequence[str] | None = None, out: str | os.PathLike[str] = "-") -> Format:
    """The format that was asked for, as one text or as words; without any the one of the extension of `out`, else 6.

    >>> parse_outfmt("6 std cigar").columns[-1].name, parse_outfmt(None, "hits.parquet").kind
    ('cigar', 'parquet')
    """
    words = (wanted.split() if isinstance(wanted, str) else [w for text in wanted or () for w in text.split()]) or []
    kind = _kind(words[0]) if words else _kind_of(out)
    if compression_of(out) and kind in BINARY:
        raise InputError(f"{out}: {kind} files are compressed inside; use a name without {PurePath(out).suffix}")
    rest = words[1:]
    if kind in TABLES:
        return Format(kind, columns=parse_columns(rest))
    if kind == "fasta" and rest in ([], ["whole"], ["aligned"]):
        return Format(kind, aligned=rest == ["aligned"])
    if kind in CIGAR_KINDS and rest in ([], ["extended"]):
        return Format(kind, extended=rest == ["extended"])
    if rest:
        allowed = {"fasta": "whole or aligned", **dict.fromkeys(CIGAR_KINDS, "extended")}.get(
            kind, "nothing; only 6, 7 and 10 have columns"
        )
        raise InputError(f"output format {words[0]} cannot be followed by {' '.join(rest)!r}; allowed is {allowed}")
    return Format(kind)


def _kind(word: str) -> str:
    name = NAMES.get(word.lower(), word.lower())
    if name in REFUSED:
        raise InputError(f"output format {word} is not available: {REFUSED[name]}")
    if name not in KINDS:
        raise InputError(f"unknown output format {word!r}; choose one of {', '.join(KINDS)}")
    return name


def _kind_of(out: str | os.PathLike[str]) -> str:
    """The kind that the extension of a file says; 6 where it says nothing."""
    extension = extension_of(out)
    if extension in EXTENSIONS:
        return EXTENSIONS[extension]
    if extension in KNOWN_EXTENSIONS:
        raise InputError(
            f"{out}: there is no report of this kind; use one of {' '.join(EXTENSIONS)}, "
            "or choose the format with --outfmt"
        )
    return DEFAULT
