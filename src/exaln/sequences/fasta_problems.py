"""Messages for what can be wrong or odd in a FASTA or FASTQ file; the native reader reports it by kind."""

from __future__ import annotations

from exaln.sequences.alphabet import PROTEIN, Alphabet, describe_byte
from exaln.sequences.byte_streams import printable

SHOWN_ID_LENGTH = 100

WARNINGS = {
    "empty": ("record", "without residues, kept with length 0"),
    "gaps": ("gap character", "removed"),
    "latin1": ("header", "not in UTF-8, read as Latin-1"),
    "unnamed": ("record", "without a name, called unnamed_N by position in the file"),
}
"""By kind: what is counted, and what is said about it."""

TOO_LARGE = {
    "header_size": "the header has more than {limit:,} bytes",
    "record_size": "the record takes more than {limit:,} bytes of memory",
}
ALLOW_MORE = "the file is damaged, or use --max-record-size SIZE (max_record_size in Python) to allow more"

EXPLANATIONS = {
    "utf16": "UTF-16 text; convert it first (iconv -f UTF-16 -t UTF-8)",
    "leading_text": "text ({byte}) before the first record; FASTA begins with '>', FASTQ with '@'",
    "header_nul": "byte 0x00 in the header; the file is damaged",
    "gap": "gap character {byte}; use --strip-gaps to remove gaps from aligned sequences",
    "missing_plus": "the '+' line of this FASTQ record is missing; the next record begins here",
    "trailing_text": "{byte} where the next FASTQ record should begin with '@'",
    "quality_byte": "{byte} is not a FASTQ quality",
    "quality_length": "more qualities than letters",
    "truncated_fastq": "the file ends inside this FASTQ record; get the file again",
}


def place_of(kind: str, name: str, line: int, record_id: str) -> str:
    """Where a problem is: the file, the line and, unless the problem lies between records, the record."""
    if kind in ("utf16", "leading_text", "trailing_text"):
        return f"{name}: line {line}"
    if len(record_id) > SHOWN_ID_LENGTH:
        record_id = record_id[:SHOWN_ID_LENGTH] + "..."
    return f"{name}: record '{printable(record_id)}' (line {line})"


def explanation_of(kind: str, byte: int, alphabet: Alphabet) -> str:
    """What is wrong with `byte`, and what to do about it."""
    character = describe_byte(byte)
    if kind != "letter":
        return EXPLANATIONS[kind].format(byte=character)
    text = f"{character} is not a {alphabet.name} letter"
    if alphabet.is_nucleotide and int(PROTEIN.table[byte]) < len(PROTEIN.letters):
        text += "; proteins need --alphabet protein, and as queries a protein database"
    if byte == ord(">"):
        text += "; if a record begins here, a newline is missing before it"
    return text
