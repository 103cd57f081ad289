"""Whether alignments on a terminal are coloured."""

from __future__ import annotations

import os
from typing import Any


def are_wanted(stream: Any) -> bool:
    """True if the stream is a terminal with colours (TERM is not `dumb`) and NO_COLOR is not set."""
    if stream is None or not stream.isatty():
        return False
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
