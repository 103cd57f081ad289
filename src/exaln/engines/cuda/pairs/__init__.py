"""Many pairs of sequences aligned on GPUs."""
