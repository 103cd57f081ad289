"""Stored benchmark runs: JSON files with the figures, the machine, the versions and the command."""

from __future__ import annotations

import datetime
import json
import os
import platform
import re
import sys
from pathlib import Path
from typing import Any

from exaln.errors import OutputError
from exaln.foundation.output_file import open_output

RUNS = Path("benchmarks") / "runs"


def machine() -> dict[str, Any]:
    """The computer on which this process runs."""
    return {
        "processor": processor(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }


def processor() -> str:
    """The name of the CPU."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())


def driver_version() -> str | None:
    """The version of the NVIDIA driver according to its kernel module; None without a driver."""
    try:
        found = re.search(r"\d+\.\d[\d.]*", Path("/proc/driver/nvidia/version").read_text(encoding="utf-8"))
    except OSError:
        return None
    return found[0] if found else None


def command() -> str:
    """The command line of this process."""
    return " ".join(["exaln", *sys.argv[1:]])


def runs_folder(machine_name: str) -> Path | None:
    """benchmarks/runs/<date>-<machine> if the current directory is in a clone of exaln; otherwise None."""
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / RUNS).is_dir() and (folder / "src" / "exaln").is_dir():
            return folder / RUNS / f"{datetime.date.today()}-{dashed(machine_name)}"
    return None


def dashed(name: str) -> str:
    """A name in the form for file names: lower case, with dashes.

    >>> dashed("NVIDIA H200 (SXM)")
    'nvidia-h200-sxm'
    """
    return re.sub("[^a-z0-9]+", "-", name.lower()).strip("-")


def write_run(folder: Path, name: str, content: dict[str, Any]) -> Path:
    """Write a run as JSON into a folder, which is created. Returns the path. Raises OutputError."""
    path = folder / f"{name}.json"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{folder}: {error.strerror or error}; choose another folder with --out") from None
    with open_output(path) as file:
        file.write((json.dumps(content, indent=1) + "\n").encode())
    return path
