"""The cost of a traversal in statements, messages, jobs and rows, never in seconds.

The real engine and observer on a real database, one message at a time.  The same
bounds hold on every database; a change that makes a job read more than its own
neighbourhood, or casts a message per resource, fails here.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
import sqlalchemy as sa

from heat_convergence.convergence.model.action import Status
from heat_convergence.convergence.ports.bus import ResourceHint
from heat_convergence.convergence.ports.settings import ConvergenceSettings
from heat_convergence.db.connection.database import Database
from heat_convergence.db.maintenance import purge
from heat_convergence.db.store import SqlStore
from heat_convergence.db.tables import content, event
from heat_convergence.resources.builtin.test_resource import TestResource
from heat_convergence.resources.registry import ResourceTypeRegistry
from heat_convergence.template.evaluation.resource_definition import ResourceDefinition
from heat_convergence.template.expression import Expression
from heat_convergence.testing.in_process_service import InProcessService
from heat_convergence.testing.statement_counter import StatementCount, count_statements
from tests.functional.empty_tables import open_with_empty_tables

WIDE = 1000
SIZES = (100, 2000)
WIDTH = 10  # resources in a layer
# SQLite takes the rows of an INSERT one by one.
STATEMENTS_PER_RESOURCE = {"sqlite": 5, "mysql": 1, "mariadb": 1, "postgresql": 1}
# Two of them store it, where rows of an INSERT count. A job with a call has a claim of its own.
STATEMENTS_PER_LINK = {"local": 13, "call": 14}
COMMITS_PER_LINK = {"local": 2, "call": 3}
MESSAGES_PER_RESOURCE = 0.2


# -- templates ----------------------------------------------------------------


def _resource(name: str, value: Any, needs: tuple[str, ...] = ()) -> ResourceDefinition:
    return ResourceDefinition(
        name=name,
        type=TestResource.name,
        properties={"value": value},
        requires=frozenset(needs),
        referenced_names=frozenset(needs),
    )


def wide(size: int, **values: str) -> dict[str, ResourceDefinition]:
    """Independent resources ``r0`` …; ``values`` are those of single ones."""
    names = (f"r{i}" for i in range(size))
    return {name: _resource(name, values.get(name, name)) for name in names}


def chain(size: int) -> dict[str, ResourceDefinition]:
    """Each reads the one before."""
    return {
        f"r{i}": _resource(f"r{i}", _output(f"r{i - 1}"), (f"r{i - 1}",))
        if i
        else _resource("r0", "start")
        for i in range(size)
    }


def layered(size: int, **values: str) -> dict[str, ResourceDefinition]:
    """Return layers of ``WIDTH`` resources.

    Each resource references the one above it and that one's right neighbour, so the set of
    dependents of a resource grows by one in each layer.
    """
    found: dict[str, ResourceDefinition] = {}
    for layer in range(size // WIDTH):
        for at in range(WIDTH):
            name = f"r{layer}_{at}"
            if layer == 0 or name in values:
                found[name] = _resource(name, values.get(name, name))
                continue
            needs = tuple(f"r{layer - 1}_{(at + step) % WIDTH}" for step in (0, 1))
            read = ["/", [_output(need) for need in needs]]
            joined = Expression("list_join", "multi_list_json_items", read)
            # A digest, lest values double from layer to layer.
            value = Expression("digest", "standard", ["sha256", joined])
            found[name] = _resource(name, value, needs)
    return found


def _output(of: str) -> Expression:
    return Expression("get_attr", "attr_optional_name", [of, "output"])


def dependents(definitions: Mapping[str, ResourceDefinition], name: str) -> set[str]:
    """All that reads ``name``, directly or through others."""
    found = {name}
    while True:
        more = {each for each, it in definitions.items() if it.requires & found} - found
        if not more:
            return found - {name}
        found |= more


# -- measuring ----------------------------------------------------------------


@dataclass
class TraversalCost:
    """The counts of a ``measured`` block."""

    statements: StatementCount = field(default_factory=StatementCount)
    rows: int = 0  # that the database looked at, where it tells
    messages: int = 0
    jobs: int = 0


class CostMeter:
    """A service on one database, and the cost of what it does."""

    def __init__(self, database: Database, settings: ConvergenceSettings) -> None:
        self.database = database
        self.store = SqlStore(database)
        self.service = InProcessService(
            self.store, ResourceTypeRegistry([TestResource()]), settings=settings
        )

    @contextmanager
    def measured(self) -> Iterator[TraversalCost]:
        cost, bus = TraversalCost(), self.service.bus
        messages, jobs = sum(bus.sent_count_by_method.values()), bus.posted_job_count
        with count_statements(self.database.engine) as cost.statements, self._rows(cost):
            yield cost
        cost.messages = sum(bus.sent_count_by_method.values()) - messages
        cost.jobs = bus.posted_job_count - jobs

    def created(self, definitions: Mapping[str, ResourceDefinition]) -> str:
        stack_id = self.service.create(definitions, name=f"costs-{uuid.uuid4().hex}")
        self.settle(stack_id)
        return stack_id

    def settle(self, stack_id: str) -> None:
        self.service.run_until_idle()
        stack = self.service.stack(stack_id)
        assert stack.status is Status.COMPLETE, stack.status_reason

    def of_first_job(
        self, stack_id: str, definitions: Mapping[str, ResourceDefinition]
    ) -> TraversalCost:
        """Return the cost of the first of two jobs of an update, from message to ready.

        The observation of the second job would also complete the traversal.
        """
        self.service.update(stack_id, definitions)
        (message,) = self.service.bus.pending
        first, second = message.resource_ids
        self.service.bus.pending.clear()
        self.service.bus.converge([ResourceHint(stack_id, message.version, (first,))])
        with self.measured() as cost:
            self.service.run_until_idle()
        self.service.bus.converge([ResourceHint(stack_id, message.version, (second,))])
        return cost

    @contextmanager
    def _rows(self, cost: TraversalCost) -> Iterator[None]:
        """Only MariaDB tells, and only for a connection: the pool has but one here."""
        before = self._rows_looked_at()
        yield
        cost.rows = self._rows_looked_at() - before

    def _rows_looked_at(self) -> int:
        if self.database.dialect != "mysql":
            return 0
        with self.database.engine.connect() as connection:
            found = connection.exec_driver_sql("SHOW SESSION STATUS LIKE 'Handler_read%%'")
            return sum(int(value) for _name, value in found)


@pytest.fixture(scope="module", params=["sqlite", "mariadb", "postgresql"])
def database(request: pytest.FixtureRequest) -> Iterator[Database]:
    with open_with_empty_tables(request.getfixturevalue(f"{request.param}_url")) as opened:
        yield opened


@pytest.fixture
def bench(database: Database) -> CostMeter:
    return CostMeter(database, ConvergenceSettings())


# -- a whole create -----------------------------------------------------------


def test_create_of_independent_resources(bench: CostMeter) -> None:
    with bench.measured() as cost:
        bench.created(wide(WIDE))
    statement_types = cost.statements.by_statement.most_common()
    limit = STATEMENTS_PER_RESOURCE[bench.database.dialect]
    assert cost.statements.total <= limit * WIDE, statement_types
    assert cost.messages <= MESSAGES_PER_RESOURCE * WIDE
    assert cost.jobs == WIDE


def test_delete_costs_no_more_than_create(bench: CostMeter) -> None:
    stack_id = bench.created(wide(WIDE))
    with bench.measured() as cost:
        bench.service.delete(stack_id)
        bench.settle(stack_id)
    assert cost.statements.total <= STATEMENTS_PER_RESOURCE[bench.database.dialect] * WIDE
    assert cost.messages <= MESSAGES_PER_RESOURCE * WIDE


def test_failures_observed_together_are_propagated_together(bench: CostMeter) -> None:
    if bench.database.dialect == "sqlite":
        pytest.skip("SQLite takes the rows of an INSERT one by one")
    bench.created(wide(1))  # stores what the goals of all stacks have in common
    counts = []
    for size in (5, 25):
        failing = {
            name: replace(one, properties={"fail": True}) for name, one in wide(size).items()
        }
        with bench.measured() as cost:
            stack_id = bench.service.create(failing, name=f"costs-{uuid.uuid4().hex}")
            bench.service.run_until_idle()
        assert bench.service.stack(stack_id).status is Status.FAILED
        counts.append(cost.statements.by_statement)
    few, many = counts
    assert many == few


# -- work follows change ------------------------------------------------------


@pytest.mark.parametrize("shape", [wide, chain, layered])
def test_no_op_update_posts_no_job(bench: CostMeter, shape: Any) -> None:
    stack_id = bench.created(shape(100))
    with bench.measured() as cost:
        bench.service.update(stack_id, shape(100))
        bench.settle(stack_id)
    assert (cost.jobs, cost.messages) == (0, 0)


def test_a_change_posts_one_job_and_those_of_its_dependents(bench: CostMeter) -> None:
    definitions = layered(50)
    stack_id = bench.created(definitions)
    with bench.measured() as cost:
        bench.service.update(stack_id, layered(50, r0_0="changed"))
        bench.settle(stack_id)
    assert len(dependents(definitions, "r0_0")) == 14
    assert cost.jobs == 15


def test_a_change_that_nobody_reads_posts_one_job(bench: CostMeter) -> None:
    stack_id = bench.created(layered(50))
    with bench.measured() as cost:
        bench.service.update(stack_id, layered(50, r4_3="changed"))
        bench.settle(stack_id)
    assert cost.jobs == 1


def test_a_change_that_changes_no_value_stops_at_once(bench: CostMeter) -> None:
    """Dependents of an unchanged resource are ready without a job."""
    definitions = chain(20)
    stack_id = bench.created(definitions)
    other = dict(definitions)
    other["r0"] = ResourceDefinition(
        name="r0",
        type=TestResource.name,
        properties={"value": "start"},
        metadata={"note": "another definition, the same value"},
    )
    with bench.measured() as cost:
        bench.service.update(stack_id, other)
        bench.settle(stack_id)
    assert cost.jobs == 1


# -- cost follows degree ------------------------------------------------------


@pytest.mark.parametrize("shape", [wide, layered])
def test_a_job_costs_the_same_in_a_stack_of_any_size(bench: CostMeter, shape: Any) -> None:
    costs = []
    for size in SIZES:
        stack_id = bench.created(shape(size))
        names = list(shape(size))[-2:]  # nothing reads them
        changed = shape(size, **dict.fromkeys(names, "changed"))
        costs.append(bench.of_first_job(stack_id, changed))
        bench.settle(stack_id)
    small, large = costs
    assert large.statements.by_statement == small.statements.by_statement
    # A page that was split differently may cost a row or two; a scan costs thousands.
    assert large.rows <= small.rows + 10


@pytest.mark.parametrize("job", ["local", "call"])
def test_each_further_link_of_a_chain_costs_the_same(
    bench: CostMeter, monkeypatch: pytest.MonkeyPatch, job: str
) -> None:
    monkeypatch.setattr(TestResource, "local", job == "local")
    totals = []
    bench.created(chain(2))  # stores what all environments that are empty have in common
    for size in (50, 100, 150):
        with bench.measured() as cost:
            bench.created(chain(size))
        totals.append((cost.statements.total, cost.messages, cost.statements.commits))
    first, second, third = totals
    assert third[0] - second[0] == second[0] - first[0] <= 50 * STATEMENTS_PER_LINK[job]
    assert third[1] - second[1] == second[1] - first[1] == 100
    assert third[2] - second[2] == second[2] - first[2] == 50 * COMMITS_PER_LINK[job]


# -- long values are stored once -----------------------------------------------


def test_a_long_value_is_stored_once_and_read_once_a_message(bench: CostMeter) -> None:
    """A file that a hundred resources share costs three statements a message.

    They read it, and keep it with the created resources and the outgoing messages; two
    more store the text itself.
    """
    long, others = "x" * 50_000, "y" * 50_000
    with bench.measured() as short:
        bench.created(wide(100))
    with bench.measured() as cost:
        stack_id = bench.created(wide(100, **{f"r{i}": long for i in range(100)}))
    converges = 100 // bench.service.settings.batch_size
    assert cost.jobs == 100
    assert cost.statements.total <= short.statements.total + 3 * converges + 2
    stored = (
        "SELECT count(*), sum(length(definition) + length(properties) + length(attributes))"
        " FROM resource WHERE stack_id = :id"
    )
    with bench.database.read() as connection:
        count, size = connection.execute(sa.text(stored), {"id": stack_id}).one()
        keys = list(connection.scalars(sa.select(content.c.hash).where(content.c.body == long)))
    assert (count, len(keys)) == (100, 1)
    assert size < 100 * 1000
    bench.service.update(stack_id, wide(100, **{f"r{i}": others for i in range(100)}))
    bench.settle(stack_id)
    purge.purge_contents(bench.database)
    with bench.store.transaction() as tx:
        assert set(tx.contents.get(keys)) == set(keys)  # events tell it yet
    with bench.database.write() as connection:
        connection.execute(event.delete().where(event.c.stack_id == stack_id))
    purge.purge_contents(bench.database)
    with bench.store.transaction() as tx:
        assert tx.contents.get(keys) == {}
        (row,) = tx.resources.get([tx.resources.get_by_stack(stack_id)[0].id])
        assert row.physical.properties == {**(row.physical.properties or {}), "value": others}


# -- bounds -------------------------------------------------------------------


@pytest.mark.parametrize("limit", [1, 7, 40])
def test_jobs_in_flight_are_bounded(database: Database, limit: int) -> None:
    bench = CostMeter(database, ConvergenceSettings(jobs_in_flight=limit, batch_size=5))
    stack_id = bench.service.create(wide(60), name=f"bounded-{uuid.uuid4().hex}")
    in_flight: list[int] = []

    def note() -> None:
        with bench.store.transaction() as tx:
            load = tx.jobs.get_workload("project", stack_id)
        in_flight.append(load.in_flight)
        assert load.posted <= bench.service.settings.jobs_on_bus

    note()
    bench.service.run_until_idle(after_each=note)
    assert max(in_flight) == limit
    assert bench.service.stack(stack_id).status is Status.COMPLETE


def test_a_huge_stack_delays_a_small_one_by_a_bounded_number_of_messages(bench: CostMeter) -> None:
    waits = []
    for size in SIZES:
        huge = bench.service.create(wide(size), name=f"huge-{uuid.uuid4().hex}")
        small = bench.service.create(wide(5), name=f"small-{uuid.uuid4().hex}")
        steps = 0
        while bench.service.stack(small).in_progress:
            assert bench.service.handle_next()
            steps += 1
        waits.append(steps)
        bench.settle(huge)
    settings = bench.service.settings
    ahead = settings.jobs_in_flight // settings.batch_size
    assert max(waits) <= 2 * (ahead + 1)
