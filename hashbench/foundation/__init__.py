"""Used by every folder: errors, strict configuration, catalogues, folders and files, processes, progress bars."""

__version__ = "0.1.0"
