"""Alignment modes: local, or which ends of the two sequences are free, so that unaligned letters there cost nothing.

local        the best pair of substrings; the score is 0 or above
global       both sequences from end to end
semiglobal   the whole query within the target, such as a read in a genome
overlap      all four ends free: one contains the other, or the end of one overlaps the start of the other
free:qs,te   any of qs qe ts te: start and end of the query, start and end of the target
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

from exaln.errors import InputError
from exaln.foundation import arguments

ENDS = {"qs": "query_start", "qe": "query_end", "ts": "target_start", "te": "target_end"}
PREFIX = "free:"


@dataclass(frozen=True)
class Mode:
    """A mode. Each of the four ends is True if it is free; in local mode all are.

    >>> Mode.parse("semiglobal").target_start
    True
    >>> Mode.parse("free:te,qs")
    Mode('free:qs,te')
    >>> Mode.parse("free:ts,te") == SEMIGLOBAL
    True
    """

    name: str
    is_local: bool = False
    query_start: bool = False
    query_end: bool = False
    target_start: bool = False
    target_end: bool = False

    @staticmethod
    def parse(text: str | Mode) -> Mode:
        """The mode of this name; a Mode is returned unchanged. InputError for an unknown name."""
        if isinstance(text, Mode):
            return text
        if not isinstance(text, str):
            raise arguments.wrong("mode", text, f"a Mode, {', '.join(NAMED)}, or free: with any of {','.join(ENDS)}")
        if text in NAMED:
            return NAMED[text]
        ends = [end.strip() for end in text.removeprefix(PREFIX).split(",")]
        if not text.startswith(PREFIX) or not all(end in ENDS for end in ends):
            raise InputError(f"unknown mode {text!a}; choose {', '.join(NAMED)}, or free: with any of {','.join(ENDS)}")
        return _with_free_ends(frozenset(ends))

    @cached_property
    def flags(self) -> tuple[bool, bool, bool, bool, bool]:
        """The mode as the core takes it: is local, then whether query start and end, target start and end are free."""
        return self.is_local, self.query_start, self.query_end, self.target_start, self.target_end

    def __repr__(self) -> str:
        return f"Mode({self.name!r})"

    def __str__(self) -> str:
        return self.name


@lru_cache
def _with_free_ends(ends: frozenset[str]) -> Mode:
    """The mode in which these ends are free; a named one if there is one."""
    free = {attribute: end in ends for end, attribute in ENDS.items()}
    for mode in NAMED.values():
        if not mode.is_local and free == {attribute: getattr(mode, attribute) for attribute in free}:
            return mode
    return Mode(PREFIX + ",".join(end for end in ENDS if end in ends), **free)


LOCAL = Mode("local", is_local=True, query_start=True, query_end=True, target_start=True, target_end=True)
GLOBAL = Mode("global")
SEMIGLOBAL = Mode("semiglobal", target_start=True, target_end=True)
OVERLAP = Mode("overlap", query_start=True, query_end=True, target_start=True, target_end=True)
NAMED = {mode.name: mode for mode in (LOCAL, GLOBAL, SEMIGLOBAL, OVERLAP)}
