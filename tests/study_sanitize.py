"""The tests of the studies' kernels on a card, dealt out to processes, each under a tool of compute-sanitizer:

    python tests/study_sanitize.py                 not watched; fills the cache of kernels
    python tests/study_sanitize.py racecheck       under a tool

Tests of one function go to the same process, which loads their kernels once. Every test must pass, and the tool find
nothing.
"""

import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

FILE = Path(__file__).with_name("test_study_kernels.py")
PYTEST = [sys.executable, "-m", "pytest", "-q", "-m", "gpu", "-p", "no:cacheprovider"]
OPTIONS = ["--report-api-errors", "no", "--error-exitcode", "1", "--print-limit", "5"]
"""Errors of calls to the driver are not reported: the bindings look for functions that not every driver has."""


def all_tests():
    """Ids of the tests that need a card."""
    done = subprocess.run([*PYTEST, "--collect-only", str(FILE)], stdout=subprocess.PIPE, text=True, check=True)
    return [line for line in done.stdout.splitlines() if "::" in line]


def watched(tool, tests):
    """How many of the tests passed, and whether the tool was content."""
    under = ["compute-sanitizer", "--tool", tool, *OPTIONS] if tool else []
    begun = time.perf_counter()
    done = subprocess.run([*under, *PYTEST, *tests], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    passed = sum(map(int, re.findall(r"(\d+) passed", done.stdout)))
    summary = [line.strip("= ") for line in done.stdout.splitlines() if "SUMMARY" in line]
    seconds = time.perf_counter() - begun
    first = tests[0].partition("::")[2]
    told = f"{passed} of {len(tests)} passed, {'; '.join(summary)} {seconds:.0f} s, from {first} on"
    print(f"{tool or 'not watched'}: {told}", flush=True)
    if done.returncode != 0:
        print(done.stdout[-4000:], flush=True)
    return passed, done.returncode == 0 and len(summary) == bool(tool)


def main(tool=""):
    tests, n = all_tests(), os.cpu_count() or 1
    if not tests:
        sys.exit(f"{FILE}: no tests were found")
    size = -(-len(tests) // n)
    with ThreadPoolExecutor(n) as pool:
        results = list(pool.map(lambda first: watched(tool, tests[first : first + size]), range(0, len(tests), size)))
    passed = sum(count for count, _ in results)
    print(f"{tool or 'not watched'}: {passed} of {len(tests)} tests passed")
    if passed != len(tests) or not all(is_clean for _, is_clean in results):
        sys.exit(f"{tool or 'the tests'}: not clean")


if __name__ == "__main__":
    main(*sys.argv[1:])
