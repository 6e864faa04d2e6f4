"""Drives fresh sessions of a client: processes, events, and what comes after each session."""
