"""Deletions that end although something cannot be deleted, and what users do about the rest."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from heatclient.exc import HTTPNotFound
from osc_lib.exceptions import CommandError

from heat_convergence.api.services import ApiOptions
from heat_convergence.cli.openstack_commands import quarantine as commands
from heat_convergence.common.failures import Conflict, ResourceFailure
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.db.maintenance.consistency import find_inconsistencies
from heat_convergence.db.maintenance.purge import find_deleted_stacks
from heat_convergence.db.statements import credentials
from heat_convergence.db.store import SqlStore
from heat_convergence.resources.protocol.verb_values import VerbResult
from tests.functional.harness import LocalService
from tests.functional.scripted_type import ScriptedType, make, resource, state, template

Json = Any
PAUSE_S = 60.0
USED = {"template": template(lower=resource(), upper=resource("lower"))}


@pytest.fixture
def fickle() -> ScriptedType:
    return ScriptedType()


@pytest.fixture
def service(tmp_path: Any, fickle: ScriptedType) -> Iterator[LocalService]:
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite", types=(fickle,))
    service.use_settings(retry_backoff_s=1.0, retry_limit=1)
    yield service
    service.close()


def delete(service: LocalService, path: str, query: str = "?quarantine=true") -> None:
    assert service.send("DELETE", path + query).status_int == 204


def quarantine(service: LocalService, query: str = "", project: str = "p") -> list[Json]:
    answer = service.send("GET", f"/quarantine{query}", project=project)
    assert answer.status_int == 200, answer.text
    found: list[Json] = answer.json["quarantine"]
    return found


def by_name(service: LocalService) -> dict[str, Json]:
    return {each["resource_name"]: each for each in quarantine(service)}


def pass_time(service: LocalService, seconds: float) -> None:
    service.clock.advance(seconds)
    service.run_due_work()


def fail_deletion(fickle: ScriptedType, name: str = "upper", times: int = 10**6) -> None:
    fickle.fail("delete", name, lambda: Conflict("it is in use"), times)


def quarantine_upper(service: LocalService, fickle: ScriptedType) -> str:
    """Delete a stack of two resources whose upper one cannot be deleted; return its id."""
    path = make(service, **USED)
    fail_deletion(fickle)
    delete(service, path)
    return str(by_name(service)["upper"]["id"])


def test_what_cannot_be_deleted_is_listed_and_the_stack_deleted(
    service: LocalService, fickle: ScriptedType
) -> None:
    path = make(service, **USED)
    fail_deletion(fickle)
    delete(service, path)
    assert state(service, path) == (
        "DELETE_COMPLETE",
        "Stack DELETE completed successfully; resources in quarantine: 2",
    )
    assert service.send("GET", "/stacks").json["stacks"] == []
    found = by_name(service)
    upper, lower = found["upper"], found["lower"]
    assert upper["quarantine_reason"] == "Conflict: resources.upper: it is in use"
    assert (upper["physical_resource_id"], upper["resource_type"]) == ("upper-2", "Test::Scripted")
    assert (upper["quarantine_status"], upper["tries"]) == ("RETRYING", 0)
    assert (upper["stack_name"], upper["waits_for"]) == ("s", [])
    # What it may use was not touched.
    assert (lower["quarantine_status"], lower["next_at"]) == ("WAITING", None)
    assert lower["waits_for"] == [upper["id"]]
    assert fickle.call_count("delete", "lower") == 0


def test_a_new_stack_takes_the_name(service: LocalService, fickle: ScriptedType) -> None:
    path = make(service, **USED)
    fail_deletion(fickle)
    delete(service, path)
    assert state(service, make(service, **USED))[0] == "CREATE_COMPLETE"


@pytest.mark.parametrize("query", ["", "?quarantine=false"])
def test_without_the_request_a_deletion_fails_as_before(
    service: LocalService, fickle: ScriptedType, query: str
) -> None:
    path = make(service, **USED)
    fail_deletion(fickle)
    delete(service, path, query)
    assert state(service, path)[0] == "DELETE_FAILED"
    assert quarantine(service) == []
    delete(service, path)  # as the user may want it now
    assert state(service, path)[0] == "DELETE_COMPLETE"
    assert set(by_name(service)) == {"upper", "lower"}


def test_the_option_is_the_default_of_requests(tmp_path: Any, fickle: ScriptedType) -> None:
    options = ApiOptions(quarantine_on_delete=True)
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite", options, types=(fickle,))
    fail_deletion(fickle)
    path = make(service, **USED)
    delete(service, path, "?quarantine=false")
    assert state(service, path)[0] == "DELETE_FAILED"
    delete(service, path, "")
    assert state(service, path)[0] == "DELETE_COMPLETE"
    service.close()


def test_abandoning_a_stack_during_its_deletion_leaves_quarantined_resources_alone(
    tmp_path: Any, fickle: ScriptedType
) -> None:
    options = ApiOptions(enable_stack_abandon=True)
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite", options, types=(fickle,))
    service.use_settings(retry_backoff_s=1.0, retry_limit=1)
    nested = {"inner.yaml": json.dumps(template(inner=resource()))}
    resources = {"upper": resource(), "slow": resource(), "n": {"type": "inner.yaml"}}
    path = make(service, template=template(**resources), files=nested)
    for name in ("upper", "inner"):
        fail_deletion(fickle, name)
    fickle.fail("delete", "slow", lambda: VerbResult(ObservedState.BUSY, poll_after_s=1e6))
    service.send("DELETE", f"{path}?quarantine=true", leave_pending=True)
    for _ in range(3):
        pass_time(service, 5)
    shown = service.send("GET", "/quarantine", leave_pending=True).json["quarantine"]
    assert {each["resource_name"] for each in shown} == {"upper", "inner", "n"}
    assert service.send("DELETE", f"{path}/abandon").status_int == 200
    assert quarantine(service) == []
    calls = fickle.call_count("delete", "inner")
    pass_time(service, 20 * PAUSE_S)
    assert fickle.call_count("delete", "inner") == calls
    with service.database.read() as conn:
        assert list(find_inconsistencies(conn)) == []
    service.close()


def test_an_unknown_value_is_refused(service: LocalService) -> None:
    path = make(service, **USED)
    assert service.send("DELETE", f"{path}?quarantine=perhaps").status_int == 400
    assert state(service, path)[0] == "CREATE_COMPLETE"


def test_observers_try_again_with_growing_pauses(
    service: LocalService, fickle: ScriptedType
) -> None:
    path = make(service, **USED)
    fail_deletion(fickle, times=5)  # two by the engine
    delete(service, path)
    for tries, pause in enumerate((PAUSE_S, 2 * PAUSE_S, 4 * PAUSE_S), start=1):
        pass_time(service, pause / 2)
        assert by_name(service)["upper"]["tries"] == tries - 1
        pass_time(service, pause / 2 + 1)
        assert by_name(service)["upper"]["tries"] == tries
    pass_time(service, 8 * PAUSE_S)
    pass_time(service, 3)
    assert quarantine(service) == []
    assert fickle.there == {}
    with service.database.read() as conn:
        assert list(find_inconsistencies(conn)) == []


def test_a_user_has_it_tried_at_once(service: LocalService, fickle: ScriptedType) -> None:
    path = make(service, **USED)
    fail_deletion(fickle, times=2)
    delete(service, path)
    upper = by_name(service)["upper"]["id"]
    answer = service.send("POST", f"/quarantine/{upper}/retry")
    assert (answer.status_int, answer.json["quarantined"]["id"]) == (200, upper)
    pass_time(service, 3)
    pass_time(service, 3)
    assert quarantine(service) == []
    assert fickle.there == {}


def test_a_dismissed_one_is_left_and_others_go_on(
    service: LocalService, fickle: ScriptedType
) -> None:
    upper = quarantine_upper(service, fickle)
    assert service.send("DELETE", f"/quarantine/{upper}").status_int == 204
    assert service.send("DELETE", f"/quarantine/{upper}").status_int == 404
    pass_time(service, 3)
    pass_time(service, 3)
    assert quarantine(service) == []
    assert list(fickle.there.values()) == ["upper"]


def test_a_resource_is_not_dismissed_while_its_deletion_is_tried(
    service: LocalService, fickle: ScriptedType
) -> None:
    upper = quarantine_upper(service, fickle)
    now = service.clock()
    with SqlStore(service.database).transaction() as tx:  # as an observer does before its call
        tx.quarantine.update([upper], next_at=now)
        assert tx.quarantine.take_due(now, now + timedelta(seconds=40), 1)
    answer = service.send("DELETE", f"/quarantine/{upper}", leave_pending=True)
    assert answer.status_int == 400
    assert "while its deletion is being tried" in answer.json["error"]["message"]
    assert set(by_name(service)) == {"upper", "lower"}
    service.clock.advance(50)  # the observer has ended since
    assert service.send("DELETE", f"/quarantine/{upper}", leave_pending=True).status_int == 204


def test_a_retained_resource_that_waits_is_not_deleted(
    service: LocalService, fickle: ScriptedType
) -> None:
    retained = resource() | {"deletion_policy": "Retain"}
    path = make(service, template=template(lower=retained, upper=resource("lower")))
    fail_deletion(fickle, times=2)
    delete(service, path)
    assert set(by_name(service)) == {"upper", "lower"}
    for _ in range(3):
        pass_time(service, PAUSE_S)
    assert quarantine(service) == []
    assert list(fickle.there.values()) == ["lower"]


def test_a_deletion_that_hangs_ends_at_the_deadline(
    service: LocalService, fickle: ScriptedType
) -> None:
    path = make(service, timeout_mins=1, **USED)
    fickle.fail("delete", "upper", lambda: VerbResult(ObservedState.BUSY, poll_after_s=10.0))
    fickle.fail("observe", "upper", lambda: VerbResult(ObservedState.BUSY, poll_after_s=10.0))
    delete(service, path)
    assert state(service, path)[0] == "DELETE_COMPLETE"
    assert by_name(service)["upper"]["quarantine_reason"] == "DELETE aborted (Timed out)"


def test_a_defect_in_a_type_is_quarantined_with_its_error_id(
    service: LocalService, fickle: ScriptedType
) -> None:
    path = make(service, template=template(r=resource()))
    fickle.fail("delete", "r", lambda: ZeroDivisionError("a defect"))
    delete(service, path)
    pass_time(service, PAUSE_S + 3)
    found = by_name(service)["r"]
    assert found["tries"] == 1
    assert "error id" in found["quarantine_reason"]
    assert "a defect" not in found["quarantine_reason"]


def test_pages_and_other_projects(service: LocalService, fickle: ScriptedType) -> None:
    path = make(service, **USED)
    fail_deletion(fickle)
    delete(service, path)
    first = service.send("GET", "/quarantine?limit=1").json
    (link,) = first["links"]
    second = service.send("GET", link["href"].split("/v1/p")[1]).json
    names = [each["resource_name"] for each in first["quarantine"] + second["quarantine"]]
    assert sorted(names) == ["lower", "upper"]
    assert quarantine(service, f"?marker={second['quarantine'][0]['id']}") == []
    upper = by_name(service)["upper"]["id"]
    assert quarantine(service, project="q") == []
    assert service.send("DELETE", f"/quarantine/{upper}", project="q").status_int == 404
    assert service.send("POST", f"/quarantine/{upper}/retry", project="q").status_int == 404
    assert service.send("GET", "/quarantine?limt=1").status_int == 400
    assert set(by_name(service)) == {"upper", "lower"}


def test_rows_and_credential_stay_until_the_quarantine_is_empty(
    service: LocalService, fickle: ScriptedType
) -> None:
    path = make(service, **USED)
    stack_id = path.rsplit("/", 1)[1]
    with service.database.write() as conn:
        credentials.upsert(conn, stack_id, {"trust": "t"}, service.clock())
    fail_deletion(fickle, times=2)
    delete(service, path)
    later = service.clock() + timedelta(days=1)

    def kept() -> tuple[bool, bool]:
        with service.database.read() as conn:
            orphaned = credentials.list_orphaned(conn, later, 9)
        return find_deleted_stacks(service.database, later, None, 9) == [], orphaned == []

    assert kept() == (True, True)
    for _ in range(3):
        pass_time(service, PAUSE_S)
    assert kept() == (False, False)


def test_the_reason_has_no_secrets(service: LocalService, fickle: ScriptedType) -> None:
    secret = {"secret": {"type": "number", "hidden": True, "default": 4711}}
    body = template(r=resource(size={"get_param": "secret"})) | {"parameters": secret}
    path = make(service, template=body)
    fickle.fail("delete", "r", lambda: ResourceFailure("size 4711 is in use"))
    delete(service, path)
    pass_time(service, PAUSE_S + 3)
    assert by_name(service)["r"]["tries"] == 1
    assert "4711" not in by_name(service)["r"]["quarantine_reason"]


class InProcessClient:
    """The part of python-heatclient that the commands use, over the service in process."""

    def __init__(self, service: LocalService) -> None:
        self._service = service
        self.http_client = self

    def get(self, path: str) -> Any:
        return self._send("GET", path)

    def post(self, path: str, data: Json) -> Any:
        return self._send("POST", path, data)

    def delete(self, path: str) -> Any:
        return self._send("DELETE", path)

    def _send(self, method: str, path: str, body: Json = None) -> Any:
        answer = self._service.send(method, path, body)
        if answer.status_int == 404:
            raise HTTPNotFound
        assert answer.status_int in (200, 204), answer.text
        return SimpleNamespace(json=lambda: answer.json)


def run(service: LocalService, command_class: Any, *arguments: str) -> Any:
    manager = SimpleNamespace(orchestration=InProcessClient(service))
    command = command_class(SimpleNamespace(client_manager=manager), None)
    return command.take_action(command.get_parser("openstack").parse_args(arguments))


def test_commands(
    service: LocalService, fickle: ScriptedType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commands, "_PAGE_SIZE", 1)
    path = make(service, **USED)
    fail_deletion(fickle, times=2)
    delete(service, path)
    columns, rows = run(service, commands.ListStackQuarantine)
    found = [dict(zip(columns, row, strict=True)) for row in rows]
    assert {each["Resource Name"]: each["Quarantine Status"] for each in found} == {
        "lower": "WAITING",
        "upper": "RETRYING",
    }
    ids = {each["Resource Name"]: each["ID"] for each in found}
    run(service, commands.DismissStackQuarantine, ids["lower"])
    run(service, commands.RetryStackQuarantine, ids["upper"])
    pass_time(service, 3)
    assert list(run(service, commands.ListStackQuarantine)[1]) == []
    with pytest.raises(CommandError, match="not found: nobody"):
        run(service, commands.RetryStackQuarantine, "nobody")
