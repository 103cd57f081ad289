"""What a search would do, without doing it: engine, cells, kernels by length, memory, batches, estimated time.

query, database, options -> Search -> engine.outline(task) -> Explanation -> lines for people, or JSON
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from exaln.engines.choice import engine_reasons
from exaln.engines.outline import ScanOutline
from exaln.foundation.distinct import distinct
from exaln.foundation.mapped_file import unchanged
from exaln.foundation.plurals import number_of

if TYPE_CHECKING:
    from exaln.database.windows import WindowedTargets
    from exaln.search.pipeline import Search
    from exaln.search.scan_parts import ScanPart
    from exaln.sequences.records import Records

FORMAT_VERSION = 1


@dataclass(frozen=True)
class Windows:
    """Long targets as windows for some queries. step, overlap: in residues, overlap 0 if the targets are not cut.

    n_query_rows: queries on their strands.
    """

    n_query_rows: int
    n_targets: int
    n_windows: int
    step: int
    overlap: int

    def text(self) -> str:
        """For people."""
        queries, targets = number_of(self.n_query_rows, "query strand"), number_of(self.n_targets, "long target")
        if not self.overlap:
            return f"{queries}, {targets}: whole, because windows would overlap too much"
        return f"{queries}, {targets} in {self.n_windows:,} windows that overlap by {self.overlap:,} residues"


@dataclass(frozen=True)
class Explanation:
    """The plan of one search. reasons: for each engine, the fastest first, why it is used or not."""

    engine: str
    reasons: dict[str, str]
    scoring: str
    statistics: str | None
    composition: str | None
    n_queries: int
    query_residues: int
    strands: int
    n_targets: int
    target_residues: int
    n_segments: int
    cells: int
    n_query_blocks: int
    windows: tuple[Windows, ...]
    outline: ScanOutline

    def to_values(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return {"format_version": FORMAT_VERSION, **asdict(self)}

    def lines(self) -> list[tuple[str, str]]:
        """(heading, text) pairs for display; a heading may be empty."""
        outline = self.outline
        strands = ", both strands" if self.strands == 2 else ""
        rows = [("engine", self.engine)]
        rows += [("", f"{name}: {reason}") for name, reason in self.reasons.items()]
        rows += [
            ("queries", f"{number_of(self.n_queries, 'query')}, {number_of(self.query_residues, 'residue')}{strands}"),
            (
                "database",
                f"{number_of(self.n_targets, 'target')}, {number_of(self.target_residues, 'residue')} "
                f"in {number_of(self.n_segments, 'segment')}",
            ),
            ("cells", f"{self.cells:,}"),
            ("scoring", self.scoring),
            ("statistics", self.statistics or "none: hits are ranked by score"),
            ("blocks", f"{number_of(self.n_query_blocks, 'block')} of queries, scanned one after the other"),
            ("batches", f"{number_of(outline.n_batches, 'batch')} of targets in a block"),
        ]
        if self.composition is not None:
            rows.append(("composition", self.composition))
        rows += [("windows", windows.text()) for windows in self.windows]
        for use in outline.kernels:
            lengths = f"{use.shortest:,}" if use.shortest == use.longest else f"{use.shortest:,} to {use.longest:,}"
            rows.append(
                (
                    "kernel",
                    f"{use.kernel}: {number_of(use.n_targets, 'target')} of length {lengths}, "
                    f"{number_of(use.n_residues, 'residue')}",
                )
            )
        rows.append(("host memory", f"{_size(outline.host_bytes)} besides the mapped database"))
        if outline.device_buffers:
            rows.append(("device memory", f"{_size(sum(outline.device_buffers.values()))} on each GPU"))
            rows += [("", f"{name}: {_size(n_bytes)}") for name, n_bytes in outline.device_buffers.items()]
        rows.append(("time", f"about {_seconds(outline.seconds)} for the scan ({outline.source})"))
        return rows


def explain(search: Search, queries: Records) -> Explanation:
    """The plan of a search for these queries; nothing is scored."""
    database, blocks = search.database, list(search.blocks([queries]))
    widest = max(blocks, key=lambda block: block.rows.n_rows)
    with unchanged(database.require_unchanged):
        parts = search.views.parts(widest.rows, search.scan_evaluator.cutoff(widest.rows.lengths))
        outline = ScanOutline.joined([search.engine.outline(part.task(None)) for part in parts])
    cells = search.n_cells(queries.n_residues)
    scanned = widest.rows.n_rows * database.n_residues
    return Explanation(
        engine=search.engine.describe(),
        reasons=engine_reasons(search.engine.name),
        scoring=search.scoring.describe(),
        statistics=None if search.statistics is None else search.statistics.describe(),
        composition=_composition(search),
        n_queries=len(queries),
        query_residues=queries.n_residues,
        strands=search.n_strands,
        n_targets=database.n_targets,
        target_residues=database.n_residues,
        n_segments=len(database.segments),
        cells=cells,
        n_query_blocks=len(blocks),
        windows=tuple(_windows(part, part.windows) for part in parts if part.windows is not None),
        outline=outline.scaled(cells / max(1, scanned)),
    )


def _composition(search: Search) -> str | None:
    """What is rescored, and where; None without composition-based statistics."""
    options = search.options
    if not search.rescores:
        return None
    where = "cpu" if search.engine.tuning.scans_beside_cpu else search.engine.name
    return (
        f"mode {options.comp_based_stats}: pairs within {options.margin:g} times the E-value are rescored "
        f"and aligned by the {where} engine"
    )


def _windows(part: ScanPart, view: WindowedTargets) -> Windows:
    n_targets = sum(len(distinct(segment.rows)) for segment in view.segments)
    return Windows(len(part.rows), n_targets, view.n_targets, view.step, view.overlap)


def _size(n_bytes: int) -> str:
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if n_bytes >= unit:
            return f"{n_bytes / unit:,.1f} {name}"
    return f"{n_bytes} bytes"


def _seconds(seconds: float) -> str:
    if seconds >= 5400:
        return f"{seconds / 3600:.1f} hours"
    if seconds >= 90:
        return f"{seconds / 60:.1f} minutes"
    return f"{seconds:.3g} s" if seconds >= 0.01 else "0.01 s or less"
