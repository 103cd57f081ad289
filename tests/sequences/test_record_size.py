"""Limits for one record: decompression bombs are refused early, in little memory, with advice."""

import bz2
import gzip
import io
import lzma
import subprocess
import sys
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from command import Exaln
from exaln._core import FastaReader
from exaln.cli import cli
from exaln.database.database import Database
from exaln.errors import InputError
from exaln.sequences.alphabet import DNA, PROTEIN
from exaln.sequences.fasta import MAX_HEADER_BYTES, MAX_RECORD_BYTES, SequenceFile, read_records, record_limits

MIB = 1 << 20
PACKERS = {"bzip2": bz2.compress, "gzip": gzip.compress, "xz": lzma.compress, "zstd": zstandard.compress}
BOMBS = {
    "header": (b">bomb ", b"x" * MIB),
    "sequence in one line": (b">bomb\n", b"A" * MIB),
    "sequence in many lines": (b">bomb\n", (b"ACGT" * 15 + b"\n") * (MIB // 61)),
    "mask": (b">bomb\n", b"aA" * (MIB // 2)),
    "fastq": (b"@bomb\n", b"A" * MIB),
    "blank lines": (b"", b"\n" * MIB),
}
UNPACKED_MIB = 4096
"""What the bombs below would unpack to; each is made of many small members, so that making them takes no time."""

READ = """
import sys
from pathlib import Path
from exaln.errors import InputError
from exaln.sequences.fasta import read_records
for path in sys.argv[2:]:
    try:
        read_records(path, max_record_size=int(sys.argv[1]) or None, keep_qualities=True)
        print("read")
    except InputError as error:
        print(error)
status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
print(int(status["VmHWM"].split()[0]) >> 10)
"""


def write_bomb(path: Path, kind: str, packer: str, n_mib: int = UNPACKED_MIB) -> Path:
    start, repeated = BOMBS[kind]
    pack = PACKERS[packer]
    path.write_bytes((pack(start) if start else b"") + pack(repeated) * n_mib)
    return path


@pytest.mark.parametrize("kind", BOMBS)
def test_a_decompression_bomb_is_refused_in_little_memory(tmp_path: Path, kind: str) -> None:
    paths = [write_bomb(tmp_path / f"bomb.{packer}", kind, packer) for packer in PACKERS]
    limit = 0 if kind in ("header", "blank lines") else 16 * MIB
    command = [sys.executable, "-c", READ, str(limit), *map(str, paths)]
    *said, peak_mib = subprocess.run(
        command, capture_output=True, text=True, check=True, timeout=120
    ).stdout.splitlines()
    assert len(said) == len(paths)
    for path, message in zip(paths, said, strict=True):
        assert message.startswith(f"{path}: ")
        if kind == "header":
            assert "record 'bomb' (line 1): the header has more than 67,108,864 bytes" in message
        elif kind == "blank lines":
            assert "no sequence letters in the first 128 MiB" in message
        else:
            assert "record 'bomb' (line " in message
            assert "takes more than 16,777,216 bytes of memory" in message
        assert ("--max-record-size" in message) == (kind != "blank lines")
    assert int(peak_mib) < 400


def test_the_default_follows_the_free_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    for free, expected in ((1 << 50, MAX_RECORD_BYTES), (4 << 30, 2 << 30), (0, MAX_HEADER_BYTES)):
        monkeypatch.setattr("exaln.sequences.fasta.available_memory", lambda free=free: free)
        assert record_limits(None) == (MAX_HEADER_BYTES, expected)
    assert MAX_RECORD_BYTES > 10 * 10**9, "the longest chromosomes have about ten billion bases"


@pytest.mark.parametrize(
    ("text", "size", "line"),
    [
        (">a\nACGTACGT\n", 8, 2),
        (">a\nACGT\nACGT\n", 8, 3),
        (">a\nAC GT\nAC GT\n", 8, 3),
        (">a\nACgtACGT\n", 24, 2),
        (">b\nA\n>a\nACGTACGT\n", 8, 4),
        ("@a\nACGT\n+\nIIII\n", 8, 4),
    ],
)
def test_a_record_may_take_just_as_much_as_allowed(text: str, size: int, line: int) -> None:
    """Letters count one byte each, qualities too, and an interval of the mask 16."""
    records = read_records(io.BytesIO(text.encode()), alphabet=DNA, max_record_size=size, keep_qualities=True)
    assert records.lengths[-1] in (4, 8)
    with pytest.raises(InputError) as raised:
        read_records(io.BytesIO(text.encode()), alphabet=DNA, max_record_size=size - 1, keep_qualities=True)
    assert str(raised.value).startswith(
        f"<stream>: record 'a' (line {line}): the record takes more than {size - 1} bytes"
    )


def test_qualities_that_are_not_kept_take_no_memory() -> None:
    records = read_records(io.BytesIO(b"@a\nACGT\n+\nIIII\n"), alphabet=DNA, max_record_size=4)
    assert records.qualities is None


@given(st.integers(0, 40), st.integers(4, 40), st.integers(1, 60))
def test_a_header_may_be_just_as_long_as_allowed(length: int, limit: int, step: int) -> None:
    """However the input is cut."""
    header = "abc " + "d" * length
    data = f">{header}\nACDE\n".encode()
    reader = FastaReader(PROTEIN.table, False, limit, 1 << 40)
    is_fine = all(reader.feed(data[begin : begin + step]) for begin in range(0, len(data), step))
    assert is_fine == (len(header) <= limit)
    if is_fine:
        assert reader.finish()
    else:
        assert reader.problem == ("header_size", 1, 0, "abc")


def test_a_maximum_record_size_below_1_is_an_error() -> None:
    with pytest.raises(InputError, match="max_record_size is 0; expected a whole number of at least 1"):
        SequenceFile(io.BytesIO(b">a\nA\n"), max_record_size=0)


# Commands

SMALL = ">ok\nMKVLAAGIVG\n"
LARGE = ">ok\nMKV\n>large\n" + "MKVLAAGIVG\n" * 300


@pytest.mark.parametrize(
    "command",
    [
        "makedb --in {large} --db new",
        "append --in {large} --db {database}",
        "search -q {large} -d {small}",
        "search -q {small} -d {large}",
        "search -q {large} -d {database} --cluster local:1",
        "align {large} {small}",
        "align {small} {large}",
        "align --all {small} {large}",
        "score -q {large} -d {small}",
        "score -q {small} -d {large}",
        "dbinfo -d {large}",
        "fetch -d {large} ok",
        "export -d {large}",
    ],
)
def test_every_command_that_reads_sequences_has_the_option(
    exaln: Exaln,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    files = {name: tmp_path / f"{name}.fa" for name in ("small", "large")}
    files["small"].write_text(SMALL)
    files["large"].write_text(LARGE)
    database = Database.build(files["small"], tmp_path / "old").path
    words = command.format(**files, database=database).split()
    code, message = exaln.error(*words, "--max-record-size", "1K")
    assert (code, message) == (
        1,
        f"exaln: error: {files['large']}: record 'large' (line 106): the record takes more than 1,024 bytes of memory; "
        "the file is damaged, or use --max-record-size SIZE (max_record_size in Python) to allow more\n",
    )
    if "--cluster" not in words:
        assert exaln(*words, "--max-record-size", "10K", "--quiet").code == 0


def test_no_command_reads_sequences_without_the_option() -> None:
    reading = {name for name, command in cli.commands.items() for one in command.params if one.name == "strip_gaps"}
    bounded = {
        name for name, command in cli.commands.items() for one in command.params if one.name == "max_record_size"
    }
    assert reading <= bounded
    assert {"makedb", "append", "search", "align", "score", "dbinfo", "fetch", "export"} <= bounded


@pytest.mark.parametrize("function", ["open", "build", "append"])
def test_databases_take_the_size_as_parameter(tmp_path: Path, function: str) -> None:
    small, large = tmp_path / "small.fa", tmp_path / "large.fa"
    small.write_text(SMALL)
    large.write_text(LARGE)
    calls = {
        "open": lambda size: Database.open(large, max_record_size=size),
        "build": lambda size: Database.build(large, tmp_path / "new", max_record_size=size),
        "append": lambda size: Database.build(small, tmp_path / "new").append(large, max_record_size=size),
    }
    with pytest.raises(InputError, match=r"record 'large' .* more than 100 bytes"):
        calls[function](100)
    if function == "append":
        return
    assert calls[function](4000).n_targets == 2


def test_a_large_record_comes_from_a_file_of_some_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless the size is given; letters that hardly compress, and plain files, may be as large as memory allows."""
    monkeypatch.setattr("exaln.sequences.fasta.RECORD_BYTES_OF_ANY_FILE", MIB)
    text = b">a\n" + b"A" * (8 * MIB)
    packed = gzip.compress(text)
    limit = MIB + 100 * len(packed)
    with pytest.raises(InputError, match=f"the record takes more than {limit:,} bytes"):
        read_records(io.BytesIO(packed))
    assert read_records(io.BytesIO(packed), max_record_size=8 * MIB).n_residues == 8 * MIB
    assert read_records(io.BytesIO(text)).n_residues == 8 * MIB
