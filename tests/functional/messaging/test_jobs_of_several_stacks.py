"""Messages with the jobs of several stacks, which an engine claims in one transaction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.ports.bus import ResourceHint
from heat_convergence.convergence.ports.settings import ConvergenceSettings
from heat_convergence.db.connection.database import Database
from heat_convergence.engine.claiming import preparation
from heat_convergence.resources.builtin.test_resource import TestResource
from heat_convergence.resources.registry import ResourceTypeRegistry
from heat_convergence.testing.in_process_service import InProcessService
from heat_convergence.testing.statement_counter import count_statements
from tests.functional.performance.test_traversal_cost import chain, wide


def take_jobs(in_process: InProcessService) -> list[ResourceHint]:
    """Take the jobs of all stacks off the bus."""
    taken = [each for each in in_process.bus.pending if each.method == "converge"]
    for message in taken:
        in_process.bus.pending.remove(message)
    return [message.hint for message in taken]


def states(in_process: InProcessService, ids: Sequence[str]) -> list[tuple[Action, Status]]:
    found = [in_process.stack(stack_id) for stack_id in ids]
    return [(stack.action, stack.status) for stack in found]


@pytest.mark.parametrize("local", [True, False], ids=["local", "calls"])
def test_stacks_of_a_message_are_claimed_together(
    monkeypatch: pytest.MonkeyPatch, database: Database, in_process: InProcessService, local: bool
) -> None:
    monkeypatch.setattr(TestResource, "local", local)
    claims = {}
    for count in (2, 12):
        ids = [in_process.create(wide(3), name=f"{count}-{at}") for at in range(count)]
        hints = take_jobs(in_process)
        with count_statements(database.engine) as cost:
            in_process.engine.converge(hints)
        selects = Counter(
            {text: n for text, n in cost.by_statement.items() if text.startswith("SELECT")}
        )
        claims[count] = selects.total() if local else selects.total() - count
        in_process.run_until_idle()
        assert states(in_process, ids) == [(Action.CREATE, Status.COMPLETE)] * count
    assert claims[2] == claims[12] <= 4


def test_stacks_at_different_steps_and_versions_are_handled_in_one_message(
    in_process: InProcessService,
) -> None:
    older = in_process.create(wide(2), name="older")
    in_process.run_until_idle()
    in_process.update(older, wide(2, r1="changed"))
    ids = [
        older,
        in_process.create(chain(3), name="chain"),
        in_process.create(wide(4), name="wide"),
    ]
    hints = take_jobs(in_process)
    assert {hint.version for hint in hints} == {1, 2}
    deleted = ResourceHint("deleted", 1, ("nobody",))
    stale = ResourceHint(hints[-1].stack_id, 7, hints[-1].resource_ids)
    in_process.engine.converge([deleted, *hints[:-1], stale])
    in_process.engine.converge(hints)
    in_process.run_until_idle()
    assert states(in_process, ids) == [
        (Action.UPDATE, Status.COMPLETE),
        (Action.CREATE, Status.COMPLETE),
        (Action.CREATE, Status.COMPLETE),
    ]


def test_a_deleted_stack_does_not_keep_the_others_of_its_message_from_a_full_bus(
    in_process: InProcessService,
) -> None:
    settings = ConvergenceSettings(jobs_in_flight=4, jobs_on_bus=2)
    crowded = InProcessService(
        in_process.store, ResourceTypeRegistry([TestResource()]), settings=settings
    )
    ids = [crowded.create(wide(4), name=f"s{number}") for number in range(3)]
    jobs = take_jobs(crowded)
    crowded.engine.converge([ResourceHint("deleted", 1, ("nobody",)), *jobs])
    crowded.run_until_idle()
    assert states(crowded, ids) == [(Action.CREATE, Status.COMPLETE)] * 3


def test_an_error_in_one_stack_does_not_keep_the_others_of_its_message(
    monkeypatch: pytest.MonkeyPatch, in_process: InProcessService
) -> None:
    ids = [in_process.create(wide(2), name=name) for name in ("red", "bad", "blue")]
    read = preparation.collect_definition_hashes

    def fail_for_bad(definition: Any) -> Any:
        if definition.get("properties", {}).get("value") == "raises":
            raise RuntimeError("of a test")
        return read(definition)

    monkeypatch.setattr(preparation, "collect_definition_hashes", fail_for_bad)
    with in_process.store.transaction() as tx:
        row = tx.resources.get_by_stack(ids[1])[0]
        definition = {**row.desired.definition, "properties": {"value": "raises"}}
        tx.resources.update_each({row.id: {"definition": definition, "sensitive": False}})
    in_process.engine.converge(take_jobs(in_process))
    in_process.run_until_idle()
    assert [status for _action, status in states(in_process, ids)] == [
        Status.COMPLETE,
        Status.FAILED,
        Status.COMPLETE,
    ]


def test_postponed_stacks_are_sent_again(
    monkeypatch: pytest.MonkeyPatch, in_process: InProcessService
) -> None:
    settings = ConvergenceSettings(preparation_s=0.0)
    hasty = InProcessService(
        in_process.store, ResourceTypeRegistry([TestResource()]), settings=settings
    )
    ids = [hasty.create(wide(1), name=f"s{number}") for number in range(4)]
    hasty.engine.converge(take_jobs(hasty))
    assert sorted(hint.stack_id for hint in take_jobs(hasty)) == sorted(ids[1:])
