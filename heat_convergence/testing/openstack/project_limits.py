"""Quotas of a project with what is used of them, as Nova, Cinder and Neutron show them.

Limits are those that were set by the quota API, else none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heat_convergence.testing.openstack.emulation import (
    EmulatedRequest,
    EmulatedResponse,
    Emulation,
)

Json = Any
_NO_LIMIT = -1


def show_compute_limits(emulation: Emulation, _request: EmulatedRequest) -> EmulatedResponse:
    """Return the absolute limits of the compute service."""
    servers = emulation.collection("nova.server").bodies()
    flavors = {each["id"]: each for each in emulation.collection("nova.flavor").bodies()}
    used = [flavors.get(each["flavor"]["id"], {}) for each in servers]
    quota = _quota(emulation, "nova.quota")
    return _absolute(
        maxTotalInstances=quota.get("instances", _NO_LIMIT),
        totalInstancesUsed=len(servers),
        maxTotalCores=quota.get("cores", _NO_LIMIT),
        totalCoresUsed=sum(each.get("vcpus", 0) for each in used),
        maxTotalRAMSize=quota.get("ram", _NO_LIMIT),
        totalRAMUsed=sum(each.get("ram", 0) for each in used),
    )


def show_volume_limits(emulation: Emulation, _request: EmulatedRequest) -> EmulatedResponse:
    """Return the absolute limits of the volume service."""
    volumes = emulation.collection("cinder.volume").bodies()
    quota = _quota(emulation, "cinder.quota")
    return _absolute(
        maxTotalVolumes=quota.get("volumes", _NO_LIMIT),
        totalVolumesUsed=len(volumes),
        maxTotalVolumeGigabytes=quota.get("gigabytes", _NO_LIMIT),
        totalGigabytesUsed=sum(each.get("size", 0) for each in volumes),
    )


def show_network_limits(emulation: Emulation, _request: EmulatedRequest) -> EmulatedResponse:
    """Return the quotas of the network service with their use."""
    quota = _quota(emulation, "neutron.quota")
    return EmulatedResponse(
        200,
        {
            "quota": {
                entity: {
                    "limit": quota.get(entity, _NO_LIMIT),
                    "used": len(emulation.collection(f"neutron.{entity}")),
                    "reserved": 0,
                }
                for entity in ("port", "floatingip")
            }
        },
    )


def _absolute(**limits: int) -> EmulatedResponse:
    return EmulatedResponse(200, {"limits": {"absolute": limits}})


def _quota(emulation: Emulation, entity: str) -> Mapping[str, Json]:
    """Return the quota of the only project that has one."""
    bodies = emulation.collection(entity).bodies()
    return bodies[0] if bodies else {}
