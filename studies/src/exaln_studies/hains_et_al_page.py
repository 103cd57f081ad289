"""The page of Hains et al.: tables, plots and findings, beside the numbers of the paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

from exaln_studies.measurements import Measurements
from exaln_studies.page import count, number
from exaln_studies.study import Block, Figure, Line, Row, Section, Table

PAPER_QUERIES = (144, 1000, 2005, 3005, 4061, 5478)
PAPER_C1060 = {
    "dog": ((7.85, 8.78, 8.82, 9.05, 9.19, 9.72), (8.87, 11.37, 11.53, 11.51, 11.50, 11.41)),
    "rat": ((7.90, 8.61, 8.68, 8.87, 9.02, 9.55), (8.83, 10.98, 11.14, 11.10, 11.11, 11.04)),
    "human": ((6.71, 7.12, 7.70, 7.91, 8.04, 8.52), (7.77, 10.34, 10.43, 10.42, 10.40, 10.31)),
    "mouse": ((6.77, 7.72, 7.93, 8.11, 8.24, 8.73), (7.91, 11.05, 10.95, 10.88, 10.87, 10.76)),
    "TAIR": ((9.83, 10.50, 10.74, 10.83, 10.87, 11.01), (10.03, 11.04, 11.24, 11.30, 11.28, 11.28)),
    "Swiss-Prot": ((14.98, 14.79, 15.50, 15.77, 15.95, 16.59), (16.16, 18.02, 18.31, 18.29, 18.30, 18.23)),
}
PAPER_C2050 = {
    "dog": ((12.01, 15.44, 15.46, 15.27, 15.09, 15.02), (13.28, 17.29, 17.35, 17.38, 17.41, 17.29)),
    "rat": ((11.77, 14.61, 14.66, 14.47, 14.32, 14.26), (12.98, 16.11, 16.16, 16.19, 16.23, 16.16)),
    "human": ((11.19, 15.10, 15.06, 14.83, 14.61, 14.54), (12.37, 17.48, 17.54, 17.61, 17.60, 17.42)),
    "mouse": ((9.44, 12.49, 12.40, 12.21, 12.10, 12.06), (10.29, 14.21, 14.18, 14.14, 14.17, 14.08)),
    "TAIR": ((15.29, 17.40, 17.53, 17.63, 17.52, 17.54), (15.31, 17.69, 17.81, 17.94, 17.89, 17.89)),
    "Swiss-Prot": ((24.20, 27.46, 27.29, 26.97, 26.77, 26.71), (26.02, 29.29, 29.26, 29.28, 29.19, 29.20)),
}
"""Table II: GCUPS of the original and of the improved program, by query."""


def _in_paper(device: Mapping[str, tuple[tuple[float, ...], ...]], database: str, query: int) -> tuple[str, str]:
    """The paper's GCUPS before and after, and the gain."""
    if database not in device or query not in PAPER_QUERIES:
        return "-", "-"
    before, after = (rates[PAPER_QUERIES.index(query)] for rates in device[database])
    return f"{before:.2f} -> {after:.2f}", f"{after / before - 1:+.0%}"


def _variance(data: Measurements) -> Sequence[Block]:
    points = data.rows("variance")
    rows = [
        (str(row["spread"]), f"{row['mean']:,}", f"{row['targets']:,}", *(number(row[k]) for k in KERNELS))
        for row in points
    ]
    lines = [
        Line(name, [row["spread"] for row in points], [row[key] for row in points]) for key, name in KERNELS.items()
    ]
    caption = "The kernels by standard deviation of the lengths, query 567 (Fig. 2)"
    return [
        "One group of targets, one per thread that the GPU can hold, with log-normal lengths; the mean grows from 1000"
        " to 1600 with the standard deviation, as in the paper. The paper: inter-task 17 GCUPS at best, original"
        " intra-task 1.5 (C1060); inter-task becomes slower as the lengths spread.",
        Table(("standard deviation", "mean", "targets", *(f"{name}, GCUPS" for name in KERNELS.values())), rows),
        Figure("variance", caption, "standard deviation of the lengths", "GCUPS", lines),
    ]


KERNELS = {"inter": "inter-task", "original": "intra-task, original", "improved": "intra-task, improved"}


def _shapes(data: Measurements) -> Sequence[Block]:
    queries = data.values("shapes", "query")

    def table(what: str, head: str, label: str) -> Table:
        names = data.values("shapes", label, what=what)
        cells = [
            (
                name,
                *(
                    number(data.rows("shapes", what=what, query=query, **{label: name})[0]["gcups"])
                    for query in queries
                ),
            )
            for name in names
        ]
        return Table((head, *(f"query {query:,}, GCUPS" for query in queries)), cells)

    boundary = [
        (
            row["name"],
            "one for all strips" if row["one_fill"] else "one per strip",
            f"{row['query']:,}",
            number(row["gcups"]),
        )
        for row in data.rows("shapes", what="boundary")
    ]
    shapes = [
        (
            f"{row['threads']} x {row['height']}",
            str(row["width"]),
            str(row["strip"]),
            f"{row['query']:,}",
            number(row["gcups"]),
        )
        for row in data.rows("shapes", what="shape")
    ]
    lines = []
    for query, height in product(queries, data.values("shapes", "height")):
        points = data.rows("shapes", what="shape", query=query, width=1, height=height)
        name = f"query {query:,}, {height} rows per thread"
        lines.append(Line(name, [row["strip"] for row in points], [row["gcups"] for row in points]))
    return [
        "Targets of 3072 to 9000 residues. The kernels with and without the L1 cache:",
        table("kernel", "kernel", "name"),
        "The steps by which the improved kernel was built, with 256 threads x 4 rows:",
        table("version", "step", "name"),
        "Strips and tiles (the paper's best strip: 512 rows on the C1060, 1024 on the C2050; width 1):",
        Table(("threads x rows", "width", "strip", "query", "GCUPS"), shapes),
        Figure("strips", "The improved kernel by height of the strip, width 1", "rows of a strip", "GCUPS", lines),
        "Questions that the paper leaves open: the boundary row between two strips is written and read by all threads"
        " in pieces, or kept in shared memory (targets below 10,000); the pipeline is filled once for all strips.",
        Table(("boundary row", "fills of the pipeline", "query", "GCUPS"), boundary),
    ]


def _whole(row: Row, kernel: str) -> float:
    return float(row["query"] * row["residues"] / (row["inter"] + row.get(kernel, 0.0)) / 1e9)


INTRA = {
    "original": "original",
    "improved": "improved",
    "one_fill": "improved, one fill",
    "original_bypassed": "original, L1 bypassed",
    "improved_bypassed": "improved, L1 bypassed",
}


def _threshold(data: Measurements) -> Sequence[Block]:
    points = [row for row in data.rows("threshold") if "inter" in row]
    mixed = [row for row in points if row["over"] > 0]
    rows = []
    for row in points:
        over = f"{100 * row['over'] / row['targets']:.2f}"
        speeds = [number(_whole(row, kernel)) for kernel in INTRA]
        shares = [f"{row.get(k, 0.0) / (row['inter'] + row.get(k, 0.0)):.0%}" for k in ("original", "improved")]
        rows.append((f"{row['threshold']:,}", over, *speeds, *shares))
    refused = [row for row in data.rows("threshold") if row.get("refused")]
    more = [f"Threshold {row['threshold']:,}: not run, needs {row['needs'] / 2**30:.0f} GiB." for row in refused]
    percent = [100 * row["over"] / row["targets"] for row in mixed]
    rates = [Line(name, percent, [_whole(row, key) for row in mixed]) for key, name in INTRA.items()]
    shares_lines = [
        Line(INTRA[k], percent, [100 * row[k] / (row["inter"] + row[k]) for row in mixed])
        for k in ("original", "improved")
    ]
    over = "% of targets over the threshold"
    return [
        "A synthetic Swiss-Prot, query 576, GCUPS of the inter-task and intra-task kernels together; in the last row"
        " all targets go to the inter-task kernel. The paper, on the C1060: 17 at 3072, 10 with all targets inter-task;"
        " the improved program is 25 % faster with 0.12 % of the targets over the threshold and 67 % faster with 2.5 %;"
        " on the C2050 6.7 to 39.3 %.",
        Table(
            (
                "threshold",
                "% over",
                *(f"{name}, GCUPS" for name in INTRA.values()),
                "share of original",
                "share of improved",
            ),
            rows,
        ),
        *more,
        Figure("threshold", "GCUPS by targets over the threshold (Fig. 3, 5a and 6)", over, "GCUPS", rates),
        Figure("share", "Share of the intra-task kernel (Fig. 5b)", over, "% of the time", shares_lines),
    ]


def _databases(data: Measurements) -> Sequence[Block]:
    rows = []
    for database in data.values("databases", "database"):
        for query in data.values("databases", "query", database=database):
            all_rows = data.rows("databases", database=database, query=query)
            rate = {(r["label"], r["kernel"]): query * r["residues"] / r["seconds"] / 1e9 for r in all_rows}
            model = next(r for r in all_rows if r["label"] == "model")
            keys = [("3072", "original"), ("3072", "improved"), ("1500", "improved"), ("model", "improved")]
            gain = f"{rate[keys[1]] / rate[keys[0]] - 1:+.0%}"
            cells = [number(rate[key]) if key in rate else "-" for key in keys]
            cells[3] += f" ({model['threshold']:,})"
            then = [*_in_paper(PAPER_C1060, database, query), *_in_paper(PAPER_C2050, database, query)]
            rows.append((database, f"{query:,}", *cells, gain, *then, number(rate["exaln", "exaln"])))
    head = (
        "shares of",
        "query",
        "original, 3072",
        "improved, 3072",
        "improved, 1500",
        "improved, threshold of the model",
    )
    return [
        "GCUPS, scores of all targets. The model chooses the threshold from the lengths alone: the time of a group is"
        " that of its longest target, the time of a long target is proportional to its length, with rates measured on"
        " targets of equal length. exaln's column is the whole call with the database resident on the GPU; the scores"
        " of all targets are copied back.",
        Table((*head, "gain at 3072", "paper, C1060", "gain", "paper, C2050", "gain", "exaln"), rows),
    ]


PAPER_ACCESSES = {
    (567, "original"): "28,345,473",
    (567, "improved"): "13,828",
    (5478, "original"): "291,179,739",
    (5478, "improved"): "4,233,197",
}


def _counters(data: Measurements) -> Sequence[Block]:
    rows = []
    for row in data.rows("counters"):
        requests = [row["load_requests"], row["store_requests"]]
        sectors = [row["load_sectors"], row["store_sectors"]]
        moved = f"{row['dram_bytes'] / 2**20:,.1f}" if row["dram_bytes"] is not None else "-"
        cells = (*map(count, requests), *map(count, sectors), count(row["l2_sectors"]), moved)
        rows.append(
            (f"{row['query']:,}", row["kernel"], *cells, PAPER_ACCESSES.get((row["query"], row["kernel"]), "-"))
        )
    few = data.rows("counters")[0]
    head = ("query", "kernel", "load requests", "store requests", "load sectors", "store sectors", "sectors at L2")
    return [
        f"All {few['targets']:,} targets over 3072 of a database with Swiss-Prot's share of them, {few['residues']:,}"
        " residues, counted by Nsight Compute: requests of warps to global memory, and the 32-byte sectors that they"
        " touch. The paper counts the accesses for its targets over 3072. The improved kernel loads letters of the"
        " target and words of the profile, which the paper kept in texture memory and did not count; it stores the"
        " boundary row between strips and one score per target.",
        Table((*head, "MiB of DRAM", "paper, accesses"), rows),
    ]


def _copies(data: Measurements) -> Sequence[Block]:
    rows = []
    for row in data.rows("copies"):
        names = ("copy", "compute", "plain", "overlapped")
        gain = 1 - row["overlapped"] / row["plain"]
        rows.append((f"{row['query']:,}", str(row["groups"]), *(number(1e3 * row[k]) for k in names), f"{gain:.0%}"))
    few = data.rows("copies")[0]
    return [
        f"The letters of {few['targets']:,} targets ({few['residues']:,} residues) are copied from pinned memory to the"
        " GPU: all before the first kernel, or those of a group while the previous group is scored.",
        Table(("query", "groups", "copies, ms", "kernels, ms", "sequential, ms", "overlapped, ms", "saved"), rows),
    ]


def _core(data: Measurements) -> Sequence[Block]:
    all_threads = data.values("core", "threads")
    names = [f"exaln, {threads} thread{'s' * (threads > 1)}" for threads in all_threads]
    rows = []
    for query in data.values("core", "query"):
        rates = [data.rows("core", query=query, threads=threads)[0]["gcups"] for threads in all_threads]
        rows.append((f"{query:,}", *map(number, rates)))
    lines = [
        Line(name, [row["query"] for row in points], [row["gcups"] for row in points])
        for name, threads in zip(names, all_threads, strict=True)
        if (points := data.rows("core", threads=threads))
    ]
    return [
        "The paper compares with SWPS3 on four cores. Here the comparison is with exaln's engine on the CPU, which"
        " scores all targets from memory. The GPU lines of the plot are those of Table II with the lengths of"
        " Swiss-Prot: the kernels alone, and for exaln the whole call.",
        Table(("query", *(f"{name}, GCUPS" for name in names)), rows),
        Figure(
            "queries",
            "By length of the query (Fig. 7)",
            "length of the query",
            "GCUPS",
            [*lines, *_lines_of_others(data)],
            log_y=True,
        ),
    ]


def _lines_of_others(data: Measurements) -> Sequence[Line]:
    """Lines of parasail, of today's GPU, and of the paper's GPUs."""
    lines = []
    if peers := data.rows("parasail", name="parasail"):
        lines.append(Line("parasail, 1 thread", [row["query"] for row in peers], [row["gcups"] for row in peers]))
    for label, kernel, name in (
        ("3072", "original", "GPU, original"),
        ("3072", "improved", "GPU, improved"),
        ("exaln", "exaln", "exaln, GPU"),
    ):
        if points := data.rows("databases", database="Swiss-Prot", kernel=kernel, label=label):
            rates = [row["query"] * row["residues"] / row["seconds"] / 1e9 for row in points]
            lines.append(Line(name, [row["query"] for row in points], rates))
    for name, device in (("C1060", PAPER_C1060), ("C2050", PAPER_C2050)):
        before, after = device["Swiss-Prot"]
        lines.append(Line(f"the paper, {name}, original", PAPER_QUERIES, before, is_papers=True))
        lines.append(Line(f"the paper, {name}, improved", PAPER_QUERIES, after, is_papers=True))
    return lines


def _parasail(data: Measurements) -> Sequence[Block]:
    rows = []
    for query in data.values("parasail", "query"):
        rates = {row["name"]: row["gcups"] for row in data.rows("parasail", query=query)}
        cells = number(rates["parasail"]), number(rates["exaln"]), f"{rates['exaln'] / rates['parasail']:.1f}"
        rows.append((f"{query:,}", *cells))
    return [
        "One core, a quarter of the targets. parasail (`sw_striped_profile_sat`) is called from Python once per target,"
        " which adds some microseconds to each; the profile is computed beforehand.",
        Table(("query", "parasail, GCUPS", "exaln, GCUPS", "exaln / parasail"), rows),
    ]


def findings(data: Measurements) -> Sequence[Block]:
    """The claims of the paper beside the results here."""
    return [
        *_variance_finding(data),
        *_kernel_finding(data),
        *_threshold_finding(data),
        *_database_finding(data),
        *_open_finding(data),
        *_queries_finding(data),
    ]


def _variance_finding(data: Measurements) -> Sequence[Block]:
    variance = data.rows("variance")
    if not variance:
        return []
    first, last = variance[0], variance[-1]
    return [
        "*The paper: inter-task depends on the spread of the lengths, intra-task does not.* Between standard deviations"
        f" of {first['spread']} and {last['spread']}, inter-task goes from {number(first['inter'])} to"
        f" {number(last['inter'])} GCUPS, the original intra-task kernel from {number(first['original'])} to"
        f" {number(last['original'])} and the improved one from {number(first['improved'])} to"
        f" {number(last['improved'])}: a GPU with this many multiprocessors waits for its longest blocks, too."
    ]


def _kernel_finding(data: Measurements) -> Sequence[Block]:
    rates = {(row["query"], row["name"]): row["gcups"] for row in data.rows("shapes") if "name" in row}
    if not rates:
        return []
    queries = data.values("shapes", "query")
    gains = " and ".join(f"{rates[q, 'profile'] / rates[q, 'original']:.1f} times at query {q:,}" for q in queries)
    steps = " -> ".join(number(rates[queries[0], name]) for name in STEPS)
    counted = {(row["query"], row["kernel"]): row for row in data.rows("counters")}
    few = counted.get((queries[0], "original"))
    cache = (
        f" At query {queries[0]} the original kernel loads {few['load_sectors'] / 1e9:.1f} billion sectors, but only"
        f" {few['dram_bytes'] / 2**20:.0f} MiB go to or from DRAM."
        if few is not None
        else ""
    )
    return [
        f"*The paper: the improved kernel is over 11 times faster than the original.* Here {gains}. The wavefronts of"
        " the original, which a C1060 wrote to memory and read back at every step, stay in the caches today."
        f"{cache} The steps of the improved kernel give {steps} GCUPS at query {queries[0]}"
        f" ({', '.join(STEPS)}): the largest gain still comes from unrolling, which keeps arrays in registers."
    ]


STEPS = ("pointer swap", "register swap", "unrolled", "profile")


def _threshold_finding(data: Measurements) -> Sequence[Block]:
    points = [row for row in data.rows("threshold") if "inter" in row]
    mixed = [row for row in points if row["over"] > 0]
    if not mixed:
        return []
    gains = [_whole(row, "improved") / _whole(row, "original") - 1 for row in mixed]
    best, usual = max(mixed, key=lambda row: _whole(row, "improved")), mixed[0]
    alone = [_whole(row, "improved") for row in points if row["over"] == 0]
    all_inter = (
        f" With all targets in the inter-task kernel it is {number(alone[0])} (in the paper 10 instead of 17)."
        if alone
        else ""
    )
    return [
        f"*The paper: the whole search gains 6.7 to 39.3 % (C2050).* Here {min(gains):.0%} to {max(gains):.0%} for the"
        " thresholds of Fig. 3. *The paper: a lower threshold slows the original program and can speed up the improved"
        " one (TAIR, 1500).* Here it speeds up both:"
        f" {number(_whole(usual, 'original'))} and {number(_whole(usual, 'improved'))} GCUPS at {usual['threshold']:,},"
        f" {number(_whole(best, 'original'))} and {number(_whole(best, 'improved'))} at {best['threshold']:,}, because"
        f" a group waits for its longest target, and the kernels for long targets have caught up.{all_inter}"
    ]


def _database_finding(data: Measurements) -> Sequence[Block]:
    rows = data.rows("databases", query=1000)
    rate = {(row["database"], row["label"], row["kernel"]): 1e-6 * row["residues"] / row["seconds"] for row in rows}
    if ("TAIR", "model", "improved") not in rate:
        return []
    small, large = ([rate[name, label, "improved"] for label in ("3072", "model")] for name in ("TAIR", "Swiss-Prot"))
    return [
        "*An open question of the paper, a threshold from the lengths:* a model of both kernels chooses one that gives"
        f" {number(large[1])} instead of {number(large[0])} GCUPS on {_targets(rows, 'Swiss-Prot')} targets with the"
        f" lengths of Swiss-Prot, and {number(small[1])} instead of {number(small[0])} on"
        f" {_targets(rows, 'TAIR')} with those of TAIR. For the latter it assigns a block to every target, since there"
        " are too few targets to give each a thread of this GPU. exaln's engine, which packs two targets in a word and"
        f" streams them through groups of lanes, reaches {number(rate['Swiss-Prot', 'exaln', 'exaln'])} and"
        f" {number(rate['TAIR', 'exaln', 'exaln'])}."
    ]


def _targets(rows: Sequence[Row], database: str) -> str:
    return f"{next(row['targets'] for row in rows if row['database'] == database):,}"


def _open_finding(data: Measurements) -> Sequence[Block]:
    rows = data.rows("shapes", what="boundary")
    if not rows:
        return []
    query = max(row["query"] for row in rows)
    rate = {(row["name"], row["one_fill"]): row["gcups"] for row in rows if row["query"] == query}
    plain = rate["by one thread", False]
    saved = [1 - row["overlapped"] / row["plain"] for row in data.rows("copies")]
    copies = f" Copying while computing saves {min(saved):.0%} to {max(saved):.0%}: copies are short." if saved else ""
    return [
        f"*Its other open questions,* at query {query:,}: {number(plain)} GCUPS with the boundary row written and read"
        f" by one thread, {number(rate['coalesced', False])} by all threads in pieces,"
        f" {number(rate['shared memory', False])} in shared memory, {number(rate['by one thread', True])} with one"
        " fill of the pipeline. None pays off: the boundary row is a small part of the work, pieces need barriers of"
        f" their own, and shared memory for whole rows leaves fewer blocks on a multiprocessor.{copies}"
    ]


def _queries_finding(data: Measurements) -> Sequence[Block]:
    rows, peers = data.rows("core"), data.rows("parasail", name="parasail")
    devices = data.rows("databases", database="Swiss-Prot", label="3072", kernel="improved")
    if not rows or not peers or not devices:
        return []
    threads = max(row["threads"] for row in rows)
    on_device = [row["query"] * row["residues"] / row["seconds"] / 1e9 for row in devices]
    many, one = ([row["gcups"] for row in rows if row["threads"] == count] for count in (threads, 1))
    alone = [row["gcups"] for row in peers]

    def span(rates: Sequence[float]) -> str:
        return f"{number(min(rates))} to {number(max(rates))}"

    return [
        "*The paper: a GPU is faster than SWPS3 on four cores, and depends less on the length of the query.* It still"
        f" depends less: {span(on_device)} GCUPS from query {devices[0]['query']} to {devices[-1]['query']:,}. But CPUs"
        f" have caught up with these kernels: exaln's engine reaches {span(many)} on {threads} cores, more for longer"
        f" queries; {span(one)} on one core, where parasail reaches {span(alone)}."
    ]


SECTIONS = (
    Section("Spread of the lengths (Fig. 2)", "variance", _variance),
    Section("The improved kernel, step by step", "shapes", _shapes),
    Section("The threshold (Fig. 3, 5 and 6)", "threshold", _threshold),
    Section("Databases (Table II)", "databases", _databases),
    Section("Accesses of global memory (Table I)", "counters", _counters),
    Section("Copying while computing", "copies", _copies),
    Section("Length of the query (Fig. 7)", "core", _core),
    Section("parasail on a CPU (Fig. 7)", "parasail", _parasail),
)
