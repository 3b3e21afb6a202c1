"""``OS::Magnum::Cluster`` and ``OS::Magnum::ClusterTemplate``.

Decides from the values as well as from the status whether an update of a cluster is complete: the
status of an earlier action remains for a moment.

Source: docs.openstack.org/api-ref/container-infrastructure-management.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heat_convergence.common.errors import ResourcePropertyValueDependency
from heat_convergence.common.failures import ServiceRejection, TemporaryFailure
from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.driver.declarative import DeclarativeType
from heat_convergence.resources.driver.declarative_steps import UPDATING_ACTIONS
from heat_convergence.resources.driver.resource_client import RestResourceClient
from heat_convergence.resources.protocol.verb_values import ResourceContext

Json = Any
DELETE_FAILED = "delete_failed"
COUNTS = ("node_count", "master_count")
# Orchestrator of containers → the volume driver that goes with it.
VOLUME_DRIVERS = {"kubernetes": "cinder", "swarm": "rexray", "mesos": "rexray"}


class ClusterClient(RestResourceClient):
    """Requests about clusters, which Magnum refuses to show at the first moment."""

    def get(self, path_id: str) -> dict[str, Json]:
        """Return the body of a cluster.

        Raises:
            TemporaryFailure: Magnum answers 400, as it does until the cluster is complete enough.
        """
        try:
            return super().get(path_id)
        except ServiceRejection as error:
            raise TemporaryFailure(str(error)) from error


class Cluster(DeclarativeType):
    """A cluster of container hosts."""

    def client(self, context: ResourceContext) -> RestResourceClient:
        """Return a client of clusters."""
        return ClusterClient(self.cloud(context), self.spec.rest_resource)

    def observed_state(
        self, context: ResourceContext, body: Mapping[str, Json]
    ) -> tuple[ObservedState, str]:
        """Decide from the status, and for an update from the sizes, too."""
        word = self._word(body)
        if context.action is Action.DELETE and word != DELETE_FAILED:
            return ObservedState.BUSY, ""  # a cluster that has failed can be deleted
        state, reason = super().observed_state(context, body)
        if state is ObservedState.READY and context.action in UPDATING_ACTIONS:
            sizes = {name: context.properties[name] for name in COUNTS}
            if any(body.get(name) != size for name, size in sizes.items()):
                return ObservedState.BUSY, ""
        return state, reason


class ClusterTemplate(DeclarativeType):
    """A template of clusters."""

    def validate(self, properties: Mapping[str, Json], timeout_s: float | None) -> None:
        """Refuse a volume driver of another orchestrator.

        Raises:
            ResourcePropertyValueDependency: The driver is one.
        """
        coe, driver = properties.get("coe"), properties.get("volume_driver")
        expected = VOLUME_DRIVERS.get(str(coe))
        if driver is not None and expected is not None and driver != expected:
            raise ResourcePropertyValueDependency(
                f"Volume driver type {driver} is not supported by COE:{coe}, expecting {expected}."
            )
