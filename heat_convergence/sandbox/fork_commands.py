"""Commands of a daemon to the process that forks workers, and its answers.

Used by both sides. Must import nothing that evaluates expressions: the daemon does not.
"""

from __future__ import annotations

import struct

FORK, END = b"F", b"E"
COMMAND = struct.Struct("!cq")  # what to do, and with which process
ANSWER = struct.Struct("!q")  # a process id, or the signal that ended the process
