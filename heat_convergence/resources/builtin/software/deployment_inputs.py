"""What a deployment puts on a server: its configuration with all values filled in.  Pure.

Called by deployments for every action that they take part in.
Source: heat-facts ``resource_groups.md``, "Software configuration".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heat_convergence.common.errors import ResourceFailure
from heat_convergence.db.statements.software import SoftwareConfigRow

Json = Any
STDOUT, STDERR, STATUS_CODE = "deploy_stdout", "deploy_stderr", "deploy_status_code"
_COMPONENT = "component"


def select_config(config: SoftwareConfigRow | None, action: str) -> tuple[str, Json] | None:
    """Tool and content for the action; None where a component has nothing to do in it."""
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
    """The declared ones with value or default, then the others, then
    ``build_create_arguments``."""
    declared = [] if config is None else list(config.body.get("inputs") or ())
    found = [
        {
            "name": each["name"],
            "type": each.get("type", "String"),
            "description": each.get("description"),
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
    """Whether an input changes that a deployment does not change in place."""
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
    """With each ``{key: name}`` replaced by that input's value; one that has none is
    null or, ``strict``, a ``ResourceFailure``."""
    if isinstance(content, Mapping):
        if len(content) == 1 and isinstance(content.get(key), str):
            name = content[key]
            if strict and name not in values:
                raise ResourceFailure(f'the configuration reads the input "{name}", of no value')
            return values.get(name)
        return {
            each: substitute_inputs(item, values, key, strict=strict)
            for each, item in content.items()
        }
    if isinstance(content, list | tuple):
        return [substitute_inputs(item, values, key, strict=strict) for item in content]
    return content


def failure_reasons(config: SoftwareConfigRow | None, outputs: Mapping[str, Json]) -> list[str]:
    """What of the outputs says that it failed."""
    told = []
    code = outputs.get(STATUS_CODE)
    if code is not None and str(code) != "0":
        told.append(f"{STATUS_CODE} : Deployment exited with non-zero status code: {code}")
    declared = [] if config is None else config.body.get("outputs") or ()
    for each in declared:
        if each.get("error_output") and outputs.get(each["name"]):
            told.append(f"{each['name']} : {outputs[each['name']]}")
    return told
