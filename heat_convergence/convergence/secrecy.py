"""Which rows hold secrets because they read others that do.

Called where definitions become what a traversal wants.  Decided before anything is
made: a value that was stored in clear once can't be taken back.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from heat_convergence.convergence.wanted import Wanted


def spread(wanted: Mapping[str, Wanted], sources: Collection[str] = ()) -> dict[str, Wanted]:
    """``sensitive`` passed on to all that draw on something sensitive, however far off;
    ``sources`` are names of resources whose types make secrets."""
    readers: dict[str, list[str]] = {}
    for name, want in wanted.items():
        for read in want.draws_on:
            readers.setdefault(read, []).append(name)
    waiting = sorted(name for name, want in wanted.items() if want.sensitive or name in sources)
    reached: set[str] = set()
    while waiting:
        for name in readers.get(waiting.pop(), ()):
            if name not in reached:
                reached.add(name)
                waiting.append(name)
    return {
        name: _sensitive(want) if name in reached else want for name, want in wanted.items()
    }


def _sensitive(want: Wanted) -> Wanted:
    """Its hash stays: that somebody else's value is secret changes nothing to be done."""
    definition = {**want.definition, "sensitive": True}
    return replace(want, sensitive=True, definition=definition)
