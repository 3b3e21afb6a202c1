"""The cost of a tree of stacks against a flat one, in statements and messages.

Two engines take messages in turns; a nested stack may cost a constant more than the
resources in it, and a tree is never walked.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
import sqlalchemy as sa

from heat_convergence.api.services import ApiOptions
from heat_convergence.common.transactions import retry_transaction
from heat_convergence.convergence.lifecycle.observations import Observation
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.convergence.ports.bus import ResourceHint
from heat_convergence.db.maintenance import purge
from heat_convergence.db.statements import contents
from heat_convergence.db.store import SqlStore
from heat_convergence.db.tables import content, goal, metadata
from heat_convergence.resources.nested.template_cache import content_hash
from heat_convergence.stacks.nested_observation import NestedStackObserver
from heat_convergence.testing.statement_counter import StatementCount, count_statements
from tests.functional.harness import LocalService
from tests.functional.project_client import ProjectClient, hot_template, resource_definition

Json = Any
WIDTH, LEAVES = 10, 5
STACKS = WIDTH + WIDTH * WIDTH
RESOURCES = WIDTH * WIDTH * LEAVES
STATEMENTS_PER_STACK = 33  # more than the same resources take in one stack
MESSAGES_PER_STACK = 4


@dataclass
class NestedTraversalCost:
    statements: StatementCount = field(default_factory=StatementCount)
    messages: int = 0
    engines: dict[str, set[int]] = field(default_factory=dict)


class TwoEngineService:
    """A service whose messages two engines take in turns."""

    def __init__(self, url: str) -> None:
        self.service = LocalService(url, ApiOptions(max_resources_per_stack=2000))
        self.heat = ProjectClient(self.service)
        other, _observer = self.service.build_daemons()
        self._engines = [self.service.engine, other]

    def measured(self, name: str, template: Json, **body: Any) -> NestedTraversalCost:
        cost = NestedTraversalCost()
        with count_statements(self.service.database.engine) as cost.statements:
            self.heat.create(name, template, hold=True, **body)
            self._work(cost)
        assert self.heat.status(name) == "CREATE_COMPLETE"
        return cost

    def _work(self, cost: NestedTraversalCost) -> None:
        waiting = self.service.bus.pending
        turns: Counter[str] = Counter()
        while waiting:
            topic, stack_id, version, ids = waiting.popleft()
            cost.messages += 1
            if topic == "observe":
                self.service.observer.observe([ResourceHint(stack_id, version, ids)])
                continue
            at = turns["converge"] % 2
            turns["converge"] += 1
            cost.engines.setdefault(stack_id, set()).add(at)
            self._engines[at].converge([ResourceHint(stack_id, version, ids)])


@pytest.fixture(scope="module", params=["sqlite", "mariadb", "postgresql"])
def two(request: pytest.FixtureRequest) -> Iterator[TwoEngineService]:
    two = TwoEngineService(request.getfixturevalue(f"{request.param}_url"))
    yield two
    metadata.drop_all(two.service.database.engine)
    two.service.close()


def tree() -> tuple[Json, dict[str, str]]:
    leaf = hot_template({f"r{at}": resource_definition(value=str(at)) for at in range(LEAVES)})
    group = {
        "type": "OS::Heat::ResourceGroup",
        "properties": {"count": WIDTH, "resource_def": {"type": "leaf.yaml"}},
    }
    return hot_template({f"g{at}": group for at in range(WIDTH)}), {"leaf.yaml": json.dumps(leaf)}


def test_a_tree_costs_what_is_flat_and_a_constant_per_stack(two: TwoEngineService) -> None:
    flat = two.measured(
        "flat", hot_template({f"r{at}": resource_definition() for at in range(RESOURCES)})
    )
    root, files = tree()
    deep = two.measured("deep", root, files=files)
    statements = deep.statements.total - flat.statements.total
    assert statements <= STATEMENTS_PER_STACK * STACKS, deep.statements.by_statement.most_common()
    assert deep.messages - flat.messages <= MESSAGES_PER_STACK * STACKS
    stacks = {each["id"]: each for each in two.heat.send(
        "GET", "/stacks?show_nested=True", leave_pending=True).json["stacks"]}  # fmt: skip
    ran_on: dict[str, set[int]] = {}
    for stack_id, engines in deep.engines.items():
        ran_on.setdefault(stacks[stack_id]["parent"] or "", set()).update(engines)
    assert all(engines == {0, 1} for parent, engines in ran_on.items() if parent)


def test_templates_are_parsed_once_however_often_they_occur(two: TwoEngineService) -> None:
    root, files = tree()
    files = {name: text + "\n" for name, text in files.items()}
    before = [each.template_cache.parse_count for each in two.service.nested_executors]
    two.measured("often", root, files=files)
    after = [each.template_cache.parse_count for each in two.service.nested_executors]
    parsed = [b - a for a, b in zip(before, after, strict=True)]
    assert max(parsed) <= 2 <= sum(parsed), parsed


def test_what_a_tree_has_in_common_is_stored_once(two: TwoEngineService) -> None:
    """Store environment, files and long parameters once; read an environment once a process."""
    root, files = tree()
    long = {f"key{at}": "x" * 100 for at in range(50)}
    for group in root["resources"].values():
        group["properties"]["resource_def"]["properties"] = {"v": long}
    leaf = hot_template({"a": resource_definition(value="1")}, parameters={"v": {"type": "json"}})
    environment = {"parameter_defaults": {f"d{at}": "y" * 50 for at in range(100)}}
    before = [each.builder.parsed_environment_count for each in two.service.nested_executors]
    engine = two.service.database.engine
    with engine.connect() as conn:
        texts = conn.scalar(sa.select(sa.func.count()).select_from(content))
    files = {"leaf.yaml": json.dumps(leaf)}
    two.measured("common", root, files=files, environment=environment)
    after = [each.builder.parsed_environment_count for each in two.service.nested_executors]
    assert [b - a for a, b in zip(before, after, strict=True)] == [1, 1]
    heat = two.heat
    ids = [each["id"] for each in heat.send("GET", "/stacks?show_nested=True", leave_pending=True)
           .json["stacks"] if each["stack_name"].startswith("common")]  # fmt: skip
    with engine.connect() as conn:
        found = conn.execute(sa.select(goal).where(goal.c.stack_id.in_(ids))).all()
        more = conn.scalar(sa.select(sa.func.count()).select_from(content)) - texts
    assert (len(found), len({each.common_part_hash for each in found})) == (STACKS + 1, 1)
    assert all(len(str(each.environment)) + len(str(each.files)) < 500 for each in found)
    # root, leaf and group; what is common; the parameter as it is, resolved, and within
    # the definition of a member and of a group.
    assert more <= 8
    nested = heat.nested_stack(heat.nested_stack("common", "g3")["id"], "7")
    shown = heat.send("GET", heat.path(nested["id"]) + "/environment", leave_pending=True).json
    assert shown["parameters"] == {"v": long}
    assert shown["parameter_defaults"] == environment["parameter_defaults"]
    assert json.loads(nested["parameters"]["v"]) == long
    files_shown = heat.send("GET", heat.path(nested["id"]) + "/files", leave_pending=True).json
    assert list(files_shown) == ["leaf.yaml"]
    assert purge.purge_contents(two.service.database) == 0
    heat.update("common", root, files=files, environment=environment)
    assert heat.status("common") == "UPDATE_COMPLETE"


def test_nested_stacks_are_observed_together(two: TwoEngineService) -> None:
    """Four statements for all nested stacks, and again after their outputs are evaluated."""
    leaf = hot_template(
        {"a": resource_definition(value="1")}, outputs={"o": {"get_attr": ["a", "output"]}}
    )
    root = hot_template({f"n{at}": {"type": "leaf.yaml"} for at in range(WIDTH)})
    two.heat.create("looked", root, files={"leaf.yaml": json.dumps(leaf)})
    service = two.service
    store = SqlStore(service.database)
    observer = NestedStackObserver(service.registry, service.clock, store.read)
    stack_id = two.heat.stack("looked")["id"]
    with store.transaction() as tx:
        rows = tx.resources.get_by_stack(stack_id)

    def observe() -> Mapping[str, Observation]:
        with store.transaction() as tx:
            return observer(tx, rows)

    with count_statements(service.database.engine) as count:
        found = retry_transaction(observe, wait=time.sleep)
    assert {each.observed for each in found.values()} == {ObservedState.READY}
    assert (len(found), count.total <= 2 * 4) == (WIDTH, True), count.by_statement.most_common()


def test_lists_of_a_tree_cost_no_more_for_a_larger_tree(two: TwoEngineService) -> None:
    root, files = tree()
    two.heat.create("big", root, files=files)
    two.heat.create("small", hot_template({"g": {"type": "leaf.yaml"}}), files=files)
    for path in ("/resources?nested_depth=5", "/events?nested_depth=5&limit=5", ""):
        counts = []
        for name in ("small", "big"):
            url = two.heat.path(name) + path
            with count_statements(two.service.database.engine) as count:
                answer = two.heat.send("GET", url, leave_pending=True)
            assert answer.status_int == 200, answer.text
            counts.append(count.total)
        assert counts[0] == counts[1], path


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
def test_only_an_update_that_keeps_files_reads_them(
    two: TwoEngineService, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, script = f"files-{method}", "echo\n" * 2000
    template = hot_template(
        {"a": {"type": "OS::Heat::Value", "properties": {"value": {"get_file": "s"}}}}
    )
    two.heat.create(name, template, files={"s": script})
    requested: set[str] = set()
    get_contents = contents.get_contents

    def noted(connection: Any, hashes: Any) -> Any:
        requested.update(hashes)
        return get_contents(connection, hashes)

    monkeypatch.setattr(contents, "get_contents", noted)
    body = {"template": template, "files": {"s": script}}
    answer = two.heat.send(method, two.heat.path(name), body)
    assert answer.status_int == 202, answer.text
    assert (content_hash(script) in requested) is (method == "PATCH")
    two.heat.delete(name)
