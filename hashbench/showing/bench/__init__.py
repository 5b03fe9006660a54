"""Comparisons that the user asks for: a table is declared, its settings are searched, and its cells are made."""
