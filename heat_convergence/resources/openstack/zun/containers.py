"""``OS::Zun::Container``: a container that runs as soon as it exists.

Decides the forms of what Zun reads, and which networks an update attaches.

Source: docs.openstack.org/api-ref/application-container.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from heat_convergence.common.errors import (
    Error,
    ResourcePropertyConflict,
    Retry,
    StackValidationFailed,
)
from heat_convergence.common.failures import ResourceGone
from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.driver.declarative import DeclarativeType
from heat_convergence.resources.driver.resource_client import RestResourceClient
from heat_convergence.resources.driver.type_spec import PhysicalResource
from heat_convergence.resources.openstack.subresources import SentAlongSubResource
from heat_convergence.resources.protocol.verb_values import ResourceContext, VerbResult

Json = Any
ADDRESSES, NETWORKS, MOUNTS = "addresses", "networks", "mounts"
STOPPED = "stopped"
RESTART_POLICIES = frozenset({"no", "on-failure", "always", "unless-stopped"})
ON_FAILURE = "on-failure"
ResolveId = Callable[[str, Json, str], str]  # entity, value and path of the property → id


class RunningContainerClient(RestResourceClient):
    """Requests that run a new container, and stop one that is deleted."""

    def create(self, arguments: Mapping[str, Json]) -> dict[str, Json]:
        """Create and run a container."""
        return self._one(self.send("POST", self.path(), dict(arguments), query={"run": "true"}))

    def delete(self, path_id: str) -> bool:
        """Stop and delete a container; return False when it is missing already."""
        try:
            self.send("DELETE", self.path(path_id), query={"stop": "True"})
        except ResourceGone:
            return False
        return True


class ZunContainer(DeclarativeType):
    """A container."""

    def validate(self, properties: Mapping[str, Json], timeout_s: float | None) -> None:
        """Check mounts and networks.

        Raises:
            StackValidationFailed: A mount has no volume, or a network no object.
            ResourcePropertyConflict: Two properties exclude each other.
        """
        for mount in properties.get(MOUNTS) or ():
            if (mount.get("volume_id") is None) is (mount.get("volume_size") is None):
                raise StackValidationFailed(
                    "One of the properties volume_id and volume_size must be set for a mount."
                )
        for network in properties.get(NETWORKS) or ():
            if network.get("network") is None and network.get("port") is None:
                raise StackValidationFailed("A network requires network or port.")
            if network.get("fixed_ip") is not None and network.get("port") is not None:
                raise ResourcePropertyConflict("fixed_ip and port exclude each other.")

    def client(self, context: ResourceContext) -> RestResourceClient:
        """Return a client of containers."""
        return RunningContainerClient(self.cloud(context), self.spec.rest_resource)

    def create_arguments(self, context: ResourceContext) -> dict[str, Json]:
        """Return the arguments in the forms of the service."""
        properties = context.properties
        found = super().create_arguments(context)
        if properties.get("command"):
            found["command"] = shlex.split(str(properties["command"]))
        if properties.get("restart_policy"):
            found["restart_policy"] = restart_policy(str(properties["restart_policy"]))
        if properties.get(MOUNTS):
            found[MOUNTS] = [_mount(each) for each in properties[MOUNTS]]
        if properties.get(NETWORKS):
            builder = self.argument_builder(context)
            found["nets"] = [_network(each, builder.resolve_id) for each in properties[NETWORKS]]
        return {name: value for name, value in found.items() if value not in (None, [], "")}

    def observed_state(
        self, context: ResourceContext, body: Mapping[str, Json]
    ) -> tuple[ObservedState, str]:
        """Decide from the status: a container may come to its end, unless interactive."""
        if context.action is not Action.DELETE and self._word(body) == STOPPED:
            if context.properties.get("interactive"):
                return ObservedState.FAILED, self.failure_reason(body, STOPPED)
            return ObservedState.READY, ""
        return super().observed_state(context, body)

    def recorded_attributes(
        self, context: ResourceContext, body: Mapping[str, Json]
    ) -> Mapping[str, Json]:
        """Return the attributes; the addresses are known by the ids of their networks at first."""
        return {"show": dict(body), ADDRESSES: dict(body.get(ADDRESSES) or {})}

    def with_related_objects(
        self, contexts: Sequence[ResourceContext], results: Mapping[str, VerbResult]
    ) -> Mapping[str, VerbResult]:
        """Return the results with the addresses by the names of their networks, too."""
        ready = {
            key: each for key, each in results.items() if each.observed is ObservedState.READY
        }
        ids = {each for result in ready.values() for each in (result.attributes or {})[ADDRESSES]}
        if not ids:
            return results
        networks = self.client_for(contexts[0], "neutron.network")
        try:
            bodies = networks.list_by_ids(sorted(ids))
        except Error as error:
            if error.retry is Retry.NEVER:
                return results
            return {**results, **{key: VerbResult.undecided(error) for key in ready}}
        names = {key: str(body["name"]) for key, body in bodies.items()}
        return {**results, **{key: _named(result, names) for key, result in ready.items()}}


class ContainerNetworks(SentAlongSubResource):
    """The networks of an existing container; a create sends them along."""

    property_names = frozenset({NETWORKS})

    def change(
        self,
        physical: PhysicalResource,
        properties: Mapping[str, Json],
        before: Mapping[str, Json],
    ) -> None:
        """Detach what is no longer desired, and attach what is missing."""
        client, path_id = physical.client, physical.path_id
        listed = client.send("GET", client.path(path_id, "network_list")).body[NETWORKS]
        unused = {str(each["port_id"]): each for each in listed}
        missing = []
        for declared in properties.get(NETWORKS) or ():
            desired = _network(declared, lambda e, v, _path: physical.id_lookup.resolve_id(e, v))
            port_id = next((key for key, each in unused.items() if _fits(desired, each)), None)
            if port_id is None:
                missing.append(desired)
            else:
                del unused[port_id]
        for port_id in sorted(unused):
            client.send("POST", client.path(path_id, "network_detach"), query={"port": port_id})
        for desired in missing:
            names = {"v4-fixed-ip": "fixed_ip", "v6-fixed-ip": "fixed_ip"}
            query = {names.get(key, key): value for key, value in desired.items()}
            client.send("POST", client.path(path_id, "network_attach"), query=query)


def restart_policy(text: str) -> dict[str, str] | None:
    """Return the policy of a text such as ``on-failure:3``; None for an unknown name."""
    name, _, count = text.partition(":")
    if name not in RESTART_POLICIES:
        return None
    maximum = count if name == ON_FAILURE and count else "0"
    return {"Name": name, "MaximumRetryCount": maximum}


def _mount(declared: Mapping[str, Json]) -> dict[str, Json]:
    volume = declared.get("volume_id")
    kept = {"size": str(declared["volume_size"])} if volume is None else {"source": volume}
    return {"destination": declared["mount_path"], **kept}


def _network(declared: Mapping[str, Json], resolve: ResolveId) -> dict[str, str]:
    found = {
        key: resolve(f"neutron.{key}", declared[key], f"{NETWORKS}.{key}")
        for key in ("network", "port")
        if declared.get(key)
    }
    address = declared.get("fixed_ip")
    if address:
        found["v6-fixed-ip" if ":" in str(address) else "v4-fixed-ip"] = str(address)
    return found


def _fits(desired: Mapping[str, str], attached: Mapping[str, Json]) -> bool:
    """Return whether an attached network is a desired one."""
    if "port" in desired:
        return bool(desired["port"] == attached["port_id"])
    addresses = {str(each["ip_address"]) for each in attached.get("fixed_ips") or ()}
    fixed = {desired[key] for key in ("v4-fixed-ip", "v6-fixed-ip") if key in desired}
    return bool(desired["network"] == attached["net_id"]) and fixed <= addresses


def _named(result: VerbResult, names: Mapping[str, str]) -> VerbResult:
    attributes = result.attributes or {}
    addresses = attributes[ADDRESSES]
    by_name = {names[key]: value for key, value in addresses.items() if key in names}
    return replace(result, attributes={**attributes, ADDRESSES: {**addresses, **by_name}})
