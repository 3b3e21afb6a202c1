"""Ports of servers, for the attributes ``addresses`` and ``networks``.

Nova names the networks of an address but neither their ids nor the ports.  An observation that
finds servers ready reads the ports of all of them from Neutron by few lists, and records them with
the servers' attributes; a view of one server reads them anew.  A list that has room for them also
reads the ports of servers that are still being built, which mostly have them by then.
Source: Heat's ``OS::Nova::Server``, attributes ``addresses`` and ``networks``.
"""

from __future__ import annotations

import ipaddress
import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from heat_convergence.common.errors import Error
from heat_convergence.resources.driver.id_lookup import BodyCache
from heat_convergence.resources.driver.resource_client import IDS_PER_QUERY, RestResourceClient
from heat_convergence.resources.protocol.verb_values import VerbResult

Json = Any
LOG = logging.getLogger(__name__)
INTERFACES = "interfaces"  # key of the recorded attributes
ADDRESSES = "addresses"
MAX_EARLY_INTERFACES = 10_000
EARLY_TTL = timedelta(minutes=5)  # within which most servers are built
_TYPE, _MAC = "OS-EXT-IPS:type", "OS-EXT-IPS-MAC:mac_addr"


class EarlyInterfaces:
    """Interfaces of servers that were not ready when they were read. Thread-safe, bounded.

    An entry serves one observation, and only if Nova shows the same addresses by then.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[str, str], tuple[datetime, dict[str, Json]]] = OrderedDict()

    def put(self, key: tuple[str, str], interfaces: dict[str, Json], now: datetime) -> None:
        """Keep the interfaces of a server.

        Args:
            key: The key of the cloud and the id of the server.
            interfaces: What ``InterfaceReader`` has read; nothing is kept without a port.
            now: The time of the read.
        """
        if not interfaces["ports"]:
            return
        with self._lock:
            self._kept[key] = (now, interfaces)
            while len(self._kept) > MAX_EARLY_INTERFACES:
                self._kept.popitem(last=False)

    def take(
        self, key: tuple[str, str], shown: Mapping[str, Json], now: datetime
    ) -> dict[str, Json] | None:
        """Return and forget the interfaces of a server; None where they may have changed."""
        with self._lock:
            read_at, interfaces = self._kept.pop(key, (None, {}))
        if read_at is None or now - read_at >= EARLY_TTL:
            return None
        known = {one["addr"] for port in interfaces["ports"] for one in port["fixed"]}
        return interfaces if known == _fixed_addresses(shown) else None


def _fixed_addresses(shown: Mapping[str, Json]) -> set[str]:
    items = [item for each in (shown.get(ADDRESSES) or {}).values() for item in each]
    return {item["addr"] for item in items if item.get(_TYPE) != "floating"}


@dataclass(frozen=True, slots=True)
class InterfaceReader:
    """A reader of the interfaces of servers of one project.

    Attributes:
        client_for: Returns calls about an entity.
        body_cache: Bodies of networks and subnets that were read recently.
        early: Interfaces that earlier observations have read.
        now: The time that decides which of them are too old.
        has_floating_addresses: Whether there may be floating addresses.
    """

    client_for: Callable[[str], RestResourceClient]
    body_cache: BodyCache
    early: EarlyInterfaces
    now: datetime
    has_floating_addresses: bool = True

    def read_interfaces(
        self, ready: Mapping[str, Mapping[str, Json]], others: Sequence[str] = ()
    ) -> dict[str, dict[str, Json]]:
        """Return server id → its interfaces, to be recorded; nothing if Neutron fails.

        A ready server is not to fail, nor to wait, because the ports cannot be read.

        Args:
            ready: The bodies of ready servers by id.
            others: Ids of servers of the same project that are likely to be ready soon.
        """
        cloud_key = self.client_for("neutron.port").cloud.cache_key
        found: dict[str, dict[str, Json]] = {}
        for server_id, body in ready.items():
            interfaces = self.early.take((cloud_key, server_id), body, self.now)
            if interfaces is not None:
                found[server_id] = interfaces
        unread = sorted(ready.keys() - found.keys())
        soon = sorted(others)[: -len(unread) % IDS_PER_QUERY]
        read = self._read_if_possible([*unread, *soon]) if unread else {}
        for server_id in soon:
            if server_id in read:
                self.early.put((cloud_key, server_id), read[server_id], self.now)
        return {**found, **{one: read[one] for one in unread if one in read}}

    def _read_if_possible(self, server_ids: Sequence[str]) -> dict[str, dict[str, Json]]:
        try:
            return self._read(server_ids)
        except Error as error:
            LOG.warning(
                "ports of servers not read: servers=%(servers)s error=%(error)s",
                {"servers": len(server_ids), "error": error},
            )
            return {}

    def _read(self, server_ids: Sequence[str]) -> dict[str, dict[str, Json]]:
        ports = list(self._list("neutron.port", "device_id", server_ids))
        if not ports:
            return {server_id: {"ports": []} for server_id in server_ids}
        port_ids = [port["id"] for port in ports] if self.has_floating_addresses else []
        floating = self._floating_addresses(port_ids)
        networks = self._bodies("neutron.network", {port["network_id"] for port in ports})
        subnets = self._bodies("neutron.subnet", {one for port in ports for one in _subnets(port)})
        found = {}
        for server_id in server_ids:
            own = [port for port in ports if port["device_id"] == server_id]
            network_ids = {port["network_id"] for port in own}
            subnet_ids = {one for port in own for one in _subnets(port)}
            found[server_id] = {
                "ports": [_recorded_port(port, floating) for port in own],
                "networks": {one: networks[one] for one in network_ids & networks.keys()},
                "subnets": {one: subnets[one] for one in subnet_ids & subnets.keys()},
            }
        return found

    def _list(self, entity: str, key: str, ids: Sequence[str]) -> Iterator[dict[str, Json]]:
        """Yield the objects that refer to one of the ids, some ids in each list call.

        They may belong to other projects: a port of a shared network, for example.
        """
        client = self.client_for(entity)
        for start in range(0, len(ids), IDS_PER_QUERY):
            some = list(ids[start : start + IDS_PER_QUERY])
            yield from (body for body in client.list(**{key: some}) if body.get(key) in some)

    def _floating_addresses(self, port_ids: Sequence[str]) -> dict[tuple[str, str], list[str]]:
        """Return port id and fixed address → the floating addresses that lead there."""
        found: dict[tuple[str, str], list[str]] = {}
        for body in self._list("neutron.floatingip", "port_id", port_ids):
            key = (str(body["port_id"]), str(body.get("fixed_ip_address")))
            found.setdefault(key, []).append(str(body["floating_ip_address"]))
        return found

    def _bodies(self, entity: str, ids: set[str]) -> dict[str, Json]:
        return self.body_cache.get_many(self.client_for(entity), sorted(ids), self.now)


def _subnets(port: Mapping[str, Json]) -> list[str]:
    return [ip["subnet_id"] for ip in port.get("fixed_ips") or () if ip.get("subnet_id")]


def _recorded_port(
    port: Mapping[str, Json], floating: Mapping[tuple[str, str], Sequence[str]]
) -> dict[str, Json]:
    fixed = [ip["ip_address"] for ip in port.get("fixed_ips") or ()]
    return {
        "id": port["id"],
        "mac": port.get("mac_address"),
        "network": port["network_id"],
        "subnets": _subnets(port),
        "fixed": [{"addr": each, "floating": floating.get((port["id"], each), [])}
                  for each in fixed],
    }  # fmt: skip


def with_interfaces(result: VerbResult, interfaces: Mapping[str, Json] | None) -> VerbResult:
    """Add the interfaces to the attributes; None leaves those that are recorded."""
    if interfaces is None:
        return result
    return replace(result, attributes={**(result.attributes or {}), INTERFACES: interfaces})


def full_addresses(shown: Mapping[str, Json], recorded: Mapping[str, Json]) -> dict[str, Json]:
    """Return the addresses by network name, then by network id, as Heat shows them.

    Args:
        shown: The server's body.
        recorded: The recorded interfaces; empty where Neutron could not be read.
    """
    if not recorded.get("ports"):
        return dict(shown.get(ADDRESSES) or {})
    by_name: dict[str, Json] = {}
    by_id: dict[str, Json] = {}
    for port in recorded["ports"]:
        entries = [entry for each in port["fixed"] for entry in _entries(port, each, recorded)]
        name = (recorded["networks"].get(port["network"]) or {}).get("name")
        if name:
            by_name.setdefault(name, []).extend(entries)
        by_id.setdefault(port["network"], []).extend(entries)
    return {**by_name, **by_id}


def _entries(
    port: Mapping[str, Json], fixed: Mapping[str, Json], recorded: Mapping[str, Json]
) -> Iterator[dict[str, Json]]:
    """Yield the floating addresses of a fixed one, then that itself."""
    for address in fixed["floating"]:
        yield {
            "addr": address,
            "version": _versions(address),
            _MAC: port["mac"],
            _TYPE: "floating",
            "port": None,
        }
    yield {
        "addr": fixed["addr"],
        "version": _versions(fixed["addr"]),
        _MAC: port["mac"],
        _TYPE: "fixed",
        "port": port["id"],
        "subnets": [recorded["subnets"].get(one) for one in port["subnets"]],
        "network": recorded["networks"].get(port["network"]),
    }


def _versions(address: str) -> list[int] | None:
    """Return the version of the address in a list, as Heat does; None if it is no address."""
    try:
        return [ipaddress.ip_address(address).version]
    except ValueError:
        return None


def addresses_by_network(
    shown: Mapping[str, Json], recorded: Mapping[str, Json]
) -> dict[str, list[str]]:
    """Return the texts of the server's addresses by network name, then by network id."""
    by_name = {
        name: [item["addr"] for item in items]
        for name, items in (shown.get(ADDRESSES) or {}).items()
    }
    by_id = {
        network_id: by_name[body["name"]]
        for network_id, body in (recorded.get("networks") or {}).items()
        if body.get("name") in by_name
    }
    return {**by_name, **by_id}
