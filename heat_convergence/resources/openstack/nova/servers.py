"""``OS::Nova::Server``: made, changed in place where it can be, deleted with its ports.

Decides which of the compute service's actions takes a server to its properties.
Looks change two things, as none but a look can know the time for it: the one that sees a
server resized confirms that, and the one that sees it gone deletes its own ports.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, ClassVar

from heat_convergence.common.errors import Conflict, Forbidden, ResourceFailure
from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.driver.declarative import DeclarativeType
from heat_convergence.resources.driver.ownership_marks import (
    has_any_ownership_mark,
    ownership_mark,
)
from heat_convergence.resources.driver.resource_client import RestResourceClient
from heat_convergence.resources.driver.type_spec import PhysicalResource
from heat_convergence.resources.openstack.nova import (
    server_agents,
    server_arguments,
    server_consoles,
    user_data,
)
from heat_convergence.resources.openstack.nova.server_networks import (
    ServerNetworks,
    has_managed_port,
    ignore_not_found,
)
from heat_convergence.resources.openstack.nova.server_replacement import release_predecessor_ports
from heat_convergence.resources.openstack.nova.server_snapshots import SnapshottableServer
from heat_convergence.resources.openstack.scheduler_hints import build_scheduler_hints
from heat_convergence.resources.protocol.resource_type import ResourceContext, VerbResult

Json = Any
NETWORKS = "networks"
# Needed for networks "auto" and "none", tags of devices and types of volumes.
EXTENDED_MICROVERSION = "2.67"
UPDATE_POLICY_REPLACE = "REPLACE"
MANAGED_PORTS = "own_ports"


class Server(SnapshottableServer, DeclarativeType):
    releases_identity: ClassVar[bool] = True
    secret_data: ClassVar[frozenset[str]] = server_agents.SECRET_DATA_KEYS

    def create(self, view: ResourceContext) -> VerbResult:
        calls, properties = self._rich(view), view.properties
        self._take_over(view, properties)
        view = _with_agent(view)
        arguments = self.create_arguments(view)
        body: dict[str, Json] = {"server": arguments}
        wishes = build_scheduler_hints(view)
        if wishes:
            body["os:scheduler_hints"] = wishes
        made = calls.send("POST", calls.path(), body).body["server"]
        look = self.to_result(replace(view, physical_id=made["id"]), made)
        return replace(look, data=view.data or None)

    def resume_create(self, view: ResourceContext) -> VerbResult:
        """Its agent's credentials are those that it was made with."""
        view = _with_agent(view)
        return replace(super().resume_create(view), data=view.data or None)

    def create_subresources(self, made: PhysicalResource) -> bool:
        """Nothing: a create says it all."""
        return False

    def create_arguments(self, view: ResourceContext) -> dict[str, Json]:
        properties = view.properties
        arguments = super().create_arguments(view)
        arguments["description"] = ownership_mark(view)
        arguments.update(
            server_arguments.build_create_arguments(self.argument_builder(view), properties)
        )
        networks = properties.get(NETWORKS)
        if networks:
            arguments[NETWORKS] = self.server_networks(view, properties).build_nics(networks)
        elif self._rich(view).rest_resource.microversion == EXTENDED_MICROVERSION:
            arguments[NETWORKS] = "auto"
        text = _user_data(view, properties)
        if text:
            arguments["user_data"] = text
        return arguments

    def needs_replace(
        self, before: Mapping[str, Json], after: Mapping[str, Json], changed: frozenset[str]
    ) -> bool:
        """A change of an image needs one that was booted from."""
        if "flavor" in changed and after.get("flavor_update_policy") == UPDATE_POLICY_REPLACE:
            return True
        if "image" in changed and (
            after.get("image_update_policy") == UPDATE_POLICY_REPLACE
            or not (before.get("image") and after.get("image"))
        ):
            return True
        return (
            "user_data" in changed
            and after.get("user_data_update_policy") == UPDATE_POLICY_REPLACE
        )

    def _take_over(self, view: ResourceContext, wanted: Mapping[str, Json]) -> None:
        if view.predecessors:
            arguments = self.argument_builder(view)
            networks = [
                {**one, "port": arguments.resolve_id("neutron.port", one["port"], "networks.port")}
                if one.get("port")
                else one
                for one in wanted.get(NETWORKS) or ()
            ]
            release_predecessor_ports(
                self.client(view),
                self.client_for(view, "neutron.port"),
                view.predecessors,
                networks,
            )

    # -- update

    def update(
        self, view: ResourceContext, after: Mapping[str, Json], changed: frozenset[str]
    ) -> VerbResult:
        calls, thing_id = self.client(view), self._id(view)
        body = calls.get(thing_id)
        if body["status"] == "VERIFY_RESIZE":
            self._confirm(view)
            raise Conflict("the server is being resized", retry_after_s=2.0)
        if NETWORKS in changed:
            self._take_over(view, after)
        self._change_quickly(view, after, changed)
        if NETWORKS in changed:
            self._change_networks(view, after)
        steps = self._slow_steps(view, after, changed, body)
        if steps:
            steps[0]()
        if len(steps) > 1:
            raise Conflict("the server is given its properties one after the other")
        look = self.to_result(replace(view, properties=after), calls.get(thing_id))
        if server_agents.SOFTWARE_CONFIG_TRANSPORT not in changed:
            return look
        return replace(look, data=_with_agent(replace(view, properties=after)).data or None)

    def _change_quickly(
        self, view: ResourceContext, after: Mapping[str, Json], changed: frozenset[str]
    ) -> None:
        calls, thing_id = self.client(view), self._id(view)
        if "name" in changed:
            calls.update(thing_id, {"name": after.get("name") or view.physical_name})
        if "metadata" in changed:
            path = calls.path(thing_id, "metadata")
            values = server_arguments.stringify_values(after.get("metadata"))
            calls.send("PUT", path, {"metadata": values})
        if "admin_pass" in changed and after.get("admin_pass"):
            calls.action(thing_id, "changePassword", {"adminPass": after["admin_pass"]})
        if "tags" in changed:
            made = PhysicalResource(calls, thing_id, {}, self.id_lookup(view), view)
            self.spec.subresources[0].apply(made, after, view.properties)

    def _slow_steps(
        self,
        view: ResourceContext,
        after: Mapping[str, Json],
        changed: frozenset[str],
        body: Mapping[str, Json],
    ) -> list[Callable[[], Json]]:
        """Each makes the server busy; what is done already is left out."""
        calls, thing_id, arguments = self.client(view), self._id(view), self.argument_builder(view)
        steps: list[Callable[[], Json]] = []
        if "flavor" in changed:
            flavor = arguments.resolve_id("nova.flavor", after["flavor"], "flavor")
            if body["flavor"].get("id") != flavor:
                resize = {"flavorRef": flavor}
                steps.append(lambda: calls.action(thing_id, "resize", resize))
        if self._rebuilds(view, after, changed, body):
            rebuild = server_arguments.build_rebuild_arguments(
                arguments, after, changed, _user_data(view, after)
            )
            rich = self._rich(replace(view, properties=after))
            steps.append(lambda: rich.action(thing_id, "rebuild", rebuild))
        return steps

    def _rebuilds(
        self,
        view: ResourceContext,
        after: Mapping[str, Json],
        changed: frozenset[str],
        body: Mapping[str, Json],
    ) -> bool:
        other_data = view.properties.get("user_data") != after.get("user_data")
        if other_data and after.get("user_data_update_policy") == "REBUILD":
            return body.get("status") != "REBUILD"
        if "image" not in changed or not after.get("image"):
            return False
        wanted = self.argument_builder(view).resolve_id("glance.image", after["image"], "image")
        return (body.get("image") or {}).get("id") != wanted

    def _change_networks(self, view: ResourceContext, after: Mapping[str, Json]) -> None:
        """What is attached is read first: what is done already is not done again."""
        calls, thing_id = self.client(view), self._id(view)
        path = calls.path(thing_id, "os-interface")
        attached = calls.send("GET", path).body["interfaceAttachments"]
        networks = self.server_networks(view, after)
        goal = list(after.get(NETWORKS) or ())
        kept, missing = [], []
        for number, network in enumerate(goal):
            match = next((one for one in attached if networks.matches(network, number, one)), None)
            if match is None:
                missing.append((number, network))
            else:
                attached.remove(match)
                kept.append(networks.port_name(number))
        for one in attached if goal else ():
            ignore_not_found(lambda port=one: calls.send("DELETE", f"{path}/{port['port_id']}"))
        for number, network in missing:
            attachment = networks.build_attachment(network, number)
            kept.append(networks.port_name(number))
            calls.send("POST", path, {"interfaceAttachment": attachment})
        if any(has_managed_port(network) for network in view.properties.get(NETWORKS) or ()):
            names = {networks.port_name(i) for i in range(len(view.properties[NETWORKS]))}
            _once_free(lambda: networks.delete_managed_ports(frozenset(names - set(kept))))

    # -- looking

    def to_result(self, view: ResourceContext, body: Mapping[str, Json]) -> VerbResult:
        if body.get("status") == "VERIFY_RESIZE" and view.action is not Action.DELETE:
            self._confirm(view)
        return super().to_result(view, body)

    def _confirm(self, view: ResourceContext) -> None:
        """The service goes on telling VERIFY_RESIZE while it confirms, and refuses to be
        asked twice: by 400 at first, by 409 once it is done."""
        with contextlib.suppress(Conflict, ResourceFailure):
            self.client(view).action(self._id(view), "confirmResize")

    def observed_state(
        self, view: ResourceContext, body: Mapping[str, Json]
    ) -> tuple[ObservedState, str]:
        word = str(body.get("status", "BUILD")).upper()
        if view.action in (Action.SUSPEND, Action.ADOPT) and word == "SUSPENDED":
            return ObservedState.READY, ""
        if view.action is Action.CHECK and word != "ACTIVE":
            return ObservedState.FAILED, f"the server is {word}, not ACTIVE"
        observed, reason = super().observed_state(view, body)
        if observed is ObservedState.READY and body.get("OS-EXT-STS:task_state"):
            return ObservedState.BUSY, ""
        return observed, reason

    def failure_reason(self, body: Mapping[str, Json], word: str) -> str:
        fault = body.get("fault") or {}
        told = f"{fault.get('message', 'Unknown')}, Code: {fault.get('code', 'Unknown')}"
        return f'Went to status {word.upper()} due to "Message: {told}"'

    def suspend(self, view: ResourceContext) -> VerbResult:
        return self._stated(view, "suspend", "SUSPENDED")

    def resume(self, view: ResourceContext) -> VerbResult:
        return self._stated(view, "resume", "ACTIVE")

    def _stated(self, view: ResourceContext, action: str, goal: str) -> VerbResult:
        calls, thing_id = self.client(view), self._id(view)
        body = calls.get(thing_id)
        if body["status"] != goal:
            calls.action(thing_id, action)
            body = calls.get(thing_id)
            if body["status"] != goal:
                return self._busy(view)
        return self.to_result(view, body)

    # -- delete

    def delete(self, view: ResourceContext) -> VerbResult:
        """Its own ports are noted while they can be told by it: those of one that was
        adopted bear another mark."""
        server_agents.delete_agent_user(view)
        own = view.data.get(MANAGED_PORTS)
        if own is None and view.physical_id is not None and self._has_own_ports(view):
            ports = self.client_for(view, "neutron.port").list(device_id=view.physical_id)
            own = [port["id"] for port in ports if has_any_ownership_mark(port)]
            view = replace(view, data={**view.data, MANAGED_PORTS: own})
        look = super().delete(view)
        return self._without_ports(view, replace(look, data=look.data or view.data or None))

    def observe(self, view: ResourceContext) -> VerbResult:
        return self._without_ports(view, super().observe(view))

    def _listed(self, view: ResourceContext, body: Json) -> VerbResult:
        return self._without_ports(view, super()._listed(view, body))

    def _without_ports(self, view: ResourceContext, look: VerbResult) -> VerbResult:
        """Ports of ours go once the server is gone: the service lets nobody delete one
        that is in use."""
        if view.action is not Action.DELETE or look.observed is not ObservedState.ABSENT:
            return look
        if self._has_own_ports(view):
            ports = self.client_for(view, "neutron.port")
            for port_id in view.data.get(MANAGED_PORTS) or ():
                ports.delete(port_id)
            self.server_networks(view, view.properties).delete_managed_ports()
        return look

    @staticmethod
    def _has_own_ports(view: ResourceContext) -> bool:
        networks = view.properties.get(NETWORKS)
        unknown = not view.properties
        return unknown or any(has_managed_port(network) for network in networks or ())

    def find(self, view: ResourceContext) -> str | None:
        found = super().find(view)
        if found is None and view.action is Action.DELETE:
            server_agents.delete_agent_user(view)  # the agent is made first
        if found is None and view.action is Action.DELETE and self._has_own_ports(view):
            # The ports are made first: there may be some without a server.
            self.server_networks(view, view.properties).delete_managed_ports()
        return found

    # -- what is told

    def attribute(self, view: ResourceContext, name: str) -> Json:
        shown = view.attributes.get("show") or {}
        if name == NETWORKS:
            return server_arguments.addresses_by_network(shown.get("addresses") or {})
        if name == "first_address":
            addresses = server_arguments.addresses_by_network(shown.get("addresses") or {})
            return next((each[0] for each in addresses.values() if each), "")
        if name == "os_collect_config":
            return server_agents.agent_metadata(view)
        if name == server_consoles.CONSOLE_URLS:
            there = view.physical_id
            return (
                server_consoles.get_console_urls(self.spec.rest_resource, there) if there else {}
            )
        return super().attribute(view, name)

    def attribute_at_path(self, view: ResourceContext, name: str, path: tuple[Json, ...]) -> Json:
        if name == server_consoles.CONSOLE_URLS and path and view.physical_id:
            return server_consoles.get_console_url(
                self.spec.rest_resource, view.physical_id, str(path[0])
            )
        return super().attribute_at_path(view, name, path)

    def shown_metadata(
        self, view: ResourceContext, given: Mapping[str, Json]
    ) -> Mapping[str, Json]:
        return server_agents.with_agent_metadata(view, given)

    def shows_deployments(self, view: ResourceContext) -> bool:
        return server_agents.has_software_agent(view.properties)

    def accepts_deployments(self, properties: Mapping[str, Json]) -> bool:
        return server_agents.may_have_software_agent(properties)

    def has_secret_data(self, properties: Mapping[str, Json]) -> bool:
        """Only of an agent; a format that is not known yet may come to one."""
        usual = self.schema.properties[server_agents.USER_DATA_FORMAT].default
        return (
            properties.get(server_agents.USER_DATA_FORMAT, usual)
            not in user_data.FORMATS_WITHOUT_AGENT
        )

    def validate(self, properties: Mapping[str, Json], timeout_s: float | None) -> None:
        server_arguments.validate_properties(properties)
        if server_agents.has_software_agent(properties):
            server_agents.validate_transport(properties)

    def validate_property_names(self, given: frozenset[str]) -> None:
        server_arguments.validate_property_names(given)

    # -- below

    def server_networks(
        self, view: ResourceContext, properties: Mapping[str, Json]
    ) -> ServerNetworks:
        arguments = self.argument_builder(view)
        groups = (
            [
                arguments.resolve_id("neutron.security_group", group, "security_groups")
                for group in properties.get("security_groups") or ()
            ]
            if any(has_managed_port(one) for one in properties.get(NETWORKS) or ())
            else []
        )
        return ServerNetworks(
            self.client_for(view, "neutron.port"),
            arguments,
            view.physical_name,
            ownership_mark(view),
            groups,
        )

    def _rich(self, view: ResourceContext) -> RestResourceClient:
        """As old a version of the interface as the properties allow."""
        calls = self.client(view)
        if server_arguments.needs_extended_microversion(view.properties):
            return RestResourceClient(
                calls.cloud, replace(calls.rest_resource, microversion=EXTENDED_MICROVERSION)
            )
        return calls


def _with_agent(view: ResourceContext) -> ResourceContext:
    """With what is recorded of its agent, if it has one."""
    if not server_agents.has_software_agent(view.properties):
        return view
    return replace(view, data={**view.data, **server_agents.create_agent_user(view)})


def _user_data(view: ResourceContext, properties: Mapping[str, Json]) -> str | None:
    form = properties.get("user_data_format", user_data.RAW)
    tools = form == user_data.HEAT_CFNTOOLS
    return user_data.encode_user_data(
        form,
        user_data.resolve_user_data(view, properties),
        server_agents.with_agent_metadata(replace(view, properties=properties), view.metadata),
        server_agents.metadata_url(view) if tools else None,
    )


def _once_free(call: Callable[[], None]) -> None:
    """A port that is being detached may not be deleted yet."""
    try:
        call()
    except Forbidden as error:
        raise Conflict(str(error), retry_after_s=1.0) from error
