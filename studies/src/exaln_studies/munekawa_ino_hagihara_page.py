"""The page of Munekawa, Ino and Hagihara: tables, plots and findings, beside the numbers of the paper."""

from __future__ import annotations

from collections.abc import Sequence

from exaln_studies.measurements import Measurements
from exaln_studies.page import number
from exaln_studies.study import Bars, Block, Figure, Line, Row, Section, Table

PAPER = {
    63: (2.03, 2.81, 7.48, 0.76, 65.7, 256.9, 22.7, 88.9),
    127: (2.07, 5.55, 10.88, 1.06, 86.5, 338.2, 27.7, 108.4),
    191: (2.30, 7.52, 14.54, 1.19, 93.2, 364.6, 29.2, 114.3),
    255: (2.79, 8.32, 18.25, 1.27, 94.7, 370.5, 30.0, 117.3),
    319: (3.76, 7.68, 22.10, 1.31, 83.0, 324.7, 30.2, 118.3),
    383: (4.36, 7.96, 25.88, 1.34, 85.4, 334.2, 30.4, 119.0),
    447: (5.06, 8.00, 29.82, 1.36, 85.8, 335.7, 29.8, 116.5),
    511: (5.70, 8.12, 34.14, 1.36, 88.1, 344.7, 29.3, 114.6),
}
"""By query: T in s and GCUPS of the proposed program and of the OpenGL program; GIPS and GiB/s of the proposed kernel
and of the OpenGL kernel."""

OPERATIONS, BYTES = 10, 42
"""Operations and bytes per cell, by the paper's count (section 4)."""

SECTOR, PAPER_NODES = 32, 32
PAPER_SPEEDUP = Line("the paper, GPUs", (1, PAPER_NODES), (0.92, 28), is_papers=True)
PAPER_GCUPS = Line("the paper, GPUs", (1, PAPER_NODES), (2.68, 75.6), is_papers=True)
"""End points of the lines in Fig. 9 and 10, as the text gives them."""

SPLITS, LEAST_SIMULATED = ("queries", "database"), 8
BEST = "packed, with lookahead"


def _rate(row: Row, seconds: str = "seconds") -> float:
    return float(row["query"] * row["residues"] / row[seconds] / 1e9)


def _kernels(data: Measurements) -> Sequence[Block]:
    kernels = data.values("kernels", "kernel")
    rows, formulas = [], []
    for query in data.values("kernels", "query"):
        rates = {row["kernel"]: _rate(row) for row in data.rows("kernels", query=query)}
        rows.append((str(query), *(number(rates[kernel]) for kernel in kernels)))
        paper = PAPER.get(query)
        gips, bandwidth = rates[BEST] * OPERATIONS, rates[BEST] * 1e9 * BYTES / 2**30
        off_chip = rates["off chip"] * OPERATIONS, rates["off chip"] * 1e9 * BYTES / 2**30
        then = tuple(map(str, paper[4:])) if paper else ("-",) * 4
        formulas.append((str(query), *(number(value) for value in (gips, bandwidth, *off_chip)), *then))
    lines = [
        Line(kernel, [row["query"] for row in points], [_rate(row) for row in points])
        for kernel in kernels
        if (points := data.rows("kernels", kernel=kernel))
    ]
    fetched = {row["kernel"]: row["fetched"] for row in data.rows("kernels") if row["fetched"]}
    whole, naive, best = fetched["off chip"], fetched["naive (Fig. 5)"], fetched[BEST]
    ours = ("GIPS", "GiB/s", "off chip, GIPS", "off chip, GiB/s")
    head = ("query", *ours, "paper, GIPS", "paper, GiB/s", "paper, OpenGL, GIPS", "paper, OpenGL, GiB/s")
    queries = [query for query in data.values("kernels", "query") if query in PAPER]
    for name, operations in (("the paper, kernel", 4), ("the paper, OpenGL", 6)):
        rates_then = [PAPER[query][operations] / OPERATIONS for query in queries]
        lines.append(Line(name, queries, rates_then, is_papers=True))
    return [
        "GCUPS of the kernels alone, targets on the GPU, without reading and copies. exaln's column is the whole call"
        " with the database resident on the GPU; the scores of all targets are copied back. The dotted lines are from"
        " the paper's Table 4, at 10 operations per cell.",
        Table(("query", *kernels), rows),
        Figure("kernels", "Kernels by length of the query", "length of the query", "GCUPS", lines, log_y=True),
        "Table 4: GIPS and GiB/s by the paper's formulas, 10 operations and 42 bytes per cell, for the kernel with"
        " lookahead and the off-chip kernel. They are what a program that keeps nothing on chip would need, not what is"
        " moved.",
        Table(head, formulas),
        f"Bytes of off-chip memory per cell, counted in the code: {whole:g} off chip, {naive:g} with H, E and F on"
        f" chip, {best:g} with packed letters: 1/{whole / naive:.0f}, 1/{naive / best:.0f} and together"
        f" 1/{whole / best:.0f}. The paper: 1/35, 1/4 and 1/140.",
    ]


def _pipeline(data: Measurements) -> Sequence[Block]:
    points = data.rows("pipeline")
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
        "The whole search, launch by launch: read the letters of the database from a file (in the page cache), copy"
        " them to the GPU, compute, copy the scores of all rows back and take their maximum on the host. In the"
        " pipelined search the next targets are read while the kernel runs; the GCUPS are for this search.",
        Table(head, rows),
        Figure("pipeline", "Plain, pipelined, and the paper's model (Fig. 8)", "length of the query", "ms", lines),
        "The difference to the model, at most 175 ms or 7 % in the paper, and the paper's Table 3:",
        Table(("query", "difference, ms", "difference", "paper: T, s", "GCUPS", "OpenGL: T, s", "GCUPS "), gaps),
    ]


PIPES = {
    "alu": "integer and logic (ALU)",
    "fmaheavy": "multiply-add (FMA heavy)",
    "lsu": "memory (LSU)",
    "adu": "addresses and barriers (ADU)",
    "cbu": "branches (CBU)",
    "uniform": "uniform",
}


def _counters(data: Measurements) -> Sequence[Block]:
    points = data.rows("counters")
    mix, busy = [], []
    for row in points:
        shares = [f"{row[pipe] / row['instructions']:.0%}" for pipe in PIPES]
        mix.append((row["kernel"], number(_per_cell(row)), *shares))
        bounding = max(PIPES, key=lambda pipe: float(row[f"{pipe}_busy"]))
        fullest = f"{PIPES[bounding]}, {row[f'{bounding}_busy']:.0f} %"
        fetched = row["sectors"] * SECTOR / (row["query"] * row["residues"])
        cells = (f"{row['issue_busy']:.0f} %", f"{row['shared_busy']:.0f} %", f"{row['occupancy']:.0f} %")
        moved = row["dram_bytes"] / (row["query"] * row["residues"])
        busy.append((row["kernel"], fullest, *cells, number(fetched), number(moved)))
    parts = [(PIPES[pipe], [100 * row[pipe] / row["instructions"] for row in points]) for pipe in PIPES]
    few = points[0]
    return [
        f"One launch of each kernel, query {few['query']}, counted by Nsight Compute. The paper counts 10 operations"
        " per cell and concludes that instruction throughput bounds its kernel and memory bounds the OpenGL kernel."
        " Instructions per cell are those of threads; shares are of warp instructions, by pipe.",
        Table(("kernel", "instructions per cell", *PIPES.values()), mix),
        Bars("mix", "Instruction mix (Table 4)", "% of the instructions", [row["kernel"] for row in points], parts),
        "Utilization of the pipes while a multiprocessor had work, in per cent of their peak. Sectors have 32 bytes and"
        " are counted between multiprocessors and L1; DRAM is what reached memory: all of this fits the L2 cache.",
        Table(
            (
                "kernel",
                "busiest pipe",
                "issue slots",
                "shared memory",
                "occupancy",
                "loaded sectors, bytes per cell",
                "DRAM, bytes per cell",
            ),
            busy,
        ),
    ]


def _gcups(row: Row) -> float:
    return float(row["cells"] / row["seconds"] / 1e9)


def _one_core(data: Measurements) -> float:
    """GCUPS of a search on one core without a cluster, the base of all speed-ups."""
    return _gcups(data.rows("cluster", what="alone", workers=1)[0])


def _cluster(data: Measurements) -> Sequence[Block]:
    one = _one_core(data)
    return [
        "A search with exaln on a Dask cluster of one-core workers, all on one machine. The queries have the paper's"
        " eight lengths in turn; the database is a tenth of the paper's. Times run from the first unit sent to the last"
        " hit received; as in the paper, the workers are already there and have the database on their disks. Split by"
        " queries, a unit is one query and the whole database, as in the paper. Split by database, a unit is all"
        " queries and a piece of the database, which the paper avoids because lists of hits must then be merged."
        "\n\n"
        f"Speed-up is over one core without a cluster ({one:.1f} GCUPS), in cells per second, so that jobs of different"
        " sizes can be compared; efficiency is speed-up per worker. Cores that share a machine slow each other down, so"
        " the next column compares with the same number of threads of one process: the difference is the cost of the"
        " cluster. The last column is the error of the simulation of exaln's plans, with cores as fast as those"
        " threads. It includes the units, but not the start and end of a search, which dominate short jobs on many"
        " workers.",
        _cluster_table(data, one),
        *_cluster_figures(data, one),
        *_simulated(data, one),
    ]


def _cluster_table(data: Measurements, one: float) -> Table:
    rows = []
    for row in data.rows("cluster", what="cluster"):
        job = {name: row[name] for name in ("workers", "queries", "split")}
        threads = data.rows("cluster", what="alone", workers=row["workers"])[0]
        gap = data.rows("cluster", what="simulated", **job)[0]["seconds"] / row["seconds"] - 1
        rate, speedup = _gcups(row), _gcups(row) / one
        shares = f"{speedup / row['workers']:.0%}", f"{rate / _gcups(threads):.0%}"
        numbers = (number(row["seconds"]), number(rate), f"{speedup:.2f}", *shares, f"{gap:+.0%}")
        rows.append((str(row["workers"]), str(row["queries"]), row["split"], *numbers))
    head = ("workers", "queries", "split by", "seconds", "GCUPS", "speed-up", "efficiency", "of the same threads")
    return Table((*head, "simulated"), rows)


def _cluster_figures(data: Measurements, one: float) -> Sequence[Block]:
    """Measured: by workers, in speed-up and in GCUPS; by queries."""
    real, threads = data.rows("cluster", what="cluster"), data.rows("cluster", what="alone")
    jobs = {f"split by {split}": _largest_jobs(real, split) for split in SPLITS}
    jobs["threads of one process"] = threads
    most = max(row["workers"] for row in real)
    by_queries = [
        *(_line(_workers(workers), "queries", _of(real, workers, "queries"), one) for workers in _counts(real)),
        _line(f"{_workers(most)}, split by database", "queries", _of(real, most, "database"), one),
    ]
    most_queries = max(row["queries"] for row in real)
    return [
        f"Measured, the largest job for each number of workers (at most {most_queries} queries). The paper always uses"
        " 256 queries: 41 minutes become 88 seconds with 32 nodes, a speed-up of 28, efficiency 88 to 92 %.",
        Figure(
            "cluster",
            "Speed-up by workers, measured (Fig. 9)",
            "workers",
            "speed-up",
            [*(_line(name, "workers", rows, one) for name, rows in jobs.items()), PAPER_SPEEDUP],
            log_x=True,
            log_y=True,
        ),
        Figure(
            "cluster-gcups",
            "GCUPS by workers, measured (Fig. 10)",
            "workers",
            "GCUPS",
            [*(_line(name, "workers", rows, 1.0) for name, rows in jobs.items()), PAPER_GCUPS],
            log_x=True,
            log_y=True,
        ),
        "Split by queries, some workers are idle if there are fewer queries than workers. The paper: the speed-up is"
        " good from twice as many queries as nodes.",
        Figure(
            "cluster-queries",
            "Speed-up by number of queries, split by queries, measured (Fig. 11)",
            "queries",
            "speed-up",
            by_queries,
            log_x=True,
            log_y=True,
        ),
    ]


def _simulated(data: Measurements, one: float) -> Sequence[Block]:
    large = data.rows("cluster", what="simulated, database of the paper")
    most = max(row["queries"] for row in large)
    by_workers = [
        _line(f"split by {split}", "workers", [row for row in large if row["queries"] == most], one, split=split)
        for split in SPLITS
    ]
    by_queries = [
        _line(_workers(workers), "queries", _of(large, workers, "queries"), one)
        for workers in _counts(large)
        if workers >= LEAST_SIMULATED
    ]
    return [
        f"Simulated: a database of the paper's size, {most} queries, each worker on a machine of its own, so that no"
        " other core slows it down.",
        Figure(
            "cluster-simulated",
            f"Speed-up by workers, {most} queries, simulated (beyond Fig. 9)",
            "workers",
            "speed-up",
            [*by_workers, PAPER_SPEEDUP],
            log_x=True,
            log_y=True,
        ),
        Figure(
            "cluster-queries-simulated",
            "Speed-up by number of queries, split by queries, simulated (beyond Fig. 11)",
            "queries",
            "speed-up",
            by_queries,
            log_x=True,
            log_y=True,
        ),
    ]


def _line(label: str, x: str, rows: Sequence[Row], one: float, **equal: str) -> Line:
    """Line of the speed-ups over `one` GCUPS, for the rows with these values."""
    points = [row for row in rows if all(row[name] == value for name, value in equal.items())]
    return Line(label, [row[x] for row in points], [_gcups(row) / one for row in points])


def _workers(n: int) -> str:
    return f"{n} worker{'s' * (n > 1)}"


def _of(rows: Sequence[Row], workers: int, split: str) -> list[Row]:
    return [row for row in rows if row["workers"] == workers and row["split"] == split]


def _counts(rows: Sequence[Row]) -> list[int]:
    return sorted({row["workers"] for row in rows})


def _largest_jobs(rows: Sequence[Row], split: str) -> list[Row]:
    """The largest job for each number of workers."""
    return [max(_of(rows, workers, split), key=lambda row: int(row["queries"])) for workers in _counts(rows)]


def findings(data: Measurements) -> Sequence[Block]:
    """The claims of the paper beside the results here."""
    return [*_kernel_findings(data), *_pipeline_findings(data), *_cluster_findings(data)]


def _kernel_findings(data: Measurements) -> Sequence[Block]:
    rows = data.rows("kernels", query=255)
    if not rows:
        return []
    rates = {row["kernel"]: _rate(row) for row in rows}
    text = (
        "*The paper: on chip is 6.5 times faster than OpenGL, which is off chip, and 2.5 times in the kernel alone;"
        " packed letters reduce the bytes fetched to a quarter.* Here, at 255, the naive kernel reaches"
        f" {number(rates['naive (Fig. 5)'])} GCUPS, packed letters {number(rates['packed letters'])}, with lookahead"
        f" {number(rates[BEST])}, off chip {number(rates['off chip'])}: on chip is"
        f" {rates[BEST] / rates['off chip']:.1f} times faster. exaln, which keeps rows in registers and two scores in a"
        f" word, reaches {number(rates['exaln'])} in the whole call, including the copy of the scores."
    )
    counted = {row["kernel"]: row for row in data.rows("counters")}
    if not counted:
        return [text]
    fetched = {kernel: SECTOR * row["sectors"] / (row["query"] * row["residues"]) for kernel, row in counted.items()}
    naive, off_chip = fetched["naive (Fig. 5)"], fetched["off chip"]
    busiest = [max(row[f"{pipe}_busy"] for pipe in PIPES) for row in counted.values()]
    issued = [row["issue_busy"] for row in counted.values()]
    return [
        text,
        "*The paper: 1/35 of the bytes on chip, 1/4 of these with packing, 1/140 together.* Counted in sectors of the"
        f" L1 cache it is 1/{off_chip / naive:.0f}, 1/{naive / fetched[BEST]:.1f} and"
        f" 1/{off_chip / fetched[BEST]:.0f}. But these bytes come from caches and hardly any from memory. What packing"
        f" saves today is instructions: the naive kernel needs {_per_cell(counted['naive (Fig. 5)']):.0f} per cell, the"
        f" one with lookahead {_per_cell(counted[BEST]):.0f}, the off-chip one"
        f" {_per_cell(counted['off chip']):.0f}.",
        "*The paper: instructions bound the kernel, memory bounds the OpenGL one.* Today memory bounds neither. The"
        f" busiest pipe in all four is integer arithmetic, at {min(busiest):.0f} to {max(busiest):.0f} % of its peak,"
        f" with {min(issued):.0f} to {max(issued):.0f} % of the issue slots used: nothing is saturated, because the"
        " threads of a block synchronise after every step. The paper attributes 66 % of the cycles to control flow,"
        f" data access and synchronisation; here it is {_overhead(counted['naive (Fig. 5)']):.0%} of the instructions"
        f" of the naive kernel, and {_overhead(counted[BEST]):.0%} with lookahead.",
    ]


def _overhead(row: Row) -> float:
    """Share of the instructions that do not compute."""
    return float(1 - sum(row[pipe] for pipe in ("alu", "fmaheavy")) / row["instructions"])


def _per_cell(row: Row) -> float:
    """Thread instructions per cell."""
    return float(32 * row["instructions"] / (row["query"] * row["residues"]))


def _pipeline_findings(data: Measurements) -> Sequence[Block]:
    points = data.rows("pipeline")
    if not points:
        return []
    saved = [1 - row["pipelined"] / row["plain"] for row in points]
    gaps = [abs(row["pipelined"] - row["model"]) / row["pipelined"] for row in points]
    last = points[-1]
    return [
        f"*The paper: pipelining saves 21 to 39 %, and its model is within 7 %.* Here it saves {min(saved):.0%} to"
        f" {max(saved):.0%}, and the model is within {max(gaps):.0%}. The proportions have changed: at"
        f" {last['query']} kernels take {1e3 * last['kernel']:.0f} ms, copies of the scores of all rows"
        f" {1e3 * last['copy']:.0f} ms, reading {1e3 * last['read']:.0f} ms; the pipeline hides only the reading."
    ]


def _cluster_findings(data: Measurements) -> Sequence[Block]:
    real = data.rows("cluster", what="cluster")
    if not real:
        return []
    one, most = _one_core(data), max(row["workers"] for row in real)
    largest = {split: _largest_jobs(real, split)[-1] for split in SPLITS}
    fewest = {split: _of(real, most, split)[0] for split in SPLITS}
    threads = _gcups(data.rows("cluster", what="alone", workers=most)[0])
    large = data.rows("cluster", what="simulated, database of the paper")
    beyond = min(PAPER_NODES, max(row["workers"] for row in large))
    many = max(row["queries"] for row in large)
    there = {split: _gcups(_of(large, beyond, split)[-1]) / one for split in SPLITS}
    costs = {split: 1 - _gcups(row) / threads for split, row in largest.items()}
    return [
        "*The paper: 28 times faster with 32 nodes and 256 queries, 13 % of the time in communication; good from twice"
        f" as many queries as nodes.* Here {most} workers are {_gcups(largest['queries']) / one:.1f} times faster than"
        f" one core split by queries, and {_gcups(largest['database']) / one:.1f} times split by database, with"
        f" {largest['queries']['queries']} queries; {most} threads of one process, which share a machine, are"
        f" {threads / one:.1f} times faster. So the cluster itself costs {costs['queries']:.0%} and"
        f" {costs['database']:.0%} where client and scheduler have no core of their own"
        f"{_with_cores_left(data, most // 2)}. With {fewest['queries']['queries']} queries the speed-up is"
        f" {_gcups(fewest['queries']) / one:.1f} split by queries and {_gcups(fewest['database']) / one:.1f} split by"
        " database, which the paper leaves to future work: all cores together would compute that job in"
        f" {1e3 * fewest['queries']['cells'] / threads / 1e9:.0f} ms, but with distributing it and collecting the hits"
        f" it takes {1e3 * fewest['database']['seconds']:.0f} ms. Simulated, {beyond} machines are"
        f" {there['queries']:.0f} and {there['database']:.0f} times faster with {many} queries.",
    ]


def _with_cores_left(data: Measurements, workers: int) -> str:
    """Share of the threads' speed that fewer workers reach, which leave cores to client and scheduler."""
    real = [row for row in data.rows("cluster", what="cluster") if row["workers"] == workers]
    if not real:
        return ""
    threads = _gcups(data.rows("cluster", what="alone", workers=workers)[0])
    shares = [_gcups(_largest_jobs(real, split)[0]) / threads for split in SPLITS]
    return f"; {workers} workers reach {shares[0]:.0%} and {shares[1]:.0%} of what {workers} threads do"


SECTIONS = (
    Section("The kernels (Tables 3 and 4)", "kernels", _kernels),
    Section("Instruction mix (Table 4)", "counters", _counters),
    Section("Plain and pipelined (Table 3, Fig. 8)", "pipeline", _pipeline),
    Section("A cluster (Fig. 9 to 11)", "cluster", _cluster),
)
