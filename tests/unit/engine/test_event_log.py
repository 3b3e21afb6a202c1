"""The log lines of stacks and resources: constant texts with fields."""

from __future__ import annotations

import logging

import pytest

from heat_convergence.convergence.lifecycle.context import TraversalContext
from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.ports.settings import ConvergenceSettings
from heat_convergence.stacks.event_log import EventLog
from heat_convergence.testing.sample_rows import resource_row, stack_row, time_at


def _log(status: Status, reason: str, *, action: Action = Action.UPDATE) -> None:
    log = EventLog()
    context = TraversalContext(time_at(1), lambda: "id", ConvergenceSettings(), report=log.add)
    context.stack_event(stack_row("a", action=action), status, reason)
    context.resource_event(resource_row("r", project_id="p"), action, status, reason)
    log.flush()


@pytest.mark.parametrize(
    ("action", "status", "reason", "text"),
    [
        (Action.UPDATE, Status.IN_PROGRESS, "Stack UPDATE started", "stack action started"),
        (Action.UPDATE, Status.COMPLETE, "done", "stack action completed"),
        (Action.UPDATE, Status.FAILED, "over quota", "stack action failed"),
        (Action.UPDATE, Status.FAILED, "Stack UPDATE cancelled", "stack action cancelled"),
        (Action.ROLLBACK, Status.COMPLETE, "done", "stack rolled back"),
    ],
)
def test_each_outcome_of_a_stack_action_has_its_own_log_line(
    caplog: pytest.LogCaptureFixture, action: Action, status: Status, reason: str, text: str
) -> None:
    with caplog.at_level(logging.INFO):
        _log(status, reason, action=action)
    record = caplog.records[0]
    assert record.getMessage().startswith(f"{text}: project=")
    assert f" action={action} reason={reason}" in record.getMessage()


def test_only_failures_of_resources_are_logged_at_info(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        _log(Status.COMPLETE, "done")
        _log(Status.FAILED, "over quota")
    found = [(each.levelname, each.getMessage()) for each in caplog.records[1::2]]
    assert [level for level, _text in found] == ["DEBUG", "INFO"]
    assert found[1][1].startswith("resource action failed: project=p stack=")
    assert " resource=r " in found[1][1]
