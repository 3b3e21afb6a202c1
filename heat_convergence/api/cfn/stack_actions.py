"""Actions on stacks and templates.

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
from heat_convergence.api.cfn.stack_api import StackApi

Json = Any
Result = Mapping[str, Json] | None
COST_URL = "http://en.wikipedia.org/wiki/Gratis"  # what Heat answers
_ON_FAILURE = {"DO_NOTHING": True, "ROLLBACK": False, "DELETE": False}
_SUMMARY = {
    "CreationTime": "creation_time",
    "LastUpdatedTime": "updated_time",
    "StackName": "stack_name",
    "StackStatusReason": "stack_status_reason",
    "StackStatus": "stack_status",
    "DeletionTime": "deletion_time",
}


def list_stacks(api: StackApi, _parameters: RequestParameters) -> Result:
    """Return a summary of every stack of the project."""
    stacks = api.call("GET", "/stacks")["stacks"]
    return {"StackSummaries": [arrange("StackSummary", _summary(api, each)) for each in stacks]}


def describe_stacks(api: StackApi, parameters: RequestParameters) -> Result:
    """Return one stack, or all of the project."""
    name = parameters.get("StackName")
    if name is not None:
        identities = [api.find_stack(name)]
    else:
        identities = [_identity(api, stack) for stack in api.call("GET", "/stacks")["stacks"]]
    stacks = [api.call("GET", api.stack_path(each))["stack"] for each in identities]
    return {"Stacks": [arrange("Stack", _stack(api, stack)) for stack in stacks]}


def create_stack(api: StackApi, parameters: RequestParameters) -> Result:
    """Create a stack."""
    name = parameters.require("StackName")
    body = {"stack_name": name, **_goal(parameters)}
    if "template" not in body and "template_url" not in body:
        raise missing_parameter("TemplateBody or TemplateUrl")
    stack = api.call("POST", "/stacks", body)["stack"]
    identity = StackIdentity(api.project_id, name, stack["id"])
    return {"StackId": identity.arn}


def update_stack(api: StackApi, parameters: RequestParameters) -> Result:
    """Update a stack; what keeps its former value takes a partial update."""
    identity = api.find_stack(parameters.require("StackName"))
    body = _goal(parameters)
    keeps_template = bool(parameters.flag("UsePreviousTemplate"))
    kept = any(_keeps_value(each) for each in parameters.members("Parameters"))
    has_template = "template" in body or "template_url" in body
    if keeps_template == has_template:
        raise missing_parameter("TemplateBody, TemplateUrl or UsePreviousTemplate")
    method = "PATCH" if keeps_template or kept else "PUT"
    api.call(method, api.stack_path(identity), body)
    return {"StackId": identity.arn}


def delete_stack(api: StackApi, parameters: RequestParameters) -> Result:
    """Delete a stack."""
    api.call("DELETE", api.stack_path(api.find_stack(parameters.require("StackName"))))
    return None


def cancel_update_stack(api: StackApi, parameters: RequestParameters) -> Result:
    """Cancel an update, and roll back."""
    identity = api.find_stack(parameters.require("StackName"))
    api.call("POST", api.stack_path(identity, "/actions"), {"cancel_update": None})
    return None


def get_template(api: StackApi, parameters: RequestParameters) -> Result:
    """Return the template of a stack."""
    identity = api.find_stack(parameters.require("StackName"))
    return {"TemplateBody": EmbeddedJson(api.call("GET", api.stack_path(identity, "/template")))}


def validate_template(api: StackApi, parameters: RequestParameters) -> Result:
    """Validate a template, and describe its parameters."""
    body = _template(parameters)
    if not body:
        raise missing_parameter("TemplateBody or TemplateUrl")
    found = api.call("POST", "/validate", body)
    return {
        "Description": found.get("Description"),
        "Parameters": [
            {
                "ParameterKey": name,
                "DefaultValue": _text(parameter.get("Default", "")),
                "Description": parameter.get("Description", ""),
                "NoEcho": str(parameter.get("NoEcho", "false")).lower(),
            }
            for name, parameter in (found.get("Parameters") or {}).items()
        ],
        "ParameterGroups": found.get("ParameterGroups"),
        # Names of types and files cannot be names of elements: text in XML.
        "Environment": EmbeddedJson(found.get("Environment") or {}),
    }


def estimate_template_cost(_api: StackApi, _parameters: RequestParameters) -> Result:
    """Return the page that Heat names: nothing is charged."""
    return {"Url": COST_URL}


def _goal(parameters: RequestParameters) -> dict[str, Json]:
    values = {
        each["ParameterKey"]: each["ParameterValue"]
        for each in parameters.members("Parameters")
        if "ParameterKey" in each and "ParameterValue" in each and not _keeps_value(each)
    }
    body: dict[str, Json] = {**_template(parameters), "parameters": values}
    timeout, disabled = _timeout(parameters), _disable_rollback(parameters)
    if timeout:
        body["timeout_mins"] = timeout
    if disabled is not None:
        body["disable_rollback"] = disabled
    return body


def _keeps_value(parameter: Mapping[str, str]) -> bool:
    return parameter.get("UsePreviousValue", "").lower() == "true"


def _template(parameters: RequestParameters) -> dict[str, Json]:
    text = parameters.get("TemplateBody")
    if text is not None:
        return {"template": text}
    url = parameters.get("TemplateUrl") or parameters.get("TemplateURL")
    return {} if url is None else {"template_url": url}


def _timeout(parameters: RequestParameters) -> int | None:
    value = parameters.get("TimeoutInMinutes")
    if value is None:
        return None
    try:
        return int(value)
    except ValueError as error:
        message = f"TimeoutInMinutes must be a number of minutes, not {value[:40]!r}"
        raise CfnError("InvalidParameterValue", message) from error


def _disable_rollback(parameters: RequestParameters) -> bool | None:
    disabled, on_failure = parameters.flag("DisableRollback"), parameters.get("OnFailure")
    if on_failure is None:
        return disabled
    if disabled is not None:
        raise CfnError(
            "InvalidParameterCombination", "DisableRollback and OnFailure may not be used together"
        )
    if on_failure not in _ON_FAILURE:
        message = f"OnFailure must be one of {', '.join(sorted(_ON_FAILURE))}"
        raise CfnError("InvalidParameterValue", message)
    return _ON_FAILURE[on_failure]


def _identity(api: StackApi, stack: Mapping[str, Json]) -> StackIdentity:
    return StackIdentity(api.project_id, stack["stack_name"], stack["id"])


def _summary(api: StackApi, stack: Mapping[str, Json]) -> dict[str, Json]:
    fields = {name: stack.get(key) for name, key in _SUMMARY.items()}
    return {"StackId": _identity(api, stack).arn, **fields}


def _stack(api: StackApi, stack: Mapping[str, Json]) -> dict[str, Json]:
    return {
        **_summary(api, stack),
        "Capabilities": [],
        "NotificationARNs": [],
        "Description": stack.get("description") or "",
        "DisableRollback": bool(stack.get("disable_rollback")),
        "TimeoutInMinutes": stack.get("timeout_mins"),
        "Parameters": [
            {"ParameterKey": name, "ParameterValue": _text(value)}
            for name, value in (stack.get("parameters") or {}).items()
        ],
        "Outputs": [
            {
                "Description": output.get("description") or "",
                "OutputKey": output["output_key"],
                "OutputValue": _output_value(output.get("output_value")),
            }
            for output in stack.get("outputs") or ()
        ],
    }


def _output_value(value: Json) -> Json:
    return EmbeddedJson(value) if isinstance(value, Mapping | list) else _text(value)


def _text(value: Json) -> Json:
    return "" if value is None else value if isinstance(value, str | bool) else str(value)
