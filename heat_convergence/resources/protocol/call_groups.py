"""The groups that share the places for calls to services.

Called by engines and observers before a verb is called. A service that hangs, or a project with
many slow calls, must leave places to the others (RULE 11). It must not do I/O beyond a read of
the region of the stack's credential, which the cloud caches.
"""

from __future__ import annotations

from dataclasses import dataclass

from heat_convergence.resources.protocol.resource_type import ResourceType
from heat_convergence.resources.protocol.verb_values import ResourceContext


@dataclass(frozen=True, slots=True, order=True)
class ServiceGroup:
    """The calls to one service in one region; types of no service are groups of their own."""

    service: str
    region: str


@dataclass(frozen=True, slots=True, order=True)
class ProjectGroup:
    """The calls for the stacks of one project."""

    project_id: str


CallGroups = tuple[ServiceGroup, ProjectGroup]


def call_groups(resource_type: ResourceType, context: ResourceContext) -> CallGroups:
    """Return the groups of a verb's calls."""
    service = resource_type.service or resource_type.name
    region: str = getattr(context.cloud, "call_region", "")
    return ServiceGroup(service, region), ProjectGroup(context.project_id)
