"""What every test shares: a child that a test interrupts must be able to notice."""

from __future__ import annotations

import signal
import threading

# A shell that starts a job in the background makes it ignore Ctrl-C, and children inherit that.
if threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)
