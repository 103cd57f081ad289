"""Write cases for kernel_check.cpp: recorded scores, and the oracle's scores at every limit and for unusual scorings.

python tests/native/write_cases.py build/kernel_cases.txt
EXALN_DATA=... python tests/native/write_cases.py --recorded build/recorded_scores.txt     # 152,320 scores
"""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

import golden_data
import real_data
from exaln._core import STRIP_ROWS
from exaln.scoring.scoring import Scoring
from exaln.sequences.alphabet import PROTEIN
from kernel_cases import Costs, diagonal_costs, mutated, random_codes, sequence_scoring, textbook

BLOSUM62 = Costs.of(Scoring("BLOSUM62", gap_open=11, gap_extend=1))


def golden_case():
    """600 scores recorded from another tool."""
    return table_case(golden_data.queries(), golden_data.targets(), golden_data.scores())


def recorded_case():
    """152,320 scores recorded from another tool."""
    queries = real_data.fasta("protein/cudasw4_allqueries.fasta")
    scores = real_data.scores("oracle/cudasw4q_x_scop20.b62_11_1.tsv.gz")
    return table_case(queries, real_data.fasta("scop/scop20.fasta.gz"), scores)


def table_case(queries, targets, scores):
    expected = [[scores[query, target] for target in targets] for query in queries]
    encoded = [[PROTEIN.encode(s) for s in sequences.values()] for sequences in (queries, targets)]
    return BLOSUM62, *encoded, np.array(expected)


def limit_cases():
    """Self-alignments just below and above the limits of 8, 16 and 32 bits, and of bytes and words."""
    for costs in (
        diagonal_costs([60, 30, 1], 11, 1, mismatch=-4),
        diagonal_costs([40, 1], 0, 0, mismatch=-1),
        diagonal_costs([3, 1], 126, 1, mismatch=-128),
        diagonal_costs([1000, 50, 1], 100, 100),
        diagonal_costs([32767, 2000, 100, 1], 32766, 1),
        diagonal_costs([500_000_000, 10_000_000, 100_000, 1000, 30, 1], 1, 1),
    ):
        letter_scores = np.diagonal(costs.matrix).tolist()
        limits = [limit for limit in map(costs.limit, (8, 16, 32)) if limit is not None]
        edges = {edge + near for edge in (127, 255, 32767, 65535, *limits) for near in (-1, 0, 1)}
        for score in sorted(edge for edge in edges if 0 < edge <= min(2000 * max(letter_scores), costs.limit(32))):
            codes = sequence_scoring(score, letter_scores)
            yield costs, [codes], [codes, codes[:0], codes], np.array([[score, 0, score]])


def gap_cases():
    """One sequence lacks a part of the other, up to most of it, so that gaps cross all lanes, or strips."""
    costs = Costs(np.where(np.eye(20, dtype=bool), 11, -12), 3, 0)
    whole = random_codes(np.random.default_rng(0), 2 * STRIP_ROWS + 20, 20)
    for first, end in ((40, len(whole) - 40), (STRIP_ROWS - 40, STRIP_ROWS + 40)):
        cut = np.delete(whole, slice(first, end))
        for query, target in ((whole, cut), (cut, whole)):
            yield costs, [query], [target], textbook([query], [target], costs)


def random_cases(n_cases):
    """Related sequences with lengths near those of lanes, tiles and strips; all kinds of matrices and gap costs."""
    for seed in range(n_cases):
        rng = np.random.default_rng(seed)
        n_letters = int(rng.integers(1, 32))
        largest = int(rng.choice([1, 5, 42, 43, 127, 128, 1000, 10_922, 10_923, 32_767]))
        matrix = rng.integers(-largest, largest, (n_letters, n_letters), endpoint=True)
        np.fill_diagonal(matrix, largest)
        gaps = [(0, 0), (0, 1), (3, 0), (11, 1), (126, 1), (0, 64), (32_767, 0), (largest, largest)][rng.integers(8)]
        query = random_codes(rng, rng.choice([0, 1, 5, 16, 17, 33, 64, 65, 130, 257]), n_letters)
        targets = [mutated(rng, query, n_letters, rate)[rng.integers(3) :] for rate in rng.random(rng.integers(0, 20))]
        targets += [random_codes(rng, n, n_letters) for n in rng.integers(0, 40, 3)]
        costs = Costs(matrix, *gaps)
        yield costs, [query], targets, textbook([query], targets, costs)


def text_of(costs, queries, targets, scores):
    lines = [f"{len(costs.matrix)} {costs.gap_first} {costs.gap_extend}"]
    lines += [" ".join(map(str, row)) for row in costs.matrix.tolist()]
    for sequences in (queries, targets):
        lines.append(str(len(sequences)))
        lines += ["." + "".join(chr(ord("A") + code) for code in sequence.tolist()) for sequence in sequences]
    lines += [" ".join(map(str, row)) for row in scores.tolist()]
    return "\n".join(lines) + "\n"


def main():
    *options, path = sys.argv[1:]
    cases = (
        [recorded_case()]
        if options == ["--recorded"]
        else [golden_case(), *limit_cases(), *gap_cases(), *random_cases(100)]
    )
    Path(path).write_text("".join(text_of(*case) for case in cases), encoding="ascii")
    print(f"{len(cases)} cases, {sum(case[3].size for case in cases)} scores")


if __name__ == "__main__":
    main()
