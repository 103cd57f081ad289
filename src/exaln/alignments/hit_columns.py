"""The integer columns of hits, listed once: hit tables, part files and reports derive their columns from these."""

from __future__ import annotations

import numpy as np

POSITIONS = ("query_start", "query_end", "target_start", "target_end")
COUNTS = ("identities", "positives", "mismatches", "gap_opens", "gaps", "columns")

NUMBERS: dict[str, type[np.signedinteger]] = {
    "ordinal": np.int64,
    "score": np.int64,
    "strand": np.int8,
    **dict.fromkeys(POSITIONS, np.int64),
    **dict.fromkeys(COUNTS, np.int32),
}
"""Name and type of each column, in the order in which part files store them; meanings in `query_hits.HitRows`."""
