"""Record batches of hits with a changed value, for tests of the checks that refuse them."""

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from exaln.cluster.part_hits import part_schema

Change = Callable[[dict[str, Any]], None]


def forged(batch: Any, change: Change) -> Any:
    """The batch after `change` of its first row with hits, which is a dict of plain values."""
    rows = batch.to_pylist()
    change(next(row for row in rows if row["hits"]))
    return pa.RecordBatch.from_pylist(rows, part_schema())


def of_hit(**values: Any) -> Change:
    """A change of the first hit: new values, or functions of the old ones."""

    def change(row: dict[str, Any]) -> None:
        hit = row["hits"][0]
        for name, value in values.items():
            hit[name] = value(hit[name]) if callable(value) else value

    return change


def more(name: str) -> Change:
    """A change that adds 1 to a number of the first hit."""
    return of_hit(**{name: lambda value: value + 1})


def operations(*operations: tuple[int, int]) -> bytes:
    """The bytes of a path of (length, code) operations."""
    return b"".join((length << 4 | code).to_bytes(4, "little") for length, code in operations)


def _repeat_hit(row: dict[str, Any]) -> None:
    row["hits"] += [row["hits"][0] | {"ordinal": row["hits"][0]["ordinal"] + 1}, dict(row["hits"][0])]


def _repeat_alignment(row: dict[str, Any]) -> None:
    row["hits"].insert(1, dict(row["hits"][0]))


def _repeat_with_other_length(row: dict[str, Any]) -> None:
    row["hits"].insert(1, row["hits"][0] | {"target_length": row["hits"][0]["target_length"] + 1})


def _shift_path(row: dict[str, Any]) -> None:
    """Move the path by one letter in both sequences: the positions are possible, but the letters differ."""
    hit = row["hits"][0]
    move = -1 if min(hit["query_start"], hit["target_start"]) > 0 else 1
    for name in ("query_start", "query_end", "target_start", "target_end"):
        hit[name] += move


IMPOSSIBLE: dict[str, tuple[Change, str]] = {
    "score of 2^62": (of_hit(score=1 << 62), "score"),
    "negative score": (of_hit(score=-5), "score"),
    "score one higher": (more("score"), "score"),
    "query start of -2^63": (of_hit(query_start=-(1 << 63)), "outside of its query"),
    "query end after the query": (of_hit(query_end=1 << 40), "outside of its query"),
    "target start of -2^63": (of_hit(target_start=-(1 << 63)), "outside of its target"),
    "target end of 2^63 - 1": (of_hit(target_end=(1 << 63) - 1), "outside of its target"),
    "no query letters": (of_hit(query_start=3, query_end=3), "outside of its query"),
    "shifted": (_shift_path, "path|outside"),
    "target start one later": (more("target_start"), "letters of a target are not those"),
    "target start one later, one letter less": (
        of_hit(target_start=lambda start: start + 1, target_slice=lambda codes: codes[1:]),
        "does not fit its target",
    ),
    "a letter of the target more": (of_hit(target_slice=lambda codes: codes + b"\0"), "letters of a target"),
    "a target shorter than its alignment": (of_hit(target_length=1), "outside of its target"),
    "a target longer than the database": (of_hit(target_length=1 << 40), "longer than the database"),
    "another alignment with the same pairs": (_repeat_alignment, "share a pair"),
    "another alignment of a target of another length": (_repeat_with_other_length, "two lengths"),
    "an E-value of shuffles that were not asked for": (of_hit(evalue2=1e-5), "shuffled targets"),
    "identities": (more("identities"), "identities"),
    "positives": (more("positives"), "positives"),
    "mismatches": (more("mismatches"), "mismatches"),
    "gap opens": (more("gap_opens"), "gap_opens"),
    "gaps": (more("gaps"), "gaps"),
    "columns": (more("columns"), "columns"),
    "strand 0": (of_hit(strand=0), "strand"),
    "ordinal -1": (of_hit(ordinal=-1), "not searched"),
    "ordinal of 2^62": (of_hit(ordinal=1 << 62), "not searched"),
    "a target twice": (_repeat_hit, "twice"),
    "a code that is no letter": (of_hit(target_slice=lambda codes: b"\x1f" + codes[1:]), "no letters"),
    "a query code that is no letter": (lambda row: row.update(query=b"\xff" + row["query"][1:]), "no letters"),
    "query index": (lambda row: row.update(query_index=row["query_index"] + 1), "not in order"),
    "an empty path": (of_hit(path=b""), "list of operations"),
    "half of an operation": (of_hit(path=lambda path: path + b"\x17"), "list of operations"),
    "an unknown operation": (of_hit(path=lambda path: path + operations((1, 9))), "unknown operations"),
    "an operation of length 0": (of_hit(path=lambda path: path + operations((0, 7))), "unknown operations"),
    "a longer path": (of_hit(path=lambda path: path + operations((1, 1), (1, 2))), "does not fit its query"),
    "a path of 2^28 letters": (of_hit(path=operations(((1 << 28) - 1, 7))), "does not fit its query"),
    "a path in pieces": (
        of_hit(
            path=lambda path: (
                operations((1, path[0] & 15))
                + (int.from_bytes(path[:4], "little") - 16).to_bytes(4, "little")
                + path[4:]
            )
        ),
        "repeats an operation|unknown operations",
    ),
}
"""Changes that make a hit impossible, and a pattern of the error that reports each."""
