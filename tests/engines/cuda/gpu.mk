# The cuda engine, on a machine with an NVIDIA GPU. GPU_PYTHON: an interpreter that has exaln and what the tests need.
GPU_PYTHON ?= $(BIN)/python
GPU_SETUP := $(if $(filter $(BIN)/python,$(GPU_PYTHON)),setup)
GPU_TESTS := $(shell grep -rl --include='test_*.py' 'mark\.gpu' tests studies/tests)
# Files that are tested alone: one of them fills the memory of the card.
GPU_ALONE := tests/engines/cuda/test_searches.py
# Files that are tested once more as older cards run the kernels.
GPU_SCORES := $(addprefix tests/engines/cuda/,test_engine.py $(foreach name,number_limits tile_shapes scan,scan/test_$(name).py))
GPU_JOBS ?= 14
GPU_PYTEST = $(GPU_PYTHON) -m pytest -q -m gpu $(PYTEST)
SANITIZER_TOOLS ?= memcheck racecheck synccheck initcheck

.PHONY: test-gpu test-gpu-sanitize

test-gpu: $(GPU_SETUP)
	$(GPU_PYTEST) $(call side_by_side,$(GPU_JOBS)) $(filter-out $(GPU_ALONE),$(GPU_TESTS))
	EXALN_CUDA_DPX=0 $(GPU_PYTEST) $(call side_by_side,$(GPU_JOBS)) $(GPU_SCORES)
	$(GPU_PYTEST) $(GPU_ALONE)

# A small run of every kernel, with DPX and without: once to fill the cache of kernels, then under each tool;
# and the GPU tests of the studies' kernels.
test-gpu-sanitize: $(GPU_SETUP)
	@command -v compute-sanitizer > /dev/null || { echo "$@: compute-sanitizer is missing; it comes with the CUDA toolkit" >&2; exit 1; }
	for dpx in "" 0; do \
	  export EXALN_CUDA_DPX=$$dpx; \
	  $(GPU_PYTHON) tests/support/cuda_sanitize.py || exit 1; \
	  for tool in $(SANITIZER_TOOLS); do $(GPU_PYTHON) tests/support/cuda_sanitize.py --under $$tool || exit 1; done; \
	done
	for tool in "" memcheck racecheck synccheck; do PYTHONPATH=tests/support $(GPU_PYTHON) studies/tests/sanitize_kernels.py $$tool || exit 1; done
