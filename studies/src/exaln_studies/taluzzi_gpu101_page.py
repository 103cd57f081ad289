"""The page of Taluzzi, GPU101: tables, plots and findings, beside the numbers of the report."""

from __future__ import annotations

from collections.abc import Sequence

from exaln_studies.measurements import Measurements
from exaln_studies.page import listed, number
from exaln_studies.study import Bars, Block, Row, Section, Table

PAPER = {
    (128, "shared memory, a byte each"): [(0.1523, 0.002749)],
    (128, "global memory, by rows"): [(0.1612, 0.005934)],
    (512, "global memory, by rows"): [(2.4861, 0.3084), (3.1019, 0.3012)],
}
"""Seconds of each run on a CPU and on the T4."""


def _milliseconds(seconds: float) -> str:
    return number(1e3 * seconds)


def _core(data: Measurements) -> Sequence[Block]:
    rows = []
    for length in data.values("core", "length"):
        plain = data.rows("core", what="plain", length=length)[0]
        engine = data.rows("core", what="exaln, one core", length=length)[0]
        total = plain["fill"] + plain["walk"]
        paper = {128: "0.152 to 0.161", 512: "2.49 to 3.10"}[length] if plain["pairs"] == 1000 else "-"
        times = (_milliseconds(plain["fill"]), _milliseconds(plain["walk"]), f"{plain['walk'] / total:.2%}")
        faster = f"{total / engine['seconds']:.0f}"
        rows.append((str(length), str(plain["pairs"]), *times, paper, _milliseconds(engine["seconds"]), faster))
    head = ("length", "pairs", "filling, ms", "traceback, ms", "share of traceback", "paper, CPU, s")
    return [
        "A complete table of scores and one of directions per pair, as in the program that the report starts from. On"
        " one core the traceback takes next to no time. exaln's engine computes the same scores and paths on the same"
        " core.",
        Table((*head, "exaln, one core, ms", "times faster"), rows),
    ]


def _name(row: Row) -> str:
    if row["what"] == "one thread":
        return "one thread per block, tables in global memory"
    name = f"a thread per row, directions in {row['where']}"
    return f"{name}; traceback of all pairs together" if row["what"] == "walked together" else name


def _gpu(data: Measurements) -> Sequence[Block]:
    blocks: list[Block] = []
    for length in data.values("gpu", "length"):
        rows = data.rows("gpu", length=length)
        plain = next(row for row in rows if row["what"] == "plain")
        core = plain["fill"] + plain["walk"]
        programs = [row for row in rows if row["what"] in ("one thread", "one block", "walked together")]
        cells = [_program(row, core) for row in programs]
        engine = next(row for row in rows if row["what"] == "exaln, GPU")["seconds"]
        copies = next(row for row in rows if row["what"] == "copies")["seconds"]
        faster = f"{core / engine:,.0f}"
        cells.append(("exaln, with all copies", "", "", "", _milliseconds(engine), faster, "-", "-"))
        cells.append(
            ("copies of the other programs, from pageable memory", "", "", "", _milliseconds(copies), "", "-", "-")
        )
        head = (
            "program",
            "filling, ms",
            "traceback, ms",
            "share of traceback",
            "both, ms",
            "over one core",
            "paper, GPU, ms",
            "paper, over a CPU",
        )
        blocks += [
            f"**{plain['pairs']:,} pairs of {length}**; one core of the same machine: {_milliseconds(core)} ms",
            Table(head, cells),
            _bars(length, [row for row in programs if "fill" in row], engine),
        ]
    return blocks


def _program(row: Row, core: float) -> tuple[str, ...]:
    if row.get("refused"):
        return (
            _name(row),
            f"not run: needs {row['needs']:,} bytes of shared memory, there are {row['has']:,}",
            *["-"] * 6,
        )
    both = row["fill"] + row["walk"]
    share = f"{row['walk'] / both:.0%}"
    times = _milliseconds(row["fill"]), _milliseconds(max(row["walk"], 0.0)), share, _milliseconds(both)
    paper = PAPER.get((row["length"], row.get("where", "")), []) if row["what"] == "one block" else []
    then = listed(_milliseconds(gpu) for _, gpu in paper), listed(f"{cpu / gpu:.0f}" for cpu, gpu in paper)
    return (_name(row), *times, f"{core / both:,.0f}", *(text or "-" for text in then))


SHORT = {
    "shared memory, a byte each": "bytes, shared",
    "shared memory, two bits each": "bits, shared",
    "global memory, by rows": "rows, global",
    "global memory, by diagonals": "diagonals, global",
}


def _bars(length: int, programs: list[Row], engine: float) -> Bars:
    labels = [
        "one thread"
        if row["what"] == "one thread"
        else SHORT[row["where"]] + (", together" if row["what"] == "walked together" else "")
        for row in programs
    ]
    shown = [(label, row) for label, row in zip(labels, programs, strict=True) if row["what"] != "one thread"]
    filling = [1e3 * row["fill"] for _, row in shown] + [0.0]
    traceback = [1e3 * max(row["walk"], 0.0) for _, row in shown] + [0.0]
    whole = [0.0] * len(shown) + [1e3 * engine]
    caption = (
        f"Filling and traceback, pairs of {length}; one thread per block is omitted, since it would dwarf the others"
    )
    parts = [("filling", filling), ("traceback", traceback), ("exaln, with copies", whole)]
    return Bars(f"length-{length}", caption, "ms", [*(label for label, _ in shown), "exaln"], parts)


def findings(data: Measurements) -> Sequence[Block]:
    """The claims of the report beside the measurements."""
    rows = data.rows("gpu", what="one block", length=512, where="global memory, by rows")
    if not rows:
        return []
    (row,) = rows
    plain = data.rows("gpu", what="plain", length=512)[0]
    core, both = plain["fill"] + plain["walk"], row["fill"] + row["walk"]
    engine = data.rows("gpu", what="exaln, GPU", length=512)[0]["seconds"]
    small = data.rows("gpu", what="one block", length=128)
    seconds = {each["where"]: each["fill"] + each["walk"] for each in small if "fill" in each}
    ratio = seconds["global memory, by rows"] / seconds["shared memory, a byte each"]
    together = data.rows("gpu", what="walked together", length=512, where="global memory, by rows")[0]["walk"]
    one = data.rows("gpu", what="one thread", length=512)[0]
    diagonals = data.rows("gpu", what="one block", length=512, where="global memory, by diagonals")[0]
    bits = data.rows("gpu", what="one block", length=512, where="shared memory, two bits each")[0]
    return [
        "*The report: its program is 8 to 10 times faster than a CPU at 512.* Here the same program is"
        f" {core / both:.0f} times faster than one core, and with directions by diagonals"
        f" {core / (diagonals['fill'] + diagonals['walk']):,.0f} times. One core is no faster than the report's"
        f" ({core:.1f} s; the report: 2.5 to 3.1 s), the GPU is.",
        "*The report: the traceback is the bottleneck.* The report infers this. Measured, the traceback takes"
        f" {row['walk'] / both:.0%} of the time at 512, with one thread of each block while other blocks still fill;"
        f" the traceback of all pairs together afterwards, one thread each, takes {_milliseconds(together)} ms instead"
        f" of {_milliseconds(row['walk'])} ms. The slow part is writing directions by rows,"
        f" {_milliseconds(row['fill'])} ms of filling: the threads of a step write one row apart, each into a sector of"
        f" its own. By diagonals they write to adjacent bytes: {_milliseconds(diagonals['fill'])} ms.",
        "*The report: directions in shared memory are twice as fast as in global memory, at 128.* Here global memory"
        f" by rows takes {ratio:.2f} times as long, and by diagonals"
        f" {seconds['global memory, by diagonals'] / seconds['shared memory, a byte each']:.2f} times. At 512, one byte"
        " per direction does not fit; two bits do, and take"
        f" {_milliseconds(bits['fill'] + bits['walk'])} ms.",
        f"*The report: one thread per block is naive.* It takes {(one['fill'] + one['walk']) / both:.0f} times as long"
        " as one thread per row.",
        f"exaln's batch takes {_milliseconds(engine)} ms for the whole call. A thousand pairs are too few for this GPU:"
        " most of the time is planning, copies and the conversion of paths to alignments. `benchmarks/gpu_pairs.py`"
        " measures 100,000 pairs.",
    ]


SECTIONS = (
    Section("One core", "core", _core),
    Section("On a GPU", "gpu", _gpu),
)
