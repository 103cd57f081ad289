"""SDUST and tantan: what dustmasker and tantan printed, letters that are none of the usual, and refusals."""

import builtins
from itertools import pairwise
from typing import Any

import pytest

from exaln.errors import InputError
from exaln.masking.methods import Masking
from exaln.sequences.alphabet import DNA, PROTEIN, RNA, Alphabet
from exaln.sequences.records import Records
from golden_data import GOLDEN, fasta

SITES = "ACGTTGCACTGATCGGATCCATAGCTTGCCAGTA"


def found_in(method: str, sequences: list[str], alphabet: Alphabet, threads: int = 1) -> list[list[tuple[int, int]]]:
    records = Records.of(alphabet, [alphabet.encode(sequence) for sequence in sequences])
    found = Masking.parse(method).find(records, threads=threads)
    pairs = list(zip(found.begins.tolist(), found.ends.tolist(), strict=True))
    edges = found.offsets.tolist()
    return [pairs[begin:end] for begin, end in pairwise(edges)]


def printed(tool: str) -> dict[str, list[tuple[int, int]]]:
    """The stretches of the golden table, by id."""
    expected: dict[str, list[tuple[int, int]]] = {}
    for row in (GOLDEN / "dustmasker_and_tantan.tsv").read_text(encoding="ascii").splitlines():
        if not row.startswith("#"):
            of, id_, first, last = row.split("\t")
            if of == tool:
                expected.setdefault(id_, []).append((int(first), int(last) + 1))
    return expected


@pytest.mark.parametrize("method", ["dust 20 64 1", "dust 10 32 10", "tantan"])
def test_the_stretches_of_dna_are_those_of_the_original(method: str) -> None:
    sequences = fasta("dust_and_tantan.fasta")
    found = found_in(method, list(sequences.values()), DNA)
    assert {id_: own for id_, own in zip(sequences, found, strict=True) if own} == printed(method)


def test_the_repeats_of_proteins_are_those_of_tantan() -> None:
    sequences = fasta("cudasw4q_part.fasta")
    found = found_in("tantan", list(sequences.values()), PROTEIN)
    assert {id_: own for id_, own in zip(sequences, found, strict=True) if own} == printed("tantan -p")


def test_other_letters_in_dust() -> None:
    """A long run of N is a stretch, a short one ends a window; other codes count as A, and U as T."""
    long_run, short_run = SITES + "N" * 65 + SITES, SITES + "N" * 64 + SITES
    others, repeat = SITES + "RYKM" * 10 + SITES, SITES + "T" * 30 + SITES
    assert found_in("dust", [long_run, short_run], DNA) == [[(34, 99)], []]
    assert found_in("dust", [others], DNA) == found_in("dust", [SITES + "A" * 40 + SITES], DNA)
    assert found_in("dust", [repeat.replace("T", "U")], RNA) == found_in("dust", [repeat], DNA) == [[(34, 64)]]


def test_short_and_empty_sequences() -> None:
    assert found_in("dust", ["", "A", "AAA", "N"], DNA) == [[]] * 4
    assert found_in("tantan", ["", "A"], DNA) == [[]] * 2


def test_threads_change_nothing() -> None:
    sequences = [SITES * 40 + "A" * (n % 30) + SITES * 50 for n in range(300)]
    for method in ("dust", "tantan"):
        assert found_in(method, sequences, DNA, threads=3) == found_in(method, sequences, DNA)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("sge", "mask is 'sge'; expected one of seg, dust, tantan, lowercase"),
        ("", "mask is ''"),
        ("dust 20 64 1 1", "dust takes up to 3 numbers: level, window, linker"),
        ("dust twenty", "dust takes up to 3 numbers"),
        ("dust 20 65", "window is 65"),
        ("dust 2.5", "level is 2.5; expected a whole number"),
        ("tantan 1.5", "repeat_start is 1.5"),
        ("tantan 1", "tantan needs a repeat_start below 1"),
        ("lowercase 3", "lowercase has no parameters"),
    ],
)
def test_what_is_no_method_is_refused(text: str, problem: str) -> None:
    with pytest.raises(InputError) as error:
        Masking.parse(text)
    assert problem in str(error.value)
    assert "\n" not in str(error.value)


def test_a_method_for_other_sequences_is_refused() -> None:
    with pytest.raises(InputError, match="dust masks nucleotides, not protein sequences; use seg"):
        found_in("dust", ["ACD"], PROTEIN)
    with pytest.raises(InputError, match="tantan masks proteins and nucleotides, not custom sequences; use lowercase"):
        found_in("tantan", ["HP"], Alphabet("custom", "HP"))
    with pytest.raises(InputError, match="no method masks custom sequences"):
        Masking.usual(Alphabet("custom", "HP"))
    assert Masking.usual(PROTEIN).method == "seg"
    assert Masking.usual(RNA).method == "dust"


def test_without_the_library_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "pydustmasker":
            raise ModuleNotFoundError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(
        InputError, match=r'dust needs pydustmasker, which is not installed: pip install "exaln\[mask\]"'
    ):
        found_in("dust", ["ACGT"], DNA)
    assert found_in("seg", ["A" * 30], PROTEIN) == [[(0, 30)]]
