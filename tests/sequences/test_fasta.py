"""SequenceFile: detection of the alphabet, batches, counts, messages and memory."""

import bz2
import gzip
import io
import lzma
import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from exaln.errors import ExalnWarning, InputError
from exaln.sequences.alphabet import DNA, PROTEIN, Alphabet
from exaln.sequences.fasta import SequenceFile, read_records
from exaln.sequences.records import Records

PACKERS = {
    "plain": bytes,
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstd": zstandard.compress,
}


def records_of(text: str | bytes, alphabet: Alphabet | None = None, strip_gaps: bool = False) -> Records:
    data = text.encode() if isinstance(text, str) else text
    return read_records(io.BytesIO(data), alphabet=alphabet, strip_gaps=strip_gaps)


def strings(records: Records) -> list[str]:
    return [records.alphabet.decode(records.sequence(row)) for row in range(len(records))]


def fasta(sequences: list[str], width: int = 7) -> bytes:
    lines = []
    for number, sequence in enumerate(sequences):
        lines += [f">s{number} number {number}"]
        lines += [sequence[begin : begin + width] for begin in range(0, len(sequence), width)]
    return "".join(line + "\n" for line in lines).encode()


sequences_to_read = st.lists(
    st.text(st.sampled_from(PROTEIN.letters), min_size=1, max_size=60), min_size=1, max_size=20
)


@given(sequences_to_read, st.integers(1, 200), st.sampled_from(sorted(PACKERS)), st.integers(1, 70))
def test_batches_of_any_size_are_the_file(sequences: list[str], batch_residues: int, packer: str, width: int) -> None:
    packed = io.BytesIO(PACKERS[packer](fasta(sequences, width)))
    with SequenceFile(packed, alphabet=PROTEIN, batch_residues=batch_residues) as file:
        batches = list(file)
    assert [sequence for batch in batches for sequence in strings(batch)] == sequences
    names = [batch.ids[row] for batch in batches for row in range(len(batch))]
    assert names == [f"s{number}" for number in range(len(sequences))]
    texts = [batch.descriptions[row] for batch in batches for row in range(len(batch))]
    assert texts == [f"number {number}" for number in range(len(sequences))]
    assert (file.n_records, file.n_residues, file.n_empty) == (len(sequences), sum(map(len, sequences)), 0)
    for batch in batches:
        longest = max(len(sequence) for sequence in sequences)
        assert batch.n_residues <= 2 * batch_residues + longest


def test_columns_have_the_types_that_records_promise() -> None:
    records = records_of(b">a x\nACdef\n>b\nGHI\n")
    assert (records.codes.dtype, records.mask.shape) == (np.uint8, (1, 2))
    integers = (records.offsets, records.mask, records.mask_offsets, records.ids.offsets, records.descriptions.offsets)
    assert all(column.dtype == np.int64 for column in integers)
    assert all(column.flags.c_contiguous and column.flags.aligned for column in (*integers, records.codes))
    assert records.offsets[0] == 0


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (">a\nACGT\n", "dna"),
        (">a\nacgu\n>b\nGGGUUU\n", "rna"),
        (">a\nACGU\n>b\nACGT\n", "dna"),
        (">MEFILPQEFILPQ\nACGTNNNN\n", "dna"),
        (">ACGT\nMKV\n", "protein"),
        (">a\nGTGYCAGCMGCCGCGGTAA\n>b\nGGACTACNVGGGTWTCTAAT\n", "dna"),
        (">a\nACGTRYKMSWBDHVN\n>b\nacgtnnnnacgu\n", "dna"),
        (">a\nGAGAGSGAGAGS\n", "protein"),
        (">a\nHHHHHH\n", "protein"),
        (">a\nW\n>b\nA\n", "protein"),
        (">a\nXXXX\n", "protein"),
        (">a\nACGT*\n", "protein"),
        ("@r\nACGT\n+\nEFIL\n", "dna"),
        ("@r\nACGTACGT\n", "dna"),
        (">a\n" + "N" * 2_000_000 + "\n>b\nACGT\n", "dna"),
        (">a\n" + "A" * 2_000_000, "dna"),
        (">" + "x" * 9_000_000 + "\nACGT\n", "dna"),
    ],
    ids=lambda value: value[:24] if isinstance(value, str) else value,
)
def test_the_alphabet_is_detected_from_sequence_letters_alone(text: str, kind: str) -> None:
    with SequenceFile(io.BytesIO(text.encode())) as file:
        assert file.alphabet.name == kind


def test_an_empty_sample_is_protein() -> None:
    with pytest.warns(ExalnWarning, match="2 records without residues, kept with length 0 .first in line 1"):
        records = records_of(">a\n>b\n")
    assert (records.alphabet, records.lengths.tolist()) == (PROTEIN, [0, 0])


def test_a_protein_after_much_dna_is_named() -> None:
    text = ">chromosome\n" + "ACGT" * 300_000 + "\n>protein\nMKE\n"
    with pytest.raises(InputError, match=r"record 'protein' \(line 4\): 'E' is not a dna letter; .*--alphabet protein"):
        records_of(text)


def test_a_wrong_letter_that_is_no_amino_acid_gets_no_advice_about_proteins() -> None:
    with pytest.raises(InputError, match=r"'1' is not a dna letter$"):
        records_of(">a\nACGT1\n", DNA)


def test_a_header_inside_a_line_gets_a_hint() -> None:
    with pytest.raises(InputError, match=r"'>' is not a protein letter; .* a newline is missing before it"):
        records_of(">a\nMKEF>b\nMKV\n")


def test_a_file_in_a_custom_alphabet() -> None:
    records = records_of(">a\nhpPH 1\n", Alphabet("lattice", "HP1"))
    assert records.codes.tolist() == [0, 1, 1, 0, 2]
    assert records.mask.tolist() == [[0, 2]]


@pytest.mark.parametrize(
    "content", [b"", b"\n", b"\r\r", b" \t\n", b"\xef\xbb\xbf", b"\xef\xbb\xbf\n", gzip.compress(b"", mtime=0)]
)
def test_a_file_without_records_yields_nothing(content: bytes) -> None:
    with SequenceFile(io.BytesIO(content)) as file:
        assert list(file) == []
    assert (file.n_records, file.n_residues) == (0, 0)
    with pytest.raises(InputError, match="<stream>: no sequences found"):
        records_of(content)


def test_every_warning_comes_once_with_count_and_line(tmp_path: Path) -> None:
    path = tmp_path / "odd.fa"
    path.write_bytes(b">a caf\xe9\nMK-V\n>\n>b \xe9\nM..K\n> \nE\n")
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always")
        records = read_records(path, strip_gaps=True)
    assert sorted(str(warning.message).removeprefix(f"{path}: ") for warning in raised) == [
        "1 record without residues, kept with length 0 (first in line 3)",
        "2 headers not in UTF-8, read as Latin-1 (first in line 1)",
        "2 records without a name, called unnamed_N by position in the file (first in line 3)",
        "3 gap characters removed (first in line 2)",
    ]
    assert [records.ids[row] for row in range(4)] == ["a", "unnamed_2", "b", "unnamed_4"]
    assert strings(records) == ["MKV", "", "MK", "E"]


def test_messages_stay_on_one_line(tmp_path: Path) -> None:
    path = tmp_path / "two\nlines.fa"
    path.write_bytes(b">" + "\u2028".encode() + b"x" * 500 + b"\nMK1\n")
    with pytest.raises(InputError) as error:
        read_records(path)
    assert str(error.value).isprintable()
    assert len(str(error.value)) < len(str(tmp_path)) + 250


def test_problems_in_the_first_part_are_reported_by_the_real_reader() -> None:
    file = SequenceFile(io.BytesIO(b"junk\n>a\nACGT\n"))
    with pytest.raises(InputError, match="line 1: text"):
        list(file)


def test_records_before_a_problem_are_given_out_first() -> None:
    n_records: list[int] = []
    file = SequenceFile(io.BytesIO(fasta(["ACDEF"] * 100) + b"\n1\n"), alphabet=PROTEIN, batch_residues=50)
    with pytest.raises(InputError, match=r"record 's99' \(line 202\): '1'"):
        n_records.extend(len(batch) for batch in file)
    assert 50 < sum(n_records) < 100


def test_header_text_counts_towards_the_size_of_a_batch() -> None:
    text = "".join(f">{'x' * 1000}\nA\n" for _ in range(100)).encode()
    with SequenceFile(io.BytesIO(text), alphabet=PROTEIN, batch_residues=2000) as file:
        assert max(len(batch) for batch in file) < 20


def test_files_given_open_stay_open_and_ours_are_closed(tmp_path: Path) -> None:
    path = tmp_path / "a.fa"
    path.write_bytes(b">a\nMKE\n" * 100)
    with path.open("rb") as given:
        assert strings(read_records(given)) == ["MKE"] * 100
        assert not given.closed
    with SequenceFile(path, alphabet=PROTEIN, batch_residues=40) as file:
        next(file)
    with pytest.raises(ValueError, match="closed"):
        list(file)


def test_progress_counts_stored_bytes(tmp_path: Path) -> None:
    path = tmp_path / "a.fa.gz"
    path.write_bytes(gzip.compress(fasta(["ACDEFGHIKL"] * 1000)))
    with SequenceFile(path) as file:
        assert file.name == str(path)
        assert file.bytes_total == path.stat().st_size
        list(file)
        assert file.bytes_read == file.bytes_total


@pytest.mark.parametrize("source", ["no/such/file.fa", "."])
def test_sources_that_cannot_be_read_are_an_input_error(source: str) -> None:
    with pytest.raises(InputError, match=f"^{source}: cannot be read"):
        SequenceFile(source)


def test_batch_size_must_be_positive() -> None:
    with pytest.raises(InputError, match="batch_residues is 0"):
        SequenceFile(io.BytesIO(b""), batch_residues=0)


@given(
    st.binary(max_size=80), st.sampled_from([b"", b">", b"@", b"\x1f\x8b", b"BZh9", b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd"])
)
def test_any_file_gives_records_or_an_input_error(data: bytes, start: bytes) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExalnWarning)
        try:
            records = records_of(start + data)
        except InputError as error:
            message = str(error)
        else:
            message = ""
            assert len(records) == len(records.ids) == len(records.descriptions) > 0
    assert "\n" not in message


LONG_LINE = """
import io, re
from exaln.sequences.fasta import SequenceFile

class OneLine(io.RawIOBase):
    left = 128 << 20
    head = b">chromosome\\n"
    def readinto(self, buffer):
        if self.head:
            n = min(len(buffer), len(self.head))
            buffer[:n], self.head = self.head[:n], self.head[n:]
            return n
        n = min(len(buffer), self.left)
        buffer[:n] = b"A" * n
        self.left -= n
        return n

def peak_kibibytes():
    # Not getrusage: its peak survives exec, so it would be that of the process that runs the tests.
    return int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])

list(SequenceFile(io.BytesIO(b">a\\nACGT\\n")))
before = peak_kibibytes()
(records,) = SequenceFile(OneLine())
print(len(records.codes), peak_kibibytes() - before)
"""


def test_a_line_of_any_length_needs_memory_for_its_letters_only() -> None:
    run = subprocess.run([sys.executable, "-c", LONG_LINE], capture_output=True, text=True, check=True)
    n_residues, kibibytes = map(int, run.stdout.split())
    assert n_residues == 128 << 20
    assert 0.9 * (128 << 10) < kibibytes < 1.25 * (128 << 10)


@pytest.mark.skipif("EXALN_DATA" not in os.environ, reason="EXALN_DATA does not point to the real files")
@pytest.mark.parametrize(
    ("name", "n_records", "n_residues", "longest"),
    [
        ("protein/mmseqs_DB.fasta.gz", 20_000, 9_055_569, 8_081),
        ("protein/mmseqs_QUERY.fasta.gz", 500, 245_830, 4_291),
        ("protein/cudasw4_allqueries.fasta", 20, 41_752, 5_478),
        ("protein/yeast_UP000002311.fasta.gz", 6_059, 2_937_432, 4_910),
        ("protein/titin_human_Q8WZ42.fa", 1, 34_350, 34_350),
        ("protein/nr_300.faa.gz", 300, 126_600, 7_096),
        ("scop/scop20.fasta.gz", 7_616, 1_315_854, 1_504),
        ("scop/mmseqs_query_labelled.fasta.gz", 6_370, 2_564_213, 18_095),
    ],
)
def test_real_files_are_read_completely(name: str, n_records: int, n_residues: int, longest: int) -> None:
    records = read_records(Path(os.environ["EXALN_DATA"]) / name)
    assert records.alphabet is PROTEIN
    assert (len(records), records.n_residues, int(records.lengths.max())) == (n_records, n_residues, longest)
