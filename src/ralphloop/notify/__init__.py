"""Tells the person that a loop ended or needs them: desktop, bell, webhook."""
