"""How long pairs are aligned, and the stages that their progress is reported in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

SCORES, PATH = "scores", "path"

Watch = Callable[[str, int, int], None]
"""Called with the stage, the work done in it and its total work: cells, or letters of the path."""


@dataclass(frozen=True)
class LongOptions:
    """How long pairs are aligned.

    work_dir: where checkpoints and path are stored, so that an interrupted run resumes; None keeps them in memory.
    memory: bytes that may be used; None for all free memory. watch: called with the progress. tell: called with lines
    for the user; detail: with lines for --verbose. prunes: whether cells that cannot matter are skipped, which changes
    only the time.
    """

    work_dir: Path | None = None
    memory: int | None = None
    watch: Watch | None = None
    tell: Callable[[str], None] | None = None
    detail: Callable[[str], None] | None = None
    prunes: bool = True


IN_MEMORY = LongOptions()
