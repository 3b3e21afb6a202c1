"""Stacks around a failed resource: siblings, causes, rollback and repair."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from heat_convergence.common.failures import ResourceFailure, TemporaryFailure, Throttled
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.protocol.verb_values import VerbResult
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

Json = Any


@pytest.fixture
def fickle() -> ScriptedType:
    return ScriptedType()


@pytest.fixture
def service(tmp_path: Any, fickle: ScriptedType) -> Iterator[LocalService]:
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite", types=(fickle,))
    service.use_settings(retry_backoff_s=1.0, retry_limit=LIMIT)
    yield service
    service.close()


# -- around a failure ---------------------------------------------------------


def test_siblings_finish_and_dependents_do_not_start(
    service: LocalService, fickle: ScriptedType
) -> None:
    fickle.fail("create", "bad", lambda: ResourceFailure("no"))
    body = template(
        bad=resource(),
        slow=resource(slow=True),
        after_bad=resource("bad"),
        after_slow=resource("slow"),
    )
    path = make(service, template=body)
    reason = "Resource CREATE failed: ResourceFailure: resources.bad: no"
    assert state(service, path) == ("CREATE_FAILED", reason)
    names = ("bad", "slow", "after_bad", "after_slow")
    assert [row(service, path, name)["resource_status"] for name in names] == [
        "CREATE_FAILED",
        "CREATE_COMPLETE",
        "INIT_COMPLETE",
        "INIT_COMPLETE",
    ]


def test_sibling_waiting_for_a_retry_finishes(service: LocalService, fickle: ScriptedType) -> None:
    fickle.fail("create", "again", lambda: Throttled("slow down", retry_after_s=20.0), times=3)
    fickle.fail("create", "bad", lambda: TemporaryFailure("no"))
    path = make(service, template=template(again=resource(), bad=resource(), slow=resource()))
    assert state(service, path)[1].endswith("TemporaryFailure: resources.bad: no")
    assert row(service, path, "again")["resource_status"] == "CREATE_COMPLETE"
    assert fickle.call_count("create", "again") == 4


def test_first_cause_is_kept(service: LocalService, fickle: ScriptedType) -> None:
    fickle.fail("create", "first", lambda: ResourceFailure("the cause"))
    broken = VerbResult(ObservedState.FAILED, reason="later")
    fickle.fail("observe", "second", lambda: broken)
    path = make(service, template=template(first=resource(), second=resource(slow=True)))
    reason = "Resource CREATE failed: ResourceFailure: resources.first: the cause"
    assert state(service, path) == ("CREATE_FAILED", reason)
    assert row(service, path, "second")["resource_status"] == "CREATE_FAILED"


def test_deletes_beside_a_failed_one_are_retried(
    service: LocalService, fickle: ScriptedType
) -> None:
    path = make(service, template=template(bad=resource(), other=resource(), more=resource()))
    fickle.fail("delete", "bad", lambda: ResourceFailure("no"))
    fickle.fail("delete", "other", lambda: Throttled("wait", retry_after_s=50.0), times=2)
    service.send("DELETE", path)
    reason = "Resource DELETE failed: ResourceFailure: resources.bad: no"
    assert state(service, path) == ("DELETE_FAILED", reason)
    assert list(fickle.there.values()) == ["bad"]


@pytest.mark.parametrize(
    ("disable", "ended"), [(True, "CREATE_FAILED"), (False, "ROLLBACK_COMPLETE")]
)
def test_rollback_happens_only_on_request(
    service: LocalService, fickle: ScriptedType, disable: bool, ended: str
) -> None:
    fickle.fail("create", "bad", lambda: ResourceFailure("no"))
    body = template(good=resource(), bad=resource("good"))
    path = make(service, template=body, disable_rollback=disable)
    assert state(service, path)[0] == ended
    assert bool(fickle.there) is disable


# -- afterwards ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("verb", "change", "replaced"),
    [
        ("create", None, True),
        ("update", {"size": 2}, True),
        ("check", "check", True),
        ("suspend", "suspend", False),
    ],
)
def test_next_update_repairs_or_replaces(
    service: LocalService, fickle: ScriptedType, verb: str, change: Json, replaced: bool
) -> None:
    in_error = VerbResult(ObservedState.FAILED, "r-0" if verb == "create" else None, reason="no")
    if verb == "create":
        fickle.there["r-0"] = "r"
        fickle.fail("create", "r", lambda: in_error)
    path = make(service, template=template(r=resource()))
    fickle.fail(verb, "r", lambda: in_error)
    if isinstance(change, str):
        service.send("POST", f"{path}/actions", {change: None})
    elif change is not None:
        service.send("PUT", path, {"template": template(r=resource(**change))})
    assert state(service, path)[0] == f"{verb.upper()}_FAILED"
    before = row(service, path)["physical_resource_id"]
    fickle.times.clear()
    if verb == "suspend":
        service.send("POST", f"{path}/actions", {"resume": None})
    service.send(
        "PUT", path, {"template": template(r=resource(**(change if verb == "update" else {})))}
    )
    assert state(service, path)[0] == "UPDATE_COMPLETE"
    after = row(service, path)["physical_resource_id"]
    assert (after != before) is replaced
    assert list(fickle.there) == [after]


# -- what services say --------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("a\0b", "a\ufffdb"),
        ("half \ud83d pair", "half \ufffd pair"),
        ("é\U0001f600", "é\U0001f600"),
        ("x" * 3_000_000 + "the end", "the end"),
    ],
    ids=["NUL", "half a pair", "wide", "three million characters"],
)
def test_any_reason_text_is_stored(
    service: LocalService, fickle: ScriptedType, text: str, kept: str
) -> None:
    fickle.fail("create", "r", lambda: ResourceFailure(text))
    path = make(service, template=template(r=resource()))
    ended, reason = state(service, path)
    assert (ended, reason.endswith(kept)) == ("CREATE_FAILED", True)
    assert len(reason) < 300_000
    assert row(service, path)["resource_status_reason"].endswith(kept)
    events = service.send("GET", f"{path}/resources/r/events").json["events"]
    assert events[0]["resource_status_reason"].endswith(kept)
    service.send("DELETE", path)
    assert state(service, path)[0] == "DELETE_COMPLETE"


def test_check_reports_unsupported_resources(service: LocalService) -> None:
    resources = {"r": {"type": "OS::Heat::RandomString"}}
    template = {"heat_template_version": "2016-10-14", "resources": resources}
    body = {"stack_name": "random", "template": template}
    path = f"/stacks/random/{service.send('POST', '/stacks', body).json['stack']['id']}"
    service.send("POST", f"{path}/actions", {"check": None})
    shown = service.send("GET", path).json["stack"]
    assert shown["stack_status"] == "CHECK_COMPLETE"
    assert shown["stack_status_reason"] == (
        "Stack CHECK completed successfully. 'CHECK' not fully supported (see resources)"
    )
    (row,) = service.send("GET", f"{path}/resources").json["resources"]
    assert row["resource_status_reason"] == "CHECK not supported for OS::Heat::RandomString"
