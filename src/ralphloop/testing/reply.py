"""What a scripted model answers, by its published name."""

from ralphloop.lab.reply import *  # noqa: F403
