"""Sources: files fetched from their mirrors, and the members of them found, decompressed and verified."""
