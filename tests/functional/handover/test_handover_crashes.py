"""A process that ends at any point of a hand-over leaves each object with exactly one owner."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import sqlalchemy as sa

from tests.functional.handover.handover_cases import (
    EMPTY,
    empty_stack,
    net_template,
    own_network,
    physical_ids,
)
from tests.functional.harness import LocalService
from tests.functional.openstack_types.emulated_service import (
    create_stack,
    stack_state,
    update_stack,
)
from tests.functional.plans.plan_cases import make_plan

Json = Any


class ProcessEnd(BaseException):
    """The end of the process: nothing handles it."""


@contextmanager
def ends_before(service: LocalService, number: int) -> Iterator[Counter[str]]:
    """Let the process end before a statement of this number that writes or locks."""
    count: Counter[str] = Counter()

    def crash(_conn: Any, _cursor: Any, statement: str, *_others: Any) -> None:
        count["statements"] += 1
        if count["statements"] == number:
            raise ProcessEnd(statement)

    engine = service.database.engine
    sa.event.listen(engine, "before_cursor_execute", crash)
    try:
        yield count
    finally:
        sa.event.remove(engine, "before_cursor_execute", crash)


def execute_until_it_succeeds(service: LocalService, plan: Json, check: Any) -> int:
    """Execute a plan with a crash before each of its statements; return their number."""
    for number in range(1, 500):
        with ends_before(service, number) as count:
            try:
                answer = service.send("POST", f"/plans/{plan['id']}/execute", leave_pending=True)
            except ProcessEnd:
                crashed = True
            else:
                crashed = False
        check()
        if not crashed:
            assert answer.status_int == 202, answer.text
            return count["statements"]
    pytest.fail("the plan has too many statements")


def test_a_move_that_ends_at_any_statement(service):
    source = create_stack(service, net_template(a={}, c={}), stack_name="a")
    target = create_stack(service, net_template(b={}), stack_name="b")
    owned = Counter([*physical_ids(service, source).values()])
    owned.update(physical_ids(service, target).values())
    before, after = net_template(c={}), net_template(b={}, x={})
    body = {
        "action": "move",
        "template": before,
        "move": {"a": "x"},
        "target": {"stack": "b", "template": after},
    }
    plan = make_plan(service, source, body)

    def check() -> None:
        found = Counter(physical_ids(service, source).values())
        found.update(physical_ids(service, target).values())
        assert found == owned
        moved = "x" in physical_ids(service, target)
        templates = [service.send("GET", f"{path}/template").json for path in (source, target)]
        assert ("x" in templates[1]["resources"]) == moved
        assert ("a" in templates[0]["resources"]) != moved

    assert execute_until_it_succeeds(service, plan, check) > 20
    assert set(physical_ids(service, target)) == {"b", "x"}
    for path, same in ((source, before), (target, after)):
        assert update_stack(service, path, same) == "UPDATE_COMPLETE"
    check()


def test_an_import_that_ends_at_any_statement(service, emulated_cloud):
    net = own_network(emulated_cloud)
    path = empty_stack(service)
    body = {"action": "import", "template": net_template(net={}), "import": {"net": net}}
    plan = make_plan(service, path, body)

    def check() -> None:
        found = physical_ids(service, path)
        assert found in ({}, {"net": net})
        templates = service.send("GET", f"{path}/template").json
        assert set(templates.get("resources") or EMPTY["resources"]) == set(found)

    assert execute_until_it_succeeds(service, plan, check) > 15
    assert physical_ids(service, path) == {"net": net}
    assert stack_state(service, path) == "UPDATE_COMPLETE"
    assert net in {each["id"] for each in emulated_cloud.bodies("neutron.network")}
