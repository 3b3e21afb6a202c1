"""Updates of a server in place: name, metadata, networks, flavor, image and user data.

Decides which of Nova's actions takes a server to its new properties, and in which order.  Called
by engines, who retry the verb as long as it raises ``Conflict``.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from heat_convergence.common.failures import Conflict, ResourceFailure
from heat_convergence.resources.driver.ownership_marks import ownership_mark
from heat_convergence.resources.driver.resource_client import RestResourceClient
from heat_convergence.resources.driver.type_spec import PhysicalResource
from heat_convergence.resources.openstack.nova import server_agents, server_arguments, user_data
from heat_convergence.resources.openstack.nova.server_interfaces import ServerInterfaces
from heat_convergence.resources.openstack.nova.server_networks import (
    MANAGED_PORTS,
    ServerNetworks,
    has_managed_port,
)
from heat_convergence.resources.openstack.nova.server_replacement import release_predecessor_ports
from heat_convergence.resources.openstack.nova.server_snapshots import SnapshottableServer
from heat_convergence.resources.protocol.verb_values import ResourceContext, VerbResult

Json = Any
NETWORKS = "networks"
# Needed for networks "auto" and "none", tags of devices and types of volumes.
EXTENDED_MICROVERSION = "2.67"


class UpdatableServer(SnapshottableServer):
    """A server that can be updated in place."""

    def update(
        self, context: ResourceContext, after: Mapping[str, Json], changed: frozenset[str]
    ) -> VerbResult:
        """Change what takes effect at once, then start one of the slow actions.

        Raises:
            Conflict: An action is running, or another one must follow; retry the verb.
        """
        client, physical_id = self.client(context), self._id(context)
        body = client.get(physical_id)
        if body["status"] == "VERIFY_RESIZE":
            self.confirm_resize(context)
            raise Conflict("the server is being resized", retry_after_s=2.0)
        if NETWORKS in changed:
            self.release_predecessor_ports(context, after)
        self._change_immediate(context, after, changed)
        data = dict(context.data)
        if NETWORKS in changed and _has_choice(after):
            data[MANAGED_PORTS] = self._change_networks(context, after)
        actions = self._pending_actions(context, after, changed, body)
        if actions:
            actions[0]()
        if len(actions) > 1:
            raise Conflict("the server changes its properties one after the other")
        if server_agents.has_software_agent(after):
            data = server_agents.update_agent(replace(context, data=data), after)
        context = replace(context, properties=after, data=data)
        result = self.to_result(context, client.get(physical_id))
        return replace(result, data=context.data or None)

    def _change_immediate(
        self, context: ResourceContext, after: Mapping[str, Json], changed: frozenset[str]
    ) -> None:
        """Change the name, metadata, password and tags."""
        client, physical_id = self.client(context), self._id(context)
        if "name" in changed:
            client.update(physical_id, {"name": after.get("name") or context.physical_name})
        if "metadata" in changed:
            path = client.path(physical_id, "metadata")
            values = server_arguments.stringify_values(after.get("metadata"))
            client.send("PUT", path, {"metadata": values})
        if "admin_pass" in changed and after.get("admin_pass"):
            client.action(physical_id, "changePassword", {"adminPass": after["admin_pass"]})
        if "tags" in changed:
            server = PhysicalResource(client, physical_id, {}, self.id_lookup(context), context)
            self.spec.subresources[0].apply(server, after, context.properties)

    def _pending_actions(
        self,
        context: ResourceContext,
        after: Mapping[str, Json],
        changed: frozenset[str],
        body: Mapping[str, Json],
    ) -> list[Callable[[], Json]]:
        """Return the resize and rebuild that are still missing, in order.

        Each of them makes the server busy.
        """
        client, physical_id, arguments = (
            self.client(context),
            self._id(context),
            self.argument_builder(context),
        )
        actions: list[Callable[[], Json]] = []
        if "flavor" in changed:
            flavor = arguments.resolve_id("nova.flavor", after["flavor"], "flavor")
            if body["flavor"].get("id") != flavor:
                resize = {"flavorRef": flavor}
                actions.append(lambda: client.action(physical_id, "resize", resize))
        if self._needs_rebuild(context, after, changed, body):
            rebuild = server_arguments.build_rebuild_arguments(
                arguments, after, changed, build_user_data(context, after)
            )
            extended_client = self.extended_client(replace(context, properties=after))
            actions.append(lambda: extended_client.action(physical_id, "rebuild", rebuild))
        return actions

    def _needs_rebuild(
        self,
        context: ResourceContext,
        after: Mapping[str, Json],
        changed: frozenset[str],
        body: Mapping[str, Json],
    ) -> bool:
        user_data_changed = context.properties.get("user_data") != after.get("user_data")
        if user_data_changed and after.get("user_data_update_policy") == "REBUILD":
            return body.get("status") != "REBUILD"
        if "image" not in changed or not after.get("image"):
            return False
        image_id = self.argument_builder(context).resolve_id(
            "glance.image", after["image"], "image"
        )
        return (body.get("image") or {}).get("id") != image_id

    def _change_networks(self, context: ResourceContext, after: Mapping[str, Json]) -> list[str]:
        """Change the interfaces; return the ids of the managed ports."""
        networks = self.server_networks(context, after)
        interfaces = ServerInterfaces(self.client(context), self._id(context), networks)
        return interfaces.change(after[NETWORKS])

    def release_predecessor_ports(
        self, context: ResourceContext, properties: Mapping[str, Json]
    ) -> None:
        """Take the ports and addresses of ``properties`` from the incarnations to be deleted.

        Raises:
            Conflict: A predecessor still has one of the ports.
        """
        if context.predecessors:
            arguments = self.argument_builder(context)
            networks = [
                {
                    **network,
                    "port": arguments.resolve_id("neutron.port", network["port"], "networks.port"),
                }
                if network.get("port")
                else network
                for network in properties.get(NETWORKS) or ()
            ]
            release_predecessor_ports(
                self.client(context),
                self.client_for(context, "neutron.port"),
                context.predecessors,
                networks,
            )

    def confirm_resize(self, context: ResourceContext) -> None:
        """Confirm a resize.

        Nova shows VERIFY_RESIZE while it confirms, and refuses a second request:
        with 400 at first, with 409 once it is done.
        """
        with contextlib.suppress(Conflict, ResourceFailure):
            self.client(context).action(self._id(context), "confirmResize")

    def server_networks(
        self, context: ResourceContext, properties: Mapping[str, Json]
    ) -> ServerNetworks:
        """Return the networks of these properties, ready for calls."""
        arguments = self.argument_builder(context)
        groups = (
            [
                arguments.resolve_id("neutron.security_group", group, "security_groups")
                for group in properties.get("security_groups") or ()
            ]
            if any(has_managed_port(network) for network in properties.get(NETWORKS) or ())
            else []
        )
        return ServerNetworks(
            self.client_for(context, "neutron.port"),
            arguments,
            context.physical_name,
            ownership_mark(context),
            groups,
        )

    def extended_client(self, context: ResourceContext) -> RestResourceClient:
        """Return a client with the oldest microversion that these properties allow."""
        client = self.client(context)
        if server_arguments.needs_extended_microversion(context.properties):
            return RestResourceClient(
                client.cloud, replace(client.rest_resource, microversion=EXTENDED_MICROVERSION)
            )
        return client


def build_user_data(context: ResourceContext, properties: Mapping[str, Json]) -> str | None:
    """Return the server's user data as Nova takes them; None if there are none."""
    user_data_format = properties.get("user_data_format", user_data.RAW)
    has_tools = user_data_format == user_data.HEAT_CFNTOOLS
    return user_data.encode_user_data(
        user_data_format,
        user_data.resolve_user_data(context, properties),
        server_agents.with_agent_metadata(
            replace(context, properties=properties), context.metadata
        ),
        server_agents.metadata_url(context) if has_tools else None,
    )


def _has_choice(properties: Mapping[str, Json]) -> bool:
    """Return whether the template chooses the networks, rather than Nova."""
    networks = properties.get(NETWORKS) or ()
    return bool(networks) and not any(each.get("allocate_network") for each in networks)
