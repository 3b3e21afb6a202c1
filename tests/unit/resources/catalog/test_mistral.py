"""Mistral's types: definitions, refusals, and executions of external resources."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from heat_convergence.common.errors import Invalid
from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.openstack.mistral.definitions import render_definition
from tests.unit.resources.emulated_cloud import TYPES, EmulatedCloud

WORKFLOW, TRIGGER, EXTERNAL = (
    f"OS::Mistral::{name}" for name in ("Workflow", "CronTrigger", "ExternalResource")
)
ECHO = {"name": "echo", "action": "std.echo"}


def test_definition_has_dashes_and_moved_policies_and_no_empty_parts() -> None:
    task = {
        **ECHO,
        "on_success": ["next"],
        "description": None,
        "policies": {"wait_before": 3},
        "with_items": "i in <% $.all %>",
    }
    properties = {
        "type": "direct",
        "tags": ["t"],
        "input": {"b": 2, "a": 1},
        "task_defaults": {"on_error": ["stop"], "timeout": None},
        "tasks": [task],
    }
    assert json.loads(render_definition("w", properties, "mark")) == {
        "version": "2.0",
        "w": {
            "type": "direct",
            "tags": ["t", "mark"],
            "input": ["a", "b"],
            "task-defaults": {"on-error": ["stop"]},
            "tasks": {
                "echo": {
                    "action": "std.echo",
                    "on-success": ["next"],
                    "wait-before": 3,
                    "with-items": "i in <% $.all %>",
                }
            },
        },
    }


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({"type": "reverse", "tasks": [ECHO]}, "task_name"),
        ({"type": "direct", "tasks": [{"name": "a"}]}, "either an action or a workflow"),
        ({"type": "direct", "tasks": [{**ECHO, "workflow": "w"}]}, "either an action or a workf"),
        ({"type": "direct", "tasks": [{**ECHO, "requires": ["b"]}]}, "requires"),
        ({"type": "direct", "tasks": [{**ECHO, "concurrency": 2}]}, "with_items"),
    ],
)
def test_contradicting_tasks_are_refused(properties: dict[str, Any], message: str) -> None:
    with pytest.raises(Invalid, match=message):
        TYPES[WORKFLOW].validate(properties, None)


def test_trigger_without_a_time_is_refused() -> None:
    with pytest.raises(Invalid, match="pattern, first_time"):
        TYPES[TRIGGER].validate_property_names(frozenset({"workflow"}))


def test_trigger_that_has_come_to_its_end_passes_the_check() -> None:
    cloud = EmulatedCloud()
    properties = {"pattern": "* * * * *", "workflow": {"name": "hc-existing"}}
    context = cloud.created(TRIGGER, properties)
    cloud.emulation.collection("mistral.cron_trigger").remove(str(context.physical_id))
    result = TYPES[TRIGGER].check(context)
    assert result is not None
    assert result.observed is ObservedState.READY


@pytest.mark.parametrize("named", [{}, {"name": "nightly"}])
def test_trigger_of_a_lost_create_is_found(named: dict[str, str]) -> None:
    cloud = EmulatedCloud()
    workflow = {"name": "hc-existing", "input": {"b": 1, "a": 2}}
    properties = {"pattern": "* * * * *", "workflow": workflow, **named}
    context = cloud.context(TRIGGER, properties)
    assert TYPES[TRIGGER].find(context) is None
    made = TYPES[TRIGGER].create(context)
    assert TYPES[TRIGGER].find(context) == made.physical_id


@pytest.mark.parametrize(
    "other",
    [
        {"pattern": "1 * * * *"},
        {"workflow": {"name": "hc-existing", "input": {"a": 1}}},
        {"workflow": {"name": "another"}},
    ],
)
def test_trigger_of_somebody_else_is_not_adopted(other: dict[str, Any]) -> None:
    cloud = EmulatedCloud()
    cloud.emulation.add("mistral.workflow", name="another", tags=[])
    properties = {"name": "t", "pattern": "* * * * *", "workflow": {"name": "hc-existing"}}
    TYPES[TRIGGER].create(cloud.context(TRIGGER, {**properties, **other}))
    assert TYPES[TRIGGER].find(cloud.context(TRIGGER, properties)) is None


def test_workflow_of_somebody_else_is_not_adopted() -> None:
    context = EmulatedCloud().context(
        WORKFLOW, {"name": "hc-existing", "type": "direct", "tasks": [ECHO]}
    )
    assert TYPES[WORKFLOW].find(context) is None


@pytest.mark.parametrize("details", [{"input": {"b": 1}}, {"input": 3}, {"params": ["a"]}])
def test_signal_with_unknown_input_is_refused(details: dict[str, Any]) -> None:
    cloud = EmulatedCloud()
    context = cloud.created(WORKFLOW, {"type": "direct", "tasks": [ECHO], "input": {"a": 1}})
    with pytest.raises(Invalid):
        TYPES[WORKFLOW].act_on_signal(context, details)
    assert len(cloud.emulation.collection("mistral.execution")) == 0


def test_repeated_create_of_an_external_resource_executes_once() -> None:
    cloud = EmulatedCloud()
    properties = {"actions": {"CREATE": {"workflow": "hc-existing"}}, "input": {"a": 1}}
    context = cloud.context(EXTERNAL, properties)
    first = TYPES[EXTERNAL].create(context)
    assert TYPES[EXTERNAL].find(context) == first.physical_id
    again = TYPES[EXTERNAL].resume_create(replace(context, physical_id=first.physical_id))
    assert again.physical_id == first.physical_id
    assert len(cloud.emulation.collection("mistral.execution")) == 1


@pytest.mark.parametrize("action", [Action.UPDATE, Action.ROLLBACK])
def test_execution_is_awaited_whatever_the_action_is_called(action: Action) -> None:
    cloud = EmulatedCloud()
    run = {"workflow": "hc-existing"}
    context = cloud.created(EXTERNAL, {"actions": {"CREATE": run, "UPDATE": run}})
    started = replace(context, action=action, data={})
    result = TYPES[EXTERNAL].update(started, started.properties, frozenset({"input"}))
    later = replace(started, data=result.data or {}, started_at=started.now)
    assert TYPES[EXTERNAL].observe(later).observed is ObservedState.BUSY
    cloud.emulation.advance(2)
    ended = TYPES[EXTERNAL].observe(later)
    assert ended.observed is ObservedState.READY
    assert "execution_id" not in (ended.data or {})


def test_failed_execution_fails_the_action_with_its_reason() -> None:
    cloud = EmulatedCloud()
    properties = {"actions": {"CREATE": {"workflow": "hc-existing"}}, "input": {"fail": 1}}
    context = cloud.created(EXTERNAL, properties)
    cloud.emulation.advance(2)
    result = TYPES[EXTERNAL].observe(replace(context, action=Action.CREATE))
    assert result.observed is ObservedState.FAILED
    assert result.reason.endswith("is ERROR: the task has failed")


def test_later_executions_get_the_outputs_of_earlier_ones() -> None:
    cloud = EmulatedCloud()
    run = {"workflow": "hc-existing", "params": {"env": {"own": 1}}}
    properties = {"actions": {"CREATE": run, "UPDATE": run}, "input": {"a": 1}}
    context = cloud.created(EXTERNAL, properties)
    cloud.emulation.advance(2)
    ready = TYPES[EXTERNAL].observe(replace(context, action=Action.CREATE))
    known = replace(context, physical_id=ready.physical_id, data=ready.data or {})
    TYPES[EXTERNAL].update(known, known.properties, frozenset({"input"}))
    params = json.loads(cloud.emulation.collection("mistral.execution").bodies()[-1]["params"])
    assert params == {"env": {"own": 1, "heat_extresource_data": {"a": 1}}}


def test_change_of_a_named_input_replaces_the_external_resource() -> None:
    external = TYPES[EXTERNAL]
    after = {"input": {"a": 2}, "replace_on_change_inputs": ["a"]}
    assert external.needs_replace({"input": {"a": 1}}, after, frozenset({"input"}))
    assert not external.needs_replace({"input": {"a": 2, "b": 3}}, after, frozenset({"input"}))
