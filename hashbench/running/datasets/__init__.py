"""Data sets: a card describes one, a reader decodes its files, a split lists its queries, database and training ids."""
