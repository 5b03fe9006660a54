"""The command line: each command has one file, ``_app`` registers them all, and ``_entry`` begins the process."""
