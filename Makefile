# Everything runs in .venv, which `make setup` creates from PYTHON (3.11 or later) and a C++17 compiler.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
NATIVE := CMakeLists.txt pyproject.toml $(wildcard native/*)
CXX_SOURCES := $(wildcard native/*.cpp native/*.hpp tests/native/*.cpp)

.PHONY: setup test test-all check format clean

setup: $(VENV)/.installed

$(VENV)/.tools: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet "scikit-build-core>=0.10" "nanobind>=2.4" "cmake>=3.26" "ninja>=1.11"
	touch $@

$(VENV)/.installed: $(VENV)/.tools $(NATIVE)
	$(BIN)/python -m pip install --quiet --no-build-isolation --editable ".[dev]"
	touch $@

test: setup
	$(BIN)/python -m pytest -q

include tests/native/native.mk

check: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/clang-format --dry-run --Werror $(CXX_SOURCES)

format: setup
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix-only .
	$(BIN)/clang-format -i $(CXX_SOURCES)

clean:
	rm -rf build dist wheelhouse $(VENV)
