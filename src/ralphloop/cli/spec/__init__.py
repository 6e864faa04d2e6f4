"""What the commands of the spec plugins share: specs in a project, their steps, and how their tasks run."""
