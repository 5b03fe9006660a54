"""Tables: a paper's figures beside the measured ones, declared in experiments/tables/, rendered from rows."""
