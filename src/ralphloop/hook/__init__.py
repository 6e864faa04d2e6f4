"""What a client runs: its JSON in, our decision out."""
