"""The reference engine: the textbook recurrence in NumPy, which defines every feature."""
