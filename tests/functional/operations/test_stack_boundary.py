"""A defect that one stack's data uncovers fails its resource, and no other stack notices."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from heat_convergence.convergence.lifecycle.progress.observed_stacks import process_observations
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.observer import stack_transactions
from tests.functional.harness import LocalService

TEMPLATE = {
    "heat_template_version": "2018-08-31",
    "resources": {"r": {"type": "OS::Heat::TestResource"}},
}
SECRET = "a text that may be a secret"


@pytest.fixture
def poisoned(monkeypatch: pytest.MonkeyPatch) -> dict[str, bool]:
    """Return where to name stacks whose processing raises; True: always, else until it fails."""
    stacks: dict[str, bool] = {}

    def process(tx: Any, *, named: Any, observations: Any, **others: Any) -> Any:
        failed = [each for each in observations.values() if each.observed is ObservedState.FAILED]
        for stack_id in named:
            stack = tx.stacks.get(stack_id)
            if stack.name in stacks and (stacks[stack.name] or not failed):
                raise KeyError(SECRET)
        return process_observations(tx, named=named, observations=observations, **others)

    monkeypatch.setattr(stack_transactions, "process_observations", process)
    return stacks


def create(service: LocalService, name: str) -> None:
    body = {"stack_name": name, "template": TEMPLATE, "disable_rollback": True}
    response = service.send("POST", "/stacks", body, leave_pending=True)
    assert response.status_int == 201, response.text


def status(service: LocalService, name: str) -> str:
    path = service.send("GET", f"/stacks/{name}", leave_pending=True).location
    shown = service.send("GET", path.split("/v1/p")[1], leave_pending=True).json["stack"]
    return f"{shown['stack_status']} {shown['stack_status_reason']}"


def errors_in(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    return [each for each in caplog.records if each.message.startswith("unexpected error: ")]


def test_unexpected_error_fails_the_resource_with_its_id(
    service: LocalService, poisoned: dict[str, bool], caplog: pytest.LogCaptureFixture
) -> None:
    poisoned["bad"] = False
    for name in ("bad", "good"):
        create(service, name)
    service.run_until_idle()

    assert status(service, "good").startswith("CREATE_COMPLETE")
    reason = status(service, "bad")
    assert reason.startswith("CREATE_FAILED")
    reported = errors_in(caplog)
    assert len({each.args["error_id"] for each in reported}) == len(reported)
    assert any(each.args["error_id"] in reason for each in reported)
    assert SECRET not in caplog.text
    assert SECRET not in reason


def test_stack_that_raises_among_others_fails_alone(
    service: LocalService, poisoned: dict[str, bool]
) -> None:
    poisoned["bad"] = False
    for name in ("good", "bad", "also-good"):
        create(service, name)
    named = {}
    while service.bus.pending:
        message = service.bus.pending.popleft()
        if message.method == "observe":
            named[message.stack_id] = message.resource_ids
        else:
            service.deliver(message)
    assert len(named) == 3
    service.observer.observe_together(named)
    assert status(service, "bad").startswith("CREATE_FAILED")
    assert status(service, "good").startswith("CREATE_COMPLETE")
    assert status(service, "also-good").startswith("CREATE_COMPLETE")


def test_stack_that_always_raises_is_not_tried_in_a_tight_loop(
    service: LocalService, poisoned: dict[str, bool], caplog: pytest.LogCaptureFixture
) -> None:
    poisoned["bad"] = True
    for name in ("bad", "good"):
        create(service, name)
    for _ in range(20):
        service.run_due_work()

    assert status(service, "good").startswith("CREATE_COMPLETE")
    assert status(service, "bad").startswith("CREATE_IN_PROGRESS")
    assert 0 < len(errors_in(caplog)) <= 3  # each place once: together, alone, and as failed
