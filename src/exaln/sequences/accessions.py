"""Extract accessions from ids as BLAST does: `sp|P02232.2|LGB1_VICFA` has the accession P02232, version 2."""

from __future__ import annotations

import re

_DATABASES = frozenset(["sp", "tr", "ref", "gb", "emb", "dbj", "pir", "prf", "tpg", "tpe", "tpd", "pdb", "lcl"])
"""Database tags that precede an accession in NCBI's ids with bars."""

_VERSIONED = re.compile(r"([A-Z]{1,6}_?[0-9][A-Z0-9]*)\.[0-9]+")
"""An accession with its version, such as NP_001123.1; `contig.1` does not match."""


def accession_with_version(identifier: str) -> str:
    """The accession in an id, with its version if there is one; the whole id if it has no known form.

    >>> accession_with_version("gi|122087146|sp|P02232.2|LGB1_VICFA"), accession_with_version("pdb|2GDM|A")
    ('P02232.2', '2GDM_A')
    >>> accession_with_version("lcl|two"), accession_with_version("pir||S16356"), accession_with_version("gnl|db|abc")
    ('two', 'S16356', 'db:abc')
    >>> accession_with_version("contig.1")
    'contig.1'
    """
    if "|" not in identifier:
        return identifier
    words = identifier.split("|")
    if words[0] == "gnl" and len(words) == 3:
        return f"{words[1]}:{words[2]}"
    for place, word in enumerate(words[:-1]):
        if word in _DATABASES and words[place + 1]:
            chain = words[place + 2] if word == "pdb" and place + 2 < len(words) else ""
            return words[place + 1] + (f"_{chain}" if chain else "")
        if word in ("pir", "prf") and place + 2 < len(words) and words[place + 2]:
            return words[place + 2]
    return identifier


def accession(identifier: str) -> str:
    """The accession in an id without its version; the whole id if it has no known form.

    >>> accession("sp|P02232.2|LGB1_VICFA"), accession("NP_001123.1"), accession("contig.1")
    ('P02232', 'NP_001123', 'contig.1')
    """
    full = accession_with_version(identifier)
    versioned = _VERSIONED.fullmatch(full)
    return versioned[1] if versioned else full
