"""Whether text may be coloured."""

from __future__ import annotations

import os
from typing import Any


def are_wanted(stream: Any) -> bool:
    """Whether somebody looks at the stream, on a screen that has colours, and has not asked for none (NO_COLOR)."""
    if stream is None or not stream.isatty():
        return False
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
