"""The laboratory's published door: what other projects' tests import keeps its name here."""
