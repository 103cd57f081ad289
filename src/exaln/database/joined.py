"""Several databases as one: their segments in turn, with ordinals that continue from one database to the next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from exaln.database.manifest import Manifest
from exaln.database.segment import Segment
from exaln.errors import InputError


def joined(
    names: Sequence[str], manifests: Sequence[Manifest], segments: Sequence[Sequence[Segment]]
) -> tuple[Manifest, tuple[Segment, ...]]:
    """Manifest and segments of all databases together; InputError if the alphabets differ.

    names: what messages call the databases; segments: those of each database.
    """
    first = manifests[0]
    n_before, entries, moved = 0, [], []
    for name, manifest, own in zip(names, manifests, segments, strict=True):
        if manifest.alphabet != first.alphabet:
            raise InputError(
                f"{names[0]} has {first.alphabet.name} sequences, but {name} has {manifest.alphabet.name} sequences; "
                "search them one by one"
            )
        entries += [replace(entry, first_ordinal=entry.first_ordinal + n_before) for entry in manifest.segments]
        moved += [segment.moved(n_before) for segment in own]
        n_before += manifest.next_ordinal
    histogram = np.stack([manifest.length_histogram for manifest in manifests]).sum(axis=0)
    return replace(first, segments=tuple(entries), length_histogram=histogram, next_ordinal=n_before), tuple(moved)
