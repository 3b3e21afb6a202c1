"""The quantities of quotas that a plan needs and gives back, from properties alone.

Called by ``quota_check``. Has a table of the resource types that count; other types need nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from heat_convergence.convergence.plans.stored_plan import PlannedEffect
from heat_convergence.stacks.plans.planned_resource import PlannedResource
from heat_convergence.template.expression import is_known

Json = Any
Properties = Mapping[str, Json]
Amounts = Counter[str]
FLAVOR_PREFIX = "flavor:"  # a server of the flavor of this name or id, not yet resolved
INSTANCES, CORES, RAM = "instances", "cores", "ram"
PORTS, FLOATING_IPS = "ports", "floating_ips"
VOLUMES, GIGABYTES = "volumes", "gigabytes"
_ADDING = frozenset({PlannedEffect.ADD, PlannedEffect.REPLACE})


@dataclass(frozen=True, slots=True)
class QuotaDemand:
    """The amounts that a plan needs.

    Attributes:
        needed: what is there at most beside what is there today: replacements are created
            before what they replace is deleted.
        released: what is given back in the end.
        unknown_count: values, such as sizes, that only the action will show.
    """

    needed: Amounts = field(default_factory=Counter)
    released: Amounts = field(default_factory=Counter)
    unknown_count: int = 0


def compute_demand(resources: Iterable[PlannedResource]) -> QuotaDemand:
    """Return what all resources of a plan need and give back."""
    needed, released, unknown = Amounts(), Amounts(), 0
    for each in resources:
        amounts_of = _AMOUNTS.get(each.implementation)
        if amounts_of is None or each.effect is PlannedEffect.UNCHANGED:
            continue
        before = amounts_of(each.before)
        if each.effect in _ADDING:
            found = amounts_of(each.after)
            unknown += found.pop(_UNKNOWN, 0)
            needed.update(found)
        elif each.effect is PlannedEffect.UPDATE:
            found = amounts_of(each.after)
            unknown += found.pop(_UNKNOWN, 0)
            needed.update(found - before)
        if each.is_destructive:
            before.pop(_UNKNOWN, None)
            released.update(before)
    return QuotaDemand(needed, released, unknown)


def _server(properties: Properties) -> Amounts:
    found = _with_flavor(properties.get("flavor"))
    networks = properties.get("networks")
    for network in _items(networks, found):
        if isinstance(network, Mapping) and not _is_set(network.get("port")):
            found[PORTS] += 1
    for device in _items(properties.get("block_device_mapping_v2"), found):
        if isinstance(device, Mapping) and (
            _is_set(device.get("image")) or _is_set(device.get("snapshot_id"))
        ):
            found[VOLUMES] += 1
            _add_amount(found, GIGABYTES, device.get("volume_size"))
    return found


def _items(value: Json, found: Amounts) -> Iterable[Json]:
    """Return the members of a list; count one that is an expression as unknown."""
    if isinstance(value, list | tuple):
        return value
    if not is_known(value):
        found[_UNKNOWN] += 1
    return ()


def _is_set(value: Json) -> bool:
    """Return whether a property has a value, perhaps one that is not known yet."""
    return not is_known(value) or bool(value)


def _with_flavor(flavor: Json) -> Amounts:
    if not isinstance(flavor, str):
        return Amounts({INSTANCES: 1, _UNKNOWN: 1})
    return Amounts({INSTANCES: 1, FLAVOR_PREFIX + flavor: 1})


def _add_amount(found: Amounts, name: str, value: Json) -> None:
    """Add an amount, or count it as unknown."""
    if value is None:
        return
    try:
        found[name] += int(value)
    except (TypeError, ValueError):
        found[_UNKNOWN] += 1


def _volume(size_property: str) -> Callable[[Properties], Amounts]:
    def amounts(properties: Properties) -> Amounts:
        found = Amounts({VOLUMES: 1})
        size = properties.get(size_property)
        if size is None:  # that of an image, a snapshot or another volume
            found[_UNKNOWN] += 1
        _add_amount(found, GIGABYTES, size)
        return found

    return amounts


def _one(name: str) -> Callable[[Properties], Amounts]:
    return lambda _properties: Amounts({name: 1})


def _interface(properties: Properties) -> Amounts:
    return (
        Amounts() if properties.get("port") or properties.get("port_id") else Amounts({PORTS: 1})
    )


_UNKNOWN = "unknown"
_AMOUNTS: Mapping[str, Callable[[Properties], Amounts]] = {
    "OS::Nova::Server": _server,
    "AWS::EC2::Instance": lambda properties: _with_flavor(properties.get("InstanceType")),
    "OS::Neutron::Port": _one(PORTS),
    "OS::Neutron::RouterInterface": _interface,
    "OS::Neutron::FloatingIP": _one(FLOATING_IPS),
    "OS::Nova::FloatingIP": _one(FLOATING_IPS),
    "AWS::EC2::EIP": _one(FLOATING_IPS),
    "OS::Cinder::Volume": _volume("size"),
    "AWS::EC2::Volume": _volume("Size"),
}
