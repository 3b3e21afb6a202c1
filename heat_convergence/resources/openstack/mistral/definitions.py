"""Definitions of workflows in Mistral's language, made of the properties of a resource.

Decides the names and the form of what Mistral reads. Called by ``workflows``.

Source: docs.openstack.org/mistral/latest/user/wf_lang_v2.html.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from heat_convergence.common.errors import StackValidationFailed

Json = Any
REVERSE = "reverse"
_PLAIN_PARTS = ("type", "description", "output")


def render_definition(name: str, properties: Mapping[str, Json], mark: str) -> str:
    """Return the definition of a workflow, as JSON, which is YAML as well.

    Args:
        name: The name of the workflow.
        properties: The properties of the resource.
        mark: A tag by which the workflow is found again.
    """
    workflow = {part: properties[part] for part in _PLAIN_PARTS if properties.get(part)}
    workflow["tags"] = [*(properties.get("tags") or ()), mark]
    if properties.get("input"):
        workflow["input"] = sorted(properties["input"])
    workflow["tasks"] = {task["name"]: _task(task) for task in properties["tasks"]}
    defaults = _dashed({k: v for k, v in (properties.get("task_defaults") or {}).items() if v})
    if defaults:
        workflow["task-defaults"] = defaults
    return json.dumps({"version": "2.0", name: workflow}, sort_keys=True)


def validate_tasks(properties: Mapping[str, Json]) -> None:
    """Check the tasks of a workflow, and that one of them is named for a reverse workflow.

    Raises:
        StackValidationFailed: A task is wrong, or none is named.
    """
    is_reverse = properties.get("type") == REVERSE
    if is_reverse and "task_name" not in (properties.get("params") or {}):
        raise StackValidationFailed(
            '"task_name" is not assigned in "params" in case of reverse type workflow.'
        )
    for task in properties.get("tasks") or ():
        _validate_task(task, is_reverse)


def _validate_task(task: Mapping[str, Json], is_reverse: bool) -> None:
    name = task.get("name")
    if (task.get("action") is None) is (task.get("workflow") is None):
        raise StackValidationFailed(f"Task {name} must have either an action or a workflow.")
    if task.get("requires") and not is_reverse:
        raise StackValidationFailed(
            f'task {name} contains property "requires" in case of direct workflow. Only reverse'
            ' workflows can contain property "requires".'
        )
    has_concurrency = task.get("concurrency") or (task.get("policies") or {}).get("concurrency")
    if has_concurrency and not task.get("with_items"):
        raise StackValidationFailed(f"concurrency of task {name} requires with_items.")


def _task(task: Mapping[str, Json]) -> dict[str, Json]:
    moved = {**task, **(task.get("policies") or {})}
    kept = {k: v for k, v in moved.items() if k not in ("name", "policies") and v is not None}
    return _dashed(kept)


def _dashed(parts: Mapping[str, Json]) -> dict[str, Json]:
    return {key.replace("_", "-"): value for key, value in parts.items()}
