"""The hook that cases are played against, by its published name."""

from ralphloop.lab.conformance.hook import *  # noqa: F403
