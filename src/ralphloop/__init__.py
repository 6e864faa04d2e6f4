"""Keeps a coding agent working through a list of tasks until each one is done."""
