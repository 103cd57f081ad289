"""Compare the outputs of two installed versions of exaln, byte for byte.

    python tests/support/compare_outputs.py BEFORE AFTER

BEFORE and AFTER are Python interpreters, or virtual environments, that have exaln installed. Both run the cases of
compare_cases.py on the same input files, each case in an empty folder of the same path. Exit codes, stdout and all
written files must be the same, or the exit code is 1. Messages (stderr) and help texts may be reworded: differing lines
are listed, and fail only with --strict. With EXALN_DATA set there are cases on real sequences too. With
--one-alignment all searches report one alignment per target, as versions did that have no several.
"""

from __future__ import annotations

import argparse
import difflib
import hashlib
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest
from pathlib import Path
from queue import SimpleQueue

from compare_cases import DATABASES, Case, all_cases
from compare_inputs import make_inputs

TIMEOUT_S = 300

SPEED = rb"[\d.,e+-]+ (GCUPS|MB/s|M residues/s|M letters/s)"

MESSAGE_PATTERNS = [
    (rb" \(" + SPEED + rb"\)", b""),  # speeds are measured, and only given where a command took half a second
    (rb"\(" + SPEED + rb"(, \d+ workers?)?; ", b"("),
    (SPEED + rb" measured", b"SPEED"),
    (rb"[\d.,]+ s\b", b"TIME"),
    (rb"\d+% of it computing", b"SHARE computing"),  # follows from the measured speed
    (rb"[\d.]+ % of (\S+ cells were|them) pruned", b"SHARE pruned"),  # depends on which thread is first
    (rb"[\d.e+]+ computed again", b"CELLS computed again"),  # follows from what was pruned
    (rb"[\d.]+ GiB available|\"memory_bytes\": \d+", b"MEMORY"),  # changes while other programs run
]
"""What differs between two runs of the same version: pattern, replacement, and why."""

RANDOM_NAME = re.compile(rb"(segment|unit)-[0-9a-f]{32}")
"""Files of databases and resume folders have random names."""

MANIFEST_HASH = re.compile(rb'"xxh3_64": "[0-9a-f]{16}"(?=\s*\}\s*$)')
"""A manifest ends with its own hash, which covers the random names in it."""


@dataclass(frozen=True)
class Step:
    """What one shell line of a case returned and printed."""

    line: str
    exit_code: int
    stdout: bytes
    stderr: bytes


@dataclass(frozen=True)
class Outcome:
    """What a case returned and left behind; files are mode and content by name, content None for a folder."""

    steps: list[Step]
    files: dict[str, tuple[int, bytes | None]]


@dataclass(frozen=True)
class Difference:
    """One difference: kind is "bytes", "messages" or "help", where names the line or file, text is a short diff."""

    case: str
    kind: str
    where: str
    text: str


def main() -> int:
    """Run the comparison and return the exit code."""
    options = parse_options()
    os.umask(0o022)
    cases = [case for case in all_cases(os.environ.get("EXALN_DATA")) if re.search(options.only, case.name)]
    if options.list:
        print(*(case.name for case in cases), sep="\n")
        return 0
    root = Path(tempfile.mkdtemp(prefix="exaln-compare-"))
    try:
        prepare(root, options.before, options.after, is_one=options.one_alignment)
        inputs = files_below(root / "inputs")
        differences = [found for case in run_all(root, cases, options.jobs) for found in case]
        if files_below(root / "inputs") != inputs:
            differences.append(Difference("all cases", "bytes", "inputs", "an input file was changed\n"))
    finally:
        if not options.keep:
            shutil.rmtree(root)
    return report(cases, differences, options)


def parse_options() -> argparse.Namespace:
    """Return the command line's options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=interpreter, help="Python, or a virtual environment, with the earlier version")
    parser.add_argument("after", type=interpreter, help="the same with the later version")
    parser.add_argument("--only", default="", metavar="REGEX", help="only the cases whose names match")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="cases at a time (default: 2)")
    parser.add_argument("--lines", type=int, default=12, metavar="N", help="longest diff that is shown (default: 12)")
    parser.add_argument("--one-alignment", action="store_true", help="search with --max-hsps 1")
    parser.add_argument("--strict", action="store_true", help="fail if messages or help texts differ, too")
    parser.add_argument("--keep", action="store_true", help="keep the input files and the folders of the last cases")
    parser.add_argument("--list", action="store_true", help="print the names of the cases and stop")
    return parser.parse_args()


def interpreter(text: str) -> Path:
    """Return the absolute path of an interpreter, given as such or as its virtual environment."""
    path = Path(text).absolute()
    path = path / "bin" / "python" if path.is_dir() else path
    if not os.access(path, os.X_OK):
        raise argparse.ArgumentTypeError(f"{text} is neither an interpreter nor a virtual environment")
    return path


# Running


def prepare(root: Path, before: Path, after: Path, *, is_one: bool) -> None:
    """Make the commands of both versions, the input files and, with the earlier version, the databases.

    is_one: searches report one alignment per target.
    """
    one = '[ "$1" = search ] && shift && set -- search --max-hsps 1 "$@"\nexport ONE_ALIGNMENT=1\n' if is_one else ""
    for folder in ("inputs", "home", "slots"):
        (root / folder).mkdir()
    make_inputs(root / "inputs")
    shutil.copy(Path(__file__).with_name("compare_calls.py"), root / "inputs")
    for version, python in (("before", before), ("after", after)):
        (root / version).mkdir()
        for name, arguments in (("python", ""), ("exaln", " -m exaln")):
            command = root / version / name
            command.write_text(f'#!/bin/sh\n{one}exec "{python}"{arguments} "$@"\n')
            command.chmod(0o755)
        # matplotlib lists the fonts when it is first used, and says so if that takes long.
        run_line("python -c 'import matplotlib.font_manager'", root / "inputs", environment(root, version, root))
    for name in DATABASES:
        step = run_line(
            f"exaln makedb --in {name}.fasta --db {name}", root / "inputs", environment(root, "before", root)
        )
        if step.exit_code:
            raise SystemExit(f"{before} cannot build a database: {step.stderr.decode()}")


def environment(root: Path, version: str, temporary: Path) -> dict[str, str]:
    """Return the environment of a version, without settings that would change outputs."""
    dropped = ("EXALN_", "PYTHON", "SLURM_", "DASK_", "NO_COLOR", "FORCE_COLOR", "VIRTUAL_ENV")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    return kept | {
        "PATH": f"{root / version}{os.pathsep}{os.environ['PATH']}",
        "IN": "../../../inputs",
        "HOME": str(root / "home"),
        "TMPDIR": str(temporary),
        "LC_ALL": "C.UTF-8",
        "TERM": "dumb",
        "COLUMNS": "100",
        "SOURCE_DATE_EPOCH": "0",  # matplotlib writes it to SVG files in place of the time
        "PYTHONSAFEPATH": "1",  # import exaln from the installation, never from a folder
    }


def run_all(root: Path, cases: list[Case], jobs: int) -> Iterator[list[Difference]]:
    """Yield the differences of each case, in the order of the cases; `jobs` of them run at a time."""
    slots: SimpleQueue[Path] = SimpleQueue()
    for number in range(jobs):
        slots.put(root / "slots" / str(number))

    def run(case: Case) -> list[Difference]:
        slot = slots.get()
        try:
            return differences_of(case, *(run_case(case, root, version, slot) for version in ("before", "after")))
        finally:
            slots.put(slot)

    with ThreadPoolExecutor(jobs) as pool:
        for number, found in enumerate(pool.map(run, cases), 1):
            if sys.stderr.isatty():
                print(f"\r{number} of {len(cases)} cases", end="\n" if number == len(cases) else "", file=sys.stderr)
            yield found


def run_case(case: Case, root: Path, version: str, slot: Path) -> Outcome:
    """Run a case with one version; both versions see the same paths, those of the slot."""
    shutil.rmtree(slot, ignore_errors=True)
    work, temporary = slot / "work", slot / "tmp"
    work.mkdir(parents=True)
    temporary.mkdir()
    steps = [run_line(line, work, environment(root, version, temporary)) for line in case.lines]
    return without_random_names(Outcome(steps, files_below(slot)))


def run_line(line: str, folder: Path, variables: dict[str, str]) -> Step:
    """Run a line with sh; the exit code is -SIGKILL if it takes longer than TIMEOUT_S."""
    with subprocess.Popen(
        ["/bin/sh", "-c", line],
        cwd=folder,
        env=variables,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        try:
            stdout, stderr = process.communicate(timeout=TIMEOUT_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            stdout, stderr = process.communicate()
    return Step(line, process.returncode, stdout, stderr)


def files_below(folder: Path) -> dict[str, tuple[int, bytes | None]]:
    """Return mode and content of all files and folders below a folder, by their relative names."""
    found = {}
    for path in sorted(folder.rglob("*")):
        # A lock file of a database holds the process id of its last writer.
        content = b"" if path.name == ".lock" else path.read_bytes() if path.is_file() else None
        found[str(path.relative_to(folder))] = stat.S_IMODE(path.lstat().st_mode), content
    return found


def without_random_names(outcome: Outcome) -> Outcome:
    """Replace each random name by the hash of the file's content, in names, files and what was printed."""
    labels = {}
    for name, (_, content) in outcome.files.items():
        if (match := RANDOM_NAME.search(name.encode())) and content is not None:
            labels[match[0]] = match[1] + b"-" + hashlib.sha256(content).hexdigest()[:12].encode()

    def replace(text: bytes) -> bytes:
        return RANDOM_NAME.sub(lambda match: labels.get(match[0], match[1] + b"-removed"), text)

    def replace_in_file(name: str, content: bytes | None) -> bytes | None:
        if content is None or not name.endswith("manifest.json") or not RANDOM_NAME.search(content):
            return content
        return MANIFEST_HASH.sub(b'"xxh3_64": "of this file"', replace(content))

    files = {
        replace(name.encode()).decode(): (mode, replace_in_file(name, content))
        for name, (mode, content) in outcome.files.items()
    }
    steps = [Step(step.line, step.exit_code, replace(step.stdout), replace(step.stderr)) for step in outcome.steps]
    return Outcome(steps, files)


# Comparing


def differences_of(case: Case, before: Outcome, after: Outcome) -> list[Difference]:
    """Return all differences between the outcomes of a case."""
    found = []
    for old, new in zip(before.steps, after.steps, strict=True):
        if old.exit_code != new.exit_code:
            found.append(("bytes", old.line, f"-exit code {old.exit_code}\n+exit code {new.exit_code}\n"))
        if case.kind == "help":
            printed = without_measurements(old.stdout), without_measurements(new.stdout)
        else:
            printed = old.stdout, new.stdout
        found.append((case.kind, old.line, short_diff(*printed)))
        messages = without_measurements(old.stderr), without_measurements(new.stderr)
        found.append(("messages", old.line, short_diff(*messages)))
    for name in sorted(before.files.keys() | after.files.keys()):
        found.append(("bytes", name, file_diff(before.files.get(name), after.files.get(name))))
    return [Difference(case.name, kind, where, text) for kind, where, text in found if text]


def without_measurements(text: bytes) -> bytes:
    """Return a message without times, speeds and what follows from them."""
    for pattern, replacement in MESSAGE_PATTERNS:
        text = re.sub(pattern, replacement, text)
    return text


def file_diff(before: tuple[int, bytes | None] | None, after: tuple[int, bytes | None] | None) -> str:
    """Describe how a file differs; None stands for a file that does not exist."""
    if before is None or after is None:
        return "written after, not before\n" if before is None else "written before, not after\n"
    (old_mode, old), (new_mode, new) = before, after
    modes = "" if old_mode == new_mode else f"-mode {old_mode:o}\n+mode {new_mode:o}\n"
    if old is None or new is None:
        return modes + ("" if old is new else "a file on one side, a folder on the other\n")
    return modes + short_diff(old, new)


def short_diff(before: bytes, after: bytes) -> str:
    """Return the lines that differ, "" if none does, or where bytes that are no text begin to differ."""
    if before == after:
        return ""
    try:
        old, new = before.decode().splitlines(), after.decode().splitlines()
    except UnicodeDecodeError:
        place = next(n for n, (old, new) in enumerate(zip_longest(before, after)) if old != new)
        return f"{len(before):,} and {len(after):,} bytes, different from byte {place:,} on\n"
    diff = []
    for tag, first, end, new_first, new_end in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        removed, added = old[first:end], new[new_first:new_end]
        if len(removed) == len(added):
            pairs = [without_prefix(*pair) for pair in zip(removed, added, strict=True)]
            removed, added = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
        diff += [f"-{line}" for line in removed] + [f"+{line}" for line in added]
    return "".join(f"{line}\n" for line in diff) or "line ends differ\n"


def without_prefix(old: str, new: str) -> tuple[str, str]:
    """Shorten what two lines have in common at the start, so that a diff shows where long lines differ."""
    shared = next((n for n, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    skipped = shared - 60
    return (f"...{old[skipped:]}", f"...{new[skipped:]}") if skipped > 0 else (old, new)


# Reporting


def report(cases: list[Case], differences: list[Difference], options: argparse.Namespace) -> int:
    """Print all differences and the summary, and return the exit code."""
    results, messages, helps = (
        [found for found in differences if found.kind == kind] for kind in ("bytes", "messages", "help")
    )
    cut = partial(cut_lines, n=options.lines)
    print_group("Messages that differ", messages, cut)
    print_group("Help texts that differ", helps, cut)
    print_group("RESULTS THAT DIFFER", results, cut)
    differing = {found.case for found in results}
    print(
        f"{len(cases)} cases: {len(cases) - len(differing)} same bytes, {len(differing)} differ; "
        f"messages differ in {len({found.case for found in messages})} cases, "
        f"help texts in {len({found.case for found in helps})} (listed)"
    )
    return 1 if results or (options.strict and differences) else 0


def print_group(title: str, differences: list[Difference], cut: Callable[[str], str]) -> None:
    """Print differences, each diff once with the number of further cases that have it."""
    places: dict[str, list[Difference]] = {}
    for found in differences:
        places.setdefault(found.text, []).append(found)
    if places:
        print(f"{title}:\n")
    for text, same in places.items():
        others = f" (and {len(same) - 1} more)" if len(same) > 1 else ""
        print(f"{same[0].case} | {same[0].where}{others}\n{cut(text)}")


def cut_lines(text: str, n: int) -> str:
    """Indent a diff, and leave out lines after the first n and characters after the first 200 of each."""
    lines = text.splitlines()
    shown = [f"    {line[:200]}{'...' if len(line) > 200 else ''}\n" for line in lines[:n]]
    return "".join(shown) + (f"    ... {len(lines) - n} more lines\n" if len(lines) > n else "")


if __name__ == "__main__":
    sys.exit(main())
