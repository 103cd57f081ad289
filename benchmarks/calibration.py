"""Compare the number of hits among random sequences with their E-values.

    python benchmarks/calibration.py                       # all cases, some minutes
    python benchmarks/calibration.py --share 0.05          # a twentieth of the queries
    python benchmarks/calibration.py --only PAM30 --out DIR
    python benchmarks/calibration.py --comp-based-stats 2 --only "biased; shuffled"
    python benchmarks/calibration.py --matrix VTML200 --gap-open 10 --gap-extend 2 --only "protein: BLOSUM62"

In random sequences, a search should report x hits per query with E-values up to x. A case has queries of one length and
targets that are as long as proteins (median 284), or 1,000 bases. Each block of 2,000 queries is searched in targets of
its own. Searches of DNA look at one strand. Cases with a biased composition and with shuffled real proteins (which need
EXALN_DATA) show what E-values without composition are worth there; the requirement is for the others.

Scores are whole numbers, and so there are no hits between the E-values of two scores. A count is therefore compared
with what the E-values promise at the scores that exist: that of the first score within the limit, for each length of
target. This is below the limit by half a step on average; the table has both. Searches whose scores are finer
(composition-based statistics) are compared with the limit alone. Required: within 15 % or three Poisson standard
deviations, whichever is more.

Prints a table and writes calibration.txt, .json and .svg into --out, by default benchmarks/runs/<date>-<machine>.
"""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import json
import math
import os
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from calibration_parts.cases import BLOCK, Case, cases_of
from calibration_parts.counts import LIMITS, Count, expected_hits, hits_within
from calibration_parts.figure import draw

import exaln
from exaln import Database, Scoring, SearchOptions
from exaln.engines.bench.runs import machine, runs_folder, write_run
from exaln.simulation.estimate import NoGumbelLawError
from exaln.simulation.kept import parameters_of_any
from exaln.statistics.evalues import Statistics
from exaln.statistics.karlin_altschul import NucleotideParameters, ProteinParameters, parameters_of

Parameters = NucleotideParameters | ProteinParameters
SHOWN = (0.01, 0.1, 1.0, 10.0)
LEGEND = """
hits per query with E <= 0.01, 0.1, 1 and 10: found / limit, then found / expected at the scores that exist
*  not within 15 % or three standard deviations
"""


def parsed() -> argparse.Namespace:
    """The command line's options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--share", type=float, default=1.0, metavar="X", help="of the queries of each case (1)")
    parser.add_argument(
        "--only",
        default="",
        metavar="TEXTS",
        help="cases whose group and name have one of these texts, which semicolons separate",
    )
    parser.add_argument("--matrix", help="for all cases of proteins, with --gap-open and --gap-extend")
    parser.add_argument("--match", type=float, help="for all cases of DNA, with --mismatch and the gap costs")
    parser.add_argument("--mismatch", type=float)
    parser.add_argument("--gap-open", type=float)
    parser.add_argument("--gap-extend", type=float)
    parser.add_argument("--comp-based-stats", type=int, metavar="N", help="passed on to exaln.search")
    parser.add_argument("--statistics", default="auto", help="auto, table or simulated: passed on to exaln.search")
    parser.add_argument("--strand", default="plus", help="of DNA")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--engine", default="auto")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--draw", type=Path, metavar="JSON", help="draw the figure of a run again, and no more")
    parser.add_argument("--out", type=Path, help="folder for the table, the run and the figure")
    return parser.parse_args()


def chosen_cases(options: argparse.Namespace) -> list[Case]:
    """The cases that are asked for, with the scoring that is asked for."""
    data = os.environ.get("EXALN_DATA")
    cases = cases_of(Path(data) / "protein" if data else None)
    texts = [text.strip() for text in options.only.split(";")]
    cases = [case for case in cases if any(text in f"{case.group}: {case.name}" for text in texts)]
    gaps = {name: value for name in ("gap_open", "gap_extend") if (value := getattr(options, name)) is not None}
    chosen = []
    for case in cases:
        scoring, name = case.scoring, case.name
        if options.matrix and not scoring.alphabet.is_nucleotide:
            scoring = Scoring(options.matrix, **gaps)
        elif options.match is not None and scoring.alphabet.is_nucleotide:
            scoring = Scoring(match=options.match, mismatch=options.mismatch, **gaps)
        if scoring is not case.scoring:
            name = f"{options.matrix or scoring.name} {scoring.gap_open}/{scoring.gap_extend}, {name.split(', ')[-1]}"
        n_queries = max(round(case.n_queries * options.share), 1)
        chosen.append(dataclasses.replace(case, name=name, scoring=scoring, n_queries=n_queries))
    return chosen


def run_case(case: Case, options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """What the run file has of a case."""
    more: dict[str, Any] = {"engine": options.engine, "threads": options.threads, "statistics": options.statistics}
    parameters = None if options.comp_based_stats else parameters_for(case.scoring, options.statistics)
    if options.comp_based_stats is not None:
        more["comp_based_stats"] = options.comp_based_stats
    if case.scoring.alphabet.is_nucleotide:
        more["strand"] = options.strand
    observed, expected = np.zeros(len(LIMITS)), np.zeros(len(LIMITS))
    start = time.perf_counter()
    for number, first in enumerate(range(0, case.n_queries, BLOCK)):
        rng = np.random.default_rng([options.seed, number, *case.name.encode()])
        queries = case.queries(min(BLOCK, case.n_queries - first), rng)
        targets = case.targets(case.n_targets, rng)
        database = database_of(targets, folder, case.scoring)
        with warnings.catch_warnings(action="ignore"):
            hits = exaln.search(
                queries,
                database,
                scoring=case.scoring,
                evalue=max(LIMITS),
                max_hsps=1,
                max_target_seqs=case.n_targets,
                **more,
            )
        evalues = hits.to_arrow().column("evalue").to_numpy()
        observed += hits_within(evalues, LIMITS)
        expected += expected_in(parameters, queries, targets)
    counts = [
        Count(limit, float(hoped) / case.n_queries, float(found) / case.n_queries, case.n_queries)
        for limit, hoped, found in zip(LIMITS, expected, observed, strict=True)
    ]
    return {
        "group": case.group,
        "name": case.name,
        "n_queries": case.n_queries,
        "is_fair": case.is_fair,
        "seconds": round(time.perf_counter() - start, 2),
        "counts": [
            {
                "limit": count.limit,
                "expected": count.expected,
                "observed": count.observed,
                "is_kept": count.is_kept,
                "is_limit_kept": count.is_limit_kept,
            }
            for count in counts
        ],
    }


def database_of(targets: list[str], folder: Path, scoring: Scoring) -> Database:
    """A database of these targets."""
    fasta, path = folder / "targets.fasta", folder / "targets.exaln"
    fasta.write_text("".join(f">{row}\n{target}\n" for row, target in enumerate(targets)), encoding="ascii")
    return Database.build([fasta], path, alphabet=scoring.alphabet, force=True)


def parameters_for(scoring: Scoring, statistics: str) -> Parameters | None:
    """The parameters of E-values that a search uses: those of the table, or simulated ones. None if there are none."""
    of_table = parameters_of(scoring)
    if statistics == "table" or (statistics == "auto" and of_table is not None):
        return of_table
    try:
        return parameters_of_any(scoring, None, SearchOptions().seed)
    except NoGumbelLawError as error:
        raise SystemExit(f"no E-values: {error}") from None


def expected_in(parameters: Parameters | None, queries: list[str], targets: list[str]) -> np.ndarray:
    """float64[limits]: the hits that the E-values of all queries promise together.

    parameters: None if scores are finer than whole numbers, so that the limits themselves are expected.
    """
    if parameters is None:
        return len(queries) * np.array(LIMITS)
    lengths = [len(target) for target in targets]
    statistics = Statistics.with_parameters(parameters, sum(lengths), len(targets))
    sizes, numbers = np.unique([len(query) for query in queries], return_counts=True)
    per_query = [expected_hits(statistics, int(size), lengths, LIMITS) for size in sizes]
    return numbers @ np.array(per_query)


def row_of(case: dict[str, Any]) -> str:
    """A case as a line of the table."""
    cells = []
    for count in case["counts"]:
        if count["limit"] in SHOWN:
            for base, is_kept in (("limit", "is_limit_kept"), ("expected", "is_kept")):
                ratio = count["observed"] / count[base] if count[base] else math.nan
                cells.append(f"{ratio:7.3f}{' ' if count[is_kept] else '*'}")
    return f"{case['group']:<14} {case['name']:<34}{case['n_queries']:>8,}{''.join(cells)}{case['seconds']:>9.1f} s"


def verdict_of(cases: list[dict[str, Any]]) -> str:
    """Which counts of these cases are as required, in the words of the table."""
    counts = [count for case in cases for count in case["counts"]]
    kept, of_limit = (sum(count[key] for count in counts) for key in ("is_kept", "is_limit_kept"))
    lines = [f"random sequences: {kept} of {len(counts)} counts as required; compared with the limits {of_limit}"]
    for case in cases:
        off = [f"{count['limit']:g}" for count in case["counts"] if not count["is_kept"]]
        if off:
            lines.append(f"  not as required: {case['name']}: E <= {', '.join(off)}")
    return "\n".join(lines)


def main() -> None:
    """Run the cases and write the results."""
    options = parsed()
    if options.draw is not None:
        draw(json.loads(options.draw.read_text(encoding="utf-8")), options.draw.with_suffix(".svg"))
        return
    about = machine()
    title = f"{about['processor']}, {about['cores']} cores; exaln {exaln.__version__}; seed {options.seed}"
    head = f"{'group':<14} {'case, length of queries':<34}{'queries':>8}" + "".join(
        f"{f'E <= {x:g}':>16}" for x in SHOWN
    )
    print(f"{title}\n\n{head}", flush=True)
    rows, lines = [], []
    with tempfile.TemporaryDirectory() as folder:
        for case in chosen_cases(options):
            rows.append(run_case(case, options, Path(folder)))
            lines.append(row_of(rows[-1]))
            print(lines[-1], flush=True)
    verdict = verdict_of([row for row in rows if row["is_fair"]])
    text = "\n".join([title, "", head, *lines, LEGEND, verdict]) + "\n"
    print(f"{LEGEND}\n{verdict}")
    folder_of_run = options.out or runs_folder(f"{about['cores']}-cores") or Path()
    content = {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "machine": about,
        "exaln": exaln.__version__,
        "seed": options.seed,
        "cases": rows,
    }
    path = write_run(folder_of_run, "calibration", content)
    path.with_suffix(".txt").write_text(text, encoding="utf-8")
    draw(content, path.with_suffix(".svg"))


if __name__ == "__main__":
    main()
