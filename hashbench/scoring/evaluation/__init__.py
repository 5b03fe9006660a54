"""Scores of codes, diagnostics of codes, and the values that other evaluation code computes for them."""
