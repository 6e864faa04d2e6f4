"""The command `doctor`, and what it looks at, one idea per module: each returns findings."""
