"""A bundle: one archive that holds a table's rows and what is needed to render and to score them again."""
