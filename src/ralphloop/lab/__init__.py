"""Stand-ins for agents and models that tests, ours and other people's, can script."""
