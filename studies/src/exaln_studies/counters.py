"""Hardware counters of single kernel launches, read by Nsight Compute's `ncu`.

The profiler runs a process of its own, `python -m exaln_studies.profiled NAME`, which runs the launches of the study
and compares their results, so that what is counted is known to be correct.
"""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from exaln_studies.study import Bench, NotMeasurable, Row

PROFILER = "ncu"
MAX_SECONDS = 240
NUMBERS = "ID"
"""First column of the profiler's table; it is empty in the line of units, which follows the line of names."""


@dataclass(frozen=True)
class ProfiledLaunch:
    """One launch to count. label: its columns; launch: enqueues it; check: compares its result."""

    label: Row
    launch: Callable[[], object]
    check: Callable[[], object]


def counted(bench: Bench, study: str, counters: Mapping[str, str]) -> Iterator[Row]:
    """Yield a row per launch of the study: its label and its counters.

    counters: column name -> the profiler's name. Raises NotMeasurable where the profiler is missing or fails.
    """
    profiler = shutil.which(PROFILER)
    if profiler is None:
        raise NotMeasurable(f"{PROFILER} of NVIDIA Nsight Compute is not installed")
    bench.progress(f"{PROFILER} counts")
    with tempfile.TemporaryDirectory() as folder:
        labels, log = Path(folder) / "labels.json", Path(folder) / "log.csv"
        profiled = [sys.executable, "-m", "exaln_studies.profiled", study, str(labels), *(["quick"] * bench.quick)]
        options = ["--csv", "--page", "raw", "--print-units", "base", "--clock-control", "none"]
        options += ["--profile-from-start", "off", "--metrics", ",".join(counters.values()), "--log-file", str(log)]
        try:
            done = subprocess.run(
                [profiler, *options, *profiled], capture_output=True, text=True, timeout=MAX_SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            raise NotMeasurable(f"{PROFILER} took more than {MAX_SECONDS} s") from None
        output = log.read_text(encoding="utf-8") if log.exists() else ""
        if done.returncode != 0 or not labels.exists():
            raise NotMeasurable(f"{PROFILER} failed: {_last_line(output, done.stdout, done.stderr)}")
        launches = json.loads(labels.read_text(encoding="utf-8"))
    values = list(counts_of(output.splitlines(), counters))
    bench.check("launches that were counted", len(values), len(launches))
    bench.n_checks += len(launches)
    for label, counts in zip(launches, values, strict=True):
        yield {**label, **counts}


def counts_of(lines: Iterable[str], counters: Mapping[str, str]) -> Iterator[Row]:
    """Parse the profiler's table: one row of counters per launch.

    >>> lines = ["==PROF== connected", '"ID","Kernel Name","a.sum"', '"","","inst"', '"0","k","1,234"']
    >>> list(counts_of(lines, {"all": "a.sum", "other": "b.sum"}))
    [{'all': 1234.0, 'other': None}]
    """
    table = [line for line in lines if line.startswith('"')]
    rows = csv.DictReader(table)
    for row in rows:
        if row[NUMBERS]:
            yield {ours: _number(row.get(theirs)) for ours, theirs in counters.items()}


def _number(text: str | None) -> float | None:
    """Parse a number; None for a counter that this device or profiler does not have."""
    try:
        return float((text or "").replace(",", ""))
    except ValueError:
        return None


def _last_line(*texts: str) -> str:
    lines = [line.strip() for text in texts for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if "==ERROR==" in line or "Error" in line]
    return (errors or lines or ["no message"])[-1]
