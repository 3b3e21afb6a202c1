"""Parts of host aggregates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heat_convergence.resources.driver.type_spec import PhysicalResource, SubResource

Json = Any


class AggregateHosts(SubResource):
    """Read before they are changed: adding a host twice is an error to the service."""

    property_names = frozenset({"hosts"})

    def apply(
        self, made: PhysicalResource, wanted: Mapping[str, Json], before: Mapping[str, Json] | None
    ) -> None:
        there = set(made.client.get(made.path_id).get("hosts") or ())
        goal = set(wanted.get("hosts") or ())
        for verb, hosts in (("remove_host", there - goal), ("add_host", goal - there)):
            for host in sorted(hosts):
                made.client.action(made.path_id, verb, {"host": host})

    def remove(self, made: PhysicalResource, wanted: Mapping[str, Json]) -> None:
        if wanted.get("hosts"):
            self.apply(made, {}, wanted)


class AggregateMetadata(SubResource):
    """A key is taken away by giving it null."""

    property_names = frozenset({"metadata"})

    def apply(
        self, made: PhysicalResource, wanted: Mapping[str, Json], before: Mapping[str, Json] | None
    ) -> None:
        goal = {key: str(value) for key, value in (wanted.get("metadata") or {}).items()}
        leaving = ((before or {}).get("metadata") or {}).keys() - goal.keys()
        values = {**goal, **dict.fromkeys(sorted(leaving))}
        if values:
            made.client.action(made.path_id, "set_metadata", {"metadata": values})


AGGREGATE_HOSTS = AggregateHosts()
AGGREGATE_METADATA = AggregateMetadata()
