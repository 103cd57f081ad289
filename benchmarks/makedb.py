"""How fast makedb is: the whole process and the work in it, plain and gzip input, and the stages one by one.

    python benchmarks/makedb.py                                       # this tree
    python benchmarks/makedb.py --tree before=/path/to/tree --tree after=src

A tree is a folder with the package `exaln` (the value of PYTHONPATH), or - for the installed one. The input is a
synthetic Swiss-Prot from a seed (`--targets` proteins), which lies in `--folder` with the databases. Every figure is
the best of `--repeats` runs, with the trees in turn. MB/s count the uncompressed FASTA.
"""

from __future__ import annotations

import argparse
import gzip
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

BUILD = """
import sys, time, re
threads, database, *inputs = sys.argv[1:]
from exaln.database.database import Database
options = {} if threads == "all" else {"threads": int(threads)}
try:
    started = time.perf_counter()
    Database.build(inputs, database, force=True, **options)
except TypeError:  # a tree whose makedb has no threads
    started = time.perf_counter()
    Database.build(inputs, database, force=True)
seconds = time.perf_counter() - started
print(seconds, re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])
"""
UNPACK = """
import sys, time
from exaln.sequences.byte_streams import ByteStream
started = time.perf_counter()
for _ in ByteStream(sys.argv[1]):
    pass
print(time.perf_counter() - started)
"""
STAGES = """
import os, sys, time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
def seconds(label, work):
    started = time.perf_counter()
    result = work()
    print(f"    {label:34} {1000 * (time.perf_counter() - started):8.1f} ms", flush=True)
    return result
source, folder, threads = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
seconds("import numpy", lambda: __import__("numpy"))
seconds("import exaln.database.database", lambda: __import__("exaln.database.database"))
seconds("import pyarrow", lambda: __import__("pyarrow"))
seconds("import xxhash", lambda: __import__("xxhash"))
import numpy as np
from xxhash import xxh3_64_intdigest
from exaln.database.segment import BLOCK_BYTES
from exaln.database.segment_file import SegmentFile
from exaln.database.sorted_rows import RowBuffer, SortedRows
from exaln.sequences.alphabet import PROTEIN
from exaln.sequences.fasta import SequenceFile
descriptor = os.open(source, os.O_RDONLY)
size = os.fstat(descriptor).st_size
def each_block(work, n_bytes):
    starts = iter(range(0, n_bytes, BLOCK_BYTES))
    def loop(_):
        buffer = np.empty(BLOCK_BYTES, np.uint8)
        for start in starts:
            work(start, min(start + BLOCK_BYTES, n_bytes), buffer)
    with ThreadPoolExecutor(threads) as pool:
        deque(pool.map(loop, range(threads)), maxlen=0)
seconds("read alone", lambda: each_block(lambda a, b, out: os.preadv(descriptor, [out[: b - a]], a), size))
buffer = RowBuffer(PROTEIN)
def read():
    with SequenceFile(source, threads=threads) as file:
        for records in file:
            buffer.add(records, np.arange(buffer.rows, buffer.rows + len(records)))
seconds("read and parse", read)
content = seconds("sort by length", lambda: SortedRows(buffer, threads))
out = os.open(folder / "stages.bin", os.O_RDWR | os.O_CREAT | os.O_TRUNC)
segment = seconds("layout by Arrow", lambda: SegmentFile(out, content, lambda: None))
copy = segment._layout.copy
seconds("gather and sort ids", lambda: content.repeated_ids)
seconds("gather alone", lambda: each_block(copy, segment.size))
seconds("gather and hash", lambda: each_block(
    lambda a, b, out: (copy(a, b, out), xxh3_64_intdigest(out[: b - a])), segment.size))
content = SortedRows(buffer, threads)
segment = SegmentFile(out, content, lambda: None)
seconds("sort ids, gather, hash, write", segment.write)
seconds("fsync", lambda: os.fsync(out))
def write_again(begin, end, out_):
    os.pwrite(out, out_[: end - begin], begin)
os.ftruncate(out, 0)
seconds("write alone, from memory", lambda: each_block(write_again, segment.size))
seconds("fsync after that", lambda: os.fsync(out))
os.close(out)
os.unlink(folder / "stages.bin")
"""
FROM_TREE = """
import sys
sys.meta_path[:] = [one for one in sys.meta_path if "editable" not in type(one).__module__]  # exaln of this tree
"""
MAKE = """
import sys
import numpy as np
from exaln.database.database import Database
from exaln.engines.bench.swissprot import synthetic_swissprot
Database.in_memory([synthetic_swissprot(int(sys.argv[1]))]).export(sys.argv[2], width=0)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tree", action="append", metavar="NAME=PATH", help="a tree to measure [default: installed=-]")
    parser.add_argument("--targets", type=int, default=570_000)
    parser.add_argument("--folder", type=Path, default=Path("/tmp/exaln-makedb"))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", default="1,2,all")
    parser.add_argument("--no-gzip", action="store_true")
    options = parser.parse_args()
    trees = dict(tree.split("=", 1) for tree in options.tree or ["installed=-"])
    options.folder.mkdir(parents=True, exist_ok=True)
    inputs = make_inputs(options.folder, options.targets, next(reversed(trees.values())), with_gzip=not options.no_gzip)
    megabytes = inputs["plain"][0].stat().st_size / 1e6
    print(f"{megabytes:.0f} MB of FASTA, {options.targets:,} proteins, {os.cpu_count()} cores\n")
    print("input      threads tree       process s  cpu s  work s   MB/s peak MiB")
    for name, files in inputs.items():
        for threads in options.threads.split(","):
            measure(name, files, threads, trees, megabytes, options.folder, options.repeats)
        if name.startswith("gz"):
            unpack(files, trees, megabytes, options.repeats)
    print("\nstages, one after the other", flush=True)
    threads = len(os.sched_getaffinity(0))
    run(list(trees.values())[-1], STAGES, str(inputs["plain"][0]), str(options.folder), str(threads), shown=True)
    shutil.rmtree(options.folder)


def make_inputs(folder: Path, n_targets: int, tree: str, *, with_gzip: bool) -> dict[str, list[Path]]:
    """The files of each kind of input: one plain file, four of a quarter each, and both compressed."""
    whole = folder / "whole.fasta"
    run(tree, MAKE, str(n_targets), str(whole))
    text = whole.read_bytes()
    cuts = [0, *(text.index(b">", len(text) * i // 4) for i in (1, 2, 3)), len(text)]
    parts = [folder / f"part{i}.fasta" for i in range(4)]
    for part, begin, end in zip(parts, cuts[:-1], cuts[1:], strict=True):
        part.write_bytes(text[begin:end])
    inputs = {"plain": [whole], "4 plain": parts}
    if with_gzip:
        inputs |= {"gz": [packed(whole)], "gz x 4": [packed(part) for part in parts]}
    return inputs


def packed(path: Path) -> Path:
    """A gzip file with the content of `path`."""
    to = path.with_suffix(".fasta.gz")
    with gzip.open(to, "wb", compresslevel=1) as file:
        file.write(path.read_bytes())
    return to


def measure(
    name: str, files: list[Path], threads: str, trees: dict[str, str], megabytes: float, folder: Path, repeats: int
) -> None:
    """Print process and work of each tree."""
    best: dict[str, list[float]] = {}
    for _ in range(repeats):
        for label, tree in trees.items():
            figures = timed(tree, BUILD, threads, str(folder / "out"), *map(str, files))
            best[label] = [min(pair) for pair in zip(figures, best.get(label, figures), strict=True)]
    for label, (seconds, cpu, work, kibibytes) in best.items():
        print(
            f"{name:10} {threads:>7} {label:10} {seconds:9.2f} {cpu:6.2f} {work:7.3f} {megabytes / work:6.0f} "
            f"{kibibytes / 1024:8.0f}",
            flush=True,
        )


def unpack(files: list[Path], trees: dict[str, str], megabytes: float, repeats: int) -> None:
    """Print how long decompression alone takes, all files one after the other."""
    tree = list(trees.values())[-1]
    best = min(sum(float(run(tree, UNPACK, str(file))) for file in files) for _ in range(repeats))
    print(f"{'':10} {'':7} decompression alone, in turn {best:.3f} s, {megabytes / best:.0f} MB/s", flush=True)


def timed(tree: str, program: str, *arguments: str) -> list[float]:
    """Seconds of the process, seconds of all its threads on a core, and the numbers that it prints."""
    before, started = os.times(), time.perf_counter()
    printed = run(tree, program, *arguments).split()
    after = os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return [time.perf_counter() - started, cpu, *map(float, printed)]


def run(tree: str, program: str, *arguments: str, shown: bool = False) -> str:
    """What a program prints that is run with the package of a tree."""
    environment = os.environ | ({} if tree == "-" else {"PYTHONPATH": str(Path(tree).resolve())})
    done = subprocess.run(
        [sys.executable, "-c", program if tree == "-" else FROM_TREE + program, *arguments],
        env=environment,
        stdout=None if shown else subprocess.PIPE,
        text=True,
        check=True,
    )
    return done.stdout or ""


if __name__ == "__main__":
    main()
