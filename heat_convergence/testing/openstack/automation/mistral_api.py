"""Mistral's API: workflows by their definitions, and executions that run for a moment."""

from __future__ import annotations

import json
import re
from typing import Any

from heat_convergence.testing.openstack.collection import EmulatedResource
from heat_convergence.testing.openstack.emulation import (
    EmulatedError,
    EmulatedRequest,
    EmulatedResponse,
    Emulation,
)

Json = Any
RUN_S = 1.5
_TRANSITIONS = frozenset({"on-success", "on-error", "on-complete", "join"})
_VARIABLE = re.compile(r"<% \$\.(\w+) %>")


def install(emulation: Emulation) -> None:
    """Install Mistral's handlers and one workflow."""
    handlers = (
        ("POST", "/workflows", _create_workflow),
        ("PUT", "/workflows", _replace_workflow),
        ("POST", "/executions", _execute),
    )
    emulation.add_handlers("workflow", handlers)
    emulation.on_create("mistral.cron_trigger", _create_trigger)
    emulation.add("mistral.workflow", name="hc-existing", tags=[])


def _parse(request: EmulatedRequest) -> dict[str, Json]:
    """Return the workflow that a definition has.

    The definition is JSON, as this package sends it.
    """
    if request.headers.get("Accept") == "application/json":
        raise EmulatedError(406, "Not Acceptable")  # it answers what is text, as it was sent
    parsed = dict(request.body)
    if parsed.pop("version", None) != "2.0":
        raise EmulatedError(400, "Invalid DSL: Workflow spec version is not supported")
    ((name, workflow),) = parsed.items()
    excluded = _TRANSITIONS if workflow.get("type") == "reverse" else {"requires"}
    for task in workflow["tasks"].values():
        if ("action" in task) is ("workflow" in task) or excluded & task.keys():
            raise EmulatedError(400, f"Invalid DSL: {task}")
    return {"name": name, "tags": workflow.get("tags", []), "definition": json.dumps(workflow)}


def _create_workflow(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    body = _parse(request)
    if emulation.collection("mistral.workflow").get(body["name"]) is not None:
        raise EmulatedError(409, f"Duplicate entry for WorkflowDefinition {body['name']}")
    item = emulation.collection("mistral.workflow").add(body)
    return EmulatedResponse(201, {"workflows": [item.body]})


def _replace_workflow(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    body = _parse(request)
    item = emulation.get_existing("mistral.workflow", body["name"])
    item.body.update(body)
    return EmulatedResponse(200, {"workflows": [item.body]})


def _create_trigger(emulation: Emulation, item: EmulatedResource) -> None:
    emulation.get_existing("mistral.workflow", item.body["workflow_name"])
    item.body["next_execution_time"] = "2026-01-01 00:01:00"


def _execute(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    """Start an execution; one of the same id exists already.

    It returns the output of the workflow's definition, without one its input.
    """
    executions = emulation.collection("mistral.execution")
    known = executions.get(str(request.body.get("id")))
    if known is not None:
        return EmulatedResponse(201, known.body)
    workflow = emulation.get_existing("mistral.workflow", request.body["workflow_name"])
    definition = json.loads(workflow.body.get("definition") or "{}")
    values = json.loads(request.body["input"])
    _check_input(definition, values)
    output = {name: _evaluate(each, values) for name, each in definition.get("output", {}).items()}
    item = executions.add({**request.body, "state": "RUNNING"})
    ended = {"state": "SUCCESS", "output": json.dumps(output or values)}
    if "fail" in values:
        ended = {"state": "ERROR", "state_info": "the task has failed"}
    item.scheduled_changes = [(emulation.now_s + RUN_S, ended)]
    return EmulatedResponse(201, item.body)


def _check_input(definition: dict[str, Json], values: dict[str, Json]) -> None:
    """Refuse an execution with an input that the definition lacks, or without one that it has."""
    declared = definition.get("input")
    if declared is not None and set(declared) != values.keys():
        raise EmulatedError(400, f"Invalid input: expected {declared}, received {sorted(values)}")


def _evaluate(expression: Json, values: dict[str, Json]) -> Json:
    """Return the value of an input that an expression names, or the expression itself."""
    match = _VARIABLE.fullmatch(str(expression))
    return values.get(match[1]) if match else expression
