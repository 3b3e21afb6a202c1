"""Actions on the resources and events of a stack.

Decides how parameters become requests to the Orchestration API, and its documents results.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heat_convergence.api.cfn.cfn_errors import CfnError, missing_parameter
from heat_convergence.api.cfn.elements import arrange
from heat_convergence.api.cfn.identifiers import StackIdentity
from heat_convergence.api.cfn.parameters import RequestParameters
from heat_convergence.api.cfn.responses import EmbeddedJson
from heat_convergence.api.cfn.stack_api import StackApi, path_segment

Json = Any
Result = Mapping[str, Json] | None


def describe_stack_resource(api: StackApi, parameters: RequestParameters) -> Result:
    """Return one resource with its metadata.

    The metadata are read as the caller, which may be the agent of the resource: whoever may read
    them may read the rest.
    """
    identity = api.find_stack(parameters.require("StackName"))
    name = parameters.require("LogicalResourceId")
    path = api.stack_path(identity, f"/resources/{path_segment(name)}")
    metadata = api.call("GET", f"{path}/metadata")["metadata"]
    is_agent = api.caller.stack_user_tree_id is not None
    reader = api.for_own_resource() if is_agent else api
    resource = reader.call("GET", path)["resource"]
    common = _common(identity, resource)
    detail = {
        "Description": resource.get("description") or "",
        "LastUpdatedTimestamp": _updated_at(resource),
        "Metadata": EmbeddedJson(metadata or {}),
        **common,
    }
    return {"StackResourceDetail": arrange("StackResourceDetail", detail)}


def describe_stack_resources(api: StackApi, parameters: RequestParameters) -> Result:
    """Return the resources of a stack, or one of them."""
    identity = _described_stack(api, parameters)
    requested = parameters.get("LogicalResourceId")
    found = [
        {
            "Description": resource.get("description") or "",
            "Timestamp": _updated_at(resource),
            **_common(identity, resource),
        }
        for resource in _resources(api, identity)
        if requested in (None, resource["resource_name"])
    ]
    return {"StackResources": [arrange("StackResource", each) for each in found]}


def _described_stack(api: StackApi, parameters: RequestParameters) -> StackIdentity:
    """Return the stack that a request names, by itself or by a resource of it."""
    physical_id, name = parameters.get("PhysicalResourceId"), parameters.get("StackName")
    if physical_id is None and name is None:
        raise missing_parameter("StackName or PhysicalResourceId")
    if physical_id is None:
        return api.find_stack(name or "")
    if name is not None:
        raise CfnError(
            "InvalidParameterCombination",
            "StackName and PhysicalResourceId may not be used together",
        )
    found = api.rows.find_owner(api.project_id, physical_id)
    return StackIdentity(api.project_id, found.name, found.id)


def list_stack_resources(api: StackApi, parameters: RequestParameters) -> Result:
    """Return a summary of every resource of a stack."""
    identity = api.find_stack(parameters.require("StackName"))
    return {
        "StackResourceSummaries": [
            arrange(
                "StackResourceSummary",
                {"LastUpdatedTimestamp": _updated_at(resource), **_state(resource)},
            )
            for resource in _resources(api, identity)
        ]
    }


def describe_stack_events(api: StackApi, parameters: RequestParameters) -> Result:
    """Return the events of a stack, or of all stacks of the project."""
    name = parameters.get("StackName")
    if name is None:
        found = [
            (StackIdentity(api.project_id, stack.name, stack.id), event)
            for stack, event in api.rows.list_events(api.project_id, "")
        ]
    else:
        identity = api.find_stack(name)
        path = api.stack_path(identity, "/events")
        found = [(identity, event) for event in api.call("GET", path)["events"]]
    properties = api.rows.read_event_properties(
        [
            (each.stack_id, event["resource_name"], event["id"])
            for each, event in found
            if event["physical_resource_id"] != each.stack_id  # an event of the stack itself
        ]
    )
    return {
        "StackEvents": [
            arrange("StackEvent", _event(each, event, properties.get(event["id"])))
            for each, event in found
        ]
    }


def _event(
    identity: StackIdentity, event: Mapping[str, Json], properties: str | None
) -> dict[str, Json]:
    return {
        "EventId": event["id"],
        "Timestamp": event["event_time"],
        "ResourceProperties": properties or "{}",
        **_common(identity, event),
    }


def _resources(api: StackApi, identity: StackIdentity) -> list[Mapping[str, Json]]:
    found: list[Mapping[str, Json]] = api.call("GET", api.stack_path(identity, "/resources"))[
        "resources"
    ]
    return found


def _common(identity: StackIdentity, item: Mapping[str, Json]) -> dict[str, Json]:
    return {"StackId": identity.arn, "StackName": identity.name, **_state(item)}


def _state(item: Mapping[str, Json]) -> dict[str, Json]:
    return {
        "LogicalResourceId": item.get("logical_resource_id") or item.get("resource_name"),
        "PhysicalResourceId": item.get("physical_resource_id") or "",
        "ResourceStatusReason": item.get("resource_status_reason") or "",
        "ResourceType": item.get("resource_type") or "OS::Heat::Stack",
        "ResourceStatus": item["resource_status"],
    }


def _updated_at(resource: Mapping[str, Json]) -> Json:
    return resource.get("updated_time") or resource.get("creation_time")
