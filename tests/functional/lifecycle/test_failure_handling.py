"""Tests of errors of resources: retries, pauses, causes and recovery.

A row of ``KINDS`` is a kind of error that a service can answer with; the number of
calls is counted, and the pauses between them are those of the simulated clock.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pytest

from heat_convergence.common import errors
from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.protocol.resource_type import (
    ResourceContext,
    ResourceType,
    VerbResult,
)
from heat_convergence.resources.protocol.schema import PropertySchema, PropertyType, TypeSchema
from tests.functional.harness import LocalService

Json = Any
Answer = Callable[[], Exception | VerbResult]
LIMIT = 5  # action_retry_limit


class ScriptedType(ResourceType):
    """Does what it is told, unless ``answers`` has something else for that call."""

    name = "Test::Fickle"
    schema = TypeSchema(
        properties={
            "size": PropertySchema(type=PropertyType.INTEGER, default=1, update_allowed=True),
            "slow": PropertySchema(type=PropertyType.BOOLEAN, default=False),
        }
    )

    def __init__(self) -> None:
        self.there: dict[str, str] = {}  # physical id → name
        self.calls: dict[tuple[str, str], list[float]] = defaultdict(list)
        self.answers: dict[tuple[str, str], Answer] = {}
        self.times: dict[tuple[str, str], int] = {}
        self.made = 0

    def create(self, view: ResourceContext) -> VerbResult:
        return self._call("create", view) or self._make(view)

    def update(
        self, view: ResourceContext, after: Mapping[str, Json], changed: frozenset[str]
    ) -> VerbResult:
        return self._call("update", view) or VerbResult(ObservedState.READY)

    def delete(self, view: ResourceContext) -> VerbResult:
        look = self._call("delete", view)
        if look is None:
            self.there.pop(str(view.physical_id), None)
        return look or VerbResult(ObservedState.ABSENT)

    def observe(self, view: ResourceContext) -> VerbResult:
        look = self._call("observe", view)
        if look is not None:
            return look
        if view.action is Action.DELETE:
            return self.delete(view)
        passed_s = (view.now - view.started_at).total_seconds()
        up = not view.properties.get("slow") or passed_s > 30
        return VerbResult(ObservedState.READY if up else ObservedState.BUSY, poll_after_s=10.0)

    def suspend(self, view: ResourceContext) -> VerbResult | None:
        return self._call("suspend", view)

    def check(self, view: ResourceContext) -> VerbResult:
        return self._call("check", view) or VerbResult(ObservedState.READY)

    def fail(self, verb: str, name: str, answer: Answer, times: int = 10**6) -> None:
        self.answers[verb, name] = answer
        self.times[verb, name] = times

    def call_count(self, verb: str, name: str = "r") -> int:
        return len(self.calls[verb, name])

    def pauses_between_calls(self, verb: str, name: str = "r") -> list[float]:
        at = self.calls[verb, name]
        return [after - before for before, after in pairwise(at)]

    def _make(self, view: ResourceContext) -> VerbResult:
        self.made += 1
        physical_id = f"{view.name}-{self.made}"
        self.there[physical_id] = view.name
        slow = view.properties.get("slow")
        return VerbResult(
            ObservedState.BUSY if slow else ObservedState.READY, physical_id, poll_after_s=10.0
        )

    def _call(self, verb: str, view: ResourceContext) -> VerbResult | None:
        key = (verb, view.name)
        self.calls[key].append(view.now.timestamp())
        if self.times.get(key, 0) <= 0:
            return None
        self.times[key] -= 1
        answer = self.answers[key]()
        if isinstance(answer, VerbResult):
            return answer
        raise answer


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
        lambda: errors.Throttled("slow down", retry_after_s=7.0),
        LIMIT + 1,
        "Throttled: resources.r: slow down",
        7.0,
    ),
    ErrorCase(
        "conflict",
        lambda: errors.Conflict("it is locked"),
        LIMIT + 1,
        "Conflict: resources.r: it is locked",
        1.0,
    ),
    ErrorCase(
        "over quota",
        lambda: errors.OverQuota("no more cores"),
        LIMIT + 1,
        "OverQuota: resources.r: no more cores",
        1.0,
    ),
    ErrorCase(
        "temporary",
        lambda: errors.TemporaryFailure("no answer"),
        LIMIT + 1,
        "TemporaryFailure: resources.r: no answer",
        1.0,
    ),
    ErrorCase(
        "permanent",
        lambda: errors.ResourceFailure("no such image"),
        1,
        "ResourceFailure: resources.r: no such image",
    ),
    ErrorCase(
        "gone",
        lambda: errors.ResourceGone("no such network"),
        1,
        "ResourceGone: resources.r: no such network",
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


def resource(*needs: str, **properties: Json) -> Json:
    return {"type": "Test::Fickle", "properties": properties, "depends_on": list(needs)}


def template(**resources: Json) -> Json:
    return {"heat_template_version": "2016-10-14", "resources": resources}


@pytest.fixture
def fickle() -> ScriptedType:
    return ScriptedType()


@pytest.fixture
def service(tmp_path: Any, fickle: ScriptedType) -> Iterator[LocalService]:
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite", types=(fickle,))
    service.use_settings(retry_backoff_s=1.0, retry_limit=LIMIT)
    yield service
    service.close()


def make(service: LocalService, **body: Json) -> str:
    answer = service.send("POST", "/stacks", {"stack_name": "s", **body})
    assert answer.status_int == 201, answer.text
    return f"/stacks/s/{answer.json['stack']['id']}"


def state(service: LocalService, path: str) -> tuple[str, str]:
    stack = service.send("GET", path).json["stack"]
    return stack["stack_status"], stack["stack_status_reason"]


def row(service: LocalService, path: str, name: str = "r") -> Json:
    return service.send("GET", f"{path}/resources/{name}").json["resource"]


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
    assert row(service, path)["resource_status_reason"] == case.reason_prefix
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
    fickle.fail("delete", "r", lambda: errors.ResourceFailure("in use"))
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


@pytest.mark.parametrize("case", ERROR_CASES, ids=lambda case: case.name)
def test_error_of_an_observation(
    service: LocalService, fickle: ScriptedType, case: ErrorCase
) -> None:
    """One that could not be made now is made again; one that says it is in error, or
    raises what no repetition helps against, is the resource's failure."""
    fickle.fail("observe", "r", case.error, times=3)
    path = make(service, template=template(r=resource(slow=True)))
    lasting = case.attempts == 1
    status, reason = state(service, path)
    assert status == ("CREATE_FAILED" if lasting else "CREATE_COMPLETE")
    missing_reason = "ResourceInError: resources.r: the physical resource is gone"
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


# -- around a failure ---------------------------------------------------------


def test_siblings_finish_and_dependents_do_not_start(
    service: LocalService, fickle: ScriptedType
) -> None:
    fickle.fail("create", "bad", lambda: errors.ResourceFailure("no"))
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
    fickle.fail(
        "create", "again", lambda: errors.Throttled("slow down", retry_after_s=20.0), times=3
    )
    fickle.fail("create", "bad", lambda: errors.TemporaryFailure("no"))
    path = make(service, template=template(again=resource(), bad=resource(), slow=resource()))
    assert state(service, path)[1].endswith("TemporaryFailure: resources.bad: no")
    assert row(service, path, "again")["resource_status"] == "CREATE_COMPLETE"
    assert fickle.call_count("create", "again") == 4


def test_first_cause_is_kept(service: LocalService, fickle: ScriptedType) -> None:
    fickle.fail("create", "first", lambda: errors.ResourceFailure("the cause"))
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
    fickle.fail("delete", "bad", lambda: errors.ResourceFailure("no"))
    fickle.fail("delete", "other", lambda: errors.Throttled("wait", retry_after_s=50.0), times=2)
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
    fickle.fail("create", "bad", lambda: errors.ResourceFailure("no"))
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
    fickle.fail("create", "r", lambda: errors.ResourceFailure(text))
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
