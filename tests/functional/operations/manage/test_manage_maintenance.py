"""Output and exit codes of the other commands of ``heat-convergence-manage``."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import sqlalchemy as sa

from heat_convergence.cli.manage import credential_commands, job_commands, main
from heat_convergence.common import errors
from heat_convergence.common.clock import utc_now
from heat_convergence.common.failures import TemporaryFailure
from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.job import JobState
from heat_convergence.db.connection.database import database_from_url
from heat_convergence.db.encryption.column_encryption import Keyring, attach_keyring
from heat_convergence.db.repositories.workers import SqlWorkerRepository
from heat_convergence.db.statements import credentials
from heat_convergence.db.store import SqlStore
from heat_convergence.db.tables import goal, stack
from heat_convergence.testing.sample_rows import goal_row, resource_row, service_row, stack_row

TEXT = "text"
TEXT_HASH = hashlib.sha256(TEXT.encode()).hexdigest()


class ManageCommand:
    def __init__(self, path: Path) -> None:
        self.url = f"sqlite:///{path}/managed.sqlite"
        self.config = path / "hc.conf"
        self.keys("first key")
        assert self("db", "upgrade") == 0
        self.database = database_from_url(self.url)
        attach_keyring(self.database.engine, Keyring(["first key"]))

    def keys(self, *keys: str) -> None:
        lines = [f"auth_encryption_key = {key}" for key in keys]
        self.config.write_text(
            "\n".join(["[DEFAULT]", *lines, "[database]", f"connection = {self.url}"])
        )

    def __call__(self, *arguments: str) -> int:
        return main.main(["--config-file", str(self.config), *arguments])

    def stack(self, name: str, **values: Any) -> None:
        with SqlStore(self.database).transaction() as tx:
            deleted_at = values.pop("deleted_at", None)
            tx.stacks.insert(stack_row(name, **values))
            tx.goals.insert(
                goal_row(
                    f"goal-of-{name}",
                    stack_id=name,
                    template_hash=TEXT_HASH,
                    parameters={"p": name},
                    sensitive=True,
                )
            )
            tx.contents.put({TEXT_HASH: TEXT})
            if deleted_at is not None:
                tx.stacks.update(name, deleted_at=deleted_at)

    def stacks(self) -> list[str]:
        with self.database.read() as conn:
            return sorted(conn.scalars(sa.select(stack.c.id)))


@pytest.fixture
def managed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[ManageCommand]:
    managed = ManageCommand(tmp_path)
    capsys.readouterr()
    yield managed
    managed.database.close()


def ago(**span: float) -> datetime:
    return utc_now() - timedelta(**span)


def test_purge_deleted_uses_age_and_unit(
    managed: ManageCommand, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(5):
        managed.stack(f"old-{number}", deleted_at=ago(days=100))
    managed.stack("young", deleted_at=ago(hours=3))
    managed.stack("live")
    assert managed("purge_deleted", "-b", "2") == 0
    assert "Purged 5 deleted stacks and 0 texts" in capsys.readouterr().out
    assert managed.stacks() == ["live", "young"]
    assert managed("purge_deleted", "-g", "hours", "4") == 0
    assert managed.stacks() == ["live", "young"]
    assert managed("purge_deleted", "-g", "minutes", "-p", "another", "1") == 0
    assert managed.stacks() == ["live", "young"]
    assert managed("purge_deleted", "-g", "minutes", "-p", "project-1", "1") == 0
    assert managed.stacks() == ["live"]


def test_age_beyond_the_calendar_purges_nothing(
    managed: ManageCommand, capsys: pytest.CaptureFixture[str]
) -> None:
    managed.stack("old", deleted_at=ago(days=100))
    assert managed("purge_deleted", "999999999999") == 0
    assert "Purged 0 deleted stacks" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [["-g", "years", "1"], ["-1"], ["x"], ["-b", "0", "1"]])
def test_invalid_arguments_purge_nothing(managed: ManageCommand, arguments: list[str]) -> None:
    managed.stack("old", deleted_at=ago(days=100))
    with pytest.raises(SystemExit):
        managed("purge_deleted", *arguments)
    assert managed.stacks() == ["old"]


def test_project_is_purged_after_confirmation(
    managed: ManageCommand, capsys: pytest.CaptureFixture[str]
) -> None:
    managed.stack("a", project_id="deleted")
    managed.stack("b", project_id="other")
    assert managed("purge_project", "deleted") == 0
    assert "has 1 stacks" in capsys.readouterr().out
    assert managed.stacks() == ["a", "b"]
    assert managed("purge_project", "deleted", "--yes") == 0
    assert managed.stacks() == ["b"]


def test_services_are_listed_and_dead_ones_removed(
    managed: ManageCommand, capsys: pytest.CaptureFixture[str]
) -> None:
    workers = SqlWorkerRepository(managed.database)
    for name, reported_at in (("alive", ago(seconds=60)), ("dead", ago(seconds=130))):
        workers.record_heartbeat(service_row(name, report_interval_s=60), reported_at)
    assert managed("service", "list") == 0
    lines = {line.split()[2]: line for line in capsys.readouterr().out.splitlines()[1:]}
    assert " up " in lines["alive"]
    assert lines["alive"].split()[-1] == "0.1.0"
    assert " down " in lines["dead"]
    assert managed("service", "clean") == 0
    assert "1 dead" in capsys.readouterr().out
    managed("service", "list")
    out = capsys.readouterr().out
    assert "alive" in out
    assert "dead" not in out


def test_keys_are_rotated(managed: ManageCommand, capsys: pytest.CaptureFixture[str]) -> None:
    managed.stack("s")
    managed.keys("second key", "first key")
    assert managed("secrets", "rotate") == 0
    assert "4 values rewritten" in capsys.readouterr().out
    managed.keys("second key")
    assert managed("secrets", "decrypt") == 0
    with managed.database.read() as conn:
        raw = conn.scalars(sa.select(sa.type_coerce(goal.c.parameters, sa.Text)))
        assert list(raw) == ['{"p":"s"}']
    assert managed("secrets", "encrypt") == 0


def test_missing_key_is_reported(
    managed: ManageCommand, capsys: pytest.CaptureFixture[str]
) -> None:
    managed.stack("s")
    managed.keys("another key")
    for change in ("rotate", "encrypt", "decrypt"):
        assert managed("secrets", change) == 1
        printed = capsys.readouterr().out
        assert "4 values were encrypted with a key that is not configured" in printed
        assert "Nothing was changed" in printed
    managed.keys()
    assert managed("secrets", "rotate") == 1
    assert "is not set" in capsys.readouterr().out


def test_check_reports_undecryptable_values(
    managed: ManageCommand, capsys: pytest.CaptureFixture[str]
) -> None:
    managed.stack("s", deadline_at=utc_now())
    with SqlStore(managed.database).transaction() as tx:
        tx.resources.insert(
            [resource_row("r", stack_id="s", sensitive=True, properties={"p": "planted-value"})]
        )
    managed.keys("another key")
    assert managed("stack", "check") == 1
    out = capsys.readouterr().out
    for place in ("properties of resource r", "parameters of goal goal-of-s"):
        assert f"stack s: The stored {place} cannot be decoded" in out
    assert "another auth_encryption_key" in out
    assert "remedy: add the key that encrypted it to auth_encryption_key" in out
    assert "planted-value" not in out


def test_consistent_database_has_no_inconsistencies(
    managed: ManageCommand, capsys: pytest.CaptureFixture[str]
) -> None:
    managed.stack("s", deadline_at=utc_now())
    assert managed("stack", "check") == 0
    assert "No inconsistencies found" in capsys.readouterr().out


def test_inconsistencies_are_printed_with_the_remedy(
    managed: ManageCommand, capsys: pytest.CaptureFixture[str]
) -> None:
    managed.stack("a")  # in progress, without a deadline
    managed.stack("b", deadline_at=utc_now())
    with SqlStore(managed.database).transaction() as tx:
        tx.resources.insert([resource_row("r", stack_id="b", job=None, job_state="posted")])
    with managed.database.write() as conn:
        conn.execute(goal.delete().where(goal.c.stack_id == "b"))
    assert managed("stack", "check") == 1
    out = capsys.readouterr().out
    assert "stack a: rule 9: stack a is in progress and no time is set for its end" in out
    assert "stack b: its goal_id goal-of-b does not exist" in out
    assert "stack b: rule 1:" in out
    assert out.count("remedy: ") == out.count("stack a: ") + out.count("stack b: ")
    assert managed("stack", "check", "a") == 1
    assert "stack b" not in capsys.readouterr().out
    assert managed("stack", "check", "nobody") == 1
    assert "the stack does not exist" in capsys.readouterr().out


def jobs_of(managed: ManageCommand) -> None:
    managed.stack("s")
    with SqlStore(managed.database).transaction() as tx:
        tx.resources.insert(
            [
                resource_row("blocked", stack_id="s", job_state=JobState.BLOCKED),
                resource_row("posted", stack_id="s", job_state=JobState.POSTED),
                resource_row("held", stack_id="s", job_state=JobState.AT_BREAKPOINT),
                resource_row(
                    "running",
                    stack_id="s",
                    job_state=JobState.RUNNING,
                    lease_owner="worker-1",
                    lease_expires_at=utc_now(),
                ),
            ]
        )
    SqlWorkerRepository(managed.database).record_heartbeat(service_row("worker-1"), utc_now())


def test_jobs_are_listed_with_their_worker_and_what_they_wait_for(
    managed: ManageCommand, capsys: pytest.CaptureFixture[str]
) -> None:
    jobs_of(managed)
    assert managed("jobs", "list", "--json") == 0
    jobs = {each["resource_id"]: each for each in json.loads(capsys.readouterr().out)}
    assert set(jobs) == {"posted", "held", "running"}
    assert jobs["running"]["worker_host"] == "host-1"
    assert jobs["running"]["lease_expires_at"] is not None
    assert jobs["posted"]["waits_for"] == "an engine that takes its message"
    assert managed("jobs", "list", "--state", "BLOCKED", "--stack", "s") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("Stack")
    assert "resources that it needs" in lines[1]
    assert managed("jobs", "list", "--limit", "1") == 0
    assert "Only the first 1 jobs are printed" in capsys.readouterr().out
    assert managed("jobs", "list", "--stack", "another") == 0
    assert len(capsys.readouterr().out.splitlines()) == 1


def test_every_state_of_a_job_has_a_text() -> None:
    assert set(job_commands.REASONS) | {JobState.AT_BREAKPOINT} == set(JobState)


class FakeClouds:
    def __init__(self, unusable: set[str], error: type[errors.Error]) -> None:
        self.unusable = unusable
        self.error = error

    def get(self, tree_id: str) -> Any:
        def reauthenticate() -> None:
            if tree_id in self.unusable:
                raise self.error("the trust was revoked")

        return SimpleNamespace(reauthenticate=reauthenticate)


@pytest.mark.parametrize(
    ("error", "code", "printed"),
    [
        (errors.AuthorizationFailure, 1, ", project project-1: the trust was revoked"),
        (TemporaryFailure, 2, "Keystone does not answer: the trust was revoked"),
    ],
)
def test_stacks_without_usable_credential_are_printed(
    error: type[errors.Error],
    code: int,
    printed: str,
    managed: ManageCommand,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("alive", "dead", "deleted"):
        deleted = {"deleted_at": utc_now()} if name == "deleted" else {}
        managed.stack(name, project_id="project-1", **deleted)
        with managed.database.write() as conn:
            credentials.upsert(conn, name, {"trust_id": name}, utc_now())
    clouds = FakeClouds({"dead", "deleted"}, error)
    monkeypatch.setattr(
        credential_commands, "create_keystone_clients", lambda conf, database: (clouds, None)
    )
    assert managed("credentials", "check") == code
    out = capsys.readouterr().out
    assert printed in out
    if code == 1:
        assert "stack dead (" in out
        assert "2 stacks checked, 1 without a usable credential" in out


def test_without_keystone_there_are_no_credentials(
    managed: ManageCommand, capsys: pytest.CaptureFixture[str]
) -> None:
    with managed.config.open("a") as file:
        file.write("\n[heat_api]\nauth_strategy = noauth\n")
    assert managed("credentials", "check") == 0
    assert "Stacks have no credentials" in capsys.readouterr().out


def test_restored_database_looks_for_what_may_have_been_created(
    managed: ManageCommand, capsys: pytest.CaptureFixture[str]
) -> None:
    managed.stack("s")
    rows = [
        resource_row("waits", stack_id="s"),
        resource_row("posted", stack_id="s", job_state=JobState.POSTED),
        resource_row("never begun", stack_id="s", job_state=JobState.CANCELLED),
        resource_row("exists", stack_id="s", physical_id="p-1"),
    ]
    with SqlStore(managed.database).transaction() as tx:
        tx.resources.insert(rows)
    assert managed("db", "restored") == 0
    assert capsys.readouterr().out == "2 resources are looked for before they are created.\n"
    with SqlStore(managed.database).transaction() as tx:
        found = {row.identity.id: row.state.action for row in tx.resources.get_by_stack("s")}
    assert found == {
        "waits": Action.CREATE,
        "posted": Action.CREATE,
        "never begun": Action.INIT,
        "exists": Action.INIT,
    }
