"""Output of the demo: progress, the graph, outputs.

Decides colours and symbols from the terminal alone. A terminal shows one table that changes in
place; a pipe gets a line for each change.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, TextIO


class ProgressState(Enum):
    """State of a resource with its symbol, plain symbol and colour."""

    WAITING = ("·", ".", "2")
    IN_PROGRESS = ("▶", ">", "33")
    READY = ("✔", "+", "32")
    UNCHANGED = ("=", "=", "2")
    FAILED = ("✘", "!", "31")
    NOT_LISTED = (" ", " ", "2")


@dataclass(frozen=True, slots=True)
class ProgressRow:
    """One line of the table."""

    name: str
    resource_type: str
    state: ProgressState
    status: str


class DemoDisplay:
    """Output of the demo to one stream."""

    def __init__(self, stream: TextIO = sys.stdout) -> None:
        self._stream = stream
        self._terminal = stream.isatty() and os.environ.get("TERM", "dumb") != "dumb"
        self._coloured = self._terminal and "NO_COLOR" not in os.environ
        encoding = (getattr(stream, "encoding", "") or "").lower()
        self._plain = not encoding.startswith("utf")
        self._drawn_lines = 0
        self._last_states: dict[str, ProgressState] = {}
        self._began = time.monotonic()

    def print_heading(self, text: str) -> None:
        """Print a heading and start a new table."""
        self.print_line()
        self.print_line(self._paint(text, "1"))
        self._drawn_lines, self._last_states, self._began = 0, {}, time.monotonic()

    def print_line(self, text: str = "") -> None:
        """Print one line."""
        print(text, file=self._stream, flush=True)

    def print_note(self, text: str) -> None:
        """Print a line amid progress, which goes on below it."""
        self.print_line(f"  {self._elapsed_s():5.1f} s  {self._paint(text, '1')}")
        self._drawn_lines = 0

    def show_progress(self, rows: Sequence[ProgressRow], status: str) -> None:
        """Show the present state of all resources; call it whenever it may have changed."""
        if self._terminal:
            self._redraw(rows, status)
        else:
            self._print_changes(rows)

    def print_graph(self, needed: Mapping[str, Sequence[str]]) -> None:
        """Print each resource with the resources that it requires, in order of creation.

        Args:
            needed: Required resources by resource.
        """
        level: dict[str, int] = {}
        arrow = "<-" if self._plain else "◀─"
        while len(level) < len(needed):
            ready = [
                name
                for name in sorted(needed)
                if name not in level and all(other in level for other in needed[name])
            ]
            for name in ready:
                level[name] = 1 + max((level[other] for other in needed[name]), default=-1)
        for name in sorted(level, key=lambda name: (level[name], name)):
            required = ", ".join(sorted(needed[name]))
            tail = self._paint(f" {arrow} {required}", "2") if required else ""
            self.print_line(f"  {'  ' * level[name]}{name}{tail}")

    def print_pairs(self, values: Mapping[str, Any]) -> None:
        """Print names and values in two columns."""
        width = max(map(len, values), default=0)
        for name, value in values.items():
            self.print_line(f"  {name:<{width}}  {self._paint(str(value), '36')}")

    def _redraw(self, rows: Sequence[ProgressRow], status: str) -> None:
        if self._drawn_lines:
            self._stream.write(f"\x1b[{self._drawn_lines}F\x1b[J")
        count = sum(row.state in (ProgressState.READY, ProgressState.UNCHANGED) for row in rows)
        for row in rows:
            self.print_line(f"  {self._row(row)}")
        ready_text = f"  {status}, {count} of {len(rows)} ready, {self._elapsed_s():.1f} s"
        self.print_line(self._paint(ready_text, "1"))
        self._drawn_lines = len(rows) + 1

    def _print_changes(self, rows: Sequence[ProgressRow]) -> None:
        for row in rows:
            if row.state not in (
                ProgressState.UNCHANGED,
                self._last_states.get(row.name, ProgressState.WAITING),
            ):
                self.print_line(f"  {self._elapsed_s():5.1f} s  {self._row(row)}")
            self._last_states[row.name] = row.state

    def _row(self, row: ProgressRow) -> str:
        symbol, plain, colour = row.state.value
        mark = self._paint(plain if self._plain else symbol, colour)
        return f"{mark} {row.name:<14} {self._paint(f'{row.resource_type:<24}', '2')} {row.status}"

    def _elapsed_s(self) -> float:
        return time.monotonic() - self._began

    def _paint(self, text: str, colour: str) -> str:
        return f"\x1b[{colour}m{text}\x1b[0m" if self._coloured else text
