"""The figure of a run: hits per query against the E-value, as ratios of what is expected, with Poisson bands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import numpy as np
from charts import PALE_INK, STYLE
from matplotlib import pyplot

from calibration_parts.counts import DEVIATIONS, TOLERANCE

PANEL = (4.0, 2.9)
"""Inches."""

LOWEST = 1e-4


def draw(run: dict[str, Any], path: Path) -> None:
    """Draw a run, a panel for each group of cases."""
    groups = list(dict.fromkeys(case["group"] for case in run["cases"]))
    n_columns = min(len(groups), 2)
    n_rows = -(-len(groups) // n_columns)
    size = PANEL[0] * n_columns, PANEL[1] * n_rows
    with pyplot.rc_context({**STYLE, "font.size": 8.5}):
        figure, axes = pyplot.subplots(n_rows, n_columns, figsize=size, facecolor="white", squeeze=False)
        for panel, group in zip(axes.flat, groups, strict=False):
            draw_panel(panel, group, [case for case in run["cases"] if case["group"] == group])
        for panel in axes.flat[len(groups) :]:
            panel.set_visible(False)
        figure.tight_layout()
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None, dpi=110)
        pyplot.close(figure)
    print(f"written to {path}")


def draw_panel(panel: Any, group: str, cases: list[dict[str, Any]]) -> None:
    """Draw found against expected hits per query; the bands are for the most queries of a case in the panel."""
    most = max(case["n_queries"] for case in cases)
    line = np.geomspace(2e-3, 20, 50)
    band = np.maximum(TOLERANCE * line, DEVIATIONS * np.sqrt(line / most))
    poisson = DEVIATIONS * np.sqrt(line / most)
    panel.fill_between(line, np.maximum(line - band, LOWEST), line + band, color="#e6ebf0", linewidth=0)
    panel.fill_between(line, np.maximum(line - poisson, LOWEST), line + poisson, color="#c9d4df", linewidth=0)
    panel.plot(line, line, color=PALE_INK, linewidth=0.8)
    colours = pyplot.get_cmap("viridis")(np.linspace(0, 0.92, len(cases)))
    for case, colour in zip(cases, colours, strict=True):
        counts = [count for count in case["counts"] if count["expected"] > 0]
        panel.plot(
            [count["expected"] for count in counts],
            [max(count["observed"], LOWEST) for count in counts],
            "o-",
            color=colour,
            markersize=3,
            linewidth=1,
            label=case["name"],
        )
    panel.set_xscale("log")
    panel.set_yscale("log")
    panel.set_xlim(line[0], line[-1])
    panel.set_ylim(1e-3, 100)
    panel.set_title(group, fontsize=9)
    panel.set_xlabel("hits per query by their E-values")
    panel.set_ylabel("hits per query found")
    panel.legend(frameon=False, fontsize=6, loc="best", handlelength=1.5, labelspacing=0.3)
    panel.spines[["top", "right"]].set_visible(False)
