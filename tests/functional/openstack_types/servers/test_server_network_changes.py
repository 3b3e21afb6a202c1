"""Every change between kinds of a server's networks, and policies for changed user data."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import pytest

from heat_convergence.convergence.model.action import Action
from heat_convergence.resources.protocol.schema import resolve_properties
from heat_convergence.resources.protocol.verb_values import ResourceContext
from tests.functional.openstack_types.driver_bench import server
from tests.functional.openstack_types.servers.test_server_interfaces import NetworkBench

Json = Any
FIXED_IP = "11.11.11.33"
ENTRIES: dict[str, dict[str, str]] = {
    "network": {"network": "net"},
    "address": {"network": "net", "fixed_ip": FIXED_IP},
    "subnet": {"subnet": "subnet"},
    "other subnet": {"subnet": "other_subnet"},
    "both": {"network": "net", "subnet": "other_subnet"},
    "port": {"port": "port"},
}
LISTS = [(name,) for name in ENTRIES] + [
    ("network", "subnet"),
    ("port", "network"),
    ("address", "other subnet"),
    ("subnet", "port", "network"),
]


class PortBench(NetworkBench):
    """An emulated cloud with a port that a template refers to."""

    def __init__(self) -> None:
        super().__init__()
        port = {"network": self.net, "fixed_ips": [{"subnet": self.other_subnet}]}
        self.port = self._create("OS::Neutron::Port", port)

    def interfaces(self, context: ResourceContext) -> list[Json]:
        """Return the interfaces that Nova shows of the server."""
        resource_type = self.registry.get(context.type)
        client = resource_type.client(context)  # type: ignore[attr-defined]
        path = client.path(str(context.physical_id), "os-interface")
        return list(client.send("GET", path).body["interfaceAttachments"])

    def change_count(self) -> int:
        """Return the number of requests that change servers, interfaces or ports."""
        changing = ("POST compute", "DELETE compute", "POST network", "DELETE network")
        counts = self.emulation.request_counts
        return sum(counts[key] for key in counts if key.startswith(changing))

    def fits(self, name: str, interface: Json) -> bool:
        """Return whether an interface is what an entry asks for."""
        (address,) = interface["fixed_ips"]
        if name == "port":
            return bool(interface["port_id"] == self.port)
        if name == "address":
            return bool(address["ip_address"] == FIXED_IP)
        if name == "subnet":
            return bool(address["subnet_id"] == self.subnet)
        if name in ("other subnet", "both"):
            return bool(address["subnet_id"] == self.other_subnet)
        return bool(interface["net_id"] == self.net)


def entries(names: tuple[str, ...]) -> list[dict[str, str]]:
    return [ENTRIES[name] for name in names]


@pytest.mark.parametrize(
    ("before", "after"),
    [pair for pair in itertools.product(LISTS, LISTS) if pair[0] != pair[1]],
    ids=lambda names: "+".join(names),
)
def test_interfaces_follow_the_template(before: tuple[str, ...], after: tuple[str, ...]) -> None:
    bench = PortBench()
    context = bench.start(entries(before))
    context = bench.update(context, entries(after))
    found = bench.interfaces(context)
    assert len(found) == len(after)
    assert any(
        all(bench.fits(name, each) for name, each in zip(after, order, strict=True))
        for order in itertools.permutations(found)
    )
    attached = {each["port_id"] for each in found}
    assert {port["id"] for port in bench.ports()} == attached | {bench.port}
    before_again = bench.change_count()
    bench.update(context, entries(after))
    assert bench.change_count() == before_again


@pytest.mark.parametrize(
    ("policy", "replaced", "actions"),
    [(None, True, 0), ("REPLACE", True, 0), ("IGNORE", False, 0), ("REBUILD", False, 1)],
)
def test_policy_decides_what_changed_user_data_do(
    policy: str | None, replaced: bool, actions: int
) -> None:
    bench = NetworkBench()
    more = {} if policy is None else {"user_data_update_policy": policy}
    old = {"user_data": "one", "user_data_format": "RAW", **more}
    context = bench.create(server(bench, networks=bench.named([{"network": "net"}]), **old))
    bench.emulation.advance(10.0)
    resource_type = bench.registry.get(context.type)
    after = resolve_properties(resource_type.schema, {**context.properties, "user_data": "two"})
    changed = frozenset({"user_data"})
    assert resource_type.needs_replace(context.properties, after, changed) is replaced
    if not replaced:
        result = resource_type.update(replace(context, action=Action.UPDATE), after, changed)
        assert result.physical_id == context.physical_id
    path = f"POST compute /servers/{context.physical_id}/action"
    assert bench.emulation.request_counts[path] == actions
