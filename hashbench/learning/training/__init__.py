"""Training: the one training loop of all methods, its settings, batches, optimiser, schedules and checkpoints."""
