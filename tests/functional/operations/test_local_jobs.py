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
from heat_convergence.engine.claiming.job_claims import JobClaims
from tests.functional.harness import LocalService
from tests.functional.project_client import ProjectClient, hot_template, resource_definition

Json = Any
MOST_PLACES = 200


@pytest.fixture
def heat(tmp_path: Any) -> Iterator[ProjectClient]:
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite")
    yield ProjectClient(service)
    service.close()


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


def assert_complete(heat: ProjectClient, name: str, action: str, value: str) -> None:
    """Check that all is done, each job once, and that no worker keeps a lease."""
    assert heat.status(name) == f"{action}_COMPLETE"
    assert heat.outputs(name) == {"last": value}
    events = heat.events(name, "?limit=1000")
    done = [e["resource_name"] for e in events if e["resource_status"] == f"{action}_COMPLETE"]
    assert sorted(done) == sorted(["a", "b", "c", "other", name])
    with heat.service.database.read() as connection:
        rows = connection.execute(sa.select(resource.c.job_state, resource.c.lease_token))
        assert {tuple(row) for row in rows} == {(None, None)}


def test_creation_survives_a_kill_at_any_place(heat: ProjectClient) -> None:
    for place in range(MOST_PLACES):
        name = f"s{place}"
        heat.create(name, template("one"), hold=True)
        is_killed = kill_once(heat.service, place)
        assert_complete(heat, name, "CREATE", "one")
        if not is_killed:
            break
    assert 30 < place < MOST_PLACES - 1


def test_update_survives_a_kill_at_any_place(heat: ProjectClient) -> None:
    for place in range(MOST_PLACES):
        name = f"s{place}"
        heat.create(name, template("one"))
        heat.send("PUT", heat.path(name), {"template": template("two")}, leave_pending=True)
        is_killed = kill_once(heat.service, place)
        assert_complete(heat, name, "UPDATE", "two")
        if not is_killed:
            break
    assert 30 < place < MOST_PLACES - 1


def test_deletion_survives_a_kill_at_any_place(heat: ProjectClient) -> None:
    for place in range(MOST_PLACES):
        heat.create("s", template("one"))
        path = heat.path("s")
        heat.delete("s", leave_pending=True)
        is_killed = kill_once(heat.service, place)
        assert heat.send("GET", path).json["stack"]["stack_status"] == "DELETE_COMPLETE"
        with heat.service.database.read() as connection:
            assert connection.execute(sa.select(resource.c.id)).all() == []
        if not is_killed:
            break
    assert 20 < place < MOST_PLACES - 1


def test_claim_and_outcome_of_a_local_job_are_one_transaction(heat: ProjectClient) -> None:
    service = heat.service
    heat.create("s", template("one"), hold=True)
    states: list[JobState] = []

    def note(connection: Any) -> None:
        states.extend(connection.execute(sa.select(resource.c.job_state)).scalars())

    sa.event.listen(service.database.engine, "commit", note)
    service.handle_pending()
    assert heat.status("s") == "CREATE_COMPLETE"
    assert JobState.AWAITING_OBSERVATION in states
    assert JobState.RUNNING not in states


def test_one_of_two_workers_that_do_a_local_job_records_it(
    heat: ProjectClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = heat.service
    stack = hot_template({"random": {"type": "OS::Heat::RandomString"}})
    heat.create("s", stack, hold=True)
    message, other = service.bus.pending[0], service.build_daemons()[0]
    end = JobClaims._do_local_jobs

    def end_late(claims: JobClaims, jobs: Any) -> Any:
        mine = end(claims, jobs)
        if claims is service.engine._claims:
            other.converge([message.hint])
            shown.append(heat.send("GET", path, leave_pending=True).json)
        return mine

    shown: list[Json] = []
    path = f"{heat.path('s')}/resources/random"
    monkeypatch.setattr(JobClaims, "_do_local_jobs", end_late)
    service.handle_pending()
    assert heat.status("s") == "CREATE_COMPLETE"
    value = heat.resource("s", "random")["attributes"]["value"]
    assert shown[0]["resource"]["attributes"]["value"] == value
    starts = [each for each in heat.events("s") if each["resource_status"] == "CREATE_IN_PROGRESS"]
    assert sorted(each["resource_name"] for each in starts) == ["random", "s"]


def test_outcome_that_cannot_be_stored_fails_its_resource_alone(
    heat: ProjectClient, monkeypatch: pytest.MonkeyPatch
) -> None:
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
