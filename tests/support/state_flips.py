"""Flip bits in single bytes of state files: the output must stay the same, or an error must name the file.

`make test` flips a sample. EXALN_FLIPS sets the number of flips per test; `make test-all` uses it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from exaln.errors import ExalnError

SMALL_BYTES = 8192
"""In files up to this size every byte may be flipped; in larger ones this many, including both ends."""

PATTERNS = (0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0xFF, 0x7F, 0x11)


@dataclass(frozen=True)
class Flip:
    """Bits of one byte of a file."""

    path: Path
    place: int
    bits: int

    @contextmanager
    def done(self) -> Iterator[None]:
        """Damage the file within the `with` block, and restore it afterwards."""
        good = self.path.read_bytes()
        bad = bytearray(good)
        bad[self.place] ^= self.bits
        self.path.write_bytes(bytes(bad))
        try:
            yield
        finally:
            self.path.write_bytes(good)


def n_flips(sample: int, share: float = 1.0) -> int:
    """The number of flips for a test: `sample`, or `share` of EXALN_FLIPS if that is more."""
    requested = int(os.environ.get("EXALN_FLIPS", "0"))
    return max(sample, int(requested * share))


def flips_of(paths: Sequence[Path], n: int, seed: int) -> list[Flip]:
    """n random flips in these files; no byte is chosen again before all were chosen once."""
    random = np.random.default_rng(seed)
    places = [(path, place) for path in paths for place in _places(path, random)]
    flips: list[Flip] = []
    while len(flips) < n:
        order = random.permutation(len(places))[: n - len(flips)]
        bits = random.choice(PATTERNS, len(order))
        flips += [Flip(*places[at], int(pattern)) for at, pattern in zip(order, bits, strict=True)]
    return flips


def _places(path: Path, random: np.random.Generator) -> list[int]:
    size = path.stat().st_size
    if size <= SMALL_BYTES:
        return list(range(size))
    ends = [*range(512), *range(size - 512, size)]
    return [*ends, *random.choice(size, SMALL_BYTES - len(ends), replace=False).tolist()]


def violations(flips: Sequence[Flip], output: Callable[[Flip], object], expected: object) -> list[str]:
    """One line for each flip after which the output was wrong, or the error did not name the file in one line.

    `output` is called while the flip is in effect. Exceptions that are not exaln's are violations too.
    """
    found = []
    for flip in flips:
        with flip.done():
            try:
                same = output(flip) == expected
                said = "another output"
            except ExalnError as error:
                said = str(error)
                same = flip.path.name in said and len(said.splitlines()) == 1
            except Exception as error:
                same, said = False, f"{type(error).__name__}: {error}"
        if not same:
            found.append(f"{flip.path.name}, byte {flip.place}, bits {flip.bits:#x}: {said}")
    return found
