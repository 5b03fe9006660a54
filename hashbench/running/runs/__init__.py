"""A run: one method trained on one data set, scored, and stored as a row."""
