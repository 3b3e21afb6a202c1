"""Runs a daemon as its console script does, and counts what it costs.

``python instrumented_daemon.py api|engine|observer|standalone ARGUMENTS…``: every worker
process keeps two numbers, SQL statements and messages sent, in a file of its own
in the folder that HEAT_CONVERGENCE_COUNTS names.  ``read_counts`` adds them up.
Counting in the process that asks is exact, works on every database and bus, and
is not disturbed by others on the same server.
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
_NUMBERS = struct.Struct("qq")  # statements, messages
_PROGRAM = "heat-convergence"


def read_counts(folder: Path) -> tuple[int, int]:
    """Statements and messages of all processes so far."""
    numbers = [_NUMBERS.unpack(path.read_bytes()) for path in folder.glob("*.counts")]
    return sum(one[0] for one in numbers), sum(one[1] for one in numbers)


class ProcessCounters:
    """This process's numbers; a fork begins a file of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._pid = 0
        self._numbers = [0, 0]
        self._map: mmap.mmap | None = None

    def add(self, which: int, times: int) -> None:
        with self._lock:
            if self._pid != os.getpid():
                self._open()
            self._numbers[which] += times
            _NUMBERS.pack_into(self._map, 0, *self._numbers)

    def _open(self) -> None:
        self._pid = os.getpid()
        self._numbers = [0, 0]
        path = self._folder / f"{self._pid}.counts"
        path.write_bytes(_NUMBERS.pack(0, 0))
        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), _NUMBERS.size)


def _count(counts: ProcessCounters) -> None:
    """Only now: what the daemons are made of must be loaded after the patching."""
    sqlalchemy = import_module("sqlalchemy")
    counting = import_module("heat_convergence.testing.statement_counter")
    bus = import_module("heat_convergence.rpc.bus").RpcBus

    def note(
        connection: Any, cursor: Any, statement: str, parameters: Any, context: Any, many: bool
    ) -> None:
        counts.add(0, counting.count_sent_statements(statement, parameters, context, many))

    sqlalchemy.event.listen(sqlalchemy.Engine, "before_cursor_execute", note)
    send = bus._cast

    def cast(self: Any, *arguments: Any) -> None:
        counts.add(1, 1)
        send(self, *arguments)

    bus._cast = cast


def main() -> int:
    kind, arguments = sys.argv[1], sys.argv[2:]
    concurrency = import_module("heat_convergence.cli.concurrency")
    program = f"{_PROGRAM}-{kind}"
    concurrency.set_up_backend(concurrency.configured_backend(arguments, prog=program))
    _count(ProcessCounters(Path(os.environ[COUNTS_FOLDER_VARIABLE])))
    sys.argv[0] = program
    if kind == "standalone":
        return int(import_module("heat_convergence.cli.daemons.standalone").main(arguments))
    module = "api_daemon" if kind == "api" else "daemon_service"
    daemons = import_module(f"heat_convergence.cli.daemons.{module}")
    return int(getattr(daemons, f"run_{kind}")(arguments))


if __name__ == "__main__":
    sys.exit(main())
