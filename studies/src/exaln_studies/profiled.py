"""The process that the profiler watches: `python -m exaln_studies.profiled STUDY LABELS [quick]`.

Only the launches of the study are counted, not copies and comparisons. The labels of the launches are written to the
file LABELS as JSON, in the order in which the profiler sees them.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path


def main(name: str, labels: str, *quick: str) -> None:
    """Run the launches of a study and compare their results."""
    from exaln.engines.cuda.runtime.device import load_driver
    from exaln_studies import study_named
    from exaln_studies.gpu import StudyDevice
    from exaln_studies.study import Bench

    bench = Bench(quick=bool(quick), threads=1, device=StudyDevice(0))
    bench.gpu.set_budget(None)
    driver, done = load_driver(), []
    for one in study_named(name).launches(bench):
        bench.gpu.synchronize()
        driver.cuProfilerStart()
        one.launch()
        bench.gpu.synchronize()
        driver.cuProfilerStop()
        one.check()
        done.append(one.label)
    Path(labels).write_text(json.dumps(done), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
