"""Make databases with right hashes and wrong content, as an attacker or a faulty program could."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import xxhash

from exaln.database.checked_file import BLOCK_BYTES
from exaln.database.column_checks import Column
from exaln.database.database import Database
from exaln.database.manifest import SegmentEntry
from exaln.foundation.state_file import content_hash

Columns = dict[str, np.ndarray]
"""Copies of the buffers of a segment by the names of SegmentColumns, to be changed in place or replaced."""


def forge_columns(database: Database, forge: Callable[[Columns], None], number: int = 0) -> Path:
    """Change columns of a segment in its file, and update its hashes in the manifest. Returns the segment's path."""
    segment = database.segments[number]
    content = bytearray(Path(segment.name).read_bytes())
    views = vars(segment._valid_columns(*Column))
    columns = {name: np.array(view) for name, view in views.items()}
    forge(columns)
    assert segment._file is not None
    for name, view in views.items():
        assert columns[name].nbytes == view.nbytes
        place = segment._file.place_of(view)
        if view.nbytes:
            content[place : place + view.nbytes] = columns[name].tobytes()
    return forge_bytes(database, bytes(content), number)


def forge_bytes(database: Database, content: bytes, number: int = 0) -> Path:
    """Replace the bytes of a segment, and update its hashes in the manifest. Returns the segment's path."""
    path = Path(database.segments[number].name)
    path.unlink()
    path.write_bytes(content)
    blocks = [content[i : i + BLOCK_BYTES] for i in range(0, len(content), BLOCK_BYTES)]
    hashes = np.array([xxhash.xxh3_64_intdigest(block) for block in blocks], np.uint64)

    def forge(manifest: dict[str, Any]) -> None:
        entry = manifest["segments"][number]
        entry |= {"bytes": len(content), "block_xxh3_64": SegmentEntry.hashes_as_text(hashes)}

    forge_manifest(path.parent / "manifest.json", forge)
    return path


def forge_manifest(path: Path, forge: Callable[[dict[str, Any]], object]) -> None:
    """Change the content of a state file, and update the hash in it."""
    content = json.loads(path.read_text())
    del content["xxh3_64"]
    forge(content)
    content["xxh3_64"] = content_hash(content)
    path.write_text(json.dumps(content))
