"""The page of Xiao, Aji and Feng: tables, plots and findings, beside the numbers of the paper."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from exaln_studies.measurements import Measurements
from exaln_studies.page import count, number
from exaln_studies.study import Bars, Block, Figure, Line, Row, Section, Table
from exaln_studies.whole_tables import SIDE, THREADS

PAPER_MS = {
    ("simple", "host"): (183.019, 30),
    ("simple", "counter"): (175.989, 22),
    ("coalesced, 64 bytes", "host"): (129.504, 30),
    ("coalesced, 64 bytes", "counter"): (124.144, 18),
    ("tiled", "host"): (372.728, 30),
    ("tiled", "counter"): (372.176, 30),
}
"""Milliseconds of filling, and the best number of blocks."""

PAPER_SHARES = {
    ("simple", "host"): "32.91 %",
    ("simple", "counter"): "21.96 %",
    ("coalesced, 64 bytes", "host"): "45.67 %",
    ("coalesced, 64 bytes", "counter"): "30.74 %",
    ("tiled", "host"): "2.25 ms",
    ("tiled", "counter"): "1.70 ms",
}
SYNCS = {
    "host": "launches by the host",
    "graph": "launches in a graph",
    "counter": "barrier, counter",
    "flags": "barrier, flags",
    "cooperative": "barrier, cooperative groups",
    "none": "no barrier",
}


def _best(data: Measurements, technique: str, sync: str) -> Row:
    rows = data.rows("blocks", technique=technique, sync=sync)
    return min(rows, key=lambda row: float(row["seconds"]))


def _techniques(data: Measurements) -> list[str]:
    return [name for name in data.values("blocks", "technique") if name != "exaln"]


def _file_name(technique: str) -> str:
    """Return the name of a technique's plot, as part of a file name.

    >>> _file_name("coalesced, 64 bytes")
    'blocks-coalesced-64'
    """
    return "blocks-" + technique.removesuffix(" bytes").replace(", ", "-")


def _syncs(data: Measurements) -> dict[str, str]:
    measured = data.values("blocks", "sync")
    return {sync: name for sync, name in SYNCS.items() if sync in measured}


def _blocks(data: Measurements) -> Sequence[Block]:
    rows, figures = [], list[Block]()
    for technique in _techniques(data):
        lines = []
        for sync, name in _syncs(data).items():
            best = _best(data, technique, sync)
            paper = PAPER_MS.get((technique, sync))
            cells = (
                f"{1e3 * best['seconds']:.2f}",
                str(best["blocks"]),
                f"{1e6 * best['seconds'] / best['steps']:.2f}",
            )
            rows.append((technique, name, *cells, *((f"{paper[0]}", str(paper[1])) if paper else ("-", "-"))))
            points = data.rows("blocks", technique=technique, sync=sync)
            lines.append(Line(name, [row["blocks"] for row in points], [1e3 * row["seconds"] for row in points]))
        caption = f"Filling time by number of blocks, {technique} (Fig. 8)"
        figures.append(Figure(_file_name(technique), caption, "blocks", "ms", lines))
    head = ("technique", "synchronisation", "best, ms", "blocks", "us per step", "paper, ms", "paper, blocks")
    (engine,) = data.rows("blocks", what="engine")
    length = engine["length"]
    return [
        f"Two sequences of {length:,}. The host issues launches one by one into one stream, as in the paper; a graph"
        " holds the same launches, which the GPU then executes on its own. Without a barrier the results are"
        " meaningless: that row shows the time of computing alone.",
        Table(head, rows),
        "exaln's own kernel for one long pair (strips of rows that pass boundary words to each other, no barrier, no"
        f" tables) on the same pair, with all copies: {1e3 * engine['score']:.2f} ms for the score,"
        f" {1e3 * engine['align']:.2f} ms for the alignment.",
        *figures,
    ]


def _shares(data: Measurements) -> Sequence[Block]:
    rows, labels, computing, waiting = [], [], [], []
    for technique in _techniques(data):
        for sync, name in _syncs(data).items():
            if sync == "none":
                continue
            best = _best(data, technique, sync)
            alone = data.rows("blocks", technique=technique, sync="none", blocks=best["blocks"])[0]["seconds"]
            lost = max(0.0, best["seconds"] - alone)
            paper = PAPER_SHARES.get((technique, sync), "-")
            times = f"{1e3 * best['seconds']:.2f}", f"{1e3 * alone:.2f}", f"{1e3 * lost:.2f}"
            walk = f"{best['walking'] / (best['seconds'] + best['looking'] + best['walking']):.1%}"
            rows.append((technique, name, *times, f"{lost / best['seconds']:.0%}", paper, walk))
            labels.append(f"{technique.removesuffix(' bytes').replace(',', '')} {sync}")
            computing.append(1e3 * alone)
            waiting.append(1e3 * lost)
    head = ("technique", "synchronisation", "filling, ms", "without barrier, ms", "synchronisation, ms", "share")
    return [
        "The paper's method: the time of the same number of blocks without a barrier is computing, the rest is"
        " synchronisation. The traceback is one thread on the GPU; the paper says that filling takes over 99 % of the"
        " time.",
        Table((*head, "paper", "share of traceback"), rows),
        Bars(
            "shares",
            "Computing and synchronising, at the best number of blocks (Fig. 10)",
            "ms",
            labels,
            [("computing", computing), ("synchronising", waiting)],
        ),
    ]


def _future(data: Measurements) -> Sequence[Block]:
    loads = [
        (row["technique"], row["loads"], f"{1e3 * row['seconds']:.2f}") for row in data.rows("future", what="loads")
    ]
    others = [
        (row["technique"], SYNCS[row["barrier"]], f"{1e3 * row['seconds']:.2f}")
        for row in data.rows("future", what="global")
    ]
    return [
        "What the paper leaves to future work. The barrier without atomics is in the tables above (flags). Scores from"
        " constant memory, and sequences and scores through the read-only cache, with the counter barrier:",
        Table(("technique", "loads", "ms"), loads),
        "The same barriers in another dynamic program, a global alignment, whose score is compared with that of the"
        " reference engine:",
        Table(("technique", "synchronisation", "ms"), others),
    ]


PAPER_TABLE_1 = {
    "simple": ("10,359", "1.0", "5,541,640", "5,950,074", "737,542", "118,791", "3,588,471", "76,389"),
    "tiled": ("335", "0.125", "5,109,783", "7,510,320", "3,608,729", "346,777", "15,249,137", "261,469"),
}
"""Calls, occupancy, loads, stores, branches, divergent branches, instructions, serialised warps."""

COLUMNS = ("loads", "stores", "branches", "divergent", "instructions", "conflicts")
SECTOR = 32


def _counters(data: Measurements) -> Sequence[Block]:
    rows, labels, loaded, stored = [], [], list[float](), list[float]()
    for row in data.rows("counters"):
        name = row["technique"] + ("" if row["barrier"] == "none" else f", {SYNCS[row['barrier']]}")
        percent = [f"{row[k]:.0f} %" if row[k] is not None else "-" for k in ("theoretical_occupancy", "occupancy")]
        rows.append((name, count(row["steps"]), " / ".join(percent), *(count(row[column]) for column in COLUMNS)))
        if row["barrier"] == "none":
            labels.append(row["technique"])
            loaded.append((row["load_sectors"] or 0.0) / 1e6)
            stored.append((row["store_sectors"] or 0.0) / 1e6)
    for technique, cells in PAPER_TABLE_1.items():
        rows.append((f"*the paper, GTX 280, {technique}*", *cells))
    cells_of = [row["length"] ** 2 for row in data.rows("counters", barrier="none")]
    each = [
        (label, number(SECTOR * 1e6 * load / cells), number(SECTOR * 1e6 * store / cells))
        for label, load, store, cells in zip(labels, loaded, stored, cells_of, strict=True)
    ]
    head = ("implementation", "calls", "occupancy, possible / achieved", "loads", "stores", "branches", "divergent")
    return [
        "Counters of Nsight Compute for all steps in one launch, one block per multiprocessor: without a barrier only"
        " the work, with the counter barrier also the waiting. The counters nearest to the paper's columns: calls are"
        " steps, one launch each with CPU synchronisation; loads and stores are requests of warps to global memory"
        " (`l1tex__t_requests_pipe_lsu_mem_global_op_ld`, `_st`), where the paper counts coalesced transactions;"
        " branches and divergent branches are `smsp__sass_branch_targets` and `.._threads_divergent`; instructions are"
        " warp instructions, `smsp__inst_executed`; instead of serialised warps, bank conflicts of shared memory"
        " (`l1tex__data_bank_conflicts_pipe_lsu_mem_shared`). The paper's profiler watched one group of"
        " multiprocessors; these counters cover all.",
        Table((*head, "instructions", "conflicts"), rows),
        "Figure 9, transactions of global memory. Today a transaction is a sector of 32 bytes, and a warp that does not"
        " start at a multiple of 32 bytes needs one sector more. A cell reads 20 bytes of the tables, two letters and a"
        " score, and writes 12 bytes. With diagonals most of the loaded sectors hold scores, which a warp gathers from"
        " all over the matrix. Bytes of sectors per cell:",
        Table(("implementation", "loaded, bytes per cell", "stored, bytes per cell"), each),
        Bars(
            "transactions",
            "Sectors of global memory, millions (Fig. 9)",
            "millions of sectors",
            labels,
            [("loads", loaded), ("stores", stored)],
        ),
    ]


def _larger(data: Measurements) -> Sequence[Block]:
    rows, lines = [], []
    for row in data.rows("larger", what="fill"):
        whole = row["seconds"] + row["looking"] + row["walking"]
        n_steps = 2 * -(-row["length"] // 32) - 1 if row["technique"] == "tiled" else 2 * row["length"] + 1
        speed = number(_rate(row, "seconds")), number(1e6 * row["seconds"] / n_steps)
        shares = [f"{row[name] / whole:.1%}" for name in ("seconds", "looking", "walking")]
        size = (f"{row['length']:,}", row["technique"], f"{row['blocks']:,}")
        rows.append((*size, number(1e3 * row["seconds"]), *speed, *shares))
    for technique, blocks in product(*(data.values("larger", name, what="fill") for name in ("technique", "blocks"))):
        points = data.rows("larger", what="fill", technique=technique, blocks=blocks)
        rates = [_rate(row, "seconds") for row in points]
        lines.append(Line(f"{technique}, {blocks:,} blocks", [row["length"] for row in points], rates))
    engines = data.rows("larger", what="engine")
    rates = [_rate(row, "score") for row in engines]
    lines.append(Line("exaln, score only, with copies", [row["length"] for row in engines], rates))
    for row, rate in zip(engines, rates, strict=True):
        cells = number(1e3 * row["score"]), number(rate), *["-"] * 4
        rows.append((f"{row['length']:,}", "exaln, score only", "-", *cells))
    head = ("length", "technique", "blocks", "filling, ms", "GCUPS", "us per step", "filling", "finding the maximum")
    return [
        "The paper's largest pair was 8,461, three 32-bit tables in 1 GB; the largest here takes most of the GPU's"
        " memory. Counter barrier. A barrier takes longer with more blocks, and dominates a step that has fewer cells"
        " than the blocks have threads. The last three columns are shares of the total time.",
        Table((*head, "traceback"), rows),
        Figure("larger", "Cells per second by length", "length of the sequences", "GCUPS", lines, log_y=True),
    ]


def _rate(row: Row, seconds: str) -> float:
    return float(row["length"] ** 2 / row[seconds] / 1e9)


def _tiles(data: Measurements) -> Sequence[Block]:
    points = data.rows("tiles")
    rows = [
        (
            str(row["threads"]),
            f"{1e3 * row['seconds']:.1f}",
            f"{1e3 * (row['seconds'] - row['waiting']):.1f}",
            f"{1e3 * row['waiting']:.1f}",
            f"{row['waiting'] / row['seconds']:.0%}",
        )
        for row in points
    ]
    parts = [
        ("computing", [1e3 * (row["seconds"] - row["waiting"]) for row in points]),
        ("waiting", [1e3 * row["waiting"] for row in points]),
    ]
    labels = [f"{row['threads']} thread{'s' * (row['threads'] > 1)}" for row in points]
    return [
        "The paper compares with the Cell processor of a PlayStation 3: 239.13 ms, of which 238.44 computing and 0.69"
        " communication. Here the same tiles are computed by the threads of a CPU, one diagonal of tiles per step;"
        " waiting is the mean over all threads.",
        Table(("threads", "filling, ms", "computing, ms", "waiting, ms", "share of waiting"), rows),
        Bars("tiles", "The tiled wavefront on CPU threads (instead of Fig. 11)", "ms", labels, parts),
    ]


def findings(data: Measurements) -> Sequence[Block]:
    """The claims of the paper beside the results here."""
    if not data.rows("blocks"):
        return []
    simple, coalesced, tiled = (_best(data, name, "counter") for name in ("simple", "coalesced, 64 bytes", "tiled"))
    host, graph, flags = (_best(data, "coalesced, 64 bytes", sync)["seconds"] for sync in ("host", "graph", "flags"))
    alone = _best(data, "coalesced, 64 bytes", "none")["seconds"]
    (engine,) = data.rows("blocks", what="engine")
    walking = coalesced["walking"] / (coalesced["seconds"] + coalesced["looking"] + coalesced["walking"])
    ratio = simple["seconds"] / coalesced["seconds"]
    return [
        f"*The paper: coalesced storage is 1.4 times faster than simple.* Here {ratio:.2f} times. A warp that does not"
        " start at a multiple of 32 bytes needs only one sector more, and the two diagonals that are read again are in"
        " the L2 cache. The GTX 280 had no such cache, and 63 % of the accesses of the simple version were not"
        " coalesced.",
        f"*The paper: tiles lose to simple by a factor of two.* Tiling {_outcome(tiled, simple)}:"
        f" {1e3 * tiled['seconds']:.2f} ms against {1e3 * simple['seconds']:.2f} ms. Computing alone takes"
        f" {1e3 * alone:.2f} ms in diagonals; the rest is waiting, and tiles wait"
        f" {simple['steps'] / tiled['steps']:.0f} times less often. In 2009 computing took most of the time, and tiles"
        f" left seven eighths of each multiprocessor empty.{_larger_tiles(data)}",
        "*The paper: a barrier on the GPU is 4 % faster than launching again.* Here it takes"
        f" {1e3 * coalesced['seconds']:.2f} ms instead of {1e3 * host:.2f} ms with one launch by the host per step"
        f" (from Python, {1e6 * host / coalesced['steps']:.1f} us each). But a graph of the same launches takes"
        f" {1e3 * graph:.2f} ms: launches by the GPU itself take about as long as its barriers.",
        "*The paper: the barrier's cost is its atomic additions, and fewer blocks are better.* The barrier without"
        f" atomics takes {1e3 * flags:.2f} ms: its signals cross memory twice, from all blocks to one and back, while"
        " an addition in the L2 cache is one trip. The time hardly depends on the number of blocks any more; the best"
        f" is {coalesced['blocks']} (18 in the paper).",
        "*The paper: filling is over 99 % of the time.* Here the traceback, one thread that waits for memory at each"
        f" step, takes {walking:.0%}, and more with tiles.",
        f"exaln's own kernel computes the score of the pair in {1e3 * engine['score']:.2f} ms and the alignment in"
        f" {1e3 * engine['align']:.2f} ms, with all copies and without tables in memory"
        f"{_larger_finding(data)}.",
    ]


def _outcome(tiled: Row, simple: Row) -> str:
    return "still loses" if tiled["seconds"] > simple["seconds"] else "wins now"


def _larger_tiles(data: Measurements) -> str:
    """Compare diagonals with tiles on the largest pair, each with its best number of blocks."""
    fills = data.rows("larger", what="fill")
    if not fills:
        return ""
    length = max(row["length"] for row in fills)
    tiled, diagonals = (
        min(row["seconds"] for row in fills if row["length"] == length and (row["technique"] == "tiled") == is_tiled)
        for is_tiled in (True, False)
    )
    return (
        f" At {length:,}, where a diagonal has work for all threads, tiles take {1e3 * tiled:.0f} ms and diagonals"
        f" {1e3 * diagonals:.0f} ms: in a tile of {SIDE} x {SIDE} most of the {THREADS} threads are idle."
    )


def _larger_finding(data: Measurements) -> str:
    """Compare exaln with the fastest tables on the largest pair."""
    fills, engines = data.rows("larger", what="fill"), data.rows("larger", what="engine")
    if not fills or not engines:
        return ""
    length = max(row["length"] for row in engines)
    best = min(row["seconds"] for row in fills if row["length"] == length)
    engine = next(row["score"] for row in engines if row["length"] == length)
    return f"; at {length:,} it is {best / engine:.0f} times faster than the fastest of these techniques"


SECTIONS = (
    Section("Filling time by number of blocks (Fig. 8)", "blocks", _blocks),
    Section("Computing and synchronising (Fig. 10)", "blocks", _shares),
    Section("Counters (Table 1, Fig. 9)", "counters", _counters),
    Section("Future work of the paper", "future", _future),
    Section("Larger pairs", "larger", _larger),
    Section("CPU threads instead of the Cell (Fig. 11)", "tiles", _tiles),
)
