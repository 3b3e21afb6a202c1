"""``OS::Nova::Server``: its creation, observation, deletion and attributes.

Updates are in ``server_updates``.  Observations change two things, because no other verb can know
the time for it: one that finds the server resized confirms the resize, and one that finds it
deleted deletes the ports that this service created for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.driver.declarative_steps import DriverContext
from heat_convergence.resources.driver.ownership_marks import (
    has_any_ownership_mark,
    ownership_mark,
)
from heat_convergence.resources.driver.type_spec import PhysicalResource, TypeSpec
from heat_convergence.resources.openstack.nova import (
    server_agents,
    server_arguments,
    server_consoles,
    user_data,
)
from heat_convergence.resources.openstack.nova.server_addresses import (
    ADDRESSES,
    INTERFACES,
    EarlyInterfaces,
    InterfaceReader,
    addresses_by_network,
    full_addresses,
    with_interfaces,
)
from heat_convergence.resources.openstack.nova.server_networks import (
    MANAGED_PORTS,
    has_managed_port,
    may_have_floating_addresses,
)
from heat_convergence.resources.openstack.nova.server_updates import (
    EXTENDED_MICROVERSION,
    NETWORKS,
    UpdatableServer,
    build_user_data,
)
from heat_convergence.resources.openstack.scheduler_hints import build_scheduler_hints
from heat_convergence.resources.protocol.verb_values import ResourceContext, VerbResult

Json = Any
UPDATE_POLICY_REPLACE = "REPLACE"
_TASK_STATE = "OS-EXT-STS:task_state"
_BUILD_TIME_S = 1.0  # in which no server becomes active, so that no observation is made
# A server that others have stopped stays so until somebody starts it.
_STOPPED = frozenset({"SHUTOFF", "PAUSED", "SUSPENDED", "RESCUE", "SHELVED", "SHELVED_OFFLOADED"})
_ACCEPTED_STATUSES: Mapping[Action, frozenset[str]] = {
    Action.SUSPEND: frozenset({"SUSPENDED"}),
    Action.UPDATE: _STOPPED,
    Action.ADOPT: _STOPPED,
    Action.SNAPSHOT: _STOPPED,
}
"""Statuses other than ``ACTIVE`` with which a server has reached the end of an action."""

_CONFIRM_NOTHING = frozenset({Action.CHECK, Action.DELETE})
"""Actions that leave a resize for others to confirm: a check changes nothing."""


class Server(UpdatableServer):
    """A server of the compute service."""

    releases_identity: ClassVar[bool] = True
    secret_data: ClassVar[frozenset[str]] = server_agents.SECRET_DATA_KEYS

    def __init__(self, spec: TypeSpec, context: DriverContext) -> None:
        """Build the type; see ``DeclarativeSteps``."""
        super().__init__(spec, context)
        self._early_interfaces = EarlyInterfaces()

    def create(self, context: ResourceContext) -> VerbResult:
        """Create the agent user, the managed ports and the server."""
        client, properties = self.extended_client(context), context.properties
        self.release_predecessor_ports(context, properties)
        context = server_agents.with_agent(context)
        arguments = self.create_arguments(context)
        body: dict[str, Json] = {"server": arguments}
        hints = build_scheduler_hints(context)
        if hints:
            body["os:scheduler_hints"] = hints
        server = client.send("POST", client.path(), body).body["server"]
        result = self.to_result(replace(context, physical_id=server["id"]), server)
        return replace(result, data=context.data or None, poll_after_s=_BUILD_TIME_S)

    def resume_create(self, context: ResourceContext) -> VerbResult:
        """Observe the server, with the credentials that its agent was created with."""
        context = server_agents.with_agent(context)
        return replace(super().resume_create(context), data=context.data or None)

    def create_subresources(self, resource: PhysicalResource) -> bool:
        """Do nothing: the create call carries everything."""
        return False

    def create_arguments(self, context: ResourceContext) -> dict[str, Json]:
        """Return the arguments of the create call; create the managed ports."""
        properties = context.properties
        arguments = super().create_arguments(context)
        arguments["description"] = ownership_mark(context)
        arguments.update(
            server_arguments.build_create_arguments(self.argument_builder(context), properties)
        )
        networks = properties.get(NETWORKS)
        if networks:
            arguments[NETWORKS] = self.server_networks(context, properties).build_nics(networks)
        elif self.extended_client(context).rest_resource.microversion == EXTENDED_MICROVERSION:
            arguments[NETWORKS] = "auto"
        text = build_user_data(context, properties)
        if text:
            arguments["user_data"] = text
        return arguments

    def needs_replace(
        self, before: Mapping[str, Json], after: Mapping[str, Json], changed: frozenset[str]
    ) -> bool:
        """Return whether an update policy demands a replacement.

        So does a change between booting from an image and booting from a volume.
        """
        if "flavor" in changed and after.get("flavor_update_policy") == UPDATE_POLICY_REPLACE:
            return True
        from_image = bool(after.get("image"))
        if from_image is not bool(before.get("image")):
            return True
        policy = after.get("image_update_policy")
        if "image" in changed and from_image and policy == UPDATE_POLICY_REPLACE:
            return True
        return (
            "user_data" in changed
            and after.get("user_data_update_policy") == UPDATE_POLICY_REPLACE
        )

    # -- observation

    def to_result(self, context: ResourceContext, body: Mapping[str, Json]) -> VerbResult:
        """Return the state of the body; confirm a finished resize, except during a check."""
        if body.get("status") == "VERIFY_RESIZE" and context.action not in _CONFIRM_NOTHING:
            self.confirm_resize(context)
        return super().to_result(context, body)

    def observed_state(
        self, context: ResourceContext, body: Mapping[str, Json]
    ) -> tuple[ObservedState, str]:
        """Decide from the status and the task state."""
        status = str(body.get("status", "BUILD")).upper()
        accepted = status in _ACCEPTED_STATUSES.get(context.action, ())
        if accepted and not body.get(_TASK_STATE):
            return ObservedState.READY, ""
        if context.action is Action.CHECK and status != "ACTIVE":
            return ObservedState.FAILED, f"the server is {status}, not ACTIVE"
        if context.action is Action.DELETE and body.get(_TASK_STATE) == "deleting":
            return ObservedState.BUSY, ""  # a server in error shows ERROR until it is deleted
        observed, reason = super().observed_state(context, body)
        if observed is ObservedState.READY and body.get(_TASK_STATE):
            return ObservedState.BUSY, ""
        return observed, reason

    def failure_reason(self, body: Mapping[str, Json], status: str) -> str:
        """Return Heat's text for a server in error."""
        fault = body.get("fault") or {}
        message = f"{fault.get('message', 'Unknown')}, Code: {fault.get('code', 'Unknown')}"
        return f'Went to status {status.upper()} due to "Message: {message}"'

    def suspend(self, context: ResourceContext) -> VerbResult:
        """Suspend the server."""
        return self._change_status(context, "suspend", "SUSPENDED")

    def resume(self, context: ResourceContext) -> VerbResult:
        """Resume the server."""
        return self._change_status(context, "resume", "ACTIVE")

    def _change_status(self, context: ResourceContext, action: str, desired: str) -> VerbResult:
        client, physical_id = self.client(context), self._id(context)
        body = client.get(physical_id)
        if body["status"] != desired:
            client.action(physical_id, action)
            body = client.get(physical_id)
            if body["status"] != desired:
                return self._busy(context)
        return self.to_result(context, body)

    # -- deletion

    def delete(self, context: ResourceContext) -> VerbResult:
        """Record the managed ports, then delete the agent user and the server.

        An adopted server's ports carry another ownership mark, so they are found by the server.
        """
        server_agents.delete_agent(context)
        port_ids = context.data.get(MANAGED_PORTS)
        if (
            port_ids is None
            and context.physical_id is not None
            and self._may_have_managed_ports(context)
        ):
            ports = self.client_for(context, "neutron.port").list(device_id=context.physical_id)
            port_ids = [port["id"] for port in ports if has_any_ownership_mark(port)]
            context = replace(context, data={**context.data, MANAGED_PORTS: port_ids})
        result = super().delete(context)
        return self._delete_managed_ports(
            context, replace(result, data=result.data or context.data or None)
        )

    def observe(self, context: ResourceContext) -> VerbResult:
        """Read the server; delete the managed ports once it is absent."""
        return self._delete_managed_ports(context, super().observe(context))

    def with_related_objects(
        self, contexts: Sequence[ResourceContext], results: Mapping[str, VerbResult]
    ) -> Mapping[str, VerbResult]:
        """Return the results with the interfaces of those servers that are ready."""
        ready = self._ids_observed_as(ObservedState.READY, contexts, results)
        if not ready:
            return results
        others = self._ids_observed_as(ObservedState.BUSY, contexts, results)
        reader = InterfaceReader(
            partial(self.client_for, contexts[0]),
            self.context.body_cache,
            self._early_interfaces,
            contexts[0].now,
            has_floating_addresses=any(
                may_have_floating_addresses(context.action, context.properties)
                for context in contexts
            ),
        )
        bodies = {
            server_id: (results[resource_id].attributes or {}).get("show") or {}
            for resource_id, server_id in ready.items()
        }
        interfaces = reader.read_interfaces(bodies, sorted(set(others.values())))
        found = {
            resource_id: with_interfaces(results[resource_id], interfaces.get(server_id))
            for resource_id, server_id in ready.items()
        }
        return {**results, **found}

    def _ids_observed_as(
        self,
        state: ObservedState,
        contexts: Sequence[ResourceContext],
        results: Mapping[str, VerbResult],
    ) -> dict[str, str]:
        """Return resource id → server id of the servers in a state."""
        return {
            context.resource_id: self._id(context)
            for context in contexts
            if context.resource_id in results and results[context.resource_id].observed is state
        }

    def recorded_attributes(
        self, context: ResourceContext, body: Mapping[str, Json]
    ) -> Mapping[str, Json]:
        """Return the attributes of the body; the interfaces stay as they were read last."""
        known = {key: context.attributes[key] for key in context.attributes if key == INTERFACES}
        return {**super().recorded_attributes(context, body), **known}

    def _listed(self, context: ResourceContext, body: Json) -> VerbResult:
        return self._delete_managed_ports(context, super()._listed(context, body))

    def _delete_managed_ports(self, context: ResourceContext, result: VerbResult) -> VerbResult:
        """Delete the managed ports once the server is absent.

        Neutron refuses to delete a port that is in use.
        """
        if context.action is not Action.DELETE or result.observed is not ObservedState.ABSENT:
            return result
        if context.data.get(MANAGED_PORTS) or self._may_have_managed_ports(context):
            ports = self.client_for(context, "neutron.port")
            for port_id in context.data.get(MANAGED_PORTS) or ():
                ports.delete(port_id)
            self.server_networks(context, context.properties).delete_managed_ports()
        return result

    @staticmethod
    def _may_have_managed_ports(context: ResourceContext) -> bool:
        networks = context.properties.get(NETWORKS)
        unknown = not context.properties
        return unknown or any(has_managed_port(network) for network in networks or ())

    def find(self, context: ResourceContext) -> str | None:
        """Return the server's id; before a delete, clean up what precedes its creation."""
        found = super().find(context)
        if found is None and context.action is Action.DELETE:
            server_agents.delete_agent(context)  # the agent is created before the server
        if (
            found is None
            and context.action is Action.DELETE
            and self._may_have_managed_ports(context)
        ):
            # The ports are created before the server: there may be some without it.
            self.server_networks(context, context.properties).delete_managed_ports()
        return found

    # -- attributes and validation

    def attribute(self, context: ResourceContext, name: str) -> Json:
        """Return an attribute, some of which are computed from the body or the agent's data."""
        shown = context.attributes.get("show") or {}
        interfaces = context.attributes.get(INTERFACES) or {}
        if name == ADDRESSES:
            return full_addresses(shown, interfaces)
        if name == NETWORKS:
            return addresses_by_network(shown, interfaces)
        if name == "first_address":
            addresses = addresses_by_network(shown, {})
            return next((each[0] for each in addresses.values() if each), "")
        if name == "os_collect_config":
            return server_agents.agent_metadata(context) if context.physical_id else None
        if name == server_consoles.CONSOLE_URLS:
            server_id = context.physical_id
            return (
                server_consoles.get_console_urls(self.spec.rest_resource, server_id)
                if server_id
                else {}
            )
        return super().attribute(context, name)

    def attribute_at_path(
        self, context: ResourceContext, name: str, path: tuple[Json, ...]
    ) -> Json:
        """Return an attribute; a single console URL is requested alone."""
        if name == server_consoles.CONSOLE_URLS and path and context.physical_id:
            return server_consoles.get_console_url(
                self.spec.rest_resource, context.physical_id, str(path[0])
            )
        return super().attribute_at_path(context, name, path)

    def shown_metadata(
        self, context: ResourceContext, metadata: Mapping[str, Json]
    ) -> Mapping[str, Json]:
        """Return the metadata with the agent's configuration."""
        return server_agents.with_agent_metadata(context, metadata)

    def outdated_by_metadata(
        self, data: Mapping[str, Json], read_metadata: Callable[[], Mapping[str, Json]]
    ) -> frozenset[str]:
        """Return the property by whose update the agent gets the metadata."""
        return server_agents.outdated_by_metadata(data, read_metadata)

    def handover_obstacle(self, context: ResourceContext) -> str:
        """Return that a software agent knows the names; empty for a server without one."""
        return server_agents.handover_obstacle(context)

    def shows_deployments(self, context: ResourceContext) -> bool:
        """Return whether the server has a software agent."""
        return server_agents.has_software_agent(context.properties)

    def accepts_deployments(self, properties: Mapping[str, Json]) -> bool:
        """Return whether the server may have a software agent."""
        return server_agents.may_have_software_agent(properties)

    def has_secret_data(self, properties: Mapping[str, Json]) -> bool:
        """Return whether the server may have an agent, whose credentials are secret."""
        default = self.schema.properties[server_agents.USER_DATA_FORMAT].default
        return (
            properties.get(server_agents.USER_DATA_FORMAT, default)
            not in user_data.FORMATS_WITHOUT_AGENT
        )

    def validate(self, properties: Mapping[str, Json], timeout_s: float | None) -> None:
        """Check the devices and the networks."""
        server_arguments.validate_properties(properties)

    def validate_property_names(self, names: frozenset[str]) -> None:
        """Require one source to boot from."""
        server_arguments.validate_property_names(names)
