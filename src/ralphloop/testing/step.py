"""What a scripted agent does, by its published name."""

from ralphloop.lab.step import *  # noqa: F403
