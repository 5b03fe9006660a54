"""Files that are written as a whole or not at all, and lock files for processes that use the same folder."""

from hashbench.foundation.files._digest import file_sha256
from hashbench.foundation.files._links import is_stream, resolved
from hashbench.foundation.files._lock import holder_in, is_locked, locked, write_holder
from hashbench.foundation.files._parts import part_prefix, remove_parts, sweep_parts
from hashbench.foundation.files._patterns import files_named, matching, natural
from hashbench.foundation.files._space import require_apart, require_output, require_writable
from hashbench.foundation.files._write import DISK_ERRORS, atomic, reported, write_text

__all__ = [
    "DISK_ERRORS",
    "atomic",
    "file_sha256",
    "files_named",
    "holder_in",
    "is_locked",
    "is_stream",
    "locked",
    "matching",
    "natural",
    "part_prefix",
    "remove_parts",
    "reported",
    "require_apart",
    "require_output",
    "require_writable",
    "resolved",
    "sweep_parts",
    "write_holder",
    "write_text",
]
