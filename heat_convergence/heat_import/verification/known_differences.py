"""The differences that every import makes, each with its reason.

Pure. ``docs/operate/moving-from-heat.rst`` has them; ``docs/reference/differences.rst`` says
why this service shows some things in another way.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from heat_convergence.heat_import.heat_values import INTERRUPTED
from heat_convergence.heat_import.verification.differences import ABSENT, Difference

Json = Any
Values = Callable[[Difference], bool]
_PHYSICAL_NAME = re.compile(r"(?![0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$).+-[a-z0-9]{12}")
_RESOURCE = r"resources/[^/]+(/show)?"
_ATTRIBUTE = r"resources/[^/]+/show/attributes"
_OUTPUT = r"(stack/)?outputs/[^/]+/output_value"
_SNAPSHOT = r"snapshots/[^/]+/data"
_READ = rf"({_ATTRIBUTE}|{_OUTPUT})(/.+)?"
_SERVER_KEYS = (
    "OS-EXT-SRV-ATTR:hostname|locked_reason|os_collect_config|pinned_availability_zone"
    "|server_groups|trusted_image_certificates"
    "|flavor/(disk|ephemeral|extra_specs|original_name|ram|swap|vcpus)"
)
_VOLUME_KEYS = (
    "cluster_name|consumes_quota|group_id|provider_id|service_uuid|shared_targets|volume_type_id"
)
_ATTACHMENT_KEYS = "attached_at|attachment_id|device|host_name|id|server_id|volume_id"
_SERVERS = frozenset({"OS::Nova::Server"})
_VOLUMES = frozenset({"OS::Cinder::Volume"})
_GROUPS = frozenset(
    {
        "AWS::AutoScaling::AutoScalingGroup",
        "OS::Heat::AutoScalingGroup",
        "OS::Heat::InstanceGroup",
        "OS::Heat::ResourceChain",
        "OS::Heat::ResourceGroup",
    }
)
_DEPLOYMENTS = frozenset({"OS::Heat::SoftwareDeployment", "OS::Heat::StructuredDeployment"})
_ATTACHMENTS = "attributes of volume attachments and router interfaces that Heat does not show"
_KEYS = "keys of servers and volumes that only other versions of their services' APIs have"


def _heat_has(*values: Json) -> Values:
    return lambda found: found.heat in values


def _own_has(*values: Json) -> Values:
    return lambda found: found.own in values


def _is_physical_name(found: Difference) -> bool:
    """Return whether a resource without an id shows the physical name of its type."""
    return found.heat in (None, "") and _PHYSICAL_NAME.fullmatch(str(found.own)) is not None


def _is_interrupted(found: Difference) -> bool:
    """Return whether an action in progress was imported as failed."""
    heat = str(found.heat)
    in_progress = heat.endswith("_IN_PROGRESS")
    return in_progress and found.own == f"{heat.removesuffix('_IN_PROGRESS')}_FAILED"


def _is_added_entry(found: Difference) -> bool:
    """Return whether an entry of a registry maps a name to itself, or is Heat's own."""
    name = found.path.removeprefix("environment/resource_registry/")
    return found.own is ABSENT and (found.heat == name or name == "OS::Heat::ScaledResource")


def _is_same_url(found: Difference) -> bool:
    """Return whether two URLs have the same parameters in another order."""
    heat, own = (urlsplit(str(each)) for each in (found.heat, found.own))
    if not heat.query or heat[:3] != own[:3]:
        return False
    return sorted(parse_qsl(heat.query)) == sorted(parse_qsl(own.query))


def _is_empty(found: Difference) -> bool:
    empty: tuple[Json, ...] = (None, {}, [], "", "{}")
    return found.heat in empty and found.own in empty


@dataclass(frozen=True, slots=True)
class KnownDifference:
    """A difference that every import makes.

    Attributes:
        path: Pattern of the paths.
        reason: Text for the operator.
        accepts: Function that says whether the values are those of the known difference.
        types: Types of the resources in whose views it is; empty for all.
    """

    path: str
    reason: str
    accepts: Values
    types: frozenset[str] = frozenset()

    def fits(self, found: Difference) -> bool:
        """Return whether a difference is this one."""
        if self.types and found.resource_type not in self.types:
            return False
        return re.fullmatch(self.path, found.path) is not None and self.accepts(found)


KNOWN_DIFFERENCES = (
    KnownDifference(
        rf"(stack|{_RESOURCE})/drift_status|{_RESOURCE}/(observed_at|waiting)",
        "drift_status, observed_at and waiting are fields of this service alone",
        _heat_has(ABSENT),
    ),
    KnownDifference(
        r"stack/stack_user_project_id",
        "stack_user_project_id is null in the views of stacks",
        _own_has(None),
    ),
    KnownDifference(
        r"stack/parameters/OS::region",
        "OS::region is a parameter of this service alone",
        _heat_has(ABSENT),
    ),
    KnownDifference(
        rf"{_ATTRIBUTE}/(refs|refs_map|current_size)",
        "attributes of groups that Heat shows as null in views of resources",
        _heat_has(None, ABSENT),
        _GROUPS,
    ),
    KnownDifference(
        rf"{_ATTRIBUTE}/[^/]+",
        "attributes of deployments that Heat shows as null in views of resources",
        _heat_has(None, ABSENT),
        _DEPLOYMENTS,
    ),
    KnownDifference(
        rf"{_ATTRIBUTE}/({_ATTACHMENT_KEYS})",
        _ATTACHMENTS,
        _heat_has(ABSENT),
        frozenset({"OS::Cinder::VolumeAttachment"}),
    ),
    KnownDifference(
        rf"{_ATTRIBUTE}/[^/]+",
        _ATTACHMENTS,
        _heat_has(ABSENT),
        frozenset({"OS::Neutron::RouterInterface"}),
    ),
    KnownDifference(rf"{_ATTRIBUTE}/(show/)?({_SERVER_KEYS})", _KEYS, _own_has(ABSENT), _SERVERS),
    KnownDifference(rf"{_ATTRIBUTE}/(show/)?({_VOLUME_KEYS})", _KEYS, _own_has(ABSENT), _VOLUMES),
    KnownDifference(
        rf"{_ATTRIBUTE}/(show/)?flavor/(id|links)", _KEYS, _heat_has(ABSENT), _SERVERS
    ),
    KnownDifference(rf"{_OUTPUT}(/.+)?/({_SERVER_KEYS}|{_VOLUME_KEYS})", _KEYS, _own_has(ABSENT)),
    KnownDifference(rf"{_OUTPUT}(/.+)?/flavor/(id|links)", _KEYS, _heat_has(ABSENT)),
    KnownDifference(
        _READ, "attributes of resources that do not exist yet are null or empty", _is_empty
    ),
    KnownDifference(_READ, "the parameters of signed URLs have another order", _is_same_url),
    KnownDifference(
        rf"{_RESOURCE}/required_by/[^/]+",
        "Heat adds requirements of servers beside those of the template",
        lambda found: found.heat in _SERVERS and found.own is ABSENT,
    ),
    KnownDifference(
        r"environment/resource_registry/.+",
        "templates that stand for themselves are not in the registry",
        _is_added_entry,
    ),
    KnownDifference(
        rf"{_SNAPSHOT}/(in_flight|environment/encrypted_param_names)",
        "the documents of snapshots have in_flight and encrypted_param_names",
        _heat_has(ABSENT),
    ),
    KnownDifference(
        rf"{_SNAPSHOT}/resources/.+/resource_data/[^/]+",
        "the documents of snapshots lack data that only Heat uses",
        _own_has(ABSENT),
    ),
    KnownDifference(
        rf"{_RESOURCE}/physical_resource_id",
        "resources without a physical resource show their physical name",
        _is_physical_name,
    ),
    KnownDifference(
        r"stack/stack_status",
        "actions in progress in Heat are imported as failed",
        _is_interrupted,
    ),
    KnownDifference(
        r"stack/stack_status_reason",
        "actions in progress in Heat are imported as failed",
        lambda found: str(found.own).endswith(INTERRUPTED),
    ),
)


def find_reason(difference: Difference) -> str | None:
    """Return the reason of a difference, if every import makes it."""
    return next((each.reason for each in KNOWN_DIFFERENCES if each.fits(difference)), None)
