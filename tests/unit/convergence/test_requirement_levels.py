"""The levels of requirements: decided for a goal, and planned as edges."""

from __future__ import annotations

from dataclasses import replace

import pytest

from heat_convergence.convergence.model.graph_edge import Edge
from heat_convergence.convergence.model.resource import RELEASES_EARLY
from heat_convergence.convergence.planning.plan import plan_goal
from heat_convergence.convergence.planning.requirement_levels import (
    level_for_dependent,
    with_requirement_levels,
)
from heat_convergence.template.environment.readiness import ReadinessLevel, level_word
from heat_convergence.template.evaluation.resource_definition import ResourceDefinition
from heat_convergence.template.expression import Expression
from heat_convergence.testing.sample_rows import changed_row
from tests.unit.convergence.plan_helpers import (
    desired_by_name,
    desired_resource,
    plan_context,
    rows_after_completion,
)

EXISTS, CONFIGURED, ACTIVE, HEALTHY = ReadinessLevel
ID = Expression("get_resource", "standard", "port")
ATTRIBUTE = Expression("get_attr", "attr_optional_name", ["port", "fixed_ips"])


def definition(name, **values):
    return ResourceDefinition(name, "T", **values)


def levels(port_words=(), level=EXISTS, **values):
    """Return the desired port and server, whose definition has the values."""
    server = definition("server", **{"properties": {"port": ID}, **values})
    desired = desired_by_name(
        replace(desired_resource("port"), hooks_and_restrictions=tuple(port_words)),
        desired_resource("server", "port"),
    )
    definitions = {"port": definition("port"), "server": server}
    found = with_requirement_levels(desired, definitions, {"port": {"T": level}})
    return found["port"], found["server"]


def test_longest_pattern_of_a_type_counts():
    known = {"*": CONFIGURED, "OS::Nova::*": ACTIVE, "OS::Nova::Server": EXISTS}
    names = ("OS::Nova::Server", "OS::Nova::KeyPair", "OS::Cinder::Volume")
    assert [level_for_dependent(known, name) for name in names] == [EXISTS, ACTIVE, CONFIGURED]
    assert level_for_dependent({}, "OS::Nova::Server") is ACTIVE


def test_dependent_that_needs_the_id_starts_early():
    _port, server = levels()
    assert server.requirement_levels == {"port": EXISTS}


@pytest.mark.parametrize(
    "values",
    [
        {"properties": {"port": ID, "address": ATTRIBUTE}},
        {"properties": {"port": ID}, "metadata": {"address": ATTRIBUTE}},
        {"depends_on": frozenset({"port"})},
        {"properties": {}},
        {"port_words": ("post-create",)},
    ],
)
def test_dependent_that_needs_more_waits_until_the_requirement_is_done(values):
    _port, server = levels(**values)
    assert server.requirement_levels == {}


@pytest.mark.parametrize(
    ("demanded", "waits"),
    [(EXISTS, EXISTS), (CONFIGURED, CONFIGURED), (ACTIVE, None), (HEALTHY, None)],
)
def test_demanded_level_is_the_least(demanded, waits):
    port, server = levels([level_word(demanded)])
    assert server.requirement_levels == ({} if waits is None else {"port": waits})
    assert port.hooks_and_restrictions == (level_word(demanded),)


def test_type_that_needs_health_demands_it_of_the_requirement():
    port, server = levels(level=HEALTHY)
    assert port.hooks_and_restrictions == (level_word(HEALTHY),)
    assert server.requirement_levels == {}


def test_others_do_not_wait_for_the_health_that_one_needs():
    desired = desired_by_name(
        desired_resource("port"),
        replace(desired_resource("check", "port"), implementation="Check"),
        desired_resource("server", "port"),
    )
    definitions = {
        "port": definition("port"),
        "check": definition("check", properties={"port": ID}),
        "server": definition("server", depends_on=frozenset({"port"})),
    }
    found = with_requirement_levels(
        desired, definitions, {"port": {"*": EXISTS, "Check": HEALTHY}}
    )
    assert found["server"].requirement_levels == {"port": ACTIVE}
    assert found["check"].requirement_levels == {}


def planned(rows=(), **port):
    desired = desired_by_name(
        replace(desired_resource("port", **port)),
        replace(desired_resource("server", "port"), requirement_levels={"port": EXISTS}),
    )
    return plan_goal(rows, desired, plan_context(2 if rows else 1))


def test_requirement_has_an_edge_that_waits_until_it_is_done():
    plan = planned()
    ids = {row.name: row.id for row in plan.added}
    assert set(plan.edges) == {
        Edge(ids["port"], ids["server"], level=EXISTS),
        Edge(ids["port"], None),
        Edge(ids["server"], None),
    }
    words = {row.name: row.desired.hooks_and_restrictions for row in plan.added}
    assert words == {"port": (RELEASES_EARLY,), "server": ()}


def test_mark_of_early_release_is_no_change_of_the_goal():
    rows = rows_after_completion(planned())
    again = planned(rows)
    assert (again.added, again.changed, again.rescheduled) == ((), (), ())
    assert all(edge.observed_ready for edge in again.edges)


@pytest.mark.parametrize("between", [(), ("subnet",)])
def test_dependent_waits_for_what_may_use_it_still(between):
    """The update reverses a dependency: port required server, perhaps through another one."""
    chain = ["server", *between, "port"]
    pairs = zip(chain[1:], chain[:-1], strict=True)
    before = desired_by_name(
        desired_resource("server"), *(desired_resource(user, used) for user, used in pairs)
    )
    rows = rows_after_completion(plan_goal((), before, plan_context(1)))
    plan = planned(rows)
    ids = {row.name: row.id for row in plan.changed}
    assert Edge(ids["port"], ids["server"]) in plan.edges
    assert all(edge.level is None for edge in plan.edges)


def test_dependent_of_an_updated_requirement_starts_early():
    port, server = sorted(rows_after_completion(planned()), key=lambda row: row.name)
    rows = [port, changed_row(server, physical_dependencies=(port.id,))]
    plan = planned(rows, text="2")
    ids = {row.name: row.id for row in rows}
    assert Edge(ids["port"], ids["server"], level=EXISTS) in plan.edges
