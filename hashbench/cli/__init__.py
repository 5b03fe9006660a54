"""The command line: one file a command; ``_app`` puts them together."""
