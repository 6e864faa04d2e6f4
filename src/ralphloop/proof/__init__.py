"""Checks: running the commands that prove a task, and what they showed."""
