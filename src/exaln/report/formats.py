"""The choice of a report format: by --outfmt, or by the extension of --out."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath

from exaln.errors import InputError
from exaln.foundation.output_file import KNOWN_EXTENSIONS, compression_of, extension_of
from exaln.report.columns import Column, parse_columns

TABLES = ("6", "7", "10")
KINDS = ("table", "0", "5", *TABLES, "15", "json", "parquet", "arrow", "fasta", "sam", "paf", "gff")
DEFAULT = "6"
BINARY = ("parquet", "arrow")
CIGAR_KINDS = ("sam", "paf")
SEARCH_ONLY = ("5", "15")
BY_ROW = ("6", "10", "paf", "gff", *BINARY)
BY_PAIR = ("0", "json", "sam")

NAMES = {"pairwise": "0", "xml": "5", "tsv": "6", "csv": "10", "feather": "arrow", "17": "sam", "gff3": "gff"}
"""Other names for the kinds; 17 is BLAST's number for SAM."""

EXTENSIONS = {
    ".tsv": "6",
    ".tab": "6",
    ".csv": "10",
    ".txt": "0",
    ".json": "json",
    ".xml": "5",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".fasta": "fasta",
    ".fa": "fasta",
    ".faa": "fasta",
    ".fna": "fasta",
    ".sam": "sam",
    ".paf": "paf",
    ".gff": "gff",
    ".gff3": "gff",
}

REFUSED = {
    **dict.fromkeys("1234", "query-anchored text is not available; use 0"),
    **dict.fromkeys(("14", "16"), "of BLAST's two kinds of XML, only 5 is available"),
    **dict.fromkeys(("8", "9", "11"), "ASN.1 is not available; use json or parquet"),
    **dict.fromkeys(("12", "13"), "of BLAST's kinds of JSON, only 15 is available"),
    "18": "a report by organism needs taxonomy, which FASTA files do not carry",
}
"""BLAST's formats that cannot be written, and what to use instead."""

OTHER_TOOLS = {
    ".bam": "write .sam, and samtools view -b makes BAM of it",
    ".cram": "write .sam, and samtools view -C makes CRAM of it",
    ".bed": "write .gff3 or .paf, which have the same ranges and the alignments too",
    ".gtf": "write .gff3",
    ".daa": "it is DIAMOND's own format; write .tsv or .xml, which other programs read as well",
    **dict.fromkeys((".asn", ".asn1"), "ASN.1 is not available; write .xml or .json"),
}
"""Extensions of formats that users may expect, and what to write instead."""


@dataclass(frozen=True)
class Format:
    """A report format: its kind, one of KINDS, and the columns of a table.

    aligned: FASTA has only the aligned parts. extended: the CIGARs of SAM and PAF have = and X in place of M.
    """

    kind: str
    columns: tuple[Column, ...] = ()
    aligned: bool = False
    extended: bool = False

    @property
    def is_by_row(self) -> bool:
        """True if the report is one row per hit, with nothing between the hits of different queries."""
        return self.kind in BY_ROW

    @property
    def is_by_pair(self) -> bool:
        """True if the report has an entry for every pair, also for pairs without an alignment."""
        return self.kind in BY_PAIR

    @property
    def is_for_pairs(self) -> bool:
        """True if pairs can be written, and not only the hits of a search."""
        return self.kind not in SEARCH_ONLY

    @property
    def needs_whole_targets(self) -> bool:
        """True if the report has whole targets, and not only what is aligned."""
        return self.kind == "fasta" and not self.aligned

    @property
    def is_binary(self) -> bool:
        """True if the report is not text and cannot be shown on a terminal."""
        return self.kind in BINARY


def parse_outfmt(outfmt: str | Sequence[str] | None = None, out: str | os.PathLike[str] = "-") -> Format:
    """The format that `outfmt` names, as one text or as words; by default that of the extension of `out`, or else 6.

    >>> parse_outfmt("6 std cigar").columns[-1].name, parse_outfmt(None, "hits.parquet").kind
    ('cigar', 'parquet')
    """
    words = (outfmt.split() if isinstance(outfmt, str) else [w for text in outfmt or () for w in text.split()]) or []
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
        allowed = {"fasta": "it takes whole or aligned", **dict.fromkeys(CIGAR_KINDS, "it takes extended")}.get(
            kind, "only 6, 7 and 10 have columns"
        )
        raise InputError(f"output format {words[0]} cannot be followed by {' '.join(rest)!r}; {allowed}")
    return Format(kind)


def _kind(word: str) -> str:
    name = NAMES.get(word.lower(), word.lower())
    if name in REFUSED:
        raise InputError(f"output format {word} is not available: {REFUSED[name]}")
    if name not in KINDS:
        raise InputError(f"unknown output format {word!r}; choose one of {', '.join(KINDS)}")
    return name


def _kind_of(out: str | os.PathLike[str]) -> str:
    """The kind that the extension of a file stands for; 6 if there is no extension, or an unknown one."""
    extension = extension_of(out)
    if extension in EXTENSIONS:
        return EXTENSIONS[extension]
    if extension in OTHER_TOOLS:
        raise InputError(f"{out}: {extension} cannot be written; {OTHER_TOOLS[extension]}")
    if extension in KNOWN_EXTENSIONS:
        raise InputError(
            f"{out}: no report format has this extension; use one of {' '.join(EXTENSIONS)}, "
            "or choose the format with --outfmt"
        )
    return DEFAULT
