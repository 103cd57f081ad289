"""Substitution matrices, gap costs and alignment modes."""
