"""Read the sequence files that a database is built from, one after the other, and report progress."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator, Sequence

from exaln.database.files_ahead import FilesAhead
from exaln.foundation import arguments
from exaln.foundation.resources import usable_threads
from exaln.sequences.alphabet import Alphabet, as_alphabet
from exaln.sequences.byte_streams import Source
from exaln.sequences.records import Records

EXPECTED = "sequence files: paths, or files open in binary mode"
Progress = Callable[[int, int | None, int], None]
"""Called as progress(bytes_done, bytes_total or None, residues)."""

PROGRESS_INTERVAL_S = 0.1
BATCH_RESIDUES = 4 << 20
"""Small batches take little memory while they grow, on each of several threads."""


class ProgressReporter:
    """Calls `progress` at most ten times per second, and once at the end."""

    def __init__(self, progress: Progress | None) -> None:
        self._progress = progress
        self._last = time.monotonic()

    def report(self, bytes_done: int, bytes_total: int | None, residues: int, *, final: bool = False) -> None:
        """Call `progress` if the last call was long enough ago, or if `final`."""
        now = time.monotonic()
        if self._progress is not None and (final or now - self._last >= PROGRESS_INTERVAL_S):
            self._last = now
            self._progress(bytes_done, bytes_total, residues)


def read_inputs(
    inputs: Source | Sequence[Source],
    *,
    alphabet: Alphabet | str | None = None,
    like: Alphabet | None = None,
    strip_gaps: bool = False,
    max_record_size: int | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Generator[Records, None, None]:
    """The records of all inputs, one file after the other, in batches. Close this generator, to end its threads.

    Without `alphabet`, all files are read in that of the first file with records, or in `like`, the alphabet of the
    database they are added to; a record that looks like another molecule is then an InputError.
    """
    from exaln.sequences.fasta import SequenceFile

    sources = [
        arguments.binary_file("inputs", source, "read", EXPECTED)
        for source in (inputs if isinstance(inputs, list | tuple) else [inputs])
    ]
    alphabet = as_alphabet(alphabet)
    reporter = ProgressReporter(progress)
    sizes = [_stored_bytes(source) for source in sources]
    bytes_total = sum(size for size in sizes if size is not None) if None not in sizes else None
    threads = usable_threads(threads)
    bytes_before = residues = 0

    def opened(source: Source) -> SequenceFile:
        return SequenceFile(
            source,
            alphabet=alphabet,
            like=like,
            strip_gaps=strip_gaps,
            batch_residues=BATCH_RESIDUES,
            max_record_size=max_record_size,
            threads=threads,
        )

    with FilesAhead(sources, threads - 1) as ahead:
        for place, source in enumerate(sources):
            with ahead.take(place) or opened(source) as file:
                for records in file:
                    if alphabet is None and like is None:
                        like = records.alphabet
                    ahead.start(place, opened)
                    residues += records.n_residues
                    reporter.report(bytes_before + file.bytes_read, bytes_total, residues)
                    yield records
                bytes_before += file.bytes_read
    reporter.report(bytes_before, bytes_total, residues, final=True)


def _stored_bytes(source: Source) -> int | None:
    """The size of a regular file, None for anything else; problems are reported when the file is opened."""
    if source == "-" or not isinstance(source, str | os.PathLike) or not os.path.isfile(source):  # noqa: PTH113
        return None
    return os.stat(source).st_size  # noqa: PTH116
