"""The search of settings: as many trials for every method, scored by queries that no table shows."""
