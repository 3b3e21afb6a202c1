"""Jobs that call nothing outside of the database, claimed and recorded in one transaction.

The simulator's types make calls; here a process that does such jobs is killed at any place.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import sqlalchemy as sa

from heat_convergence.common.failures import StorageRefused
from heat_convergence.convergence.model.job import JobState
from heat_convergence.db.statements import value_dedup
from heat_convergence.db.tables import resource
from tests.functional.harness import LocalService
from tests.functional.project_client import ProjectClient, hot_template, resource_definition

Json = Any


class ProcessEnded(BaseException):
    """The end of the process."""


@contextmanager
def killing(service: LocalService, countdown: int) -> Iterator[None]:
    """Kill the process before the statement, commit or message that follows so many others."""
    left = [countdown]

    def note(*_arguments: Any) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise ProcessEnded

    def sending(send: Any) -> Any:
        def send_unless_killed(*arguments: Any) -> None:
            note()
            send(*arguments)

        return send_unless_killed

    engine = service.database.engine
    names = ("before_cursor_execute", "commit")
    for name in names:
        sa.event.listen(engine, name, note)
    for method in ("converge", "observe"):
        setattr(service.bus, method, sending(getattr(service.bus, method)))
    try:
        yield
    finally:
        for name in names:
            sa.event.remove(engine, name, note)
        for method in ("converge", "observe"):
            delattr(service.bus, method)


def template(value: str) -> Json:
    reads = {name: {"get_attr": [before, "output"]} for name, before in (("b", "a"), ("c", "b"))}
    return hot_template(
        {
            "a": resource_definition(value=value),
            "b": resource_definition(value=reads["b"]),
            "other": resource_definition(value=reads["b"]),
            "c": resource_definition(value=reads["c"]),
        },
        outputs={"last": {"get_attr": ["c", "output"]}},
    )


def restart(service: LocalService) -> None:
    """Let another process find what the killed one has left."""
    service.engine, service.observer = service.build_daemons()
    settings = service.services.settings
    for _ in range(3):
        service.clock.advance(settings.lease_s + settings.repost_after_s)
        service.observer.tick()
        service.run_until_idle()


def kill_once(service: LocalService, countdown: int) -> bool:
    """Handle all messages; return whether the process was killed at this place."""
    try:
        with killing(service, countdown):
            service.handle_pending()
    except ProcessEnded:
        restart(service)
        return True
    return False


@pytest.mark.parametrize("first", range(4))
def test_kill_at_any_statement(tmp_path: Any, first: int) -> None:
    kills, place = 0, first
    while True:
        service = LocalService(f"sqlite:///{tmp_path}/{place}.sqlite")
        heat = ProjectClient(service)
        heat.create("s", template("one"), hold=True)
        is_killed = kill_once(service, place)
        assert heat.status("s") == "CREATE_COMPLETE"
        assert heat.outputs("s") == {"last": "one"}
        events = [(each["resource_name"], each["resource_status"]) for each in heat.events("s")]
        done = [name for name, status in events if status == "CREATE_COMPLETE"]
        assert sorted(done) == ["a", "b", "c", "other", "s"]
        with service.database.read() as connection:
            rows = connection.execute(sa.select(resource.c.job_state, resource.c.lease_token))
            assert {tuple(row) for row in rows} == {(None, None)}
        service.close()
        if not is_killed:
            break
        kills, place = kills + 1, place + 4
    assert kills > 10


def test_claim_and_outcome_of_a_local_job_are_one_transaction(tmp_path: Any) -> None:
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite")
    heat = ProjectClient(service)
    heat.create("s", template("one"), hold=True)
    states: list[JobState] = []

    def note(connection: Any) -> None:
        states.extend(connection.execute(sa.select(resource.c.job_state)).scalars())

    sa.event.listen(service.database.engine, "commit", note)
    service.handle_pending()
    assert heat.status("s") == "CREATE_COMPLETE"
    assert JobState.AWAITING_OBSERVATION in states
    assert JobState.RUNNING not in states
    service.close()


def test_one_of_two_workers_that_do_a_local_job_records_it(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite")
    heat = ProjectClient(service)
    stack = hot_template({"random": {"type": "OS::Heat::RandomString"}})
    heat.create("s", stack, hold=True)
    message, other = service.bus.pending[0], service.build_daemons()[0]
    end = service.engine._end

    def end_late(jobs: Any) -> Any:
        mine = end(jobs)
        other.converge(message.stack_id, message.version, message.resource_ids)
        shown.append(heat.send("GET", path, leave_pending=True).json)
        return mine

    shown: list[Json] = []
    path = f"{heat.path('s')}/resources/random"
    monkeypatch.setattr(service.engine, "_end", end_late)
    service.handle_pending()
    assert heat.status("s") == "CREATE_COMPLETE"
    value = heat.resource("s", "random")["attributes"]["value"]
    assert shown[0]["resource"]["attributes"]["value"] == value
    starts = [each for each in heat.events("s") if each["resource_status"] == "CREATE_IN_PROGRESS"]
    assert sorted(each["resource_name"] for each in starts) == ["random", "s"]
    service.close()


def test_outcome_that_cannot_be_stored_fails_its_resource_alone(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite")
    heat = ProjectClient(service)
    original = value_dedup.store_shared

    def store_shared(connection: Any, rows: Any) -> None:
        if any((row.get("attributes") or {}).get("output") == "refused" for row in rows):
            raise StorageRefused("too large")
        original(connection, rows)

    monkeypatch.setattr(value_dedup, "store_shared", store_shared)
    values = {"good": "one", "bad": "refused", "other": "two"}
    stack = {name: resource_definition(value=value) for name, value in values.items()}
    heat.create("s", hot_template(stack), disable_rollback=True)
    shown = {each["resource_name"]: each for each in heat.resources("s")}
    assert {name: each["resource_status"] for name, each in shown.items()} == {
        "good": "CREATE_COMPLETE",
        "bad": "CREATE_FAILED",
        "other": "CREATE_COMPLETE",
    }
    assert "its values can't be stored" in shown["bad"]["resource_status_reason"]
    service.close()
