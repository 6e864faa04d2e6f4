"""Specs and features phase by phase, up to the loop over their tasks."""
