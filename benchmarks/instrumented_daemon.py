"""A daemon that counts its SQL statements and messages.

``python instrumented_daemon.py api|engine|observer|standalone ARGUMENTS…`` runs the daemon
as its console script does.  Every worker process keeps its two counters in a file of its
own in the folder that HEAT_CONVERGENCE_COUNTS names; ``read_counts`` adds them up.
Counting in the process that sends is exact, works with every database and bus, and is
independent of other users of the same server.
"""

from __future__ import annotations

import mmap
import os
import struct
import sys
import threading
from importlib import import_module
from pathlib import Path
from typing import Any

COUNTS_FOLDER_VARIABLE = "HEAT_CONVERGENCE_COUNTS"
_NUMBERS = struct.Struct("qq")  # SQL statements, messages
_PROGRAM = "heat-convergence"


def read_counts(folder: Path) -> tuple[int, int]:
    """Return the numbers of statements and messages of all processes so far."""
    numbers = [_NUMBERS.unpack(path.read_bytes()) for path in folder.glob("*.counts")]
    return sum(one[0] for one in numbers), sum(one[1] for one in numbers)


class ProcessCounters:
    """The counters of this process; a forked process starts a file of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._pid = 0
        self._numbers = [0, 0]
        self._map: mmap.mmap | None = None

    def add(self, counter: int, increment: int) -> None:
        """Increment one of the counters (0: statements, 1: messages)."""
        with self._lock:
            if self._map is None or self._pid != os.getpid():
                self._map = self._open()
            self._numbers[counter] += increment
            _NUMBERS.pack_into(self._map, 0, *self._numbers)

    def _open(self) -> mmap.mmap:
        self._pid = os.getpid()
        self._numbers = [0, 0]
        path = self._folder / f"{self._pid}.counts"
        path.write_bytes(_NUMBERS.pack(0, 0))
        with path.open("r+b") as file:
            return mmap.mmap(file.fileno(), _NUMBERS.size)


def _count(counts: ProcessCounters) -> None:
    """Install the counters.

    The modules are imported here because they must be loaded after eventlet's patching.
    """
    sqlalchemy = import_module("sqlalchemy")
    counting = import_module("heat_convergence.testing.statement_counter")
    bus = import_module("heat_convergence.rpc.bus").RpcBus

    def count_statement(
        connection: Any, cursor: Any, statement: str, parameters: Any, context: Any, many: bool
    ) -> None:
        counts.add(0, counting.count_sent_statements(statement, parameters, context, many))

    sqlalchemy.event.listen(sqlalchemy.Engine, "before_cursor_execute", count_statement)
    original_cast = bus._cast

    def counted_cast(self: Any, *arguments: Any) -> None:
        counts.add(1, 1)
        original_cast(self, *arguments)

    bus._cast = counted_cast


def main() -> int:
    """Run the daemon named on the command line."""
    component, arguments = sys.argv[1], sys.argv[2:]
    concurrency = import_module("heat_convergence.cli.concurrency")
    program = f"{_PROGRAM}-{component}"
    concurrency.set_up_backend(concurrency.configured_backend(arguments, prog=program))
    _count(ProcessCounters(Path(os.environ[COUNTS_FOLDER_VARIABLE])))
    sys.argv[0] = program
    if component == "standalone":
        return int(import_module("heat_convergence.cli.daemons.standalone").main(arguments))
    module = "api_daemon" if component == "api" else "daemon_service"
    daemons = import_module(f"heat_convergence.cli.daemons.{module}")
    return int(getattr(daemons, f"run_{component}")(arguments))


if __name__ == "__main__":
    sys.exit(main())
