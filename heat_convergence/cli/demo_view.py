"""What the demo shows: progress, the graph, outputs.

Decides colours and symbols from the terminal alone.  A terminal sees one table
that changes in place; a pipe gets a line for each change.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, TextIO


class State(Enum):
    """Of a resource, as far as the demo tells them apart: symbol, plain symbol, colour."""

    WAITS = ("·", ".", "2")
    RUNS = ("▶", ">", "33")
    READY = ("✔", "+", "32")
    KEPT = ("=", "=", "2")
    FAILED = ("✘", "!", "31")
    GONE = (" ", " ", "2")


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table."""

    name: str
    type: str
    state: State
    status: str


class View:
    """Writes to one stream; ``width`` of names is fixed by the first table."""

    def __init__(self, stream: TextIO = sys.stdout) -> None:
        self._stream = stream
        self._terminal = stream.isatty() and os.environ.get("TERM", "dumb") != "dumb"
        self._coloured = self._terminal and "NO_COLOR" not in os.environ
        encoding = (getattr(stream, "encoding", "") or "").lower()
        self._plain = not encoding.startswith("utf")
        self._drawn_lines = 0
        self._told: dict[str, State] = {}
        self._began = time.monotonic()

    def heading(self, text: str) -> None:
        self.line()
        self.line(self._paint(text, "1"))
        self._drawn_lines, self._told, self._began = 0, {}, time.monotonic()

    def line(self, text: str = "") -> None:
        print(text, file=self._stream, flush=True)

    def progress(self, rows: Sequence[Row], status: str) -> None:
        """The present state of all resources; call as often as it may have changed."""
        if self._terminal:
            self._redraw(rows, status)
        else:
            self._tell_changes(rows)

    def graph(self, needed: Mapping[str, Sequence[str]]) -> None:
        """Resource → what it needs, in the order in which they could be made."""
        level: dict[str, int] = {}
        arrow = "<-" if self._plain else "◀─"
        while len(level) < len(needed):
            ready = [
                name
                for name in sorted(needed)
                if name not in level and all(need in level for need in needed[name])
            ]
            for name in ready:
                level[name] = 1 + max((level[need] for need in needed[name]), default=-1)
        for name in sorted(level, key=lambda name: (level[name], name)):
            needs = ", ".join(sorted(needed[name]))
            tail = self._paint(f" {arrow} {needs}", "2") if needs else ""
            self.line(f"  {'  ' * level[name]}{name}{tail}")

    def pairs(self, values: Mapping[str, Any]) -> None:
        width = max(map(len, values), default=0)
        for name, value in values.items():
            self.line(f"  {name:<{width}}  {self._paint(str(value), '36')}")

    def _redraw(self, rows: Sequence[Row], status: str) -> None:
        if self._drawn_lines:
            self._stream.write(f"\x1b[{self._drawn_lines}F\x1b[J")
        count = sum(row.state in (State.READY, State.KEPT) for row in rows)
        for row in rows:
            self.line(f"  {self._row(row)}")
        ready_text = f"  {status}, {count} of {len(rows)} ready, {self._elapsed_s():.1f} s"
        self.line(self._paint(ready_text, "1"))
        self._drawn_lines = len(rows) + 1

    def _tell_changes(self, rows: Sequence[Row]) -> None:
        for row in rows:
            if row.state not in (State.KEPT, self._told.get(row.name, State.WAITS)):
                self.line(f"  {self._elapsed_s():5.1f} s  {self._row(row)}")
            self._told[row.name] = row.state

    def _row(self, row: Row) -> str:
        symbol, plain, colour = row.state.value
        mark = self._paint(plain if self._plain else symbol, colour)
        return f"{mark} {row.name:<14} {self._paint(f'{row.type:<24}', '2')} {row.status}"

    def _elapsed_s(self) -> float:
        return time.monotonic() - self._began

    def _paint(self, text: str, colour: str) -> str:
        return f"\x1b[{colour}m{text}\x1b[0m" if self._coloured else text
