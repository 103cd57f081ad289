"""Make a large protein database quickly: a base segment of synthetic proteins, listed N times under other names.

    python benchmarks/make_large_database.py OUT.exaln --copies 77

Each copy is a file of its own with its own ordinals and valid hashes, so the database passes `exaln verify`; ids repeat
in every copy. The base has about 268 million residues, the most of a segment: 19 copies are 5.1 billion residues, 77
copies 20.6 billion.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import xxhash

from exaln.database.checked_file import BLOCK_BYTES
from exaln.database.database import Database
from exaln.database.manifest import Manifest, SegmentEntry, read_manifest, replace_manifest
from exaln.engines.bench.swissprot import synthetic_swissprot

BASE_TARGETS = 743_000


def copy_segment(source: Path, folder: Path, entry: SegmentEntry, number: int) -> SegmentEntry:
    """Write copy `number` of the base segment: the same rows, with the ordinals after those of the copies before."""
    file, first = f"segment-{number:08x}.arrow", number * entry.rows
    content = np.fromfile(source, np.uint8)
    ordinals = pa.ipc.open_file(pa.py_buffer(content)).get_batch(0).column("ordinal").buffers()[1]
    place = ordinals.address - content.ctypes.data
    content[place : place + 8 * entry.rows].view(np.int64)[:] += first
    blocks = [content[at : at + BLOCK_BYTES] for at in range(0, len(content), BLOCK_BYTES)]
    hashes = [xxhash.xxh3_64_intdigest(block.data) for block in blocks]
    content.tofile(folder / file)
    text = SegmentEntry.hashes_as_text(np.array(hashes, np.uint64))
    return replace(entry, file=file, first_ordinal=first, block_xxh3_64=text)


def main() -> None:
    """Read the arguments, build the base, and write the copies on several processes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--copies", type=int, default=19)
    parser.add_argument("--targets", type=int, default=BASE_TARGETS, help="of the base segment")
    parser.add_argument("--base", type=Path, help="a database of one segment, instead of synthetic proteins")
    parser.add_argument("--processes", type=int, default=8)
    options = parser.parse_args()
    base = options.base or options.out.with_name("base.exaln")
    if not base.exists():
        Database.build_records([synthetic_swissprot(options.targets)], base)
    manifest = read_manifest(base)
    (entry,) = manifest.segments
    options.out.mkdir()
    with ProcessPoolExecutor(options.processes) as pool:
        jobs = [pool.submit(copy_segment, base / entry.file, options.out, entry, n) for n in range(options.copies)]
        entries = tuple(job.result() for job in jobs)
    whole = Manifest(
        manifest.alphabet, entries, manifest.length_histogram * options.copies, options.copies * entry.rows
    )
    replace_manifest(options.out, whole)
    print(f"{whole.n_targets:,} targets, {whole.n_residues:,} residues, {len(entries)} segments")


if __name__ == "__main__":
    main()
