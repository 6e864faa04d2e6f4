"""Playing a case, by its published name."""

from ralphloop.lab.conformance.play import *  # noqa: F403
