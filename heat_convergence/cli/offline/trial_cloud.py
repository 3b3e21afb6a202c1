"""The emulated cloud of ``heat-convergence try``: objects and failures that users ask for."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from heat_convergence.cli.components.software_store import DatabaseSoftwareStore
from heat_convergence.cli.offline.emulated_cloud import ClockedEmulation
from heat_convergence.cli.offline.local_service import LocalService
from heat_convergence.resources.driver.declarative import DeclarativeType
from heat_convergence.resources.protocol.resource_type import ResourceType
from heat_convergence.testing.in_process_service import QueuedMessage
from heat_convergence.testing.openstack.emulation import (
    EmulatedRequest,
    EmulatedResponse,
    Emulation,
    InjectedFailure,
)
from heat_convergence.testing.openstack.error_state import ErrorState

Json = Any
_SLOW_S = 600.0
_NEVER_S = 1e9
_ALWAYS = 1_000_000  # requests
_FAULT = {"message": "The fault that was asked for.", "code": 500}
# What templates expect every cloud to have, by the word of ``--have``: entity and further fields.
OBJECTS: Mapping[str, tuple[str, Mapping[str, Json]]] = {
    "image": ("glance.image", {"status": "active"}),
    "flavor": ("nova.flavor", {"ram": 64, "vcpus": 1, "disk": 1}),
    "group": ("keystone.group", {"domain_id": "default"}),
    "key": ("nova.keypair", {}),
    "network": ("neutron.network", {"status": "ACTIVE", "subnets": []}),
    "project": ("keystone.project", {"domain_id": "default"}),
    "region": ("keystone.region", {}),
    "server": ("nova.server", {"status": "ACTIVE"}),
    "user": ("keystone.user", {"domain_id": "default"}),
    "volume-type": ("cinder.volume_type", {}),
}

_NAMED_BY_ID = frozenset({"region", "server"})  # templates name them by their ids


class FaultType(StrEnum):
    """The way in which the creation of a resource fails."""

    ERROR = "error"
    QUOTA = "quota"
    SLOW = "slow"
    NEVER = "never"


@dataclass(slots=True)
class RequestedFault:
    """A failure of one resource.

    Attributes:
        remaining: The number of tries that still fail.
    """

    type: FaultType
    remaining: int = _ALWAYS


class TrialCloud(ClockedEmulation):
    """The emulation, with the store of the service's software configurations."""

    def cloud_for(self, tree_id: str) -> Any:
        """Return the cloud's client for a tree of stacks."""
        assert self.service is not None
        client: Any = super().cloud_for(tree_id)
        client.software = DatabaseSoftwareStore(self.service.database)
        client.users = client.heat_base_url = None  # no Keystone that authenticates stack users
        return client

    def lose(self, type_name: str, physical_id: str) -> None:
        """Delete an object behind the service's back, as another client of its service would."""
        assert self.service is not None
        found = self.service.registry.find(type_name)
        rest = found.spec.rest_resource if isinstance(found, DeclarativeType) else None
        if rest is None or "%" in rest.path_template:  # below another object
            self.emulation.remove(physical_id)
            return
        path = f"{rest.path_template}/{physical_id}"
        self.emulation.handle(EmulatedRequest(rest.service, "DELETE", path, {}, None))

    def add_object(self, object_type: str, name: str) -> None:
        """Add an object that templates name.

        Raises:
            ValueError: The type is not known.
        """
        if object_type not in OBJECTS:
            raise ValueError(f'"{object_type}" must be one of {", ".join(sorted(OBJECTS))}')
        entity, fields = OBJECTS[object_type]
        identity = {"id": name} if object_type in _NAMED_BY_ID else {}
        added = self.emulation.add(entity, name=name, **identity, **fields)
        if object_type == "network":
            self.emulation.add(
                "neutron.subnet",
                name=name,
                cidr="10.66.0.0/24",
                network_id=added["id"],
                gateway_ip="10.66.0.1",
                allocated=1,
            )


@dataclass(slots=True)
class _FaultsInEmulation:
    """The failures that the emulation shows to the job that runs."""

    emulation: Emulation
    registry: Mapping[str, ResourceType] = field(default_factory=dict)

    @contextmanager
    def of_job(self, fault: RequestedFault, implementation: str) -> Iterator[None]:
        injected = self._inject(fault.type, self.registry.get(implementation))
        try:
            yield
        finally:
            fault.remaining -= injected.remaining < _ALWAYS
            injected.remaining = 0

    def _inject(
        self, fault_type: FaultType, resource_type: ResourceType | None
    ) -> InjectedFailure | ErrorState:
        state = None
        if fault_type is not FaultType.QUOTA and isinstance(resource_type, DeclarativeType):
            state = _state(fault_type, resource_type)
        if state is not None:
            self.emulation.inject_error_state(state)
            return state
        failure = InjectedFailure("POST", ".", _refusal(fault_type), _ALWAYS)
        self.emulation.injected_failures.append(failure)
        return failure


class TrialService(LocalService):
    """The service, whose jobs fail as the user asked.

    Attributes:
        faults: Resource name to its failure.
    """

    encryption_key = secrets.token_urlsafe(32)
    faults: Mapping[str, RequestedFault]
    emulation: Emulation

    def deliver(self, message: QueuedMessage) -> None:
        """Hand a message to the daemon it is for; a job that fails on request goes alone."""
        failing = self._failing(message) if message.method == "converge" else {}
        others = tuple(each for each in message.resource_ids if each not in failing)
        if others or not failing:
            super().deliver(message._replace(resource_ids=others))
        injected = _FaultsInEmulation(self.emulation, {each.name: each for each in self.registry})
        for resource_id, (fault, implementation) in failing.items():
            with injected.of_job(fault, implementation):
                super().deliver(message._replace(resource_ids=(resource_id,)))

    def _failing(self, message: QueuedMessage) -> dict[str, tuple[RequestedFault, str]]:
        if not any(fault.remaining for fault in self.faults.values()):
            return {}
        with self.services.store.transaction() as tx:
            rows = tx.resources.get(message.resource_ids)
        return {
            row.id: (self.faults[row.name], row.desired.implementation)
            for row in rows
            if row.name in self.faults and self.faults[row.name].remaining
        }


def parse_faults(texts: Collection[str]) -> dict[str, RequestedFault]:
    """Return the faults of ``NAME=FAULT`` or ``NAME=FAULT:TIMES``.

    Raises:
        ValueError: A text has another form.
    """
    found = {}
    for text in texts:
        name, _, fault_type = text.partition("=")
        word, _, times = fault_type.partition(":")
        if not name or word not in list(FaultType) or not (times.isdigit() or not times):
            known = "|".join(FaultType)
            raise ValueError(f'the failure "{text}" must have the form NAME={known}[:TIMES]')
        found[name] = RequestedFault(FaultType(word), int(times) if times else _ALWAYS)
    return found


def _state(fault_type: FaultType, resource_type: DeclarativeType) -> ErrorState | None:
    """Return the states that new objects of a type have; None if it has no status."""
    status, entity = resource_type.spec.status_mapping, resource_type.spec.rest_resource.entity
    if status.body_key is None:
        return None
    busy = {status.body_key: min(status.busy, default="build").upper()}
    if fault_type is FaultType.ERROR:
        word = "ERROR" if "error" in status.failed else min(status.failed).upper()
        return ErrorState(entity, {status.body_key: word, "fault": _FAULT}, _ALWAYS)
    after_s = _SLOW_S if fault_type is FaultType.SLOW else _NEVER_S
    return ErrorState(entity, {}, _ALWAYS, after_s, busy, is_delay=True)


def _refusal(fault_type: FaultType) -> EmulatedResponse:
    if fault_type is FaultType.QUOTA:
        message = "Quota exceeded, as was asked for."
        return EmulatedResponse(403, {"error": {"message": message, "type": "", "code": 403}})
    return EmulatedResponse(500, {"error": {**_FAULT, "type": ""}})
