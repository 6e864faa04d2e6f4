"""A case of the suite, by its published name."""

from ralphloop.lab.conformance.case import *  # noqa: F403
