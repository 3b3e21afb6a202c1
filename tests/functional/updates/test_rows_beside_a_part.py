"""The rows and edges of resources that an update of a part leaves alone."""

from __future__ import annotations

import sqlalchemy as sa

from heat_convergence.db.tables import resource, resource_graph
from tests.functional.project_client import ProjectClient, resource_definition
from tests.functional.updates.chain_templates import physical_ids, template


def versions(heat: ProjectClient, table: sa.Table) -> dict[str, set[int]]:
    """Return the versions of the rows of a table, by the name of the resource."""
    found: dict[str, set[int]] = {}
    names = sa.select(resource.c.id, resource.c.name)
    with heat.service.database.read() as connection:
        name_of = {row.id: row.name for row in connection.execute(names)}
        for row in connection.execute(sa.select(table)):
            row_id = row.id if table is resource else row.resource_id
            found.setdefault(name_of[row_id], set()).add(row.version)
    return found


def test_graph_has_every_resource_afterwards(heat: ProjectClient) -> None:
    heat.create("s", template())
    heat.update("s", template(b=resource_definition(value="alone"), r1=None))
    rows = {each["resource_name"] for each in heat.resources("s")}
    with heat.service.database.read() as connection:
        edges = connection.execute(sa.select(resource_graph)).all()
    assert len({edge.resource_id for edge in edges}) == len(rows)
    assert all(edge.observed_ready for edge in edges)
    assert heat.resource("s", "a")["required_by"] == []


def test_rows_and_edges_that_an_update_leaves_alone_are_not_written(heat: ProjectClient) -> None:
    heat.create("s", template())
    heat.update("s", template(b=resource_definition(value="alone")))
    heat.update("s", template(b=resource_definition(value="alone"), r1=None))
    alone = {f"r{at}" for at in (0, *range(2, 20))} | {"a", "b", "c"}
    expected = {name: {2 if name in "abc" else 1} for name in alone}
    assert versions(heat, resource_graph) == versions(heat, resource) == expected
    heat.update("s", template(r1=resource_definition(value="new"), r2=None))
    expected = {**expected, "r1": {4}, "a": {4}, "b": {4}, "c": {4}}
    del expected["r2"]
    assert versions(heat, resource_graph) == versions(heat, resource) == expected
    heat.delete("s")
    assert versions(heat, resource_graph) == versions(heat, resource) == {}


def test_timelines_show_the_jobs_of_their_traversals(heat: ProjectClient) -> None:
    heat.create("s", template())
    heat.update("s", template(r1=resource_definition(value="new")))
    heat.update("s", template(r1=resource_definition(value="newer")))
    for version, expected in ((1, set(physical_ids(heat))), (2, {"r1"}), (3, {"r1"})):
        found = heat.send("GET", f"{heat.path('s')}/timeline?version={version}")
        paths = [each["path"] for each in found.json["timeline"]["resources"]]
        assert sorted(paths) == sorted(expected)
