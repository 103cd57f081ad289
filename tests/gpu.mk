# The cuda engine, on a machine with an NVIDIA GPU. GPU_PYTHON: an interpreter that has exaln and what the tests need.
GPU_PYTHON ?= $(BIN)/python
GPU_SETUP := $(if $(filter $(BIN)/python,$(GPU_PYTHON)),setup)
SANITIZER_TOOLS ?= memcheck racecheck synccheck initcheck

.PHONY: test-gpu test-gpu-sanitize

test-gpu: $(GPU_SETUP)
	$(GPU_PYTHON) -m pytest -q -m gpu tests/test_cuda_*.py $(PYTEST)

# A small run of every kernel, once to fill the cache of kernels, then under each tool of compute-sanitizer.
test-gpu-sanitize: $(GPU_SETUP)
	@command -v compute-sanitizer > /dev/null || { echo "$@: compute-sanitizer is missing; it comes with the CUDA toolkit" >&2; exit 1; }
	$(GPU_PYTHON) tests/cuda_sanitize.py
	for tool in $(SANITIZER_TOOLS); do \
	  compute-sanitizer --tool $$tool --error-exitcode 1 --target-processes all $(GPU_PYTHON) tests/cuda_sanitize.py || exit 1; \
	done
