"""Calls that are refused are made later; they count no try and fail nothing by themselves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from heat_convergence.common.failures import CallRefused, TemporaryFailure
from tests.functional.harness import LocalService
from tests.functional.scripted_type import (
    LIMIT,
    ScriptedType,
    make,
    resource,
    row,
    state,
    template,
)

PAUSE_S = 20.0
REFUSED = 4 * LIMIT


@pytest.fixture
def scripted() -> ScriptedType:
    return ScriptedType()


@pytest.fixture
def service(tmp_path: Any, scripted: ScriptedType) -> Iterator[LocalService]:
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite", types=(scripted,))
    service.use_settings(retry_backoff_s=1.0, retry_limit=LIMIT)
    yield service
    service.close()


def refuse() -> Exception:
    return CallRefused("compute is not called", retry_after_s=PAUSE_S)


@pytest.mark.parametrize("verb", ["create", "delete", "observe"])
def test_refused_calls_are_made_later(
    service: LocalService, scripted: ScriptedType, verb: str
) -> None:
    scripted.fail(verb, "r", refuse, times=REFUSED)
    path = make(service, template=template(r=resource(slow=True)))
    assert state(service, path)[0] == "CREATE_COMPLETE"
    service.send("DELETE", path)
    assert state(service, path)[0] == "DELETE_COMPLETE"
    assert scripted.call_count(verb) > REFUSED
    pauses = scripted.pauses_between_calls(verb)[:REFUSED]
    assert min(pauses) >= PAUSE_S


def test_refused_calls_leave_all_tries_to_real_ones(
    service: LocalService, scripted: ScriptedType
) -> None:
    answers = iter([*[refuse] * REFUSED, *[lambda: TemporaryFailure("no answer")] * LIMIT])
    scripted.fail("create", "r", lambda: next(answers)(), times=REFUSED + LIMIT)
    path = make(service, template=template(r=resource()))
    assert state(service, path)[0] == "CREATE_COMPLETE"
    assert scripted.call_count("create") == REFUSED + LIMIT + 1


def test_refusals_end_with_the_time_limit_of_the_stack(
    service: LocalService, scripted: ScriptedType
) -> None:
    scripted.fail("create", "r", refuse)
    path = make(service, template=template(r=resource()), timeout_mins=2, disable_rollback=True)
    assert state(service, path) == ("CREATE_FAILED", "Timed out")
    assert 120 / PAUSE_S - 1 <= scripted.call_count("create") <= 120 / PAUSE_S + 1
    reason = row(service, path)["resource_status_reason"]
    assert "compute is not called" in reason or reason == "CREATE aborted (Timed out)"
