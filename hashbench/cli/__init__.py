"""The command line: each command has one file, and ``_app`` registers them all."""
