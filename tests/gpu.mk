# The cuda engine, on a machine with an NVIDIA GPU. GPU_PYTHON: an interpreter that has exaln and what the tests need.
GPU_PYTHON ?= $(BIN)/python
GPU_SETUP := $(if $(filter $(BIN)/python,$(GPU_PYTHON)),setup)
GPU_TESTS := $(shell grep -l 'mark\.gpu' tests/test_*.py)
# Files that are tested at a time. One fills the memory of the card, and is tested alone.
GPU_JOBS ?= 4
GPU_ALONE := tests/test_cuda_search.py
GPU_LOGS := build/test-gpu
SANITIZER_TOOLS ?= memcheck racecheck synccheck initcheck
SANITIZER := compute-sanitizer --report-api-errors no --error-exitcode 1

.PHONY: test-gpu test-gpu-sanitize

test-gpu: $(GPU_SETUP)
	@rm -rf $(GPU_LOGS); mkdir -p $(GPU_LOGS)
	@printf '%s\n' $(filter-out $(GPU_ALONE),$(GPU_TESTS)) | xargs -P $(GPU_JOBS) -I FILE sh -c \
	  'log=$(GPU_LOGS)/$$(basename FILE).log; $(GPU_PYTHON) -m pytest -q -m gpu FILE $(PYTEST) > $$log 2>&1 || touch $$log.failed; \
	  echo "FILE: $$(tail -1 $$log)"'
	$(GPU_PYTHON) -m pytest -q -m gpu $(GPU_ALONE) $(PYTEST)
	@for failed in $(GPU_LOGS)/*.failed; do if [ -e $$failed ]; then cat $${failed%.failed}; status=1; fi; done; exit $${status:-0}

# A small run of every kernel, with DPX and without: once to fill the cache of kernels, then under each tool; and the
# tests of the studies' kernels. Errors of calls to the driver are not reported: the bindings look for functions that not every
# driver has, and other errors raise anyway.
test-gpu-sanitize: $(GPU_SETUP)
	@command -v compute-sanitizer > /dev/null || { echo "$@: compute-sanitizer is missing; it comes with the CUDA toolkit" >&2; exit 1; }
	for dpx in "" 0; do \
	  EXALN_CUDA_DPX=$$dpx $(GPU_PYTHON) tests/cuda_sanitize.py || exit 1; \
	  for tool in $(SANITIZER_TOOLS); do \
	    EXALN_CUDA_DPX=$$dpx $(SANITIZER) --tool $$tool $(GPU_PYTHON) tests/cuda_sanitize.py || exit 1; \
	  done; \
	done
	for tool in memcheck racecheck; do \
	  $(SANITIZER) --tool $$tool $(GPU_PYTHON) -m pytest -q -m gpu tests/test_study_kernels.py || exit 1; \
	done
