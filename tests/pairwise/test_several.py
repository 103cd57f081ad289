"""Several alignments of pairs, from Python and from the command line."""

import json
from pathlib import Path

import numpy as np
import pytest

import exaln as package
from command import Exaln
from exaln.errors import InputError

UNIT = "HEAGAWGHEEPL"
REPEATS = "MKV" + UNIT + "MKRTS" + "HEAGAWGHEDPL" + "NNAV" + "HEAGAWGHEEP"
GENE = "ACGTTGCATGCATTTACGGACCATCGGATTACGATCGATT"
OTHER = str.maketrans("ACGT", "TGCA")


def test_each_copy_of_a_repeat_is_an_alignment() -> None:
    found = package.align_many(UNIT, REPEATS, max_hsps=5, min_score=20)
    assert found.scores.tolist() == [73, 70, 69]
    assert found.positions[:, 2].tolist() == [3, 20, 36]
    assert found.pairs.query.tolist() == [0, 0, 0]
    assert [one.cigar for one in found] == ["12M", "12M", "11M"]
    assert len(package.align_many(UNIT, REPEATS, max_hsps=2, min_score=20)) == 2


def test_the_first_alignment_is_the_only_one_by_default() -> None:
    one, several = package.align_many(UNIT, REPEATS), package.align_many(UNIT, REPEATS, max_hsps=9)
    assert len(one) == 1
    assert (several[0].score, several[0].cigar, several[0].target_start) == (one[0].score, one[0].cigar, 3)


def test_alignments_are_listed_pair_by_pair_and_a_pair_without_any_has_an_empty_one() -> None:
    found = package.align_many([UNIT, "WWWW", UNIT], [REPEATS, REPEATS, UNIT], max_hsps=2, min_score=60)
    assert found.pairs.query.tolist() == [0, 0, 1, 2]
    assert [one.cigar for one in found] == ["12M", "12M", "", "12M"]
    assert found.scores.tolist() == [73, 70, 0, 73]


def test_the_repr_counts_alignments_and_pairs() -> None:
    one = package.align_many(UNIT, REPEATS, max_hsps=5, min_score=20)
    assert repr(one).startswith("<Alignments: 3 alignments of 1 pair, local, BLOSUM62")
    several = package.align_many([UNIT, UNIT], [REPEATS, UNIT], max_hsps=5, min_score=20)
    assert repr(several).startswith("<Alignments: 4 alignments of 2 pairs, ")
    assert repr(several[2:]).startswith("<Alignments: 2 pairs, ")
    assert repr(one[:1]).startswith("<Alignments: 1 pair, ")
    assert repr(one[:0]).startswith("<Alignments: 0 pairs, ")
    assert "<p>Alignments: 3 alignments of 1 pair, " in one._repr_html_()


@pytest.mark.parametrize(("strand", "strands"), [("plus", [1]), ("minus", [-1, -1]), ("both", [-1, 1, -1])])
def test_both_strands_are_ordered_by_score(strand: str, strands: list[int]) -> None:
    minus = GENE.translate(OTHER)[::-1]
    target = minus + "CCCC" + GENE[:36] + "GGGG" + minus[:30]
    found = package.align_many(GENE, target, max_hsps=4, min_score=40, strand=strand)  # type: ignore[arg-type]
    assert found.strands.tolist() == strands
    assert found.scores.tolist() == sorted(found.scores.tolist(), reverse=True)
    for one in found:
        part = target[one.target_start : one.target_end]
        given = GENE[one.query_start : one.query_end]
        assert given == (part if one.strand > 0 else part.translate(OTHER)[::-1])


def test_all_pairs_on_both_strands_equal_pairs_on_their_own() -> None:
    rng = np.random.default_rng(3)
    queries, targets = (["".join(rng.choice(list("ACGT"), n)) for n in rng.integers(5, 60, 4)] for _ in range(2))
    limits = {"max_hsps": 3, "min_score": 8, "strand": "both"}
    together = package.align_many(queries, targets, pairs="all", **limits)  # type: ignore[arg-type]
    alone = [one for q in queries for t in targets for one in package.align_many(q, t, **limits)]  # type: ignore[arg-type]
    values = [
        [(a.score, a.cigar, a.strand, a.query_start, a.target_start) for a in found] for found in (together, alone)
    ]
    assert values[0] == values[1]


def test_fractions_limit_the_score_as_it_is_printed() -> None:
    scoring = package.Scoring("BLOSUM62", gap_open=9.5, gap_extend=0.5)
    found = package.align_many(UNIT, REPEATS, max_hsps=5, min_score=69.5, scoring=scoring)
    assert found.scores.tolist() == [73, 70]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_hsps": 0}, "max_hsps is 0; expected a whole number of at least 1"),
        ({"max_hsps": 2, "mode": "global"}, "max_hsps is 2, but in mode global a pair has one alignment"),
        ({"max_hsps": 2, "min_score": -1}, "min_score is -1; expected a number above 0"),
        ({"min_score": 5}, "min_score limits further alignments; set max_hsps"),
        (
            {"max_hsps": 2, "work_dir": "w"},
            "max_hsps is 2, but work_dir is for pairs with one alignment",
        ),
        ({"max_hsps": 2, "memory": 1 << 30}, "max_hsps is 2, but memory is for pairs with one alignment"),
    ],
)
def test_limits_that_make_no_sense_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        package.align_many(UNIT, REPEATS, **options)  # type: ignore[arg-type]


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    query, target = tmp_path / "unit.fasta", tmp_path / "repeats.fasta"
    query.write_text(f">unit\n{UNIT}\n")
    target.write_text(f">repeats\n{REPEATS}\n>none\nWWWWWW\n")
    return query, target


def test_the_command_reports_all_alignments_of_a_pair(exaln: Exaln, files: tuple[Path, Path]) -> None:
    result = exaln("align", *files, "--max-hsps", 3, "--min-score", 20, "--outfmt", "6 qseqid sseqid sstart score")
    assert result.out.splitlines() == ["unit\trepeats\t4\t73", "unit\trepeats\t21\t70", "unit\trepeats\t37\t69"]
    text = exaln("align", *files, "--max-hsps", 3, "--min-score", 20).out
    assert text.count(">repeats") == 1
    assert text.count("Score =") == 3
    (query,) = json.loads(exaln("align", *files, "-max_hsps", 3, "--min-score", 20, "--outfmt", "json").out)["queries"]
    (hit,) = query["hits"]
    assert [one["target_start"] for one in (hit, *hit["further_alignments"])] == [3, 20, 36]


@pytest.mark.parametrize("option", [["--work-dir", "w"], ["--memory", "1G"]])
def test_the_command_refuses_options_that_several_alignments_would_ignore(
    exaln: Exaln, files: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, option: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    code, message = exaln.error("align", *files, "--max-hsps", 3, *option)
    assert code == 1
    assert f"max_hsps is 3, but {option[0].strip('-').replace('-', '_')} is for pairs with one alignment" in message
    assert not (tmp_path / "w").exists()
    assert exaln("align", *files, "--max-hsps", 1, *option).code == 0


def test_the_command_refuses_several_alignments_in_other_modes(exaln: Exaln, files: tuple[Path, Path]) -> None:
    result = exaln("align", *files, "--max-hsps", 3, "--mode", "global")
    assert result.code == 1
    assert "in mode global a pair has one alignment" in result.err
