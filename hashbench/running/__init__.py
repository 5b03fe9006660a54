"""What came out, kept for ever: data sets, features, runs and their rows, jobs, and searches."""
