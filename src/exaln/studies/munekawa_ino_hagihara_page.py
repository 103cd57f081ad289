"""Munekawa, Ino and Hagihara: tables and plots, beside what the paper says."""

from __future__ import annotations

from collections.abc import Sequence

from exaln.studies.measurements import Measurements
from exaln.studies.page import number
from exaln.studies.study import Block, Figure, Line, Row, Section, Table

PAPER = {
    63: (2.03, 2.81, 7.48, 0.76, 65.7, 256.9),
    127: (2.07, 5.55, 10.88, 1.06, 86.5, 338.2),
    191: (2.30, 7.52, 14.54, 1.19, 93.2, 364.6),
    255: (2.79, 8.32, 18.25, 1.27, 94.7, 370.5),
    319: (3.76, 7.68, 22.10, 1.31, 83.0, 324.7),
    383: (4.36, 7.96, 25.88, 1.34, 85.4, 334.2),
    447: (5.06, 8.00, 29.82, 1.36, 85.8, 335.7),
    511: (5.70, 8.12, 34.14, 1.36, 88.1, 344.7),
}
"""By query: T in s and GCUPS of the proposed program, the same of OpenGL, GIPS and GiB/s of the proposed kernel."""

OPERATIONS, BYTES = 10, 42
"""Of a cell, by the paper's count (section 4)."""

BEST = "packed, with lookahead"


def _rate(row: Row, seconds: str = "seconds") -> float:
    return float(row["query"] * row["residues"] / row[seconds] / 1e9)


def _kernels(found: Measurements) -> Sequence[Block]:
    kernels = found.values("kernels", "kernel")
    rows, formulas = [], []
    for query in found.values("kernels", "query"):
        rates = {row["kernel"]: _rate(row) for row in found.rows("kernels", query=query)}
        rows.append((str(query), *(number(rates[kernel]) for kernel in kernels)))
        paper = PAPER.get(query)
        gips, bandwidth = rates[BEST] * OPERATIONS, rates[BEST] * 1e9 * BYTES / 2**30
        off_chip = rates["off chip"] * OPERATIONS, rates["off chip"] * 1e9 * BYTES / 2**30
        then = (f"{paper[4]}", f"{paper[5]}") if paper else ("-", "-")
        formulas.append((str(query), *(number(value) for value in (gips, bandwidth, *off_chip)), *then))
    lines = [
        Line(kernel, [row["query"] for row in points], [_rate(row) for row in points])
        for kernel in kernels
        if (points := found.rows("kernels", kernel=kernel))
    ]
    fetched = {row["kernel"]: row["fetched"] for row in found.rows("kernels") if row["fetched"]}
    whole, naive, best = fetched["off chip"], fetched["naive (Fig. 5)"], fetched[BEST]
    head = ("query", "GIPS", "GiB/s", "off chip, GIPS", "off chip, GiB/s", "paper, GIPS", "paper, GiB/s")
    return [
        "GCUPS of the kernels alone, targets on the card; exaln's column includes placing the database and all copies.",
        Table(("query", *kernels), rows),
        Figure("kernels", "Kernels by length of the query", "length of the query", "GCUPS", lines, log_y=True),
        "Table 4: GIPS and GiB/s by the paper's formulas, 10 operations and 42 bytes per cell, for the kernel with"
        " lookahead and the one off chip. They say what a program that keeps nothing would need, not what is moved.",
        Table(head, formulas),
        f"Bytes of off-chip memory per cell, counted in the code: {whole:g} off chip, {naive:g} with H, E and F on"
        " chip,"
        f" {best:g} with packed letters: 1/{whole / naive:.0f}, 1/{naive / best:.0f} and together"
        f" 1/{whole / best:.0f}. The"
        " paper: 1/35, 1/4 and 1/140.",
    ]


def _pipeline(found: Measurements) -> Sequence[Block]:
    points = found.rows("pipeline")
    rows, gaps = [], []
    for row in points:
        paper = PAPER.get(row["query"])
        then = (f"{paper[0]}", f"{paper[1]}", f"{paper[2]}", f"{paper[3]}") if paper else ("-",) * 4
        times = [number(1e3 * row[name]) for name in ("kernel", "copy", "read", "plain", "pipelined", "model")]
        rows.append(
            (str(row["query"]), *times, f"{1 - row['pipelined'] / row['plain']:.0%}", number(_rate(row, "pipelined")))
        )
        gap = row["pipelined"] - row["model"]
        gaps.append((str(row["query"]), f"{1e3 * gap:+.1f}", f"{gap / row['pipelined']:+.0%}", *then))
    lines = [
        Line(name, [row["query"] for row in points], [1e3 * row[name] for row in points], dashed=name == "model")
        for name in ("plain", "pipelined", "model")
    ]
    head = (
        "query",
        "kernels, ms",
        "copies, ms",
        "reading, ms",
        "plain, ms",
        "pipelined, ms",
        "model, ms",
        "saved",
        "GCUPS",
    )
    return [
        "The whole search: reading the letters of the database from a file (which is in the page cache), copying them"
        " to the"
        " card, computing, copying the scores of all rows back and taking their maximum on the host, a launch after the"
        " other; pipelined, the next targets are read while the kernel runs. GCUPS are of the pipelined search.",
        Table(head, rows),
        Figure("pipeline", "Plain, pipelined, and the paper's model (Fig. 8)", "length of the query", "ms", lines),
        "The gap to the model, at most 175 ms or 7 % in the paper, and the paper's Table 3:",
        Table(("query", "gap, ms", "gap", "paper: T, s", "GCUPS", "OpenGL: T, s", "GCUPS "), gaps),
    ]


def findings(found: Measurements) -> Sequence[Block]:
    """What the paper found beside what was found here."""
    blocks: list[Block] = []
    rows = found.rows("kernels", query=255)
    if rows:
        rates = {row["kernel"]: _rate(row) for row in rows}
        blocks.append(
            "*The paper: on chip is 6.5 times faster than OpenGL, off chip, and 2.8 times in the kernel.* Here, at"
            " 255, the"
            f" naive kernel reaches {number(rates['naive (Fig. 5)'])} GCUPS, packed letters"
            f" {number(rates['packed letters'])},"
            f" with lookahead {number(rates[BEST])}, off chip {number(rates['off chip'])}; on chip is"
            f" {rates[BEST] / rates['off chip']:.1f} times faster. exaln reaches {number(rates['exaln'])} with all"
            " copies."
        )
    points = found.rows("pipeline")
    if points:
        saved = [1 - row["pipelined"] / row["plain"] for row in points]
        gaps = [abs(row["pipelined"] - row["model"]) / row["pipelined"] for row in points]
        blocks.append(
            f"*The paper: pipelining saves 21 to 39 %.* Here {min(saved):.0%} to {max(saved):.0%}; the model is within"
            f" {max(gaps):.0%}."
        )
    return blocks


SECTIONS = (
    Section("The kernels (Tables 3 and 4)", "kernels", _kernels),
    Section("Plain and pipelined (Table 3, Fig. 8)", "pipeline", _pipeline),
)
