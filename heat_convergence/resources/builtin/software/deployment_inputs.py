"""The content of a deployment: its configuration with the values of its inputs. Pure functions.

Called by deployments for every action in which they deploy.

Source: docs/reference/resource-groups.rst, "Software configuration".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heat_convergence.common.failures import ResourceFailure
from heat_convergence.db.statements.software import SoftwareConfigRow

Json = Any
STDOUT, STDERR, STATUS_CODE = "deploy_stdout", "deploy_stderr", "deploy_status_code"
_COMPONENT = "component"


def select_config(config: SoftwareConfigRow | None, action: str) -> tuple[str, Json] | None:
    """Return the tool and content for an action; None if a component has none for it."""
    if config is None:
        return "Heat::Ungrouped", ""
    content = config.body.get("config")
    if config.group != _COMPONENT or not isinstance(content, Mapping):
        return config.group, content
    for each in content.get("configs") or ():
        if action in each.get("actions", ()):
            return each["tool"], each.get("config") or ""
    return None


def build_inputs(
    config: SoftwareConfigRow | None, values: Mapping[str, Json], further: Mapping[str, Json]
) -> list[dict[str, Json]]:
    """Return the inputs of a deployment: declared ones, other values, further inputs.

    Args:
        config: The configuration, which declares inputs and their defaults.
        values: Input → value.
        further: Inputs that the deployment adds.
    """
    declared = [] if config is None else list(config.body.get("inputs") or ())
    found = [
        {
            "name": each["name"],
            "type": each.get("type", "String"),
            **({"description": each["description"]} if each.get("description") else {}),
            "value": values.get(each["name"], each.get("default")),
        }
        for each in declared
    ]
    names = {each["name"] for each in declared}
    rest = {name: value for name, value in values.items() if name not in names}
    for name, value in {**rest, **further}.items():
        found.append({"name": name, "type": "String", "value": value})
    return found


def inputs_require_replacement(
    config: SoftwareConfigRow | None, before: Mapping[str, Json], after: Mapping[str, Json]
) -> bool:
    """Return whether an input changes that requires a new deployment."""
    declared = [] if config is None else config.body.get("inputs") or ()
    return any(
        each.get("replace_on_change")
        and before.get(each["name"], each.get("default"))
        != after.get(each["name"], each.get("default"))
        for each in declared
    )


def substitute_inputs(
    content: Json, values: Mapping[str, Json], key: str, *, strict: bool
) -> Json:
    """Replace each ``{key: name}`` in the content by the value of that input.

    An input without a value becomes null.

    Raises:
        ResourceFailure: An input has no value, and ``strict`` is set.
    """
    if isinstance(content, Mapping):
        if len(content) == 1 and isinstance(content.get(key), str):
            name = content[key]
            if strict and name not in values:
                raise ResourceFailure(f'the input "{name}" of the configuration has no value')
            return values.get(name)
        return {
            each: substitute_inputs(item, values, key, strict=strict)
            for each, item in content.items()
        }
    if isinstance(content, list | tuple):
        return [substitute_inputs(item, values, key, strict=strict) for item in content]
    return content


def failure_reasons(config: SoftwareConfigRow | None, outputs: Mapping[str, Json]) -> list[str]:
    """Return the reasons for which the outputs count as a failure."""
    reasons = []
    code = outputs.get(STATUS_CODE)
    if code is not None and str(code) != "0":
        reasons.append(f"{STATUS_CODE} : Deployment exited with non-zero status code: {code}")
    declared = [] if config is None else config.body.get("outputs") or ()
    for each in declared:
        if each.get("error_output") and outputs.get(each["name"]):
            reasons.append(f"{each['name']} : {outputs[each['name']]}")
    return reasons
