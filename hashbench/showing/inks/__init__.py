"""The formats of a sheet: each file is an ink, and its stem is what ``--format`` calls it."""
