"""What `doctor` looks at, one idea per module; each returns findings."""
