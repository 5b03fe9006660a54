"""Many tasks, done by workers that may die: processes of this machine, or the nodes of a Ray cluster."""
