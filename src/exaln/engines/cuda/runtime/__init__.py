"""The CUDA driver, device memory, the compiler of kernels and its cache."""
