"""Claude Code: what it says, how it is called, and what it keeps."""
