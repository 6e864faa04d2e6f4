"""What every test shares: a child that a test interrupts must be able to notice."""

from __future__ import annotations

import signal
import threading

# A shell makes a job in the background ignore Ctrl-C, nohup makes it ignore a hang-up; children inherit that.
if threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
