"""The cpu engine: the C++ core with SIMD lanes and threads."""
