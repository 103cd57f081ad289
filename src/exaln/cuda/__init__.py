"""The cuda engine's parts: kernels and their compiler, the layout of targets on a card, one card and its scans."""
