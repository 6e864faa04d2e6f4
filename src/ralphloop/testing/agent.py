"""The scripted agent, by its published name."""

from ralphloop.lab.agent import *  # noqa: F403
