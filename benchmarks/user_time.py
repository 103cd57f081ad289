"""Time what users wait for: whole calls and whole commands, in fresh processes, of this tree and of a tree before it.

    python benchmarks/user_time.py --before build/before                   # all parts
    python benchmarks/user_time.py --before build/before --parts pairs,search
    python benchmarks/user_time.py --quick                                 # small sizes, this tree alone

--before is a checkout made with `make setup`, or a folder made with `pip install --no-deps --target`. Both trees run in
turn, and the best of --repeats counts. Results are compared by digest: scores, positions, CIGARs and reports. Each part
prints its table when it is done, and writes it with all single times as user_time-PART.txt and .json into --out, by
default benchmarks/runs/<date>-<machine>. Calls of the cuda engine are left out where there is no GPU.

The required figures are those for one NVIDIA H200 with 16 cores. Exit code 1: results differ, or a figure is missed.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import shlex
import sys
import time
from pathlib import Path
from typing import Any

from user_time_parts.sizes import Sizes
from user_time_parts.tables import Table
from user_time_parts.trees import PartFailed, Tree, trees_of

from exaln.engines.bench.runs import dashed, driver_version, machine, runs_folder
from exaln.engines.cuda.runtime.probe import probe_machine

ROOT = Path(__file__).resolve().parent.parent
PARTS = {
    "pairs": "align_many and score_many on a GPU, in every form of sequences",
    "cpu": "the same on the CPU, beside the time of the kernels",
    "memory": "the memory of a call with a million pairs",
    "search": "exaln search, one query and 20, beside the floor of interpreter and driver",
    "large": "exaln search of databases larger than most, resident and streamed, with their host memory",
    "makedb": "exaln makedb, on two cores and on all, and from gzip",
    "small": "exaln.align and exaln.score of short strings",
    "shapes": "a grid of lengths, numbers of pairs, forms, modes and engines, and its cliffs",
}


def parsed() -> argparse.Namespace:
    """The command line's options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, metavar="TREE", help="the tree to compare with")
    parser.add_argument("--parts", default=",".join(PARTS), help="comma-separated, of: " + ", ".join(PARTS))
    parser.add_argument("--out", type=Path, help="folder for tables and figures")
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "user_time", help="for databases and files")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="small sizes, to see whether all parts run")
    parser.add_argument("--pairs", type=int, help="pairs of the parts pairs and cpu")
    parser.add_argument("--targets", type=int, help="targets of the part search")
    parser.add_argument("--copies", help="copies of these targets in the databases of the part large, such as 25,100")
    parser.add_argument("--seconds", type=float, default=200.0, help="time limit of the part shapes")
    options = parser.parse_args()
    unknown = [part for part in options.parts.split(",") if part not in PARTS]
    if unknown:
        parser.error(f"--parts: {', '.join(unknown)}: expected some of {', '.join(PARTS)}")
    return options


def facts(trees: list[Tree]) -> dict[str, Any]:
    """The machine, the GPUs, the trees and the command."""
    gpus = probe_machine()["gpus"]
    return {
        "command": shlex.join(["python", "benchmarks/user_time.py", *sys.argv[1:]]),
        "machine": machine(),
        "gpus": gpus,
        "driver": driver_version(),
        "load_before": os.getloadavg()[0],
        "trees": {tree.name: tree.facts() for tree in trees},
    }


def out_folder(given: Path | None, about: dict[str, Any]) -> Path:
    """The folder for the figures: as given, or by date and machine as the other programs have it."""
    if given is not None:
        return given
    gpus = [gpu["name"] for gpu in about["gpus"]]
    name = dashed(gpus[0]) if gpus else f"{dashed(about['machine']['processor'])}-{os.cpu_count()}-cores"
    return runs_folder(name) or Path("build") / "runs" / name


def run_part(part: str, trees: list[Tree], sizes: Sizes, options: argparse.Namespace, has_gpu: bool) -> Table:
    """Run a part and print its table."""
    began = time.perf_counter()
    module = importlib.import_module(f"user_time_parts.{part}_part")
    table = Table(part, PARTS[part])
    try:
        module.measure(table, trees, sizes, options.folder, has_gpu=has_gpu)
    except PartFailed as error:
        table.failure = str(error)
    table.note(f"{time.perf_counter() - began:.0f} s for this part")
    print(table.text(), flush=True)
    return table


def main() -> int:
    """Run the parts. Returns the exit code."""
    options = parsed()
    trees = trees_of(options.before)
    about = facts(trees)
    folder = out_folder(options.out, about)
    folder.mkdir(parents=True, exist_ok=True)
    options.folder.mkdir(parents=True, exist_ok=True)
    sizes = Sizes.of(options)
    has_gpu = bool(about["gpus"])
    print(f"{about['machine']['processor']}, {os.cpu_count()} cores, Python {about['machine']['python']}, "
          f"{about['gpus'][0]['name'] if has_gpu else 'no GPU'}")  # fmt: skip
    for name, tree in about["trees"].items():
        print(f"{name}: {tree['file']}")
    is_good = True
    for part in options.parts.split(","):
        table = run_part(part, trees, sizes, options, has_gpu)
        content = {**about, "part": part, "sizes": vars(sizes), **table.content()}
        (folder / f"user_time-{part}.json").write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
        (folder / f"user_time-{part}.txt").write_text(table.text(), encoding="utf-8")
        is_good &= table.is_good
    print(f"written to {folder}")
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
