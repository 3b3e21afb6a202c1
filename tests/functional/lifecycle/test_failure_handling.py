"""Errors of resources: the kinds of errors, their retries and the pauses between the calls."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from heat_convergence.common.failures import (
    Conflict,
    OverQuota,
    ResourceFailure,
    ResourceGone,
    ServiceRejection,
    TemporaryFailure,
    Throttled,
)
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.protocol.verb_values import VerbResult
from tests.functional.harness import LocalService
from tests.functional.scripted_type import (
    LIMIT,
    Answer,
    ScriptedType,
    make,
    resource,
    row,
    state,
    template,
    without_error_id,
)


@dataclass(frozen=True, slots=True)
class ErrorCase:
    """An error, the number of calls until the failure is final, and its reason."""

    name: str
    error: Answer
    attempts: int
    reason_prefix: str
    pause_s: float = 0.0  # the least


ERROR_CASES = [
    ErrorCase(
        "throttled",
        lambda: Throttled("slow down", retry_after_s=7.0),
        LIMIT + 1,
        "Throttled: resources.r: slow down",
        7.0,
    ),
    ErrorCase(
        "conflict",
        lambda: Conflict("it is locked"),
        LIMIT + 1,
        "Conflict: resources.r: it is locked",
        1.0,
    ),
    ErrorCase(
        "over quota",
        lambda: OverQuota("no more cores"),
        LIMIT + 1,
        "OverQuota: resources.r: no more cores",
        1.0,
    ),
    ErrorCase(
        "temporary",
        lambda: TemporaryFailure("no answer"),
        LIMIT + 1,
        "TemporaryFailure: resources.r: no answer",
        1.0,
    ),
    ErrorCase(
        "permanent",
        lambda: ResourceFailure("no such image"),
        1,
        "ResourceFailure: resources.r: no such image",
    ),
    ErrorCase(
        "gone",
        lambda: ResourceGone("no such network"),
        1,
        "NotFound: resources.r: no such network",
    ),
    ErrorCase(
        "rejected",
        lambda: ServiceRejection("Bad port request", "BadRequest"),
        1,
        "BadRequest: resources.r: Bad port request",
    ),
    ErrorCase(
        "unknown", lambda: KeyError("id"), 1, "ResourceFailure: resources.r: KeyError: 'id'"
    ),
    ErrorCase(
        "in error",
        lambda: VerbResult(ObservedState.FAILED, reason="no host"),
        1,
        "ResourceInError: resources.r: no host",
    ),
]
RETRIED = [case for case in ERROR_CASES if case.attempts > 1]
every_case = pytest.mark.parametrize("case", ERROR_CASES, ids=lambda case: case.name)


@pytest.fixture
def fickle() -> ScriptedType:
    return ScriptedType()


@pytest.fixture
def service(tmp_path: Any, fickle: ScriptedType) -> Iterator[LocalService]:
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite", types=(fickle,))
    service.use_settings(retry_backoff_s=1.0, retry_limit=LIMIT)
    yield service
    service.close()


# -- the table ----------------------------------------------------------------


@every_case
def test_error_of_a_create(service: LocalService, fickle: ScriptedType, case: ErrorCase) -> None:
    fickle.fail("create", "r", case.error)
    path = make(service, template=template(r=resource()))
    assert state(service, path) == (
        "CREATE_FAILED",
        f"Resource CREATE failed: {case.reason_prefix}",
    )
    assert row(service, path)["resource_status"] == "CREATE_FAILED"
    reason = row(service, path)["resource_status_reason"]
    assert without_error_id(reason) == case.reason_prefix
    assert fickle.call_count("create") == case.attempts


@every_case
def test_error_of_an_update(service: LocalService, fickle: ScriptedType, case: ErrorCase) -> None:
    path = make(service, template=template(r=resource()))
    fickle.fail("update", "r", case.error)
    service.send("PUT", path, {"template": template(r=resource(size=2))})
    assert fickle.call_count("update") == case.attempts
    if case.name == "gone":  # what is not there can't be changed: another one is made
        assert state(service, path)[0] == "UPDATE_COMPLETE"
        assert fickle.call_count("create") == 2
    else:
        assert state(service, path) == (
            "UPDATE_FAILED",
            f"Resource UPDATE failed: {case.reason_prefix}",
        )


@every_case
def test_error_of_a_delete(service: LocalService, fickle: ScriptedType, case: ErrorCase) -> None:
    """Nothing else gets rid of what is there: every failure is tried again."""
    path = make(service, template=template(r=resource()))
    fickle.fail("delete", "r", case.error)
    service.send("DELETE", path)
    if case.name == "gone":
        assert (state(service, path)[0], fickle.call_count("delete")) == ("DELETE_COMPLETE", 1)
        return
    assert state(service, path) == (
        "DELETE_FAILED",
        f"Resource DELETE failed: {case.reason_prefix}",
    )
    assert fickle.call_count("delete") == LIMIT + 1
    fickle.times.clear()
    service.send("DELETE", path)
    assert (state(service, path)[0], fickle.there) == ("DELETE_COMPLETE", {})


@pytest.mark.parametrize("case", RETRIED, ids=lambda case: case.name)
def test_retry_pauses_grow_and_honour_retry_after(
    service: LocalService, fickle: ScriptedType, case: ErrorCase
) -> None:
    fickle.fail("create", "r", case.error)
    make(service, template=template(r=resource()))
    pauses = fickle.pauses_between_calls("create")
    expected = [max(case.pause_s, 2.0**tries) for tries in range(LIMIT)]
    assert all(pause >= least for pause, least in zip(pauses, expected, strict=True)), pauses


def test_retry_pauses_of_a_delete_grow(service: LocalService, fickle: ScriptedType) -> None:
    path = make(service, template=template(r=resource()))
    fickle.fail("delete", "r", lambda: ResourceFailure("in use"))
    service.send("DELETE", path)
    pauses = fickle.pauses_between_calls("delete")
    expected = [2.0**tries for tries in range(LIMIT)]
    assert all(pause >= least for pause, least in zip(pauses, expected, strict=True)), pauses


@pytest.mark.parametrize("case", RETRIED, ids=lambda case: case.name)
def test_temporary_error_is_no_failure(
    service: LocalService, fickle: ScriptedType, case: ErrorCase
) -> None:
    fickle.fail("create", "r", case.error, times=LIMIT)
    path = make(service, template=template(r=resource()))
    assert (state(service, path)[0], fickle.made) == ("CREATE_COMPLETE", 1)


@pytest.mark.parametrize(("verb", "action"), [("suspend", "SUSPEND"), ("check", "CHECK")])
@every_case
def test_error_of_other_verbs(
    service: LocalService, fickle: ScriptedType, case: ErrorCase, verb: str, action: str
) -> None:
    path = make(service, template=template(r=resource()))
    fickle.fail(verb, "r", case.error)
    service.send("POST", f"{path}/actions", {verb: None})
    reason = f"Resource {action} failed: {case.reason_prefix}"
    assert (*state(service, path), fickle.call_count(verb)) == (
        f"{action}_FAILED",
        reason,
        case.attempts,
    )


# -- what the look says -------------------------------------------------------


def test_resource_in_error_is_replaced_by_a_new_incarnation(
    service: LocalService, fickle: ScriptedType
) -> None:
    numbers = iter(range(100))

    def fail() -> VerbResult:
        number = next(numbers)
        fickle.there[f"bad-{number}"] = "r"
        return VerbResult(
            ObservedState.FAILED,
            f"bad-{number}",
            reason="no host",
            retry_with_new_incarnation=True,
        )

    fickle.fail("create", "r", fail, times=LIMIT)
    path = make(service, template=template(r=resource()))
    assert state(service, path)[0] == "CREATE_COMPLETE"
    assert (fickle.call_count("create"), sorted(fickle.there)) == (LIMIT + 1, ["r-1"])


def test_new_incarnations_are_limited(service: LocalService, fickle: ScriptedType) -> None:
    answer = VerbResult(
        ObservedState.FAILED, "bad", reason="no host", retry_with_new_incarnation=True
    )
    fickle.fail("create", "r", lambda: answer)
    path = make(service, template=template(r=resource()))
    assert state(service, path)[0] == "CREATE_FAILED"
    assert fickle.call_count("create") == LIMIT + 1


def test_pauses_between_new_incarnations_grow(service: LocalService, fickle: ScriptedType) -> None:
    answer = VerbResult(
        ObservedState.FAILED, "bad", reason="no host", retry_with_new_incarnation=True
    )
    fickle.fail("create", "r", lambda: answer)
    make(service, template=template(r=resource()))
    pauses = fickle.pauses_between_calls("create")
    expected = [2.0**tries for tries in range(LIMIT)]
    assert all(pause >= least for pause, least in zip(pauses, expected, strict=True)), pauses


@pytest.mark.parametrize("case", ERROR_CASES, ids=lambda case: case.name)
def test_error_of_an_observation(
    service: LocalService, fickle: ScriptedType, case: ErrorCase
) -> None:
    """Retry an observation after a temporary error; fail the resource after a permanent one."""
    fickle.fail("observe", "r", case.error, times=3)
    path = make(service, template=template(r=resource(slow=True)))
    lasting = case.attempts == 1
    status, reason = state(service, path)
    assert status == ("CREATE_FAILED" if lasting else "CREATE_COMPLETE")
    missing_reason = "NotFound: resources.r: the physical resource is gone"
    if lasting:
        expected = missing_reason if case.name == "gone" else case.reason_prefix
        assert reason == f"Resource CREATE failed: {expected}"
    assert fickle.made == 1


def test_type_that_raises_does_not_block_other_observations(
    service: LocalService, fickle: ScriptedType
) -> None:
    fickle.fail("observe", "bad", lambda: KeyError("id"))
    first = make(service, template=template(bad=resource(slow=True)))
    assert state(service, first) == (
        "CREATE_FAILED",
        "Resource CREATE failed: ResourceFailure: resources.bad: KeyError: 'id'",
    )
    answer = service.send(
        "POST", "/stacks", {"stack_name": "t", "template": template(r=resource(slow=True))}
    )
    assert state(service, f"/stacks/t/{answer.json['stack']['id']}")[0] == "CREATE_COMPLETE"


def test_timed_out_resource_has_the_time_limit_in_its_reason(service: LocalService) -> None:
    endless = {"type": "OS::Heat::TestResource", "properties": {"wait_secs": -1}}
    path = make(service, template=template(r=endless), timeout_mins=1, disable_rollback=True)
    assert state(service, path) == ("CREATE_FAILED", "Timed out")
    assert row(service, path)["resource_status_reason"] == "CREATE aborted (Timed out)"
