"""The hash function of a run, or codes, as files of other systems that need no hashbench."""
