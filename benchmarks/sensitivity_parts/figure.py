"""The figure of a run: for each level, the share of queries by the least share of relatives that is found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

from charts import INK, STYLE
from matplotlib import pyplot

from sensitivity_parts.measure import LEVELS

COLOURS = {
    "exaln": "#1f6fb4", "blastp": "#8c5a2b", "psiblast": "#8c5a2b", "phmmer": "#2f8f4e", "ssearch36": "#c2407a",
    "MMseqs2": "#e08a1e", "DIAMOND": "#57606a",
}  # fmt: skip
STYLES = ("-", "--", ":", "-.")
SIZE, LEGEND = (8.0, 2.6), 0.75
"""Inches: the panels of one set of queries, and the height of the legend."""


def draw(run: dict[str, Any], path: Path) -> None:
    """Draw a run: a row of panels for each set of queries, a panel for each level."""
    n_rows = len(run["sets"])
    height = SIZE[1] * n_rows + LEGEND
    with pyplot.rc_context({**STYLE, "font.size": 8.5}):
        figure, axes = pyplot.subplots(n_rows, len(LEVELS), figsize=(SIZE[0], height), facecolor="white", squeeze=False)
        for panels, one_set in zip(axes, run["sets"], strict=True):
            for panel, level in zip(panels, LEVELS, strict=True):
                draw_panel(panel, one_set, level, run["thresholds"])
            panels[0].set_ylabel("share of queries")
        handles, labels = axes[0][0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="lower center", ncols=4, frameon=False, fontsize=7.5, handlelength=2.6)
        figure.tight_layout(rect=(0, LEGEND / height, 1, 1))
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None, dpi=110)
        pyplot.close(figure)
    print(f"written to {path}")


def draw_panel(panel: Any, one_set: dict[str, Any], level: str, thresholds: list[float]) -> None:
    """Draw the curves of all programs on one level."""
    used: dict[str, int] = {}
    for tool in one_set["tools"]:
        family = tool["name"].split(",")[0]
        number = used[family] = used.get(family, -1) + 1
        style = "-." if tool["is_profile"] else STYLES[number % len(STYLES)]
        shares = tool["levels"][level]["distribution"]
        panel.plot(
            thresholds[1:],  # at 0 are all queries
            shares[1:],
            style,
            color=COLOURS.get(family, INK),
            linewidth=1.8 if family == "exaln" else 1.1,
            label=tool["name"],
            zorder=3 if family == "exaln" else 2,
        )
    n_queries = one_set["n_queries_of_level"][level]
    panel.set_title(f"{one_set['name']}: {level}, {n_queries:,} queries", fontsize=8.5)
    panel.set_xlim(0, 1)
    panel.set_ylim(0, None)
    panel.set_xlabel("share of relatives found, at least")
    panel.spines[["top", "right"]].set_visible(False)
