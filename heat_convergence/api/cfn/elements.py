"""The elements of each structure in responses, in Heat's order.

Called by actions. Decides the order alone; a value that is not set has no element.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

Json = Any
_ORDERS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "StackSummary": (
            *("CreationTime", "LastUpdatedTime", "StackId", "StackName", "StackStatusReason"),
            *("StackStatus", "DeletionTime"),
        ),
        "Stack": (
            *("Capabilities", "CreationTime", "Description", "DisableRollback"),
            *("NotificationARNs", "Parameters", "StackId", "StackName", "StackStatusReason"),
            *("TimeoutInMinutes", "LastUpdatedTime", "StackStatus", "DeletionTime", "Outputs"),
        ),
        "StackEvent": (
            *("EventId", "LogicalResourceId", "PhysicalResourceId", "ResourceProperties"),
            *("ResourceStatusReason", "ResourceType", "StackId", "StackName", "Timestamp"),
            "ResourceStatus",
        ),
        "StackResourceDetail": (
            *("Description", "LastUpdatedTimestamp", "LogicalResourceId", "Metadata"),
            *("PhysicalResourceId", "ResourceStatusReason", "ResourceType", "StackId"),
            *("StackName", "ResourceStatus"),
        ),
        "StackResource": (
            *("Description", "LogicalResourceId", "PhysicalResourceId", "ResourceStatusReason"),
            *("ResourceType", "StackId", "StackName", "Timestamp", "ResourceStatus"),
        ),
        "StackResourceSummary": (
            *("LastUpdatedTimestamp", "LogicalResourceId", "PhysicalResourceId"),
            *("ResourceStatusReason", "ResourceType", "ResourceStatus"),
        ),
    }
)


def arrange(structure: str, values: Mapping[str, Json]) -> dict[str, Json]:
    """Return the values of a structure that are set, in order."""
    order = _ORDERS[structure]
    return {name: values[name] for name in order if values.get(name) is not None}
