"""What the codes of a method are worth: scores of arrays, diagnostics, and what other evaluators would print."""
