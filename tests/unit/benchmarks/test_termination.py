"""The end of a benchmark by a signal."""

from __future__ import annotations

import signal
import subprocess
import sys

SCRIPT = """
import os, signal
from benchmarks.temporary_backends import clean_up_on_sigterm

clean_up_on_sigterm()
try:
    os.kill(os.getpid(), signal.SIGTERM)
finally:
    os.kill(os.getpid(), signal.SIGTERM)
    print("cleaned up")
"""


def test_second_signal_does_not_end_the_clean_up() -> None:
    command = [sys.executable, "-c", SCRIPT]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.stdout == "cleaned up\n"
    assert ended.returncode == 128 + signal.SIGTERM
