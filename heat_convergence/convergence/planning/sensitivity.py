"""Which rows hold secrets because they read others that do.

Called where definitions become what a traversal wants.  Decided before anything is
made: a value that was stored in clear once can't be taken back.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from heat_convergence.convergence.planning.desired_state import DesiredResource


def propagate_sensitivity(
    desired_resources: Mapping[str, DesiredResource], secret_sources: Collection[str] = ()
) -> dict[str, DesiredResource]:
    """``sensitive`` passed on to all that draw on something sensitive, however far off;
    ``secret_sources`` are names of resources whose types make secrets."""
    readers: dict[str, list[str]] = {}
    for name, want in desired_resources.items():
        for read in want.referenced_names:
            readers.setdefault(read, []).append(name)
    waiting = sorted(
        name
        for name, want in desired_resources.items()
        if want.sensitive or name in secret_sources
    )
    reached: set[str] = set()
    while waiting:
        for name in readers.get(waiting.pop(), ()):
            if name not in reached:
                reached.add(name)
                waiting.append(name)
    return {
        name: _sensitive(want) if name in reached else want
        for name, want in desired_resources.items()
    }


def _sensitive(want: DesiredResource) -> DesiredResource:
    """Its hash stays: that somebody else's value is secret changes nothing to be done."""
    definition = {**want.definition, "sensitive": True}
    return replace(want, sensitive=True, definition=definition)
