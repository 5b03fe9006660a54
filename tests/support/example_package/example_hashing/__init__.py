"""A method and a metric for hashbench."""
