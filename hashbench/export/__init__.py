"""Writes what a run has learned, or codes, in the form of another system."""
