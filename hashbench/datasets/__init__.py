"""Data sets: a card says what one is, a reader decodes its files, a split names its queries, database and training."""
