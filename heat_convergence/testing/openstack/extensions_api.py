"""The lists of extensions of Neutron and Cinder: all that types of the catalog need."""

from __future__ import annotations

from functools import cache

from heat_convergence.resources.driver.schema_loader import load_declarations
from heat_convergence.testing.openstack.emulation import (
    EmulatedRequest,
    EmulatedResponse,
    Emulation,
)

_SCHEMA_FILES = {"network": "neutron", "block_storage": "cinder"}


def install(emulation: Emulation) -> None:
    """Install the handler of each service."""
    for service in _SCHEMA_FILES:
        emulation.add_handler(service, "GET", "/extensions", _list_extensions)


def _list_extensions(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    offered = sorted(_needed_by_types(request.service) - emulation.missing_extensions)
    return EmulatedResponse(200, {"extensions": [{"alias": each} for each in offered]})


@cache
def _needed_by_types(service: str) -> frozenset[str]:
    declared = load_declarations(_SCHEMA_FILES[service]).values()
    return frozenset(
        each["head"]["extension"] for each in declared if each["head"].get("extension")
    )
