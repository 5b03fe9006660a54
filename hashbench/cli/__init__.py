"""The command line: each command has one file, and ``_app`` registers them all."""

from hashbench.cli._app import app, main

__all__ = ["app", "main"]
