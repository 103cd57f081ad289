"""Chaibou and Sie: tables and plots, beside what the paper says."""

from __future__ import annotations

import math
from collections.abc import Sequence

from exaln_studies.fits import Fit, fitted
from exaln_studies.measurements import Measurements
from exaln_studies.page import listed, number
from exaln_studies.rotation import BY_DIAGONALS, LAYOUTS, ORIGINAL, ROTATED
from exaln_studies.study import Block, Figure, Line, Section, Table

PAPER_THREADS = {2500: "1.5 with 2", 5000: "1.5 with 2", 10_000: "1.5 with 8", 14_000: "1.13 with 2"}
"""The best speed-up of Fig. 7 and the number of threads it was reached with, on two cores."""

THREAD_TABLES = (
    ("nucleotides", 1, "one cell per thread (Fig. 7)"),
    ("nucleotides", 50, "chunks of 50"),
    ("nucleotides", 250, "chunks of 250"),
    ("proteins", 50, "chunks of 50, proteins"),
)
"""What is measured, in chunks of how many cells, and what that is called."""

NAMES = {ORIGINAL: "original, row by row", ROTATED: "rotated, as in the paper", BY_DIAGONALS: "rotated, by diagonals"}


def _sequential(found: Measurements) -> Sequence[Block]:
    rows, lines = [], []
    for kind in found.values("sequential", "kind"):
        for length in found.values("sequential", "length"):
            seconds = {row["order"]: row["seconds"] for row in found.rows("sequential", kind=kind, length=length)}
            engine = seconds["exaln, one core"]
            ratios = [f"{seconds[layout] / seconds[ORIGINAL]:.2f}" for layout in (ROTATED, BY_DIAGONALS)]
            cells = [f"{1e3 * seconds[layout]:,.1f}" for layout in LAYOUTS]
            rows.append((kind, f"{length:,}", *cells, *ratios, "1", f"{1e3 * engine:,.2f}"))
    for order, name in NAMES.items():
        points = found.rows("sequential", kind="nucleotides", order=order)
        lines.append(Line(name, [row["length"] for row in points], [row["seconds"] for row in points]))
    head = ("letters", "length", *(f"{name}, ms" for name in NAMES.values()))
    head += ("rotated / original", "by diagonals / original", "paper: rotated / original", "exaln, one core, ms")
    return [
        "The paper finds both orders equally fast up to 14,000. Here three are compared: the original; the rotated"
        " table"
        " laid out as the paper writes it, where the cells of a step are a row apart in memory; and the same table"
        " turned,"
        " so that they are side by side. exaln's column is the score alone, without a table.",
        Table(head, rows),
        Figure("sequential", "Filling on one core, nucleotides (Fig. 6)", "length of the sequences", "seconds", lines),
    ]


def _threads(found: Measurements) -> Sequence[Block]:
    lengths, counts = found.values("threads", "length"), found.values("threads", "threads", what="fill")
    blocks: list[Block] = [
        "Speed-up over one thread, in the layout by diagonals and in the chunks that suit one thread best. The paper's"
        " computer had two cores; its best values are in the last column.",
        *_missing(found),
    ]
    for kind, chunk, name in THREAD_TABLES:
        head = ("length", *(f"{count} thread{'s' * (count > 1)}" for count in counts), "paper, one cell, best")
        rows, lines = [], []
        for length in lengths:
            one = _one_thread(found, length, kind)
            speedups = [one / _seconds(found, length, BY_DIAGONALS, count, chunk, kind) for count in counts]
            paper = PAPER_THREADS.get(length, "-") if kind == "nucleotides" else "-"
            rows.append((f"{length:,}", *(_cell(s, ".2f") for s in speedups), paper))
            lines.append(Line(f"length {length:,}", counts, speedups))
        caption = f"Speed-up by threads, {name}"
        blocks += [f"**{name[0].upper()}{name[1:]}**", Table(head, rows)]
        figure = f"threads-{chunk}" if kind == "nucleotides" else f"threads-{chunk}-{kind}"
        blocks.append(Figure(figure, caption, "threads", "speed-up", lines, log_x=True))
    blocks += [*_chunks(found), *_thread_model(found)]
    return blocks


def _missing(found: Measurements) -> Sequence[Block]:
    """Which of the paper's lengths a run that was cut short did not reach."""
    missing = [f"{length:,}" for length in PAPER_THREADS if length not in found.values("threads", "length")]
    if found.runs["threads"].is_whole or not missing:
        return []
    return [f"The run was cut short: {listed(missing)} is missing, and some of what came last before it."]


def _cell(value: float, form: str) -> str:
    """A dash for what was not measured."""
    return "-" if math.isnan(value) else format(value, form)


def _seconds(
    found: Measurements, length: int, layout: str, threads: int, chunk: int, kind: str = "nucleotides"
) -> float:
    shape = {"kind": kind, "length": length, "layout": layout, "threads": threads, "chunk": chunk}
    row = found.one("threads", what="fill", **shape)
    return float(row["seconds"]) if row is not None else float("nan")


def _one_thread(found: Measurements, length: int, kind: str = "nucleotides") -> float:
    """Seconds of one thread by diagonals, in the chunks that suit it best."""
    rows = found.rows("threads", what="fill", kind=kind, length=length, layout=BY_DIAGONALS, threads=1)
    return min(float(row["seconds"]) for row in rows)


def _chunks(found: Measurements) -> Sequence[Block]:
    """Fig. 8: two threads, by chunk, in both layouts."""
    chunks, rows, lines = found.values("threads", "chunk"), [], []
    lengths = found.values("threads", "length")
    for layout in (BY_DIAGONALS, ROTATED):
        for chunk in chunks:
            seconds = [_seconds(found, length, layout, 2, chunk) for length in lengths]
            rows.append((NAMES[layout], str(chunk), *(_cell(1e3 * s, ",.1f") for s in seconds)))
            lines.append(Line(f"{layout}, chunks of {chunk}", lengths, seconds))
    return [
        "Two threads, milliseconds by chunk (Fig. 8; the paper finds 50 best, and differences of some hundredths of a"
        " second). A chunk of 50 cells is three cache lines, of which one or two are shared with another thread's.",
        Table(("layout", "chunk", *(f"length {length:,}" for length in lengths)), rows),
        Figure("chunks", "Two threads, by chunk (Fig. 8)", "length of the sequences", "seconds", lines, log_y=True),
    ]


def thread_fit(
    found: Measurements, layout: str = BY_DIAGONALS, chunk: int = 50
) -> tuple[Fit, list[tuple[int, int, float]]]:
    """T = N^2 Te / p + 2 N beta over all lengths, and all numbers of threads that have a core each."""
    run = found.runs["threads"]
    points = [
        (row["length"], row["threads"], row["seconds"])
        for row in found.rows("threads", what="fill", kind="nucleotides", layout=layout, chunk=chunk)
        if row["threads"] <= run.machine["cores"]
    ]
    columns = [[n * n / p for n, p, _ in points], [2 * n * (p > 1) for n, p, _ in points]]
    return fitted(columns, [seconds for *_, seconds in points]), points


def _thread_model(found: Measurements) -> Sequence[Block]:
    fit, points = thread_fit(found)
    (te, beta), run = fit.coefficients, found.runs["threads"]
    rows = [
        (
            f"{n:,}",
            str(p),
            f"{1e3 * seconds:,.2f}",
            f"{1e3 * seconds * (1 - residual):,.2f}",
            f"{residual:+.0%}",
            str(p),
        )
        for (n, p, seconds), residual in zip(points, fit.residuals, strict=True)
    ]
    empty = {row["threads"]: row["seconds"] for row in found.rows("threads", what="empty step")}
    lengths = found.values("threads", "length")
    lines = []
    for p in sorted({p for _, p, _ in points}):
        measured = [seconds for n, q, seconds in points if q == p]
        lines.append(Line(f"{p} thread{'s' * (p > 1)}", lengths, measured))
        lines.append(
            Line(f"model, {p}", lengths, [n * n * te / p + 2 * n * beta * (p > 1) for n in lengths], dashed=True)
        )
    waiting = listed(f"{number(1e6 * seconds)} us with {p}" for p, seconds in empty.items() if p > 1)
    return [
        "**The model** T = N² Te / p + 2 N beta, fitted to chunks of 50 by diagonals, for numbers of threads p that"
        " have a"
        f" core each ({run.machine['cores']} cores): Te = {number(1e9 * te)} ns per cell, beta = {number(1e6 * beta)}"
        " us per"
        f" step; largest residual {fit.worst:.0%}. Measured directly, a step without cells takes {waiting}. One thread"
        " waits"
        " for nobody, so beta is left out there. The limit of the speed-up for N to infinity is p.",
        Table(("length", "p", "measured, ms", "model, ms", "residual", "limit of the speed-up"), rows),
        Figure("thread-model", "The model of the paper on threads", "length of the sequences", "seconds", lines),
    ]


def _gpu(found: Measurements) -> Sequence[Block]:
    blocks: list[Block] = [
        "A launch per diagonal, a thread per cell. Launches come from the host one by one, as in the paper, or as a"
        " CUDA"
        " graph, which the device goes through by itself. Speed-up over one core of the same machine, original order.",
    ]
    sizes = found.values("gpu", "block_size")
    kinds = found.values("gpu", "kind", what="fill")
    for kind in kinds:
        rows = []
        for length in found.values("gpu", "length", what="fill", kind=kind):
            core = found.rows("gpu", what="one core", kind=kind, length=length)[0]["seconds"]
            engine = found.rows("gpu", what="engine", kind=kind, length=length)[0]["seconds"]
            best = {
                (layout, graph): min(
                    found.rows("gpu", what="fill", kind=kind, length=length, layout=layout, graph=graph),
                    key=lambda row: float(row["seconds"]),
                )
                for layout in (BY_DIAGONALS, ROTATED)
                for graph in (False, True)
            }
            cells = [f"{1e3 * row['seconds']:,.2f} ({row['block_size']})" for row in best.values()]
            fastest = min(row["seconds"] for row in best.values())
            paper = "over 25" if length >= 2500 else "-"
            rows.append(
                (f"{length:,}", f"{1e3 * core:,.1f}", *cells, f"{core / fastest:,.1f}", paper, f"{1e3 * engine:,.2f}")
            )
        orders = ("by diagonals, host, ms (block)", "by diagonals, graph", "rotated, host", "rotated, graph")
        head = ("length", "one core, ms", *orders, "best speed-up", "paper", "exaln, ms, with copies")
        blocks += [f"**{kind[0].upper()}{kind[1:]}**", Table(head, rows)]
    lines = []
    for size in sizes:
        points = found.rows("gpu", what="fill", kind=kinds[0], layout=BY_DIAGONALS, block_size=size, graph=True)
        core = {row["length"]: row["seconds"] for row in found.rows("gpu", what="one core", kind=kinds[0])}
        speedups = [core[row["length"]] / row["seconds"] for row in points]
        lines.append(Line(f"blocks of {size}", [row["length"] for row in points], speedups))
    caption = "Speed-up over one core by length and block size, launches in a graph (Fig. 9)"
    blocks.append(Figure("gpu", caption, "length of the sequences", "speed-up", lines))
    return [*blocks, *_gpu_model(found, kinds[0])]


def _gpu_model(found: Measurements, kind: str) -> Sequence[Block]:
    rows = []
    for graph, name in ((False, "by the host"), (True, "in a graph")):
        alpha = found.rows("gpu", what="empty launch", graph=graph)[0]["seconds"]
        fills = found.rows("gpu", what="fill", kind=kind, layout=BY_DIAGONALS, block_size=256, graph=graph)
        steps = [2 * row["length"] - 1 for row in fills]
        fit = fitted([steps], [row["seconds"] for row in fills])
        total = fit.coefficients[0]
        residuals = listed(f"{residual:+.0%}" for residual in fit.residuals)
        rows.append((name, number(1e6 * alpha), number(1e6 * total), number(1e6 * (total - alpha)), residuals))
    head = ("launches", "alpha, empty launch, us", "alpha + Teg, fitted, us", "Teg, us", "residuals by length")
    return [
        "**The model** T = (alpha + Teg) 2N has only the sum of its two times, so alpha is measured with empty"
        " launches."
        " Blocks of 256, by diagonals. Launches by the host come from Python and take as long with cells as without:"
        " then"
        " Teg cannot be told. A residual that grows with the length says that a step is not constant: longer"
        " diagonals take longer.",
        Table(head, rows),
    ]


def _together(found: Measurements) -> Sequence[Block]:
    lengths = found.values("threads", "length")
    original = found.rows("sequential", kind="nucleotides", order=ORIGINAL)
    lines = [Line("one core, original", [row["length"] for row in original], [row["seconds"] for row in original])]
    for chunk in found.values("threads", "chunk"):
        seconds = [_seconds(found, length, BY_DIAGONALS, 2, chunk) for length in lengths]
        lines.append(Line(f"two threads, chunks of {chunk}", lengths, seconds))
    fills = found.rows("threads", what="fill", kind="nucleotides", layout=BY_DIAGONALS)
    best = [min(row["seconds"] for row in fills if row["length"] == length) for length in lengths]
    lines.append(Line("best number of threads", lengths, best))
    engine = found.rows("sequential", kind="nucleotides", order="exaln, one core")
    lines.append(Line("exaln, one core", [row["length"] for row in engine], [row["seconds"] for row in engine]))
    fills = found.rows("gpu", what="fill", kind="nucleotides", layout=BY_DIAGONALS, block_size=256, graph=False)
    if fills:
        lines.append(Line("GPU, blocks of 256", [row["length"] for row in fills], [row["seconds"] for row in fills]))
        engine = found.rows("gpu", what="engine", kind="nucleotides")
        lines.append(Line("exaln, GPU", [row["length"] for row in engine], [row["seconds"] for row in engine]))
    caption = "All together (Fig. 10); the machines are named below"
    return [Figure("together", caption, "length of the sequences", "seconds", lines, log_y=True)]


def findings(found: Measurements) -> Sequence[Block]:
    """What the paper found beside what was found here."""
    return [*_sequential_finding(found), *_threads_finding(found), *_gpu_finding(found)]


def _sequential_finding(found: Measurements) -> Sequence[Block]:
    rows = found.rows("sequential", kind="nucleotides")
    if not rows:
        return []
    seconds = {(row["length"], row["order"]): row["seconds"] for row in rows}
    lengths = sorted({row["length"] for row in rows})
    strided, dense = (
        [seconds[length, layout] / seconds[length, ORIGINAL] for length in lengths]
        for layout in (ROTATED, BY_DIAGONALS)
    )
    engine = seconds[lengths[-1], ORIGINAL] / seconds[lengths[-1], "exaln, one core"]
    return [
        "*The paper: on one core, rotated and original take the same time.* Here the layout of the paper, where each"
        " cell"
        f" of a step lies in another row and so in another cache line, takes {min(strided):.1f} to {max(strided):.1f}"
        f" times as long as the original, by length; turned so that a step lies together {min(dense):.1f} to"
        f" {max(dense):.1f} times. exaln's engine, which keeps no table, is {engine:.0f} times faster than the"
        " original on"
        f" the same core at {lengths[-1]:,}."
    ]


def _threads_finding(found: Measurements) -> Sequence[Block]:
    fills = found.rows("threads", what="fill", kind="nucleotides", layout=BY_DIAGONALS)
    if not fills:
        return []
    fit, _ = thread_fit(found)
    gains = {
        (row["length"], row["threads"], row["chunk"]): _one_thread(found, row["length"]) / row["seconds"]
        for row in fills
    }
    length, threads, chunk = max(gains, key=lambda shape: gains[shape])
    speedup = gains[length, threads, chunk]
    one, two = (
        _seconds(found, length, BY_DIAGONALS, count, 1) / _seconds(found, length, BY_DIAGONALS, count, 50)
        for count in (1, 2)
    )
    most = max(row["threads"] for row in fills)
    empty = found.rows("threads", what="empty step", threads=most)[0]["seconds"]
    step = _one_thread(found, length) / (2 * length)
    return [
        "*The paper: threads give 1.5 at best, and chunks of 50 are better than single cells by hundredths of a"
        f" second.* Here the best speed-up is {speedup:.2f}, with {threads} threads and chunks of {chunk} at"
        f" {length:,}."
        f" More cores help little: a step takes one thread {1e6 * step:.0f} us, and the wait after it {1e6 * empty:.1f}"
        f" us with {most} threads, besides cells that were written by another core and come from its cache. Dealt out"
        f" singly, cells take {two:.1f} times as long with two threads as in chunks of 50, {one:.1f} times with one:"
        " a loop around one cell costs more than the cell. The paper's model, one time per cell and one wait per"
        f" step, is within {fit.worst:.0%} of the measurements; the wait it takes for constant grows with the threads,"
        " and what cells cost that another core wrote is not in it."
    ]


def _gpu_finding(found: Measurements) -> Sequence[Block]:
    fills = found.rows("gpu", what="fill", kind="nucleotides")
    if not fills:
        return []
    longest = max(row["length"] for row in fills)
    core = found.rows("gpu", what="one core", kind="nucleotides", length=longest)[0]["seconds"]
    best = min((row for row in fills if row["length"] == longest), key=lambda row: float(row["seconds"]))
    engine = found.rows("gpu", what="engine", kind="nucleotides", length=longest)[0]["seconds"]
    alpha = found.rows("gpu", what="empty launch", graph=best["graph"])[0]["seconds"]
    share = alpha * (2 * longest - 1) / best["seconds"]
    return [
        f"*The paper: a GPU is over 25 times faster, and the more so the longer the sequences.* Here, at {longest:,},"
        " it"
        f" is {core / best['seconds']:.0f} times faster than one core of its host, and still the more so the longer"
        " they"
        f" are. Empty launches in a graph alone would take {share:.0%} of that time, and a step has at most"
        f" {longest:,} cells, where this device holds twenty times as many threads: cores and devices have become faster"
        " since"
        f" 2015, a launch has not as much. exaln's engine needs {1e3 * engine:.1f} ms for the score of the pair, copies"
        f" included, where the best of these needs {1e3 * best['seconds']:.1f} ms for its table."
    ]


SECTIONS = (
    Section("One core: original order and rotated (Fig. 6)", "sequential", _sequential),
    Section("Threads (Fig. 7 and 8)", "threads", _threads),
    Section("A launch per diagonal on a GPU (Fig. 9)", "gpu", _gpu),
    Section("All together (Fig. 10)", "threads", _together),
)
