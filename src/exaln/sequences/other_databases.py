"""Recognise databases of BLAST, DIAMOND and MMseqs2, and tell the user how to export their sequences."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

DIAMOND_MAGIC = (0x24AF8A415EE186D).to_bytes(8, "little")
BLAST_MAIN = ("pin", "pal", "pdb", "nin", "nal", "ndb")
"""Every BLAST database has a file with one of these endings: a volume's index, an alias, or LMDB (version 5)."""

_BLAST_FILE = re.compile(r"(?P<name>.+?)(\.[0-9]{2,3})?\.[pn](in|sq|hr|db|al|ot|tf|to|og|os|hd|hi|nd|ni|sd|si|pd|pi)")


def other_database(path: str | os.PathLike[str]) -> str | None:
    """Which program's database `path` is, and the command that exports it, for a message; None if it is none."""
    place = Path(path)
    try:
        blast = _blast_name(place)
        if blast is not None:
            printed = f"blastdbcmd -db {shlex.quote(blast)} -entry all"
            return f"a BLAST database; export it: {printed} | {_makedb(Path(blast).name)}"
        if _is_diamond(place):
            printed = f"diamond getseq --db {shlex.quote(str(place))}"
            return f"a DIAMOND database; export it: {printed} | {_makedb(place.with_suffix('').name)}"
        if _is_mmseqs(place):
            files = shlex.join([str(place), f"{place.name}.fasta"])
            return f"an MMseqs2 database; export it: mmseqs convert2fasta {files}"
    except (OSError, ValueError):
        return None
    return None


def _makedb(name: str) -> str:
    return f"exaln makedb --in - --db {shlex.quote(name)}"


def _blast_name(path: Path) -> str | None:
    """The database name for blastdbcmd, from the name itself or from one of its files; None if it is no database."""
    if path.is_file():
        match = _BLAST_FILE.fullmatch(str(path))
        return match["name"] if match and _has_blast_files(Path(match["name"])) and not _is_sequences(path) else None
    return str(path) if not path.is_dir() and _has_blast_files(path) else None


def _has_blast_files(path: Path) -> bool:
    endings = [*BLAST_MAIN, "00.pin", "00.nin", "000.pin", "000.nin"]
    return path.name != "" and any(path.with_name(f"{path.name}.{ending}").is_file() for ending in endings)


def _is_diamond(path: Path) -> bool:
    for candidate in (path, path.with_name(f"{path.name}.dmnd")) if path.name else ():
        if candidate.is_file():
            return _begins(candidate, DIAMOND_MAGIC)
    return False


def _is_mmseqs(path: Path) -> bool:
    beside = [path.with_name(path.name + ending) for ending in (".dbtype", ".index")] if path.name else []
    return bool(beside) and all(file.is_file() for file in beside) and not path.is_dir() and not _is_sequences(path)


def _is_sequences(path: Path) -> bool:
    """Whether a file begins like FASTA or FASTQ."""
    return path.is_file() and (_begins(path, b">") or _begins(path, b"@"))


def _begins(path: Path, magic: bytes) -> bool:
    with path.open("rb") as file:
        return file.read(len(magic)) == magic
