"""compute-sanitizer over a process."""

import subprocess
import time


def watched(tool, command, *options):
    """How a command ended under a tool, what it printed, the tool's summaries, and seconds; "" is no tool.

    Errors of calls to the driver are not reported: the bindings look for functions that not every driver has, and other
    errors raise anyway.
    """
    under = ["compute-sanitizer", "--tool", tool, "--report-api-errors", "no", "--error-exitcode", "1", *options]
    began = time.perf_counter()
    done = subprocess.run(
        [*(under if tool else []), *command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    summary = [line.strip("= ") for line in done.stdout.splitlines() if "SUMMARY" in line]
    return done, summary, time.perf_counter() - began
