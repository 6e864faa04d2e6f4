"""The scripted model server, by its published name; `python -m` serves a script."""

import sys

from ralphloop.lab.model_server import *  # noqa: F403
from ralphloop.lab.model_server import main

if __name__ == "__main__":
    sys.exit(main())
