"""Numbers with nouns for messages: 1 query, 2 queries."""

from __future__ import annotations


def number_of(n: int, noun: str) -> str:
    """The number with thousands separators, and the noun in singular or plural. noun: in the singular.

    >>> number_of(1, "hit"), number_of(0, "hit"), number_of(2000, "query"), number_of(2, "dna sequence")
    ('1 hit', '0 hits', '2,000 queries', '2 dna sequences')
    """
    if n != 1:
        noun = noun[:-1] + "ies" if noun.endswith("y") and noun[-2:-1] not in "aeiou" else noun + "s"
    return f"{n:,} {noun}"
