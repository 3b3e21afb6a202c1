"""The types of event sinks, which are plug-ins, and the check of an environment's sinks.

Decides which types exist: those of the entry point group ``heat_convergence.event_sinks``. A sink
must return or fail within the time limit of its caller, and decides nothing about the stack.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

from stevedore import ExtensionManager

from heat_convergence.common.errors import HTTPBadRequest

Json = Any
ENTRY_POINT_GROUP = "heat_convergence.event_sinks"
MAX_SINKS = 10  # of one stack
TYPE = "type"


@dataclass(frozen=True, slots=True)
class SinkTarget:
    """The stack whose events are sent.

    Attributes:
        project_id: the stack's.
        cloud: what resource types see as the cloud of the stack's tree.
    """

    project_id: str
    cloud: Any


class EventSinkType(Protocol):
    """A type of sinks; stateless, one object per process."""

    def check(self, sink: Mapping[str, Json]) -> str | None:
        """Return what is wrong with a sink's declaration, None if nothing is."""

    def send(
        self, sink: Mapping[str, Json], documents: Sequence[Json], target: SinkTarget
    ) -> None:
        """Send documents of events to a sink, oldest first.

        Raises:
            Error: They could not be sent; they are not sent again.
        """


@cache
def load_sink_types() -> Mapping[str, EventSinkType]:
    """Return the installed types by their names."""
    manager: ExtensionManager[EventSinkType] = ExtensionManager(
        ENTRY_POINT_GROUP, invoke_on_load=True
    )
    return {each.name: each.obj for each in manager if each.obj is not None}


def declared_values(sink: Mapping[str, Json]) -> dict[str, Json]:
    """Return what a sink declares beside its type."""
    return {key: value for key, value in sink.items() if key != TYPE}


def check_event_sinks(sinks: Sequence[Mapping[str, Json]]) -> None:
    """Check the sinks of an environment.

    Raises:
        HTTPBadRequest: One of them is not declared as its type demands.
    """
    types = load_sink_types() if sinks else {}
    if len(sinks) > MAX_SINKS:
        raise HTTPBadRequest(f"An environment has at most {MAX_SINKS} event_sinks.")
    for at, sink in enumerate(sinks):
        name = sink.get(TYPE)
        found = types.get(name) if isinstance(name, str) else None
        mistake = (
            f"type must be one of {', '.join(sorted(types))}"
            if found is None
            else found.check(declared_values(sink))
        )
        if mistake is not None:
            raise HTTPBadRequest(f"Invalid event_sinks[{at}] in the environment: {mistake}.")
