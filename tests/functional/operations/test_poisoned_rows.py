"""A value that cannot be decoded, in every such column of every table, stays one stack's matter.

The table and its columns come from the schema, so that a new column is covered, too.
"""

from __future__ import annotations

import logging
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
import sqlalchemy as sa

from heat_convergence.cli.manage import stack_commands
from heat_convergence.convergence.drift.observation import (
    DriftStatus,
    ResourceObservation,
    WatchResult,
)
from heat_convergence.convergence.model.job import JobState
from heat_convergence.db.column_types import EncryptedText, EnumText, JsonText, NameList, UtcTime
from heat_convergence.db.reads import workload
from heat_convergence.db.statements import credentials
from heat_convergence.db.tables import metadata, stack
from heat_convergence.resources.builtin.test_resource import TestResource
from heat_convergence.resources.registry import ResourceTypeRegistry
from heat_convergence.testing.sample_rows import service_row
from heat_convergence.testing.statement_counter import count_statements
from tests.functional.harness import LocalService

PAST_DEADLINE_S = 4000.0  # the time limit of a stack is an hour by default
POISON: dict[type, Any] = {
    NameList: '["a", 7]',
    JsonText: '{"a": ',
    EncryptedText: "sealed:of another key",
    EnumText: "FROBNICATED",
    UtcTime: 2**62,
}
TYPE = "OS::Heat::TestResource"
TEMPLATE = {
    "heat_template_version": "2018-08-31",
    "resources": {
        "a": {"type": TYPE, "properties": {"value": "x" * 5000}},
        "b": {
            "type": TYPE,
            "properties": {"value": {"get_attr": ["a", "output"]}},
            "depends_on": ["a"],
        },
    },
    "outputs": {"o": {"value": {"get_attr": ["b", "output"]}}},
}


def encoded_columns() -> list[tuple[str, str]]:
    return [
        (table.name, column.key)
        for table in metadata.sorted_tables
        for column in table.columns
        if isinstance(column.type, tuple(POISON)) and column.key not in NOT_DECODED
    ]


NOT_DECODED = {"deleted_at"}  # of stacks and services: a row with it is deleted
COLUMNS = encoded_columns()


@cache
def registry() -> ResourceTypeRegistry:
    return ResourceTypeRegistry.from_types(TestResource())


class TwoStacks:
    """A stack with rows that are to be poisoned, and another one, of one project."""

    def __init__(self, url: str) -> None:
        self.service = LocalService(url, registry=registry())
        self.ids: dict[str, str] = {}

    def create(self, *, wait: bool) -> None:
        for name in ("bad", "good"):
            body = {"stack_name": name, "template": TEMPLATE, "disable_rollback": True}
            created = self.service.send("POST", "/stacks", body, leave_pending=not wait)
            self.ids[name] = created.json["stack"]["id"]

    def fill_other_tables(self) -> None:
        config = {"name": "c", "group": "script", "config": "echo"}
        created = self.service.send("POST", "/software_configs", config).json["software_config"]
        deployment = {"config_id": created["id"], "server_id": "s", "input_values": {"a": "b"}}
        self.service.send("POST", "/software_deployments", deployment)
        self.service.send("POST", self.path("bad") + "/snapshots", {})
        now = self.service.clock()
        self.service.services.store.workers.record_heartbeat(service_row(), now)
        with self.service.database.write() as conn:
            credentials.upsert(conn, "gone", {"kind": "trust"}, now)
        self.observe_drift()

    def observe_drift(self) -> None:
        """Record that the watch has seen the resources of both stacks."""
        now, watch = self.service.clock(), self.service.services.store.watch
        watch.add_groups(self.ids.values(), [TYPE], now, 60.0)
        (group,) = watch.take_due_groups(now, now, 1)
        found = watch.list_watched(group.project_id, [TYPE])
        observations = tuple(
            ResourceObservation(
                resource_id=each.row.id, stack_id=each.row.stack_id, project_id=group.project_id,
                implementation=TYPE, status=DriftStatus.MODIFIED, since=now, observed_at=now,
                properties=({"property": "value", "applied": "x", "observed": "y"},),
                resource_updated_at=each.row.state.updated_at,
            )
            for each in found.resources
        )  # fmt: skip
        assert watch.record(replace(group, observed_at=now), WatchResult(observations)) == 4

    def take_groups(self) -> None:
        """Take groups of the watch as its daemon does."""
        now, watch = self.service.clock(), self.service.services.store.watch
        watch.get_next_time()
        for group in watch.take_due_groups(now, now, 10):
            watch.list_watched(group.project_id, [group.implementation])

    def path(self, name: str) -> str:
        return f"/stacks/{name}/{self.ids[name]}"

    def poison(self, table_name: str, column: str, value: Any = None) -> int:
        """Write a value that cannot be decoded into all rows of the table that are the stack's."""
        table = metadata.tables[table_name]
        column_type = table.c[column].type
        if value is None:
            value = next(POISON[each] for each in POISON if isinstance(column_type, each))
        raw = sa.literal(value, sa.BigInteger if isinstance(value, int) else sa.Text)
        update = table.update().values({column: raw})
        if table_name == "stack":
            update = update.where(stack.c.id == self.ids["bad"])
        elif "stack_id" in table.c and table_name != "stack_credential":
            update = update.where(table.c.stack_id == self.ids["bad"])
        with self.service.database.write() as conn:
            return conn.execute(update).rowcount

    def run_past_deadline(self) -> None:
        for _ in range(8):
            self.service.run_due_work()
            self.service.clock.advance(PAST_DEADLINE_S / 5)

    def read_workload(self) -> None:
        """Read what the metrics and operators show of all jobs and stacks."""
        with self.service.database.read() as conn:
            workload.summarize(conn)
            workload.list_jobs(conn, workload.JobFilter(tuple(JobState)), 100)

    def shown(self, name: str) -> dict[str, Any]:
        found = self.service.send("GET", "/stacks", leave_pending=True).json["stacks"]
        return next(each for each in found if each["id"] == self.ids[name])

    def check_messages(self) -> list[str]:
        found = stack_commands._find_inconsistencies(self.service.database, None)
        return [f"{each.stack_id} {each.problem}: {each.remedy}" for each in found]


@pytest.fixture
def stacks(tmp_path: Any) -> Iterator[TwoStacks]:
    both = TwoStacks(f"sqlite:///{tmp_path}/hc.sqlite")
    yield both
    both.service.close()


def errors_in(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [each.getMessage() for each in caplog.records if each.levelno >= logging.ERROR]


@pytest.mark.parametrize(("table", "column"), COLUMNS)
def test_poisoned_row_during_an_action(
    stacks: TwoStacks, table: str, column: str, caplog: pytest.LogCaptureFixture
) -> None:
    stacks.create(wait=False)
    if not stacks.poison(table, column):
        return  # tables that an action in progress does not fill: see the next test
    stacks.read_workload()
    with count_statements(stacks.service.database.engine) as count:
        stacks.run_past_deadline()

    bad = stacks.shown("bad")
    if table == "content":  # both stacks have the same text
        assert bad["stack_status"] in ("CREATE_FAILED", "CREATE_COMPLETE")
    else:
        assert stacks.shown("good")["stack_status"] == "CREATE_COMPLETE"
    named = [each for each in stacks.check_messages() if f"{column} of {table} " in each]
    assert named or bad["stack_status"] == "CREATE_COMPLETE", (bad, stacks.check_messages())
    assert not bad["stack_status"].endswith("IN_PROGRESS"), bad
    assert count.total < 3000
    assert len(errors_in(caplog)) < 200


@pytest.mark.parametrize("column", [column for table, column in COLUMNS if table == "resource"])
def test_poisoned_resource_ends_its_action_long_before_the_time_limit(
    stacks: TwoStacks, column: str
) -> None:
    stacks.create(wait=False)
    stacks.poison("resource", column)
    for _ in range(20):
        stacks.service.run_due_work()
        stacks.service.clock.advance(5)
    assert not stacks.shown("bad")["stack_status"].endswith("IN_PROGRESS")


@pytest.mark.parametrize(("table", "column"), COLUMNS)
def test_poisoned_row_of_a_stack_without_action(
    stacks: TwoStacks, table: str, column: str
) -> None:
    stacks.create(wait=True)
    stacks.fill_other_tables()
    if not stacks.poison(table, column):
        pytest.skip(f"no action of this test fills {table}")

    named = [each for each in stacks.check_messages() if f"{column} of {table} " in each]
    assert named
    assert all(remedy.split(": ", 1)[1] for remedy in named)
    for name in ("bad", "good"):
        read_everything(stacks, name)
    stacks.take_groups()
    update = stacks.service.send("PUT", stacks.path("good"), {"template": TEMPLATE})
    if table != "content":
        assert update.status_int == 202, update.text
        assert stacks.shown("good")["stack_status"] == "UPDATE_COMPLETE"
    stacks.service.send("DELETE", stacks.path("bad"))
    stacks.run_past_deadline()
    assert stacks.service.send("DELETE", stacks.path("good")).status_int == 204


def read_everything(stacks: TwoStacks, name: str) -> None:
    """Read a stack in every way: a list answers, and one row alone may name the remedy."""
    path = stacks.path(name)
    for lists in ("/stacks", path, f"{path}/resources", f"{path}/events", f"{path}/resources/a",
                  f"{path}/snapshots", f"{path}/drift", "/drift", "/software_configs",
                  "/software_deployments", "/software_deployments/metadata/s",
                  "/services"):  # fmt: skip
        response = stacks.service.send("GET", lists, leave_pending=True)
        assert response.status_int == 200, (lists, response.text)
    for one in ("template", "environment", "files"):  # alone, they may be what is lost
        response = stacks.service.send("GET", f"{path}/{one}", leave_pending=True)
        assert response.status_int in (200, 500), (one, response.text)


def test_undecodable_row_names_the_column_and_what_to_do(
    stacks: TwoStacks, capsys: pytest.CaptureFixture[str]
) -> None:
    stacks.create(wait=True)
    stacks.poison("resource", "attributes")
    stacks.poison("stack", "status")
    arguments = Namespace(stack_id=stacks.ids["bad"])
    assert stack_commands.check_stacks(stacks.service.database, arguments) == 1
    printed = capsys.readouterr().out
    assert "The stored attributes of resource " in printed
    assert "set the column to one of IN_PROGRESS, COMPLETE, FAILED" in printed
    shown = stacks.service.send("GET", stacks.path("bad")).json["stack"]
    assert shown["stack_status"] == "CREATE_FAILED"
    assert "stack check" in shown["stack_status_reason"]
    resource = stacks.service.send("GET", stacks.path("bad") + "/resources/a").json["resource"]
    assert resource["resource_status"] == "CREATE_FAILED"
    assert "attributes" in resource["resource_status_reason"]


def test_poisoned_resource_is_replaced_by_the_remedy(stacks: TwoStacks) -> None:
    stacks.create(wait=True)
    stacks.poison("resource", "properties")
    path = stacks.path("bad")
    stacks.service.send("PUT", path, {"template": TEMPLATE | {"description": "changed"}})
    for name in TEMPLATE["resources"]:
        marked = stacks.service.send("PATCH", f"{path}/resources/{name}", {"mark_unhealthy": True})
        assert marked.status_int == 200, marked.text
    stacks.service.send("PUT", path, {"template": TEMPLATE})
    assert "deletion fails" in " ".join(stacks.check_messages())  # its type reads properties
    stacks.poison("resource", "properties", value="{}")
    stacks.service.send("PUT", path, {"template": TEMPLATE})
    shown = stacks.shown("bad")
    assert shown["stack_status"] == "UPDATE_COMPLETE", shown["stack_status_reason"]
    assert stacks.check_messages() == []
