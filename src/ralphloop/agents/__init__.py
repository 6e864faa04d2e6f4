"""Coding-agent clients: what each says and how it is called; no process is started here."""
