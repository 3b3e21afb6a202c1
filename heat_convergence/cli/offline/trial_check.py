"""Checks of a trial before anything starts: types without an emulation, and unknown names.

Called by ``heat-convergence try``. Reads the previews of its templates, nested stacks included; a
template that is refused says so itself when the trial begins. Must not create anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from heat_convergence.cli.offline.trial import STACK_NAME
from heat_convergence.cli.offline.trial_cloud import TrialService
from heat_convergence.testing.openstack.http_adapter import SERVICE_ENDPOINTS

Json = Any
_NOT_EMULATED = {"OS::Heat::Stack": "it needs another Orchestration service"}
_WAITING_TYPES = frozenset(
    {
        "AWS::CloudFormation::WaitCondition",
        "OS::Heat::SwiftSignal",
        "OS::Heat::WaitCondition",
    }
)
_TRANSPORT, _NO_SIGNAL = "signal_transport", "NO_SIGNAL"


def preview_resources(service: TrialService, bodies: Iterable[Json]) -> list[Json]:
    """Return the resources of the templates and of their nested stacks, as previews show them."""
    found: list[Json] = []
    for body in bodies:
        answer = service.send("POST", "/stacks/preview", {"stack_name": STACK_NAME, **body})
        if answer.status_int == 200:
            found += _flattened(answer.json["stack"]["resources"])
    return found


def find_obstacles(
    service: TrialService, resources: Sequence[Json], names: Iterable[str]
) -> list[str]:
    """Return why the trial cannot be made: types without an emulation, names without a resource.

    Args:
        service: The service that would run the trial.
        resources: The resources of all templates; none if the templates are refused.
        names: Names of resources in the arguments of the command.
    """
    obstacles = sorted(set(_unemulated(service, resources)))
    known = {each[key] for each in resources for key in ("resource_name", "parent_resource")}
    if resources:
        missing = sorted(set(names) - known)
        obstacles += [f'the templates have no resource "{name}"' for name in missing]
    return obstacles


def find_waiting(resources: Iterable[Json]) -> list[str]:
    """Return the names of resources that wait for signals of servers, which nobody sends."""
    return sorted({each["resource_name"] for each in resources if _waits_for_signal(each)})


def _unemulated(service: TrialService, resources: Iterable[Json]) -> Iterator[str]:
    for each in resources:
        name, type_name = each["resource_name"], each["resource_type"]
        found = service.registry.find(type_name)
        reason = _NOT_EMULATED.get(type_name)
        if found is not None and found.service and found.service not in SERVICE_ENDPOINTS:
            reason = f"its service {found.service} is not emulated"
        if reason is not None:
            yield f'the resource "{name}" of type {type_name} cannot be tried: {reason}'


def _waits_for_signal(resource: Mapping[str, Json]) -> bool:
    transport = (resource.get("properties") or {}).get(_TRANSPORT, _NO_SIGNAL)
    return resource["resource_type"] in _WAITING_TYPES or transport != _NO_SIGNAL


def _flattened(nodes: Iterable[Json]) -> Iterator[Json]:
    for node in nodes:
        if isinstance(node, list):
            yield from _flattened(node)
        else:
            yield {"parent_resource": "", **node}
