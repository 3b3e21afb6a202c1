"""Every inconsistency that ``stack check`` reports is created by hand and repaired by its remedy.

Afterwards no inconsistency is left, and no action is in progress.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from typing import Any

import pytest
import sqlalchemy as sa

from heat_convergence.cli.manage import stack_commands
from heat_convergence.db.maintenance import purge
from tests.functional.harness import LocalService

Json = Any
LONG = "long " * 4000
STACK_COLUMNS = ("name, name, project_id, version, action, status, status_reason, goal_id,"
           " disable_rollback, created_at, depth")  # fmt: skip


def resource_definition(value: Json, **properties: Json) -> dict[str, Json]:
    return {"type": "OS::Heat::TestResource", "properties": {"value": value, **properties}}


def template(**more: Json) -> dict[str, Json]:
    return {
        "heat_template_version": "2018-08-31",
        "resources": {
            "a": resource_definition("x"),
            "b": {
                **resource_definition(LONG),
                "depends_on": ["a"],
                "metadata": {"m": "M" * 20_000},
            },
            "c": resource_definition({"list_join": ["", [{"get_attr": ["b", "output"]}, "!"]]}),
            **more,
        },
        "outputs": {"o": {"value": {"get_attr": ["c", "output"]}}},
    }


class InconsistentStack:
    """A stack without an action in progress, whose rows can be changed."""

    def __init__(self, url: str) -> None:
        self.service = LocalService(url)
        created = self.service.send("POST", "/stacks", {"stack_name": "s", "template": template()})
        self.id = created.json["stack"]["id"]
        self.path = f"/stacks/s/{self.id}"

    def change(self, *statements: str) -> None:
        with self.service.database.write() as conn:
            conn.execute(sa.text("PRAGMA defer_foreign_keys = ON"))
            for statement in statements:
                assert conn.execute(sa.text(statement)).rowcount, statement

    def check_messages(self) -> dict[str, str]:
        """Return the problems with their remedies."""
        found = stack_commands._find_inconsistencies(self.service.database, None)
        return {each.problem: each.remedy for each in found}

    def send(self, method: str, subpath: str, body: Json = None) -> Any:
        return self.service.send(method, self.path + subpath, body)

    def update(self) -> None:
        response = self.send("PUT", "", {"template": template()})
        assert response.status_int == 202, response.text

    def state(self) -> str:
        return str(self.send("GET", "").json["stack"]["stack_status"])


@pytest.fixture
def broken(tmp_path: Any) -> Iterator[InconsistentStack]:
    broken = InconsistentStack(f"sqlite:///{tmp_path}/hc.sqlite")
    assert broken.check_messages() == {}
    yield broken
    broken.service.close()


IN_PROGRESS = "UPDATE stack SET status = 'IN_PROGRESS', deadline_at = 9999999999999999"
JOB = "UPDATE resource SET job = 'CONVERGE', job_state = {} WHERE name = 'a'"
EVENT_VALUES_MISSING = "long values of its events are not stored"
NOT_READY = "UPDATE resource_graph SET observed_ready = 0"


@pytest.mark.parametrize(
    ("statements", "problem"),
    [
        (["DELETE FROM goal"], "its goal_id"),
        (["UPDATE stack SET complete_goal_id = 'nobody'"], "its complete_goal_id nobody"),
        (["DELETE FROM content WHERE hash IN (SELECT template_hash FROM goal)"], "the template"),
        (["DELETE FROM content WHERE hash IN (SELECT inherited FROM goal)"], "the environment"),
        (["DELETE FROM content WHERE instr((SELECT shared FROM goal), hash)"],
         "texts of definitions"),
        ([f"INSERT INTO stack (id, {STACK_COLUMNS}) SELECT 'other', {STACK_COLUMNS} FROM stack",
          "UPDATE resource SET stack_id = 'other' WHERE name = 'a'"], "its graph names resource"),
        ([IN_PROGRESS, JOB.format("'retry'"), NOT_READY], "rule 1: a ("),
        ([IN_PROGRESS, JOB.format("'posted'") + " AND posted_at IS NULL"], "rule 1: a ("),
        ([IN_PROGRESS, JOB.format("'blocked'")], "rule 1: a ("),
        (["UPDATE resource SET job_state = 'posted' WHERE name = 'a'"], "rule 1: a ("),
        ([JOB.format("NULL")], "rule 1: a ("),
        ([IN_PROGRESS, JOB.format("'posted'") + " AND observed IS NULL"], "rule 2: a ("),
        (["UPDATE resource SET desired = 'ABSENT' WHERE name = 'a'"], "rule 7: stack s"),
        ([JOB.format("'posted'")], "rule 7: stack s"),
        ([IN_PROGRESS, JOB.format("'halted'"), NOT_READY], "rule 9: a ("),
    ],
)  # fmt: skip
def test_update_with_the_template_repairs(
    broken: InconsistentStack, statements: list[str], problem: str
) -> None:
    broken.change(
        "UPDATE resource SET posted_at = NULL, observe_at = NULL, observed = NULL", *statements
    )
    messages = broken.check_messages()
    (remedy,) = {messages[each] for each in messages if each.startswith(problem)}
    assert "stack update" in remedy or "any other action" in remedy
    broken.update()
    assert broken.state() == "UPDATE_COMPLETE"
    left = {problem for problem in broken.check_messages() if "goal" not in problem}  # of "other"
    assert left <= {EVENT_VALUES_MISSING}
    assert broken.send("GET", "/outputs/o").json["output"]["output_value"] == f"{LONG}!"


@pytest.mark.parametrize("action", ["check", "cancel_without_rollback"])
def test_action_repairs_a_stack_without_deadline(broken: InconsistentStack, action: str) -> None:
    broken.change("UPDATE stack SET status = 'IN_PROGRESS', deadline_at = NULL")
    (remedy,) = broken.check_messages().values()
    assert remedy == "openstack stack cancel, or any other action on the stack"
    assert broken.send("POST", "/actions", {action: None}).status_int == 200
    assert broken.check_messages() == {}


def test_value_that_is_lost_is_recomputed(broken: InconsistentStack) -> None:
    """Recompute the properties of c, which no template contains."""
    broken.change("DELETE FROM content WHERE hash IN (SELECT substr(properties, instr(properties,"
                  " '$content') + 11, 64) FROM resource WHERE name = 'c')")  # fmt: skip
    messages = broken.check_messages()
    assert "mark unhealthy" in messages["long values of resource c are not stored"]
    assert "none is needed" in messages[EVENT_VALUES_MISSING]
    assert broken.send("GET", "/resources/c").status_int == 200
    assert broken.send("GET", "/resources?with_detail=true").status_int == 200
    assert broken.send("PATCH", "/resources/c", {"mark_unhealthy": True}).status_int == 200
    broken.update()
    assert broken.state() == "UPDATE_COMPLETE"
    assert set(broken.check_messages()) <= {EVENT_VALUES_MISSING}
    assert broken.send("GET", "/outputs/o").json["output"]["output_value"] == f"{LONG}!"


def test_log_of_a_lost_goal_names_the_remedy(
    broken: InconsistentStack, caplog: pytest.LogCaptureFixture
) -> None:
    broken.change("DELETE FROM goal")
    shown = broken.send("GET", "").json["stack"]
    assert "heat-convergence-manage stack check" in shown["stack_status_reason"]
    for method, subpath, body in (
        ("GET", "/template", None),
        ("PATCH", "", {"tags": "x"}),
    ):
        caplog.clear()
        assert broken.send(method, subpath, body).status_int == 500
        assert "heat-convergence-manage stack check" in caplog.text
    assert broken.send("PUT", "/preview", {"template": template()}).status_int == 200


def test_stack_with_a_lost_goal_can_be_deleted(broken: InconsistentStack) -> None:
    broken.change("DELETE FROM goal")
    assert broken.send("DELETE", "").status_int == 204
    (remedy,) = broken.check_messages().values()
    assert "purge_deleted 0" in remedy
    ids = purge.find_deleted_stacks(broken.service.database, broken.service.clock(), None, 9)
    purge.purge_stacks(broken.service.database, ids)
    assert broken.check_messages() == {}


@pytest.mark.parametrize("lost", ["goal", "content"])
def test_rollback_to_a_lost_goal_fails(broken: InconsistentStack, lost: str) -> None:
    """Refuse a rollback whose goal would look like one without resources."""
    broken.change(f"DELETE FROM {lost}")
    broken.send("PUT", "", {"template": template(d=resource_definition("y", fail=True)),
                            "disable_rollback": False})  # fmt: skip
    if lost == "content":
        broken.change("DELETE FROM content")
    shown = broken.send("GET", "").json["stack"]
    assert shown["stack_status"] == "UPDATE_FAILED"
    assert "cannot be rolled back" in shown["stack_status_reason"]
    rows = broken.send("GET", "/resources").json["resources"]
    assert {"a", "b", "c"} <= {row["resource_name"] for row in rows}
    broken.update()
    assert broken.state() == "UPDATE_COMPLETE"
    assert set(broken.check_messages()) <= {
        EVENT_VALUES_MISSING,
        "long values of resource c are not stored",
    }


def test_snapshot_with_a_lost_goal_can_be_deleted(broken: InconsistentStack) -> None:
    snapshot_id = broken.send("POST", "/snapshots", {}).json["id"]
    broken.change("UPDATE snapshot SET goal_id = 'nobody'")
    remedy = f"openstack stack snapshot delete {broken.id} {snapshot_id}"
    assert broken.check_messages() == {
        f"the goal nobody of its snapshot {snapshot_id} does not exist": remedy
    }
    assert broken.send("POST", f"/snapshots/{snapshot_id}/restore").status_int == 500
    assert broken.send("DELETE", f"/snapshots/{snapshot_id}").status_int == 204
    assert broken.check_messages() == {}


def test_snapshot_with_a_lost_template_can_be_deleted(broken: InconsistentStack) -> None:
    snapshot_id = broken.send("POST", "/snapshots", {}).json["id"]
    broken.send("PUT", "", {"template": template(d=resource_definition("y"))})
    broken.change("DELETE FROM content WHERE hash IN (SELECT template_hash FROM goal WHERE id IN"
                  " (SELECT goal_id FROM snapshot))")  # fmt: skip
    (remedy,) = broken.check_messages().values()
    assert remedy == f"openstack stack snapshot delete {broken.id} {snapshot_id}"
    assert broken.send("DELETE", f"/snapshots/{snapshot_id}").status_int == 204
    broken.update()
    assert broken.check_messages() == {}


@pytest.mark.parametrize("missing", ["parent", "resource"])
def test_nested_stack_without_parent_can_be_deleted_by_its_id(
    broken: InconsistentStack, missing: str
) -> None:
    group = {"type": "OS::Heat::ResourceGroup",
             "properties": {"count": 1, "resource_def": resource_definition("z")}}  # fmt: skip
    broken.send("PUT", "", {"template": template(g=group)})
    assert broken.state() == "UPDATE_COMPLETE"
    owner, column = (
        ("'nobody'", "owner_id") if missing == "parent" else ("'no'", "owner_resource_id")
    )
    broken.change(f"UPDATE stack SET {column} = {owner} WHERE owner_id IS NOT NULL")
    messages = broken.check_messages()
    (problem,) = messages
    child = messages[problem].rpartition(" ")[2]
    assert missing in problem
    response = broken.service.send("DELETE", f"/stacks/{child}")
    assert response.status_int == 302
    location = response.location.removeprefix("http://localhost/v1/p")
    assert broken.service.send("DELETE", location).status_int == 204
    assert broken.check_messages() == {}


def test_deleted_stack_with_physical_resources_can_be_purged(broken: InconsistentStack) -> None:
    broken.change("UPDATE stack SET deleted_at = 1, live_name = NULL, action = 'DELETE'")
    (remedy,) = broken.check_messages().values()
    assert remedy.startswith("delete by hand what they still have in the cloud")
    parsed = Namespace(age=0, granularity="days", project_id=None, batch_size=5)
    stack_commands.purge_deleted(broken.service.database, parsed)
    assert broken.check_messages() == {}


def test_failed_and_deleted_stack_is_consistent(broken: InconsistentStack) -> None:
    broken.send("PUT", "", {"template": template(d=resource_definition("y", fail=True))})
    assert broken.state() == "UPDATE_FAILED"
    broken.send("DELETE", "")
    assert broken.state() == "DELETE_COMPLETE"
    assert broken.check_messages() == {}
