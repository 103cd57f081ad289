"""One search, one answer: threads, kind of input and segments never change a byte of the output."""

import io
import sys
from pathlib import Path

import pytest

import real_data
from golden_data import GOLDEN
from search_outputs import FORMATS, databases, found, split_fasta


@pytest.mark.parametrize("outfmt", FORMATS)
def test_output_does_not_depend_on_threads_and_databases(
    tmp_path: Path, outfmt: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    queries, out = GOLDEN / "cudasw4q_part.fasta", tmp_path / "out"
    given = databases(GOLDEN / "scop20_part.fasta", tmp_path)
    if outfmt == "arrow":  # its bytes are compared as they are, so the name has to be the same length
        given.pop("fasta")
        given["one"] = given["one"].rename(tmp_path / "uno1.exaln")
    for options in (["--evalue", "100"], ["--evalue", "1e9", "--max-target-seqs", 5, "--min-identity", 20]):
        expected = found(out, queries, given["one"], outfmt, [*options, "--threads", 1])
        assert len(expected) > 1000
        for database in given.values():
            for threads in (1, 2):
                assert found(out, queries, database, outfmt, [*options, "--threads", threads]) == expected
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(queries.read_bytes())))
        assert found(out, "-", given["nine"], outfmt, options) == expected


@real_data.needs_real_data
@pytest.mark.parametrize("options", [["--evalue", "10"], ["--evalue", "1e6"]], ids=["few", "many"])
def test_output_of_real_data_does_not_depend_on_threads_and_databases(
    tmp_path: Path, options: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twelve queries against 20,000 proteins: 1 and 2 threads, FASTA, database of 1 and of 9 segments, stdin, twice."""
    outfmt = "6 std score cigar btop"
    queries = split_fasta(real_data.FOLDER / "protein/mmseqs_QUERY.fasta.gz", 40, tmp_path)[0]
    queries = queries.rename(tmp_path / "queries.fasta")
    given = databases(real_data.FOLDER / "protein/mmseqs_DB.fasta.gz", tmp_path)
    out = tmp_path / "out"
    expected = found(out, queries, given["one"], outfmt, [*options, "--threads", 1])
    assert expected.count(b"\n") > 500
    for database in given.values():
        assert found(out, queries, database, outfmt, [*options, "--threads", 2]) == expected
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(queries.read_bytes())))
    assert found(out, "-", given["nine"], outfmt, options) == expected
