"""``OS::Trove::Cluster``: a cluster of database instances, which are created together.

Source: docs.openstack.org/api-ref/database.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heat_convergence.common.failures import Conflict, ResourceGone
from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.driver.declarative import DeclarativeType
from heat_convergence.resources.openstack.trove.instances import READY_STATES, validate_networks
from heat_convergence.resources.protocol.verb_values import ResourceContext, VerbResult

Json = Any
INSTANCES = "instances"
FAILED_STATES = frozenset({"ERROR", "FAILED"})
DELETABLE_TASKS = frozenset({"NONE", "DELETING"})


class DatabaseCluster(DeclarativeType):
    """A cluster of database instances."""

    def validate(self, properties: Mapping[str, Json], timeout_s: float | None) -> None:
        """Check that the networks of each instance have one object each."""
        for each in properties.get(INSTANCES) or ():
            validate_networks(each.get("networks") or ())

    def create_arguments(self, context: ResourceContext) -> dict[str, Json]:
        """Return the arguments with the size of each instance's volume."""
        arguments = super().create_arguments(context)
        return {**arguments, INSTANCES: [_member(each) for each in arguments[INSTANCES]]}

    def observed_state(
        self, context: ResourceContext, body: Mapping[str, Json]
    ) -> tuple[ObservedState, str]:
        """Decide from the states of the instances."""
        if context.action is Action.DELETE:
            return ObservedState.BUSY, ""
        states = {str(each.get("status")) for each in body.get(INSTANCES) or ()}
        failed = sorted(states & FAILED_STATES)
        if failed:
            return ObservedState.FAILED, f'Went to status {failed[0]} due to "Unknown"'
        ready = bool(states) and {state.lower() for state in states} <= READY_STATES
        return (ObservedState.READY if ready else ObservedState.BUSY), ""

    def delete(self, context: ResourceContext) -> VerbResult:
        """Delete the cluster once no other task of it runs.

        Raises:
            Conflict: One does.
        """
        if context.physical_id is None:
            return VerbResult(ObservedState.ABSENT)
        try:
            body = self.client(context).get(self._id(context))
        except ResourceGone:
            return VerbResult(ObservedState.ABSENT)
        task = str((body.get("task") or {}).get("name", "NONE"))
        if task not in DELETABLE_TASKS:
            raise Conflict(f"the task {task} of the cluster is in progress")
        return self._busy(context) if task == "DELETING" else super().delete(context)

    def attribute(self, context: ResourceContext, name: str) -> Json:
        """Return an attribute; ``instances`` are ids."""
        value = super().attribute(context, name)
        return [each["id"] for each in value or ()] if name == INSTANCES else value


def _member(arguments: Mapping[str, Json]) -> dict[str, Json]:
    """Return an instance of a cluster in the form of the service."""
    kept = {
        name: value
        for name, value in arguments.items()
        if name != "volume_size" and value not in ([], None)
    }
    return {**kept, "volume": {"size": arguments["volume_size"]}}
