"""Conformance cases of Mistral's types."""

from __future__ import annotations

from typing import Any

from tests.conformance.case import ConformanceCase

ECHO = {"name": "echo", "action": "std.echo output=<% $.text %>", "publish": {"a": "1"}}
NOOP = {"name": "noop", "action": "std.noop", "on_success": ["echo"], "wait_before": 1}
LATER_NOOP = {"name": "noop", "action": "std.noop"}
LATER_ECHO = {**ECHO, "requires": ["noop"]}
# A workflow whose output is its input, which names an external object.
INPUTS = ("resource_id", "step")
FLOW: tuple[str, str, dict[str, Any]] = (
    "flow",
    "OS::Mistral::Workflow",
    {
        "name": "hc-flow",
        "type": "direct",
        "tasks": [{"name": "noop", "action": "std.noop"}],
        "input": dict.fromkeys(INPUTS, ""),
        "output": {name: f"<% $.{name} %>" for name in INPUTS},
    },
)
ACTIONS = ("CREATE", "UPDATE", "SUSPEND", "RESUME", "DELETE")


def _case(name: str, *prerequisites: Any, **fields: Any) -> ConformanceCase:
    return ConformanceCase(f"OS::Mistral::{name}", prerequisites, **fields)


CASES = [
    _case(
        "Workflow",
        properties={"type": "direct", "tasks": [ECHO], "input": {"text": "hello"}},
        changes=[
            {"tasks": [NOOP, ECHO], "description": "d", "tags": ["t"], "output": {"a": "b"}},
            {
                "type": "reverse",
                "tasks": [LATER_NOOP, LATER_ECHO],
                "params": {"task_name": "noop"},
                "task_defaults": {"timeout": 5},
                "input": {"text": "bye"},
                "use_request_body_as_input": True,
            },
        ],
    ),
    _case(
        "Workflow",
        properties={"name": "hc-workflow", "type": "direct", "tasks": [ECHO]},
        attributes={"data": {"name": "hc-workflow", "input": None}},
        replacement_properties={"name": "hc-workflow-2"},
        case_label="Workflow of a given name",
    ),
    _case(
        "CronTrigger",
        FLOW,
        properties={
            "pattern": "0 0 1 1 *",
            "count": 3,
            "workflow": {"name": {"get": "flow"}, "input": dict.fromkeys(INPUTS, "a")},
        },
        attributes={"remaining_executions": 3},
        emulation_attributes={"next_execution_time": "2026-01-01 00:01:00"},
    ),
    _case(
        "ExternalResource",
        FLOW,
        properties={
            "actions": {each: {"workflow": "hc-flow"} for each in ACTIONS},
            "input": {"resource_id": "external-1", "step": 1},
        },
        changes=[{"input": {"resource_id": "external-1", "step": 2}}],
        attributes={"output": {"resource_id": "external-1", "step": 2}},
        replacement_properties={"input": {"resource_id": "external-2", "step": 1}},
        can_be_found=False,
        always_exists=True,
    ),
]
