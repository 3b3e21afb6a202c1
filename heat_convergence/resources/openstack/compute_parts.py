"""Parts of host aggregates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heat_convergence.resources.driver.row import Made, Part

Json = Any


class Hosts(Part):
    """Read before they are changed: adding a host twice is an error to the service."""

    names = frozenset({"hosts"})

    def put(
        self, made: Made, wanted: Mapping[str, Json], before: Mapping[str, Json] | None
    ) -> None:
        there = set(made.calls.get(made.thing_id).get("hosts") or ())
        goal = set(wanted.get("hosts") or ())
        for verb, hosts in (("remove_host", there - goal), ("add_host", goal - there)):
            for host in sorted(hosts):
                made.calls.action(made.thing_id, verb, {"host": host})

    def remove(self, made: Made, wanted: Mapping[str, Json]) -> None:
        if wanted.get("hosts"):
            self.put(made, {}, wanted)


class AggregateMetadata(Part):
    """A key is taken away by giving it null."""

    names = frozenset({"metadata"})

    def put(
        self, made: Made, wanted: Mapping[str, Json], before: Mapping[str, Json] | None
    ) -> None:
        goal = {key: str(value) for key, value in (wanted.get("metadata") or {}).items()}
        leaving = ((before or {}).get("metadata") or {}).keys() - goal.keys()
        values = {**goal, **dict.fromkeys(sorted(leaving))}
        if values:
            made.calls.action(made.thing_id, "set_metadata", {"metadata": values})


HOSTS = Hosts()
AGGREGATE_METADATA = AggregateMetadata()
