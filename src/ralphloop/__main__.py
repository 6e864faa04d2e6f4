"""Runs the command line: `python -m ralphloop`, or `python <this folder>` where nothing is installed."""

import sys

if not __package__:
    _package = type(sys)("ralphloop")
    _package.__path__ = [__file__.replace("\\", "/").rpartition("/")[0]]
    sys.modules["ralphloop"] = _package

from ralphloop.entry import entry

sys.exit(entry())
