"""The cuda engine: NVIDIA GPUs, with kernels compiled at run time."""
