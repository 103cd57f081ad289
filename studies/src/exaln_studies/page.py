"""The page of a study, in Markdown: what the paper says, what was measured here, and on which machine."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from textwrap import wrap

from exaln_studies.measurements import Measurements, PartRun
from exaln_studies.study import Bars, Block, Figure, Part, Section, Study, Table

COLUMNS = 100
"""Where prose is wrapped."""

BUSY_SHARE = 0.5
"""A measurement counts as disturbed if other processes keep more than this share of the cores busy."""

BUSY = (
    "**Measured on a busy machine.** Other processes were running (see below): these times are too long and vary, and"
    " only large ratios between them are meaningful. Repeat the measurement on an idle machine."
)


def page_text(study: Study, measurements: Measurements) -> tuple[str, list[Figure | Bars]]:
    """Return the page and the plots that it shows."""
    drawn: list[Figure | Bars] = []
    measurements = replace(measurements, gradual=frozenset(part.name for part in study.parts if part.is_gradual))
    lines = [f"# {study.title}", "", *paragraphs(study.paper), *paragraphs(study.summary)]
    findings = study.findings(measurements)
    if findings:
        disturbed = [name for name, run in measurements.runs.items() if is_busy(run) and measurements.rows(name)]
        busy = paragraphs(f"**Measured on a busy machine: {listed(disturbed)}.** See there.") if disturbed else []
        lines += ["## What held, and what no longer holds", "", *busy, *_blocks(study, findings, drawn)]
    for section in study.sections:
        lines += [f"## {section.title}", "", *_section(study, section, measurements, drawn)]
    lines += ["## How it was measured", "", *_machines(study, measurements)]
    return "\n".join(lines).rstrip() + "\n", drawn


def paragraphs(text: str) -> list[str]:
    """Wrap paragraphs, separated by empty lines, at COLUMNS, never after "Fig."; an empty line follows each.

    >>> paragraphs("One.\\n\\nTwo\\nlines.")
    ['One.', '', 'Two lines.', '']
    """
    lines: list[str] = []
    for paragraph in text.strip().split("\n\n"):
        words = " ".join(paragraph.split()).replace("Fig. ", "Fig.\N{NO-BREAK SPACE}")
        wrapped = wrap(words, COLUMNS, break_long_words=False, break_on_hyphens=False)
        lines += [*(line.replace("\N{NO-BREAK SPACE}", " ") for line in wrapped), ""]
    return lines


def table_text(table: Table) -> str:
    """Format a table in Markdown.

    >>> print(table_text(Table(("length", "s"), [("2,500", "0.1")])))
    | length | s |
    |---|---|
    | 2,500 | 0.1 |
    """
    rows = [table.head, ["---"] * len(table.head), *table.rows]
    return "\n".join("|" + "|".join(cell if cell == "---" else f" {cell} " for cell in row) + "|" for row in rows)


def _section(study: Study, section: Section, measurements: Measurements, drawn: list[Figure | Bars]) -> list[str]:
    if not measurements.rows(section.part):
        part = study.part(section.part)
        where = "on a machine with an NVIDIA GPU" if part.device == "gpu" else "on any machine"
        return [f"Not measured yet: `exaln study {study.name} --part {part.name}`, {where}.", ""]
    busy = paragraphs(BUSY) if is_busy(measurements.runs[section.part]) else []
    return [*busy, *_blocks(study, section.blocks(measurements), drawn)]


def _blocks(study: Study, blocks: Sequence[Block], drawn: list[Figure | Bars]) -> list[str]:
    lines: list[str] = []
    for block in blocks:
        if isinstance(block, str):
            lines += paragraphs(block)
        elif isinstance(block, Table):
            lines += [table_text(block), ""]
        else:
            drawn.append(block)
            lines += paragraphs(f"![{block.caption}]({study.name}-{block.name}.svg)\n\n*{block.caption}*")
    return lines


def _machines(study: Study, measurements: Measurements) -> list[str]:
    """Say where each part was measured; quick runs are marked, since their numbers are rough."""
    runs = [(part, measurements.runs[part.name]) for part in study.parts if measurements.rows(part.name)]
    head = ("part", "measured on", "date", "command", "took", "results compared")
    table = Table(head, [_run_cells(part, run) for part, run in runs])
    all_checked = sum(run.checks for _, run in runs)
    if not runs:
        return ["Nothing has been measured yet."]
    summary = (
        f"Every result was compared with the expected one: {all_checked:,} comparisons, no difference. The measurements"
        f" are in `{study.name}.json`; `exaln study {study.name} --from FILE` makes this page from such files."
    )
    return [
        *paragraphs(summary),
        table_text(table),
        "",
        f"All parts together: {sum(run.seconds for _, run in runs):.0f} s, of which"
        f" the GPU parts took {sum(run.seconds for part, run in runs if part.device == 'gpu'):.0f} s.",
    ]


def _run_cells(part: Part, run: PartRun) -> Sequence[str]:
    where = f"{run.machine['processor']}, {run.machine['cores']} cores"
    if run.gpu is not None:
        where = f"{run.gpu}; {where}"
    if is_busy(run):
        where += f", **busy: {run.machine['load']} cores in use at the start**"
    took = f"{run.seconds:.0f} s" + (", quick" if run.quick else "") + ("" if run.is_whole else ", interrupted")
    return (f"{part.name}: {part.title}", where, run.date[:10], f"`{run.command}`", took, f"{run.checks:,}")


def is_busy(run: PartRun) -> bool:
    """Return whether other processes kept the machine busy when the part started."""
    return bool(run.machine.get("load", 0.0) > BUSY_SHARE * run.machine["cores"])


def number(value: float, digits: int = 3) -> str:
    """Format a number with this many significant digits and no exponent.

    >>> number(0.012345), number(1.5), number(1234.5), number(0)
    ('0.0123', '1.50', '1,234', '0')
    """
    if value == 0:
        return "0"
    size = 0
    while abs(value) >= 10**size:
        size += 1
    while size <= 0 and abs(value) < 10.0 ** (size - 1):
        size -= 1
    return f"{value:,.{max(0, digits - size)}f}"


def count(value: float | None) -> str:
    """Format a counter as an integer; a dash for None, a counter that the profiler does not have.

    >>> count(1234567.0), count(None)
    ('1,234,567', '-')
    """
    return "-" if value is None else f"{value:,.0f}"


def listed(words: Iterable[object]) -> str:
    """Join with commas.

    >>> listed([1, 2])
    '1, 2'
    """
    return ", ".join(map(str, words))
