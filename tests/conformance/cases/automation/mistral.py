"""Conformance cases of Mistral's types."""

from __future__ import annotations

from typing import Any

from tests.conformance.case import ConformanceCase, SupportedCloud

ECHO = {"name": "echo", "action": "std.echo output=<% $.text %>", "publish": {"a": "1"}}
NOOP = {"name": "noop", "action": "std.noop", "on_success": ["echo"], "wait_before": 1}
EXISTING = {"workflow": "hc-existing"}
ACTIONS = ("CREATE", "UPDATE", "SUSPEND", "RESUME", "DELETE")


def _case(name: str, *prerequisites: Any, **fields: Any) -> ConformanceCase:
    return ConformanceCase(
        f"OS::Mistral::{name}", prerequisites, runs_on=SupportedCloud.EMULATION_ONLY, **fields
    )


CASES = [
    _case(
        "Workflow",
        properties={"type": "direct", "tasks": [ECHO], "input": {"text": "hello"}},
        changes=[
            {"tasks": [NOOP, ECHO], "description": "d", "tags": ["t"], "output": {"a": "b"}},
            {
                "type": "reverse",
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
        properties={
            "pattern": "* * * * *",
            "count": 3,
            "workflow": {"name": "hc-existing", "input": {"a": 1}},
        },
        attributes={"remaining_executions": 3, "next_execution_time": "2026-01-01 00:01:00"},
    ),
    _case(
        "ExternalResource",
        properties={
            "actions": dict.fromkeys(ACTIONS, EXISTING),
            "input": {"resource_id": "external-1", "a": 1},
        },
        changes=[{"input": {"resource_id": "external-1", "b": 2}}],
        attributes={"output": {"resource_id": "external-1", "a": 1, "b": 2}},
        replacement_properties={"input": {"resource_id": "external-2"}},
        can_be_found=False,
        always_exists=True,
    ),
]
