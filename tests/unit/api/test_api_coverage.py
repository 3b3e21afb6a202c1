"""Every method and path of the Orchestration API exists, with its policy rule.

``data/routes.txt`` has a line for each: method, path, status, rule, query names.
The routes that are not implemented yet are in ``MISSING``.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from heat_convergence.api.openapi_schemas import QUERIES
from heat_convergence.api.routes.table import RouteTable

S = "/stacks/{stack_name}/{stack_id}"
MISSING: frozenset[tuple[str, str]] = frozenset()
# The rule of these depends on the body; the handler checks it.
RULE_BY_BODY = frozenset({("POST", S + "/actions"), ("PATCH", S)})
SAMPLES = {
    "{stack_name:arn:.*}": ["arn:openstack:heat::p:stacks/a/1"],
    "{path:resources|events|template|actions|environment|files}": [
        "resources",
        "events",
        "template",
        "actions",
        "environment",
        "files",
    ],
    "{path:resources|events|template|actions}": ["resources", "events", "template", "actions"],
}


class RouteFact(NamedTuple):
    method: str
    path: str
    success_status: int
    policy_rule: str
    query: frozenset[str]

    @property
    def key(self) -> tuple[str, str]:
        return self.method, self.path


def load_route_facts() -> list[RouteFact]:
    lines = (Path(__file__).parent / "data" / "routes.txt").read_text().splitlines()
    found = []
    for line in lines:
        method, path, success, rule, query = line.split()
        names = frozenset() if query == "-" else frozenset(query.split(","))
        found.append(RouteFact(method, path, int(success), rule, names))
    return found


ROUTE_FACTS = load_route_facts()
TABLE = RouteTable()


def paths(fact: RouteFact) -> list[str]:
    """Return the path of the route with a value for every parameter."""
    for pattern, words in SAMPLES.items():
        if pattern in fact.path:
            return [
                fact.path.replace(pattern, word).replace("{stack_name}", "x") for word in words
            ]
    parts = ["x" if part.startswith("{") else part for part in fact.path.split("/")]
    return ["/".join(parts)]


def test_table_of_routes_is_complete():
    assert len(ROUTE_FACTS) == len({fact.key for fact in ROUTE_FACTS}) == 61
    assert {fact.key for fact in ROUTE_FACTS} >= MISSING | RULE_BY_BODY


@pytest.mark.parametrize("fact", ROUTE_FACTS, ids=lambda fact: f"{fact.method} {fact.path}")
def test_every_route_exists_with_its_rule_and_query(fact):
    for path in paths(fact):
        match = TABLE.match(fact.method, path)
        route = None if match is None else match.route
        assert (route is None) == (fact.key in MISSING)
        if route is None:
            continue
        assert route.success_status == fact.success_status
        assert (route.policy_rule is None) == (fact.key in RULE_BY_BODY)
        assert route.policy_rule in (fact.policy_rule, None)
        assert set(QUERIES.get(route.query_schema, {})) >= fact.query
