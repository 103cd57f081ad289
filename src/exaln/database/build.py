"""Build, append to and compact databases: from records to segments and a manifest."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from exaln.database.manifest import Manifest, SegmentEntry, missing_segment, read_manifest
from exaln.database.segment import Segment
from exaln.database.segment_limits import SegmentLimits
from exaln.database.segment_writer import SegmentBuilder
from exaln.database.sorted_rows import SortedRows
from exaln.database.source_files import Progress, ProgressReporter
from exaln.database.writer import DatabaseWriter
from exaln.errors import ExalnWarning, InputError
from exaln.foundation.plurals import number_of
from exaln.sequences.alphabet import Alphabet
from exaln.sequences.records import Records


def build_in_memory(
    batches: Iterable[Records], name: str, limits: SegmentLimits, threads: int
) -> tuple[Manifest, tuple[Segment, ...]]:
    """The manifest and the segments of a database in memory; `name` appears in messages."""
    segments: list[Segment] = []
    entries: list[SegmentEntry] = []

    def keep(content: SortedRows, check: Callable[[], None]) -> None:
        batch = content.batch_in_memory()
        segment = Segment.in_memory(
            f"{name}[{len(segments)}]", content.alphabet, batch, first_ordinal=content.first_ordinal
        )
        segments.append(segment)
        entries.append(content.entry(segment.name, batch.nbytes))

    with SegmentBuilder(keep, limits=limits, threads=threads) as builder:
        _fill(builder, batches)
    return _manifest_of(segments[0].alphabet, entries, builder), tuple(segments)


def build_directory(
    batches: Iterable[Records], directory: Path, *, force: bool, limits: SegmentLimits, threads: int
) -> None:
    """Build a database in a directory; `force` replaces an existing one, which otherwise is an InputError."""
    entries: list[SegmentEntry] = []
    alphabets: list[Alphabet] = []
    with DatabaseWriter(directory, create=True, force=force) as writer:

        def keep(content: SortedRows, check: Callable[[], None]) -> None:
            alphabets.append(content.alphabet)
            entries.append(writer.add_segment(content, check))

        with SegmentBuilder(keep, limits=limits, threads=threads) as builder:
            _fill(builder, batches)
        writer.commit(_manifest_of(alphabets[0], entries, builder))


def append_to_directory(batches: Iterable[Records], directory: Path, *, limits: SegmentLimits, threads: int) -> None:
    """Add the records to a database as new segments; InputError if their alphabet differs."""
    with DatabaseWriter(directory) as writer:
        old = read_manifest(directory)
        entries = list(old.segments)

        def keep(content: SortedRows, check: Callable[[], None]) -> None:
            entries.append(writer.add_segment(content, check))

        with SegmentBuilder(keep, limits=limits, threads=threads, next_ordinal=old.next_ordinal) as builder:
            _fill(builder, _of_alphabet(batches, old.alphabet))
        builder.length_histogram += old.length_histogram
        writer.commit(_manifest_of(old.alphabet, entries, builder))


def compact_directory(directory: Path, *, progress: Progress | None, limits: SegmentLimits, threads: int) -> None:
    """Merge neighbouring segments that fit into one within `limits`; nothing is written if there are none."""
    with DatabaseWriter(directory) as writer:
        old = read_manifest(directory)
        groups = _groups_to_merge(old.segments, limits)
        if len(groups) == len(old.segments):
            return
        reporter = ProgressReporter(progress)
        bytes_total = sum(entry.bytes for entry in old.segments)
        bytes_done = residues = 0
        entries: list[SegmentEntry] = []
        for group in groups:
            entries.append(group[0] if len(group) == 1 else _merge(group, old.alphabet, writer, threads))
            bytes_done += sum(entry.bytes for entry in group)
            residues += entries[-1].residues
            reporter.report(bytes_done, bytes_total, residues, final=group is groups[-1])
        writer.commit(replace(old, segments=tuple(entries), written_by=Manifest.written_by))


def _fill(builder: SegmentBuilder, batches: Iterable[Records]) -> None:
    first_ordinal = builder.next_ordinal
    for records in batches:
        builder.add(records)
    builder.finish()
    if builder.next_ordinal == first_ordinal:
        raise InputError("no sequences found in the input; expected FASTA or FASTQ with at least one record")
    if builder.repeated_ids:
        warnings.warn(
            f"{number_of(builder.repeated_ids, 'sequence')} {'has' if builder.repeated_ids == 1 else 'have'} the id of "
            "another one; all are kept, and fetch returns all of them",
            ExalnWarning,
            stacklevel=4,
        )


def _of_alphabet(batches: Iterable[Records], alphabet: Alphabet) -> Iterator[Records]:
    for records in batches:
        if records.alphabet != alphabet:
            raise InputError(f"{records.alphabet.name} sequences cannot be appended to a {alphabet.name} database")
        yield records


def _manifest_of(alphabet: Alphabet, entries: Sequence[SegmentEntry], builder: SegmentBuilder) -> Manifest:
    return Manifest(alphabet, tuple(entries), builder.length_histogram, builder.next_ordinal)


def _groups_to_merge(entries: Sequence[SegmentEntry], limits: SegmentLimits) -> list[list[SegmentEntry]]:
    """Groups of neighbouring entries that fit into one segment, formed greedily from the first entry."""
    groups: list[list[SegmentEntry]] = []
    rows = residues = text_bytes = 0
    for entry in entries:
        rows, residues, text_bytes = rows + entry.rows, residues + entry.residues, text_bytes + entry.text_bytes
        if groups and rows <= limits.rows and residues <= limits.residues and text_bytes <= limits.text_bytes:
            groups[-1].append(entry)
        else:
            groups.append([entry])
            rows, residues, text_bytes = entry.rows, entry.residues, entry.text_bytes
    return groups


def _merge(group: Sequence[SegmentEntry], alphabet: Alphabet, writer: DatabaseWriter, threads: int) -> SegmentEntry:
    """Write one segment from several. They come in input order, so a stable sort by length keeps ties in that order."""
    merged: list[SegmentEntry] = []
    segments: list[Segment] = []

    def keep(content: SortedRows, check: Callable[[], None]) -> None:
        merged.append(writer.add_segment(content, check))

    with SegmentBuilder(keep, threads=threads) as builder:
        for entry in group:
            try:
                segment = entry.open(writer.directory, alphabet)
            except FileNotFoundError as error:
                raise missing_segment(error) from None
            segments.append(segment)
            builder.add_rows(segment.records, segment.ordinals)
        builder.finish()
    for segment in segments:
        segment.require_unchanged()
    return merged[0]
