"""What a tree of stacks costs beside a flat one, in statements and messages.

Two engines take messages in turns; a nested stack may cost a constant more than the
resources in it, and a tree is never walked.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from heat_convergence.api.services import ApiOptions
from heat_convergence.db.counting import StatementCount, counted_statements
from heat_convergence.db.tables import metadata
from tests.functional.harness import LocalService
from tests.functional.nesting import Conversation, hot, probe

Json = Any
WIDTH, LEAVES = 10, 5
STACKS = WIDTH + WIDTH * WIDTH
RESOURCES = WIDTH * WIDTH * LEAVES
STATEMENTS_PER_STACK = 48
MESSAGES_PER_STACK = 4


@dataclass
class Cost:
    statements: StatementCount = field(default_factory=StatementCount)
    messages: int = 0
    engines: dict[str, set[int]] = field(default_factory=dict)


class Two:
    """A service whose messages two engines take in turns."""

    def __init__(self, url: str) -> None:
        self.service = LocalService(url, ApiOptions(max_resources_per_stack=2000))
        self.heat = Conversation(self.service)
        other, _observer = self.service.daemons()
        self._engines = [self.service.engine, other]

    def measured(self, name: str, template: Json, **body: Any) -> Cost:
        cost = Cost()
        with counted_statements(self.service.database.engine) as cost.statements:
            self.heat.create(name, template, hold=True, **body)
            self._work(cost)
        assert self.heat.status(name) == "CREATE_COMPLETE"
        return cost

    def _work(self, cost: Cost) -> None:
        waiting = self.service.bus.waiting
        turns: Counter[str] = Counter()
        while waiting:
            topic, stack_id, version, ids = waiting.popleft()
            cost.messages += 1
            if topic == "observe":
                self.service.observer.observe(stack_id, version, ids)
                continue
            at = turns["converge"] % 2
            turns["converge"] += 1
            cost.engines.setdefault(stack_id, set()).add(at)
            self._engines[at].converge(stack_id, version, ids)


@pytest.fixture(scope="module", params=["sqlite", "mariadb", "postgresql"])
def two(request: pytest.FixtureRequest) -> Iterator[Two]:
    two = Two(request.getfixturevalue(f"{request.param}_url"))
    yield two
    metadata.drop_all(two.service.database.engine)
    two.service.close()


def tree() -> tuple[Json, dict[str, str]]:
    leaf = hot({f"r{at}": probe(value=str(at)) for at in range(LEAVES)})
    group = {
        "type": "OS::Heat::ResourceGroup",
        "properties": {"count": WIDTH, "resource_def": {"type": "leaf.yaml"}},
    }
    return hot({f"g{at}": group for at in range(WIDTH)}), {"leaf.yaml": json.dumps(leaf)}


def test_a_tree_costs_what_is_flat_and_a_constant_per_stack(two: Two) -> None:
    flat = two.measured("flat", hot({f"r{at}": probe() for at in range(RESOURCES)}))
    root, files = tree()
    deep = two.measured("deep", root, files=files)
    statements = deep.statements.total - flat.statements.total
    assert statements <= STATEMENTS_PER_STACK * STACKS, deep.statements.by_kind.most_common()
    assert deep.messages - flat.messages <= MESSAGES_PER_STACK * STACKS
    stacks = {each["id"]: each for each in two.heat.send(
        "GET", "/stacks?show_nested=True", hold=True).json["stacks"]}  # fmt: skip
    ran_on: dict[str, set[int]] = {}
    for stack_id, engines in deep.engines.items():
        ran_on.setdefault(stacks[stack_id]["parent"] or "", set()).update(engines)
    assert all(engines == {0, 1} for parent, engines in ran_on.items() if parent)


def test_templates_are_parsed_once_however_often_they_occur(two: Two) -> None:
    root, files = tree()
    files = {name: text + "\n" for name, text in files.items()}
    before = [each.parsed.parses for each in two.service.nesters]
    two.measured("often", root, files=files)
    after = [each.parsed.parses for each in two.service.nesters]
    parsed = [b - a for a, b in zip(before, after, strict=True)]
    assert max(parsed) <= 2 <= sum(parsed), parsed


def test_lists_of_a_tree_cost_no_more_for_a_larger_tree(two: Two) -> None:
    root, files = tree()
    two.heat.create("big", root, files=files)
    two.heat.create("small", hot({"g": {"type": "leaf.yaml"}}), files=files)
    for path in ("/resources?nested_depth=5", "/events?nested_depth=5&limit=5", ""):
        counts = []
        for name in ("small", "big"):
            url = two.heat.path(name) + path
            with counted_statements(two.service.database.engine) as count:
                answer = two.heat.send("GET", url, hold=True)
            assert answer.status_int == 200, answer.text
            counts.append(count.total)
        assert counts[0] == counts[1], path
