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
from heat_convergence.convergence.model import Action, Observed
from heat_convergence.resources.driver.calls import Calls
from heat_convergence.resources.driver.declared import DeclaredType
from heat_convergence.resources.driver.naming import is_marked, mark_of
from heat_convergence.resources.driver.row import Made
from heat_convergence.resources.openstack import (
    server_agents,
    server_arguments,
    server_consoles,
    userdata,
)
from heat_convergence.resources.openstack.hints import hints
from heat_convergence.resources.openstack.server_networks import (
    Networks,
    gone_is_fine,
    is_own,
)
from heat_convergence.resources.openstack.server_snapshots import ServerSnapshots
from heat_convergence.resources.openstack.server_takeover import take_over
from heat_convergence.resources.plugin import Look, View

Json = Any
NETWORKS = "networks"
# Needed for networks "auto" and "none", tags of devices and types of volumes.
RICH = "2.67"
REPLACE = "REPLACE"
PORTS = "own_ports"


class Server(ServerSnapshots, DeclaredType):
    lets_go: ClassVar[bool] = True
    secret_data: ClassVar[frozenset[str]] = server_agents.SECRETS

    def create(self, view: View) -> Look:
        calls, properties = self._rich(view), view.properties
        self._take_over(view, properties)
        view = _with_agent(view)
        arguments = self.create_arguments(view)
        body: dict[str, Json] = {"server": arguments}
        wishes = hints(view)
        if wishes:
            body["os:scheduler_hints"] = wishes
        made = calls.send("POST", calls.path(), body).body["server"]
        look = self.look(replace(view, physical_id=made["id"]), made)
        return replace(look, data=view.data or None)

    def found(self, view: View) -> Look:
        """Its agent's credentials are those that it was made with."""
        view = _with_agent(view)
        return replace(super().found(view), data=view.data or None)

    def complete(self, made: Made) -> bool:
        """Nothing: a create says it all."""
        return False

    def create_arguments(self, view: View) -> dict[str, Json]:
        properties = view.properties
        arguments = super().create_arguments(view)
        arguments["description"] = mark_of(view)
        arguments.update(server_arguments.further(self.arguments(view), properties))
        networks = properties.get(NETWORKS)
        if networks:
            arguments[NETWORKS] = self.networks(view, properties).nics(networks)
        elif self._rich(view).thing.microversion == RICH:
            arguments[NETWORKS] = "auto"
        text = _user_data(view, properties)
        if text:
            arguments["user_data"] = text
        return arguments

    def replaces_on(
        self, before: Mapping[str, Json], after: Mapping[str, Json], changed: frozenset[str]
    ) -> bool:
        """A change of an image needs one that was booted from."""
        if "flavor" in changed and after.get("flavor_update_policy") == REPLACE:
            return True
        if "image" in changed and (
            after.get("image_update_policy") == REPLACE
            or not (before.get("image") and after.get("image"))
        ):
            return True
        return "user_data" in changed and after.get("user_data_update_policy") == REPLACE

    def _take_over(self, view: View, wanted: Mapping[str, Json]) -> None:
        if view.rivals:
            arguments = self.arguments(view)
            networks = [
                {**one, "port": arguments.value("neutron.port", one["port"], "networks.port")}
                if one.get("port") else one
                for one in wanted.get(NETWORKS) or ()
            ]
            take_over(self.calls(view), self.others(view, "neutron.port"), view.rivals, networks)

    # -- update

    def update(self, view: View, after: Mapping[str, Json], changed: frozenset[str]) -> Look:
        calls, thing_id = self.calls(view), self._id(view)
        body = calls.get(thing_id)
        if body["status"] == "VERIFY_RESIZE":
            self._confirm(view)
            raise Conflict("the server is being resized", after_s=2.0)
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
        look = self.look(replace(view, properties=after), calls.get(thing_id))
        if server_agents.TRANSPORT not in changed:
            return look
        return replace(look, data=_with_agent(replace(view, properties=after)).data or None)

    def _change_quickly(
        self, view: View, after: Mapping[str, Json], changed: frozenset[str]
    ) -> None:
        calls, thing_id = self.calls(view), self._id(view)
        if "name" in changed:
            calls.update(thing_id, {"name": after.get("name") or view.physical_name})
        if "metadata" in changed:
            path = calls.path(thing_id, "metadata")
            values = server_arguments.texts(after.get("metadata"))
            calls.send("PUT", path, {"metadata": values})
        if "admin_pass" in changed and after.get("admin_pass"):
            calls.action(thing_id, "changePassword", {"adminPass": after["admin_pass"]})
        if "tags" in changed:
            made = Made(calls, thing_id, {}, self.lookups(view), view)
            self.row.parts[0].put(made, after, view.properties)

    def _slow_steps(
        self,
        view: View,
        after: Mapping[str, Json],
        changed: frozenset[str],
        body: Mapping[str, Json],
    ) -> list[Callable[[], Json]]:
        """Each makes the server busy; what is done already is left out."""
        calls, thing_id, arguments = self.calls(view), self._id(view), self.arguments(view)
        steps: list[Callable[[], Json]] = []
        if "flavor" in changed:
            flavor = arguments.value("nova.flavor", after["flavor"], "flavor")
            if body["flavor"].get("id") != flavor:
                resize = {"flavorRef": flavor}
                steps.append(lambda: calls.action(thing_id, "resize", resize))
        if self._rebuilds(view, after, changed, body):
            rebuild = server_arguments.rebuild(
                arguments, after, changed, _user_data(view, after)
            )
            rich = self._rich(replace(view, properties=after))
            steps.append(lambda: rich.action(thing_id, "rebuild", rebuild))
        return steps

    def _rebuilds(
        self,
        view: View,
        after: Mapping[str, Json],
        changed: frozenset[str],
        body: Mapping[str, Json],
    ) -> bool:
        other_data = view.properties.get("user_data") != after.get("user_data")
        if other_data and after.get("user_data_update_policy") == "REBUILD":
            return body.get("status") != "REBUILD"
        if "image" not in changed or not after.get("image"):
            return False
        wanted = self.arguments(view).value("glance.image", after["image"], "image")
        return (body.get("image") or {}).get("id") != wanted

    def _change_networks(self, view: View, after: Mapping[str, Json]) -> None:
        """What is attached is read first: what is done already is not done again."""
        calls, thing_id = self.calls(view), self._id(view)
        path = calls.path(thing_id, "os-interface")
        attached = calls.send("GET", path).body["interfaceAttachments"]
        networks = self.networks(view, after)
        goal = list(after.get(NETWORKS) or ())
        kept, missing = [], []
        for number, network in enumerate(goal):
            match = next(
                (one for one in attached if networks.matches(network, number, one)), None
            )
            if match is None:
                missing.append((number, network))
            else:
                attached.remove(match)
                kept.append(networks.port_name(number))
        for one in attached if goal else ():
            gone_is_fine(lambda port=one: calls.send("DELETE", f"{path}/{port['port_id']}"))
        for number, network in missing:
            attachment = networks.attachment(network, number)
            kept.append(networks.port_name(number))
            calls.send("POST", path, {"interfaceAttachment": attachment})
        if any(is_own(network) for network in view.properties.get(NETWORKS) or ()):
            names = {networks.port_name(i) for i in range(len(view.properties[NETWORKS]))}
            _once_free(lambda: networks.delete_own(frozenset(names - set(kept))))

    # -- looking

    def look(self, view: View, body: Mapping[str, Json]) -> Look:
        if body.get("status") == "VERIFY_RESIZE" and view.action is not Action.DELETE:
            self._confirm(view)
        return super().look(view, body)

    def _confirm(self, view: View) -> None:
        """The service goes on telling VERIFY_RESIZE while it confirms, and refuses to be
        asked twice: by 400 at first, by 409 once it is done."""
        with contextlib.suppress(Conflict, ResourceFailure):
            self.calls(view).action(self._id(view), "confirmResize")

    def state(self, view: View, body: Mapping[str, Json]) -> tuple[Observed, str]:
        word = str(body.get("status", "BUILD")).upper()
        if view.action in (Action.SUSPEND, Action.ADOPT) and word == "SUSPENDED":
            return Observed.READY, ""
        if view.action is Action.CHECK and word != "ACTIVE":
            return Observed.FAILED, f"the server is {word}, not ACTIVE"
        observed, reason = super().state(view, body)
        if observed is Observed.READY and body.get("OS-EXT-STS:task_state"):
            return Observed.BUSY, ""
        return observed, reason

    def failure(self, body: Mapping[str, Json], word: str) -> str:
        fault = body.get("fault") or {}
        told = f"{fault.get('message', 'Unknown')}, Code: {fault.get('code', 'Unknown')}"
        return f"Went to status {word.upper()} due to \"Message: {told}\""

    def suspend(self, view: View) -> Look:
        return self._stated(view, "suspend", "SUSPENDED")

    def resume(self, view: View) -> Look:
        return self._stated(view, "resume", "ACTIVE")

    def _stated(self, view: View, action: str, goal: str) -> Look:
        calls, thing_id = self.calls(view), self._id(view)
        body = calls.get(thing_id)
        if body["status"] != goal:
            calls.action(thing_id, action)
            body = calls.get(thing_id)
            if body["status"] != goal:
                return self._busy(view)
        return self.look(view, body)

    # -- delete

    def delete(self, view: View) -> Look:
        """Its own ports are noted while they can be told by it: those of one that was
        adopted bear another mark."""
        server_agents.dismiss(view)
        own = view.data.get(PORTS)
        if own is None and view.physical_id is not None and self._has_own_ports(view):
            ports = self.others(view, "neutron.port").list(device_id=view.physical_id)
            own = [port["id"] for port in ports if is_marked(port)]
            view = replace(view, data={**view.data, PORTS: own})
        look = super().delete(view)
        return self._without_ports(view, replace(look, data=look.data or view.data or None))

    def observe(self, view: View) -> Look:
        return self._without_ports(view, super().observe(view))

    def _listed(self, view: View, body: Json) -> Look:
        return self._without_ports(view, super()._listed(view, body))

    def _without_ports(self, view: View, look: Look) -> Look:
        """Ports of ours go once the server is gone: the service lets nobody delete one
        that is in use."""
        if view.action is not Action.DELETE or look.observed is not Observed.ABSENT:
            return look
        if self._has_own_ports(view):
            ports = self.others(view, "neutron.port")
            for port_id in view.data.get(PORTS) or ():
                ports.delete(port_id)
            self.networks(view, view.properties).delete_own()
        return look

    @staticmethod
    def _has_own_ports(view: View) -> bool:
        networks = view.properties.get(NETWORKS)
        unknown = not view.properties
        return unknown or any(is_own(network) for network in networks or ())

    def find(self, view: View) -> str | None:
        found = super().find(view)
        if found is None and view.action is Action.DELETE:
            server_agents.dismiss(view)  # the agent is made first
        if found is None and view.action is Action.DELETE and self._has_own_ports(view):
            # The ports are made first: there may be some without a server.
            self.networks(view, view.properties).delete_own()
        return found

    # -- what is told

    def attribute(self, view: View, name: str) -> Json:
        shown = view.attributes.get("show") or {}
        if name == NETWORKS:
            return server_arguments.addresses(shown.get("addresses") or {})
        if name == "first_address":
            addresses = server_arguments.addresses(shown.get("addresses") or {})
            return next((each[0] for each in addresses.values() if each), "")
        if name == "os_collect_config":
            return server_agents.told(view)
        if name == server_consoles.NAME:
            there = view.physical_id
            return server_consoles.urls(self.row.thing, there) if there else {}
        return super().attribute(view, name)

    def attribute_at(self, view: View, name: str, path: tuple[Json, ...]) -> Json:
        if name == server_consoles.NAME and path and view.physical_id:
            return server_consoles.one(self.row.thing, view.physical_id, str(path[0]))
        return super().attribute_at(view, name, path)

    def metadata_of(self, view: View, given: Mapping[str, Json]) -> Mapping[str, Json]:
        return server_agents.with_config(view, given)

    def lists_deployments(self, view: View) -> bool:
        return server_agents.has_agent(view.properties)

    def takes_deployments(self, properties: Mapping[str, Json]) -> bool:
        return server_agents.may_have_agent(properties)

    def keeps_secrets(self, properties: Mapping[str, Json]) -> bool:
        """Only of an agent; a format that is not known yet may come to one."""
        usual = self.schema.properties[server_agents.FORMAT].default
        return properties.get(server_agents.FORMAT, usual) not in userdata.WITHOUT_AGENT

    def validate(self, properties: Mapping[str, Json], timeout_s: float | None) -> None:
        server_arguments.check(properties)
        if server_agents.has_agent(properties):
            server_agents.check(properties)

    def validate_names(self, given: frozenset[str]) -> None:
        server_arguments.check_names(given)

    # -- below

    def networks(self, view: View, properties: Mapping[str, Json]) -> Networks:
        arguments = self.arguments(view)
        groups = [
            arguments.value("neutron.security_group", group, "security_groups")
            for group in properties.get("security_groups") or ()
        ] if any(is_own(one) for one in properties.get(NETWORKS) or ()) else []
        return Networks(
            self.others(view, "neutron.port"),
            arguments,
            view.physical_name,
            mark_of(view),
            groups,
        )

    def _rich(self, view: View) -> Calls:
        """As old a version of the interface as the properties allow."""
        calls = self.calls(view)
        if server_arguments.needs_rich(view.properties):
            return Calls(calls.cloud, replace(calls.thing, microversion=RICH))
        return calls


def _with_agent(view: View) -> View:
    """With what is recorded of its agent, if it has one."""
    if not server_agents.has_agent(view.properties):
        return view
    return replace(view, data={**view.data, **server_agents.hired(view)})


def _user_data(view: View, properties: Mapping[str, Json]) -> str | None:
    form = properties.get("user_data_format", userdata.RAW)
    tools = form == userdata.HEAT_CFNTOOLS
    return userdata.encoded(
        form,
        userdata.given(view, properties),
        server_agents.with_config(replace(view, properties=properties), view.metadata),
        server_agents.metadata_url(view) if tools else None,
    )


def _once_free(call: Callable[[], None]) -> None:
    """A port that is being detached may not be deleted yet."""
    try:
        call()
    except Forbidden as error:
        raise Conflict(str(error), after_s=1.0) from error
