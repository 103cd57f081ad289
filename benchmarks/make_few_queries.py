"""Write the data of a long search with few queries: a synthetic Swiss-Prot and two long queries.

python benchmarks/make_few_queries.py FOLDER        # FOLDER/few-targets.exaln, FOLDER/few-queries.fasta
"""

from __future__ import annotations

import sys
from pathlib import Path

from exaln import Database
from exaln.engines.bench.swissprot import standard_queries, synthetic_swissprot

LENGTHS = (2005, 2504)


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    Database.build_records([synthetic_swissprot()], folder / "few-targets.exaln", force=True)
    queries = standard_queries()
    with (folder / "few-queries.fasta").open("w", encoding="ascii") as file:
        for row, length in enumerate(queries.lengths.tolist()):
            if length in LENGTHS:
                file.write(f">{queries.ids[row]}\n{queries.alphabet.decode(queries.sequence(row))}\n")


if __name__ == "__main__":
    main()
