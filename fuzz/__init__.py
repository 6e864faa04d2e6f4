"""Fuzzing: coverage-guided targets, a model of a loop's life with its oracle, and their corpus."""
