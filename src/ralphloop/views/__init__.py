"""Read models for people and scripts; they never write."""
