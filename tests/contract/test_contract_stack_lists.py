"""Lists of stacks: the same values as the stacks themselves have, from every database."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy import BigInteger, String

from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.db.column_types import EARLIEST_TIME, LATEST_TIME
from heat_convergence.db.connection.database import Database
from heat_convergence.db.reads import stack_summaries, stacks
from heat_convergence.db.reads.stack_summaries import StackSummary, list_summaries
from heat_convergence.db.reads.stacks import StackFilter
from heat_convergence.db.store import SqlStore
from heat_convergence.db.tables import stack as stack_table
from heat_convergence.testing.sample_rows import stack_row, time_at

ALL = StackFilter(None, nested=True, deleted=True)
SURROGATES = range(0xD800, 0xE000)
TEXTS = {
    "controls": "".join(map(chr, range(1, 0xA1))),
    "quotes": """ "'\\/\\\\ \\n \\u0041 [1,2] {} null """,
    "ends of lines": "a\r\nb\u2028c\u2029d\x0b\x0c\x85e",
    "plane 0": "".join(chr(code) for code in range(0xA1, 0x10000) if code not in SURROGATES),
    "beyond": "\U00010000 \U0001f600 \U0010fffd",
    "": "",
}


def listed(database: Database) -> dict[str, StackSummary]:
    with database.read() as connection:
        return {each.id: each for each in list_summaries(connection, ALL)}


def shown(database: Database) -> dict[str, StackSummary]:
    """Return the summaries of the stacks as a request for each of them has their values."""
    with database.read() as connection:
        found = stacks.list_page(connection, ALL)
    return {
        each.id: StackSummary(*(getattr(each, name) for name in StackSummary._fields))
        for each in found
    }


def test_summaries_have_the_values_of_stacks(database: Database) -> None:
    rows = [
        stack_row(f"s{at}", name=f"ñ-{at}", status_reason=text, username=f'"{at}"\\')
        for at, text in enumerate(TEXTS.values())
    ]
    times = {"created_at": EARLIEST_TIME, "updated_at": LATEST_TIME, "deleted_at": time_at(-0.1)}
    rows.append(stack_row("times", action=Action.ROLLBACK, status=Status.FAILED, **times))
    rows.append(stack_row("tagged", tags=("b", "a")))
    rows.append(stack_row("of a caller", project_id="a,b,,c 'd'", username=None))
    rows.append(stack_row("child", owner_id="s0", root_id="s0", deadline_at=time_at(1)))
    with SqlStore(database).transaction() as tx:
        for row in rows:
            tx.stacks.insert(row)
    found = listed(database)
    assert found == shown(database)
    assert [found[f"s{at}"].status_reason for at in range(len(TEXTS))] == list(TEXTS.values())
    assert found["tagged"].tags == ("b", "a")
    assert {name: getattr(found["times"], name) for name in times} == times


@pytest.mark.parametrize(
    "values",
    [
        {"action": "FLY"},
        {"action": "CREATE,COMPLETE"},
        {"status": "HAPPY"},
        {"created_at": 10**18},
        {"updated_at": -(10**18)},
        {"deleted_at": 10**18, "action": ""},
        {"begun_at": 10**18},
    ],
    ids=str,
)
def test_summaries_of_unreadable_stacks_are_those_of_the_stacks(
    database: Database, values: Mapping[str, Any]
) -> None:
    with SqlStore(database).transaction() as tx:
        tx.stacks.insert(stack_row("good"))
        tx.stacks.insert(stack_row("bad"))
    columns = [
        sa.column(name, String() if isinstance(value, str) else BigInteger())
        for name, value in values.items()
    ]
    plain = sa.table("stack", sa.column("id", stack_table.c.id.type), *columns)
    with database.write() as connection:
        connection.execute(plain.update().where(plain.c.id == "bad").values(**values))
    found = listed(database)
    assert found == shown(database)
    assert found["bad"].status is Status.FAILED
    assert "bad" in found["bad"].status_reason
    assert found["good"].status is Status.IN_PROGRESS


def test_unreadable_stack_that_is_purged_meanwhile_is_not_listed(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    with SqlStore(database).transaction() as tx:
        tx.stacks.insert(stack_row("good"))
        tx.stacks.insert(stack_row("bad"))
    plain = sa.table("stack", sa.column("id", stack_table.c.id.type), sa.column("action"))
    with database.write() as connection:
        connection.execute(plain.update().where(plain.c.id == "bad").values(action="FLY"))
    find = stack_summaries.find_tags

    def purge_then_find(*arguments: Any) -> Any:
        with database.write() as connection:
            connection.execute(plain.delete().where(plain.c.id == "bad"))
        return find(*arguments)

    if database.engine.dialect.name == "sqlite":  # it reads a snapshot
        assert set(listed(database)) == {"good", "bad"}
        return
    monkeypatch.setattr(stack_summaries, "find_tags", purge_then_find)
    assert set(listed(database)) == {"good"}
