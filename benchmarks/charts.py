"""Draw the charts of README.md from the newest run files under benchmarks/runs.

    python benchmarks/charts.py                      # writes docs/images/speed-cpu.svg and speed-gpu.svg
    python benchmarks/charts.py --out build --png    # also as PNG

speed-cpu.svg: search_peers.json, by search_peers.py. speed-gpu.svg: bench-cuda-570000-targets.json, by `exaln bench
--engine cuda`, and cudasw4.json in the same folder, the figure of CUDASW++4.0 for the same queries and database.
"""

from __future__ import annotations

import argparse
import json
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot

HERE = Path(__file__).parent
WIDTH, BAR, LINE = 8.0, 0.39, 0.155
"""Inches: width of the chart, height of a bar with its spacing, height of a line of the note."""

LEFT, RIGHT, ABOVE, BELOW = 1.95, 0.15, 0.68, 0.68
"""Margins of the bars in inches; the note is below."""

NOTE_COLUMNS = 122
COLOURS = {"exaln": "#1f6fb4", "exact": "#8c959f", "heuristic": "#d9b77e", "bound": "#ffffff"}
INK, PALE_INK = "#1f2328", "#57606a"
STYLE = {
    "font.family": "DejaVu Sans",
    "font.size": 9.5,
    "svg.hashsalt": "exaln",
    "text.color": INK,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
}


@dataclass(frozen=True)
class Bar:
    """A bar: its label, its length in the units of the axis, the text at its end, and a key of COLOURS."""

    label: str
    value: float
    text: str
    kind: str


@dataclass(frozen=True)
class Chart:
    """A chart with horizontal bars, the first on top."""

    name: str
    title: str
    subtitle: str
    axis: str
    note: str
    bars: list[Bar]


def newest_run(name: str) -> tuple[Path, Any]:
    """Return the newest run file of a name, and its content; the dates of folders order them."""
    paths = sorted((HERE / "runs").glob(f"*/{name}"))
    if not paths:
        raise SystemExit(f"no {name} under {HERE / 'runs'}")
    return paths[-1], json.loads(paths[-1].read_text(encoding="utf-8"))


def cpu_chart() -> Chart:
    """Return the chart of whole searches on one core."""
    _, run = newest_run("search_peers.json")
    bars = []
    for tool in sorted(run["tools"], key=lambda tool: -tool["gcups"]["cpu"]):
        name, _, options = tool["name"].partition(", ")
        kind = "exaln" if name == "exaln" else "heuristic" if tool["is_heuristic"] else "exact"
        remarks = [options, "heuristic" if tool["is_heuristic"] else "", "scores only" * (tool["reports"] == "scores")]
        remark = ", ".join(filter(None, remarks))
        label = f"{name} {tool['version']}" + (f"\n({remark})" if remark else "")
        seconds = min(one["cpu_seconds"] for one in tool["runs"])
        bars.append(Bar(label, tool["gcups"]["cpu"], f"{tool['gcups']['cpu']:.1f}  ({seconds:.1f} s)", kind))
    queries, targets = run["queries"], run["targets"]
    blastp = next(tool for tool in run["tools"] if tool["name"] == "blastp, same scoring")
    found = f"{blastp['n_significant_found']} of the {run['n_significant']} hits"
    return Chart(
        "speed-cpu",
        f"Protein search on one core of an {run['machine']['cpu']}",
        f"{queries['n_sequences']} queries ({queries['n_residues']:,} residues), {targets['n_sequences']:,} "
        f"proteins ({targets['n_residues'] / 1e6:.2f} M residues), BLOSUM62 11/1, {run['date'][:10]}",
        "GCUPS: billion cells (query residues x target residues) per second of CPU time",
        f"Whole processes with one thread, the best of {len(blastp['runs'])} rounds. blastp skips most cells; with the "
        f"same scoring it reports {found} with E <= {run['significant_evalue']:g}. parasail and pyopal are called from "
        "Python and return scores; the others also align and write a report.",
        bars,
    )


def gpu_chart() -> Chart:
    """Return the chart of scans on one GPU, whole calls, with the measured bound."""
    path, peer = newest_run("cudasw4.json")
    run = json.loads(path.with_name("bench-cuda-570000-targets.json").read_text(encoding="utf-8"))
    measured = {row["query"]: row["total_tcups"] for row in run["measurements"]}
    bound = run["bound_tcups"]
    database = run["database"]
    ours = {"in one search": measured["batch"], "one by one": measured["one by one"]}
    bars = [Bar("bound\n(the recurrence alone)", bound, f"{bound:.2f}", "bound")]
    for how, tcups in ours.items():
        text = f"{tcups:.2f}  ({100 * tcups / bound:.0f} % of the bound)"
        bars.append(Bar(f"exaln {run['exaln']}\n({peer['n_queries']} queries {how})", tcups, text, "exaln"))
    bars.append(Bar(peer["program"], peer["tcups"], f"{peer['tcups']:.2f}", "exact"))
    return Chart(
        "speed-gpu",
        f"Protein search on one {run['gpus'][0]['name']}",
        f"{peer['n_queries']} standard queries against {database['targets']:,} synthetic proteins "
        f"({database['residues'] / 1e6:.0f} M residues), {run['date'][:10]}",
        "TCUPS: trillion cells (query residues x target residues) per second",
        "Scores only, with the database on the GPU. The bound is the cell update alone, in registers, measured in the "
        "same run as exaln. CUDASW++4.0 was measured on the same machine and day, with the same queries and proteins.",
        bars,
    )


def draw(chart: Chart, folder: Path, formats: list[str]) -> None:
    """Write a chart as <name>.<format> to a folder, the same bytes for the same figures."""
    note = textwrap.fill(chart.note, NOTE_COLUMNS)
    below = BELOW + LINE * (note.count("\n") + 1)
    height = ABOVE + BAR * len(chart.bars) + below
    with pyplot.rc_context(STYLE):
        figure, axes = pyplot.subplots(figsize=(WIDTH, height), facecolor="white")
        figure.subplots_adjust(LEFT / WIDTH, below / height, 1 - RIGHT / WIDTH, 1 - ABOVE / height)
        rows = range(len(chart.bars))
        colours = [COLOURS[bar.kind] for bar in chart.bars]
        edges = [INK if bar.kind == "bound" else COLOURS[bar.kind] for bar in chart.bars]
        drawn = axes.barh(rows, [bar.value for bar in chart.bars], 0.68, color=colours, edgecolor=edges)
        axes.bar_label(drawn, [bar.text for bar in chart.bars], padding=4)
        axes.set_yticks(rows, [bar.label for bar in chart.bars], linespacing=1.05)
        axes.set_ylim(len(chart.bars) - 0.5, -0.5)
        axes.set_xlim(0, 1.3 * max(bar.value for bar in chart.bars))
        axes.set_xlabel(chart.axis, loc="left")
        axes.tick_params(axis="y", length=0)
        axes.spines[["top", "right"]].set_visible(False)
        figure.text(0.1 / WIDTH, 1 - 0.1 / height, chart.title, va="top", weight="bold", size=11.5)
        figure.text(0.1 / WIDTH, 1 - 0.36 / height, chart.subtitle, va="top")
        figure.text(0.1 / WIDTH, 0.08 / height, note, va="bottom", size=8, color=PALE_INK)
        for format_name in formats:
            path = folder / f"{chart.name}.{format_name}"
            metadata = {"Date": None} if format_name == "svg" else None
            figure.savefig(path, dpi=110, metadata=metadata)
            print(f"written to {path}")
        pyplot.close(figure)


def main() -> None:
    """Draw both charts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=HERE.parent / "docs" / "images")
    parser.add_argument("--png", action="store_true")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for chart in (cpu_chart(), gpu_chart()):
        draw(chart, options.out, ["svg", "png"] if options.png else ["svg"])


if __name__ == "__main__":
    main()
