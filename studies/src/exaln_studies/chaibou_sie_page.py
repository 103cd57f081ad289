"""The page of Chaibou and Sie: tables, plots and findings, beside the numbers of the paper."""

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
"""Kind of sequences, cells per chunk, and title of each table."""

NAMES = {ORIGINAL: "original, row by row", ROTATED: "rotated, as in the paper", BY_DIAGONALS: "rotated, by diagonals"}


def _sequential(data: Measurements) -> Sequence[Block]:
    rows, lines = [], []
    for kind in data.values("sequential", "kind"):
        for length in data.values("sequential", "length"):
            seconds = {row["order"]: row["seconds"] for row in data.rows("sequential", kind=kind, length=length)}
            engine = seconds["exaln, one core"]
            ratios = [f"{seconds[layout] / seconds[ORIGINAL]:.2f}" for layout in (ROTATED, BY_DIAGONALS)]
            cells = [f"{1e3 * seconds[layout]:,.1f}" for layout in LAYOUTS]
            rows.append((kind, f"{length:,}", *cells, *ratios, "1", f"{1e3 * engine:,.2f}"))
    for order, name in NAMES.items():
        points = data.rows("sequential", kind="nucleotides", order=order)
        lines.append(Line(name, [row["length"] for row in points], [row["seconds"] for row in points]))
    head = ("letters", "length", *(f"{name}, ms" for name in NAMES.values()))
    head += ("rotated / original", "by diagonals / original", "paper: rotated / original", "exaln, one core, ms")
    return [
        "The paper finds both orders equally fast up to 14,000. Here three are compared: the original order; the"
        " rotated table in the paper's layout, where the cells of a step are one row apart in memory; and its"
        " transpose, where they are contiguous. exaln's column is for the score only, without a table.",
        Table(head, rows),
        Figure("sequential", "Filling on one core, nucleotides (Fig. 6)", "length of the sequences", "seconds", lines),
    ]


def _threads(data: Measurements) -> Sequence[Block]:
    lengths, counts = data.values("threads", "length"), data.values("threads", "threads", what="fill")
    blocks: list[Block] = [
        "Speed-up over one thread, which uses its best chunk size; layout by diagonals. The paper's computer had two"
        " cores; its best values are in the last column.",
        *_missing(data),
    ]
    for kind, chunk, name in THREAD_TABLES:
        head = ("length", *(f"{count} thread{'s' * (count > 1)}" for count in counts), "paper, one cell, best")
        rows, lines = [], []
        for length in lengths:
            one = _one_thread(data, length, kind)
            speedups = [one / _seconds(data, length, BY_DIAGONALS, count, chunk, kind) for count in counts]
            paper = PAPER_THREADS.get(length, "-") if kind == "nucleotides" else "-"
            rows.append((f"{length:,}", *(_cell(s, ".2f") for s in speedups), paper))
            lines.append(Line(f"length {length:,}", counts, speedups))
        caption = f"Speed-up by threads, {name}"
        blocks += [f"**{name[0].upper()}{name[1:]}**", Table(head, rows)]
        figure = f"threads-{chunk}" if kind == "nucleotides" else f"threads-{chunk}-{kind}"
        blocks.append(Figure(figure, caption, "threads", "speed-up", lines, log_x=True))
    blocks += [*_chunks(data), *_thread_model(data)]
    return blocks


def _missing(data: Measurements) -> Sequence[Block]:
    """Lengths of the paper that an interrupted run did not reach."""
    missing = [f"{length:,}" for length in PAPER_THREADS if length not in data.values("threads", "length")]
    if data.runs["threads"].is_whole or not missing:
        return []
    return [f"The run was interrupted: {listed(missing)} is missing, and some of the last length before it."]


def _cell(value: float, form: str) -> str:
    """Format a value; a dash if it was not measured."""
    return "-" if math.isnan(value) else format(value, form)


def _seconds(
    data: Measurements, length: int, layout: str, threads: int, chunk: int, kind: str = "nucleotides"
) -> float:
    shape = {"kind": kind, "length": length, "layout": layout, "threads": threads, "chunk": chunk}
    row = data.one("threads", what="fill", **shape)
    return float(row["seconds"]) if row is not None else float("nan")


def _one_thread(data: Measurements, length: int, kind: str = "nucleotides") -> float:
    """Seconds of one thread by diagonals, with its best chunk size."""
    rows = data.rows("threads", what="fill", kind=kind, length=length, layout=BY_DIAGONALS, threads=1)
    return min(float(row["seconds"]) for row in rows)


def _chunks(data: Measurements) -> Sequence[Block]:
    """Fig. 8: two threads by chunk size, in both layouts."""
    chunks, rows, lines = data.values("threads", "chunk"), [], []
    lengths = data.values("threads", "length")
    for layout in (BY_DIAGONALS, ROTATED):
        for chunk in chunks:
            seconds = [_seconds(data, length, layout, 2, chunk) for length in lengths]
            rows.append((NAMES[layout], str(chunk), *(_cell(1e3 * s, ",.1f") for s in seconds)))
            lines.append(Line(f"{layout}, chunks of {chunk}", lengths, seconds))
    return [
        "Two threads, milliseconds by chunk size (Fig. 8; the paper finds 50 best, by a few hundredths of a second). A"
        " chunk of 50 cells is about three cache lines, of which one or two are shared with another thread.",
        Table(("layout", "chunk", *(f"length {length:,}" for length in lengths)), rows),
        Figure("chunks", "Two threads by chunk size (Fig. 8)", "length of the sequences", "seconds", lines, log_y=True),
    ]


def thread_fit(
    data: Measurements, layout: str = BY_DIAGONALS, chunk: int = 50
) -> tuple[Fit, list[tuple[int, int, float]]]:
    """Fit T = N^2 Te / p + 2 N beta to all lengths and all thread counts up to the number of cores."""
    run = data.runs["threads"]
    points = [
        (row["length"], row["threads"], row["seconds"])
        for row in data.rows("threads", what="fill", kind="nucleotides", layout=layout, chunk=chunk)
        if row["threads"] <= run.machine["cores"]
    ]
    columns = [[n * n / p for n, p, _ in points], [2 * n * (p > 1) for n, p, _ in points]]
    return fitted(columns, [seconds for *_, seconds in points]), points


def _thread_model(data: Measurements) -> Sequence[Block]:
    fit, points = thread_fit(data)
    (te, beta), run = fit.coefficients, data.runs["threads"]
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
    empty = {row["threads"]: row["seconds"] for row in data.rows("threads", what="empty step")}
    lengths = data.values("threads", "length")
    lines = []
    for p in sorted({p for _, p, _ in points}):
        measured = [seconds for n, q, seconds in points if q == p]
        lines.append(Line(f"{p} thread{'s' * (p > 1)}", lengths, measured))
        lines.append(
            Line(f"model, {p}", lengths, [n * n * te / p + 2 * n * beta * (p > 1) for n in lengths], dashed=True)
        )
    waiting = listed(f"{number(1e6 * seconds)} us with {p}" for p, seconds in empty.items() if p > 1)
    return [
        "**The model** T = N² Te / p + 2 N beta, fitted to chunks of 50 by diagonals, for up to as many threads p as"
        f" there are cores ({run.machine['cores']}): Te = {number(1e9 * te)} ns per cell, beta = {number(1e6 * beta)}"
        f" us per step; largest residual {fit.worst:.0%}. Measured directly, a step without cells takes {waiting}. One"
        " thread never waits, so beta is omitted there. For N to infinity the speed-up tends to p.",
        Table(("length", "p", "measured, ms", "model, ms", "residual", "limit of the speed-up"), rows),
        Figure("thread-model", "The model of the paper on threads", "length of the sequences", "seconds", lines),
    ]


def _gpu(data: Measurements) -> Sequence[Block]:
    blocks: list[Block] = [
        "One launch per diagonal, one thread per cell. The host issues the launches one by one, as in the paper, or as"
        " a CUDA graph, which the GPU executes on its own. Speed-up over one core of the same machine, original"
        " order.",
    ]
    sizes = data.values("gpu", "block_size")
    kinds = data.values("gpu", "kind", what="fill")
    for kind in kinds:
        rows = []
        for length in data.values("gpu", "length", what="fill", kind=kind):
            core = data.rows("gpu", what="one core", kind=kind, length=length)[0]["seconds"]
            engine = data.rows("gpu", what="engine", kind=kind, length=length)[0]["seconds"]
            best = {
                (layout, graph): min(
                    data.rows("gpu", what="fill", kind=kind, length=length, layout=layout, graph=graph),
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
        points = data.rows("gpu", what="fill", kind=kinds[0], layout=BY_DIAGONALS, block_size=size, graph=True)
        core = {row["length"]: row["seconds"] for row in data.rows("gpu", what="one core", kind=kinds[0])}
        speedups = [core[row["length"]] / row["seconds"] for row in points]
        lines.append(Line(f"blocks of {size}", [row["length"] for row in points], speedups))
    caption = "Speed-up over one core by length and block size, launches in a graph (Fig. 9)"
    blocks.append(Figure("gpu", caption, "length of the sequences", "speed-up", lines))
    return [*blocks, *_gpu_model(data, kinds[0])]


def _gpu_model(data: Measurements, kind: str) -> Sequence[Block]:
    rows = []
    for graph, name in ((False, "by the host"), (True, "in a graph")):
        alpha = data.rows("gpu", what="empty launch", graph=graph)[0]["seconds"]
        fills = data.rows("gpu", what="fill", kind=kind, layout=BY_DIAGONALS, block_size=256, graph=graph)
        steps = [2 * row["length"] - 1 for row in fills]
        fit = fitted([steps], [row["seconds"] for row in fills])
        total = fit.coefficients[0]
        residuals = listed(f"{residual:+.0%}" for residual in fit.residuals)
        rows.append((name, number(1e6 * alpha), number(1e6 * total), number(1e6 * (total - alpha)), residuals))
    head = ("launches", "alpha, empty launch, us", "alpha + Teg, fitted, us", "Teg, us", "residuals by length")
    return [
        "**The model** T = (alpha + Teg) 2N determines only the sum of its two times, so alpha is measured with empty"
        " launches. Blocks of 256, by diagonals. Launches by the host come from Python and take as long with cells as"
        " without, so Teg cannot be determined there. Residuals that grow with the length show that the time of a step"
        " is not constant: longer diagonals take longer.",
        Table(head, rows),
    ]


def _together(data: Measurements) -> Sequence[Block]:
    lengths = data.values("threads", "length")
    original = data.rows("sequential", kind="nucleotides", order=ORIGINAL)
    lines = [Line("one core, original", [row["length"] for row in original], [row["seconds"] for row in original])]
    for chunk in data.values("threads", "chunk"):
        seconds = [_seconds(data, length, BY_DIAGONALS, 2, chunk) for length in lengths]
        lines.append(Line(f"two threads, chunks of {chunk}", lengths, seconds))
    fills = data.rows("threads", what="fill", kind="nucleotides", layout=BY_DIAGONALS)
    best = [min(row["seconds"] for row in fills if row["length"] == length) for length in lengths]
    lines.append(Line("best number of threads", lengths, best))
    engine = data.rows("sequential", kind="nucleotides", order="exaln, one core")
    lines.append(Line("exaln, one core", [row["length"] for row in engine], [row["seconds"] for row in engine]))
    fills = data.rows("gpu", what="fill", kind="nucleotides", layout=BY_DIAGONALS, block_size=256, graph=False)
    if fills:
        lines.append(Line("GPU, blocks of 256", [row["length"] for row in fills], [row["seconds"] for row in fills]))
        engine = data.rows("gpu", what="engine", kind="nucleotides")
        lines.append(Line("exaln, GPU", [row["length"] for row in engine], [row["seconds"] for row in engine]))
    caption = "All versions (Fig. 10); the machines are listed below"
    return [Figure("together", caption, "length of the sequences", "seconds", lines, log_y=True)]


def findings(data: Measurements) -> Sequence[Block]:
    """The claims of the paper beside the results here."""
    return [*_sequential_finding(data), *_threads_finding(data), *_gpu_finding(data)]


def _sequential_finding(data: Measurements) -> Sequence[Block]:
    rows = data.rows("sequential", kind="nucleotides")
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
        "*The paper: on one core, rotated and original take the same time.* Here the paper's layout, where each cell"
        " of a step is in another row and so in another cache line, takes"
        f" {min(strided):.1f} to {max(strided):.1f} times as long as the original, depending on the length; its"
        f" transpose, where a step is contiguous, {min(dense):.1f} to {max(dense):.1f} times. exaln's engine, which"
        f" keeps no table, is {engine:.0f} times faster than the original on the same core at {lengths[-1]:,}."
    ]


def _threads_finding(data: Measurements) -> Sequence[Block]:
    fills = data.rows("threads", what="fill", kind="nucleotides", layout=BY_DIAGONALS)
    if not fills:
        return []
    fit, _ = thread_fit(data)
    gains = {
        (row["length"], row["threads"], row["chunk"]): _one_thread(data, row["length"]) / row["seconds"]
        for row in fills
    }
    length, threads, chunk = max(gains, key=lambda shape: gains[shape])
    speedup = gains[length, threads, chunk]
    one, two = (
        _seconds(data, length, BY_DIAGONALS, count, 1) / _seconds(data, length, BY_DIAGONALS, count, 50)
        for count in (1, 2)
    )
    most = max(row["threads"] for row in fills)
    empty = data.rows("threads", what="empty step", threads=most)[0]["seconds"]
    step = _one_thread(data, length) / (2 * length)
    return [
        "*The paper: threads give 1.5 at best, and chunks of 50 beat single cells by hundredths of a second.* Here the"
        f" best speed-up is {speedup:.2f}, with {threads} threads and chunks of {chunk} at {length:,}. More cores help"
        f" little: a step takes one thread {1e6 * step:.0f} us, and the barrier after it {1e6 * empty:.1f} us with"
        f" {most} threads. In addition, cells written by another core come from its cache. Single cells take"
        f" {two:.1f} times as long as chunks of 50 with two threads, {one:.1f} times with one: the loop around a cell"
        " costs more than the cell. The paper's model, one time per cell and one wait per step, is within"
        f" {fit.worst:.0%} of the measurements. It takes the wait as constant, although it grows with the number of"
        " threads, and ignores the cost of cells that another core wrote."
    ]


def _gpu_finding(data: Measurements) -> Sequence[Block]:
    fills = data.rows("gpu", what="fill", kind="nucleotides")
    if not fills:
        return []
    longest = max(row["length"] for row in fills)
    core = data.rows("gpu", what="one core", kind="nucleotides", length=longest)[0]["seconds"]
    best = min((row for row in fills if row["length"] == longest), key=lambda row: float(row["seconds"]))
    engine = data.rows("gpu", what="engine", kind="nucleotides", length=longest)[0]["seconds"]
    alpha = data.rows("gpu", what="empty launch", graph=best["graph"])[0]["seconds"]
    share = alpha * (2 * longest - 1) / best["seconds"]
    return [
        "*The paper: a GPU is over 25 times faster, and its advantage grows with the length.* Here, at"
        f" {longest:,}, it is {core / best['seconds']:.0f} times faster than one core of its host, and the advantage"
        f" still grows. Empty launches in a graph alone would take {share:.0%} of that time, and a step has at most"
        f" {longest:,} cells, while this GPU holds twenty times as many threads: since 2015 cores and GPUs have become"
        f" faster, launches less so. exaln's engine needs {1e3 * engine:.1f} ms for the score of the pair, copies"
        f" included; the best of these versions needs {1e3 * best['seconds']:.1f} ms for its table."
    ]


SECTIONS = (
    Section("One core: original order and rotated (Fig. 6)", "sequential", _sequential),
    Section("Threads (Fig. 7 and 8)", "threads", _threads),
    Section("A launch per diagonal on a GPU (Fig. 9)", "gpu", _gpu),
    Section("All versions (Fig. 10)", "threads", _together),
)
