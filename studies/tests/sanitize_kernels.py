"""Runs the GPU tests of the studies' kernels in several processes, each under a tool of compute-sanitizer:

    PYTHONPATH=tests/support python studies/tests/sanitize_kernels.py              no tool; fills the kernel cache
    PYTHONPATH=tests/support python studies/tests/sanitize_kernels.py racecheck    under a tool

Neighbouring tests go to the same process, which loads their kernels once. Every test must pass, and the tool must find
nothing.
"""

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from sanitizer import watched

FILE = Path(__file__).with_name("test_kernels.py")
PYTEST = [sys.executable, "-m", "pytest", "-q", "-m", "gpu", "-p", "no:cacheprovider"]


def all_tests():
    """Ids of the tests that need a GPU."""
    done = subprocess.run([*PYTEST, "--collect-only", str(FILE)], stdout=subprocess.PIPE, text=True, check=True)
    return [line for line in done.stdout.splitlines() if "::" in line]


def passed_and_clean(tool, tests):
    """Number of tests that passed, and whether the tool found nothing."""
    done, summary, seconds = watched(tool, [*PYTEST, *tests], "--print-limit", "5")
    passed = sum(map(int, re.findall(r"(\d+) passed", done.stdout)))
    first = tests[0].partition("::")[2]
    summary_line = f"{passed} of {len(tests)} passed, {'; '.join(summary)} {seconds:.0f} s, from {first} on"
    print(f"{tool or 'no tool'}: {summary_line}", flush=True)
    if done.returncode != 0:
        print(done.stdout[-4000:], flush=True)
    return passed, done.returncode == 0 and len(summary) == bool(tool)


def main(tool=""):
    tests, n = all_tests(), os.cpu_count() or 1
    if not tests:
        sys.exit(f"{FILE}: no tests were found")
    size = -(-len(tests) // n)
    with ThreadPoolExecutor(n) as pool:
        results = list(
            pool.map(lambda first: passed_and_clean(tool, tests[first : first + size]), range(0, len(tests), size))
        )
    passed = sum(count for count, _ in results)
    print(f"{tool or 'no tool'}: {passed} of {len(tests)} tests passed")
    if passed != len(tests) or not all(is_clean for _, is_clean in results):
        sys.exit(f"{tool or 'the tests'}: not clean")


if __name__ == "__main__":
    main(*sys.argv[1:])
