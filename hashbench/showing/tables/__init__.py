"""Tables: declared in experiments/tables/, filled from stored rows, rendered with published beside measured values."""
