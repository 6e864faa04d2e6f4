"""A loop while it works: its tasks, its session's stream and its figures, read only."""
