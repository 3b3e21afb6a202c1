"""An exception at any place of a job's way fails its resource, with an id that the log has."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from typing import Any

import pytest

from heat_convergence.convergence.lifecycle import rollback
from heat_convergence.db.repositories.incarnations import SqlIncarnationRepository
from heat_convergence.engine import outcomes
from heat_convergence.engine.claiming import claims, preparation
from heat_convergence.engine.nested.executor import NestedStackExecutor
from heat_convergence.observer import stack_transactions, sweep
from heat_convergence.resources.builtin.test_resource import TestResource
from tests.functional.harness import LocalService

TEST_RESOURCE = "OS::Heat::TestResource"
SECRET = "a text that may be a secret"  # pragma: allowlist secret
NESTED = "heat_template_version: 2018-08-31\nresources: {x: {type: OS::Heat::TestResource}}"


def fail_when(matches: Callable[..., bool], original: Callable[..., Any]) -> Callable[..., Any]:
    def failing(*args: Any, **others: Any) -> Any:
        if matches(*args, **others):
            raise KeyError(SECRET)
        return original(*args, **others)

    return failing


def create(service: LocalService, names: tuple[str, ...] = ("bad", "good"), **values: Any) -> str:
    template = {
        "heat_template_version": "2018-08-31",
        "resources": {name: {"type": TEST_RESOURCE, **values} for name in names},
    }
    body = {"stack_name": "s", "template": template, "disable_rollback": True}
    return str(service.send("POST", "/stacks", body).json["stack"]["id"])


def statuses(service: LocalService, stack_id: str) -> dict[str, tuple[str, str]]:
    rows = service.send("GET", f"/stacks/s/{stack_id}/resources").json["resources"]
    return {
        row["resource_name"]: (row["resource_status"], row["resource_status_reason"])
        for row in rows
    }


def assert_only_bad_failed(
    service: LocalService, stack_id: str, caplog: pytest.LogCaptureFixture
) -> None:
    found = statuses(service, stack_id)
    assert found["good"][0] == "CREATE_COMPLETE"
    status, reason = found["bad"]
    assert status == "CREATE_FAILED"
    (error_id,) = re.findall(r"error id ([0-9a-f]{12})", reason)
    logged = [each for each in caplog.records if each.message.startswith("unexpected error: ")]
    assert error_id in {each.args["error_id"] for each in logged}
    # Log lines of level INFO repeat reasons, in which a type's own text is shown.
    errors = [each for each in caplog.records if each.levelno > logging.INFO]
    assert not [each for each in errors if SECRET in f"{each.message} {each.exc_text}"]
    stack = service.send("GET", f"/stacks/s/{stack_id}").json["stack"]
    assert stack["stack_status"] == "CREATE_FAILED"
    assert error_id in stack["stack_status_reason"]


def is_bad(value: Any) -> bool:
    return getattr(getattr(value, "row", value), "name", "") == "bad"


def about_bad(*args: Any, **_others: Any) -> bool:
    values = [each for arg in args for each in (arg if isinstance(arg, list | tuple) else [arg])]
    return any(is_bad(each) for each in values)


def claimed_as_usual(*args: Any, **_others: Any) -> bool:
    return any(is_bad(job) and job.error is None for job in args[1])


def recorded_as_usual(*args: Any, **_others: Any) -> bool:
    return any(is_bad(each.job) and each.error is None for each in args[1])


def ended_as_usual(*args: Any, **_others: Any) -> bool:
    return is_bad(args[0].job)


@pytest.mark.parametrize(
    ("place", "matches", "local"),
    [
        ((preparation, "create_job"), about_bad, True),
        ((claims, "_ending"), ended_as_usual, True),
        ((claims, "_insert_events"), claimed_as_usual, False),
        ((outcomes, "record_outcomes"), recorded_as_usual, False),
    ],
    ids=["create", "end", "claim", "record"],
)
def test_exception_in_the_engine_fails_the_resource_alone(
    service: LocalService,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    place: tuple[Any, str],
    matches: Callable[..., bool],
    local: bool,
) -> None:
    monkeypatch.setattr(TestResource, "local", local)
    monkeypatch.setattr(*place, fail_when(matches, getattr(*place)))
    stack_id = create(service)
    assert_only_bad_failed(service, stack_id, caplog)


def test_exception_of_a_resource_type_is_in_the_reason_with_its_id(
    service: LocalService, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    resource_type = service.registry.get(TEST_RESOURCE)
    monkeypatch.setattr(resource_type, "create", fail_when(about_bad, resource_type.create))
    stack_id = create(service)
    reason = statuses(service, stack_id)["bad"][1]
    assert reason.startswith(f"ResourceFailure: resources.bad: KeyError: '{SECRET}' (error id ")
    assert_only_bad_failed(service, stack_id, caplog)


def test_exception_without_a_text_fails_the_resource(
    service: LocalService, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    class SilentError(Exception):
        def __str__(self) -> str:
            raise ValueError

    def create_silently(view: Any) -> Any:
        raise SilentError if view.name == "bad" else KeyError("other")

    resource_type = service.registry.get(TEST_RESOURCE)
    original = resource_type.create
    monkeypatch.setattr(
        resource_type,
        "create",
        lambda view: create_silently(view) if view.name == "bad" else original(view),
    )
    stack_id = create(service)
    assert "SilentError (error id " in statuses(service, stack_id)["bad"][1]
    assert_only_bad_failed(service, stack_id, caplog)


def test_exception_that_concerns_all_rows_of_a_message_is_tried_each_alone(
    service: LocalService, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The inputs of all claimed rows are read at once; one name cannot be looked up."""
    get_inputs = SqlIncarnationRepository.get_inputs_of_stacks

    def failing(self: Any, names: Any) -> Any:
        if any("base" in some and "bad" not in some for some in names.values()):
            raise KeyError(SECRET)
        return get_inputs(self, names)

    monkeypatch.setattr(SqlIncarnationRepository, "get_inputs_of_stacks", failing)
    template = {
        "heat_template_version": "2018-08-31",
        "resources": {
            "base": {"type": TEST_RESOURCE},
            "bad": {"type": TEST_RESOURCE, "properties": {"value": {"get_resource": "base"}}},
            "good": {"type": TEST_RESOURCE, "depends_on": "base"},
        },
    }
    body = {"stack_name": "s", "template": template, "disable_rollback": True}
    stack_id = str(service.send("POST", "/stacks", body).json["stack"]["id"])
    assert_only_bad_failed(service, stack_id, caplog)


def creates_bad(*args: Any) -> bool:
    return any(is_bad(each.job) for each in args[1])


@pytest.mark.parametrize(
    "raising",
    [
        {"_prepare_creation": about_bad},
        {"create_together": creates_bad, "execute": about_bad},
    ],
    ids=lambda raising: " ".join(raising),
)
def test_exception_at_the_start_of_a_nested_stack_fails_its_resource(
    service: LocalService,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    raising: dict[str, Callable[..., bool]],
) -> None:
    for name, matches in raising.items():
        original = getattr(NestedStackExecutor, name)
        monkeypatch.setattr(NestedStackExecutor, name, fail_when(matches, original))
    template = {
        "heat_template_version": "2018-08-31",
        "resources": {"bad": {"type": "n.yaml"}, "good": {"type": "n.yaml"}},
    }
    body = {"stack_name": "s", "template": template, "files": {"n.yaml": NESTED}}
    stack_id = str(service.send("POST", "/stacks", body).json["stack"]["id"])
    assert_only_bad_failed(service, stack_id, caplog)


def test_message_that_cannot_be_sent_fails_nothing(
    service: LocalService, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    observe, lost = service.bus.observe, []

    def failing(*args: Any) -> None:
        if not lost:
            lost.append(args)
            raise KeyError(SECRET)
        observe(*args)

    monkeypatch.setattr(service.bus, "observe", failing)
    stack_id = create(service)
    service.clock.advance(60)
    service.run_until_idle()
    assert lost
    assert {status for status, _reason in statuses(service, stack_id).values()} == {
        "CREATE_COMPLETE"
    }
    assert any("boundary=message" in each.message for each in caplog.records)


def test_failed_rollback_fails_the_stack(
    service: LocalService, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*args: Any) -> Any:
        raise KeyError(SECRET)

    monkeypatch.setattr(rollback, "begin_rollback", failing)
    template = {
        "heat_template_version": "2018-08-31",
        "resources": {"r": {"type": TEST_RESOURCE, "properties": {"fail": True}}},
    }
    made = service.send(
        "POST", "/stacks", {"stack_name": "s", "template": template, "disable_rollback": False}
    )
    shown = service.send("GET", f"/stacks/s/{made.json['stack']['id']}").json["stack"]
    assert shown["stack_status"] == "CREATE_FAILED"
    assert "cannot be rolled back" in shown["stack_status_reason"]


def test_overdue_stack_that_cannot_be_processed_fails(
    service: LocalService, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def failing(*args: Any, **others: Any) -> Any:
        raise KeyError(SECRET)

    monkeypatch.setattr(stack_transactions, "process_observations", failing)
    monkeypatch.setattr(sweep, "handle_timeout", failing)
    body = {
        "stack_name": "s",
        "template": {
            "heat_template_version": "2018-08-31",
            "resources": {"r": {"type": TEST_RESOURCE}},
        },
        "timeout_mins": 1,
    }
    made = service.send("POST", "/stacks", body, leave_pending=True).json["stack"]["id"]
    for _ in range(10):
        service.run_due_work()
        service.clock.advance(10)
    shown = service.send("GET", f"/stacks/s/{made}", leave_pending=True).json["stack"]
    assert shown["stack_status"] == "CREATE_FAILED"
    assert re.search("Timed out; .* error id [0-9a-f]{12}", shown["stack_status_reason"])
    logged = [each for each in caplog.records if each.levelno == logging.ERROR]
    assert len(logged) <= 12  # each place once a minute of the clock
