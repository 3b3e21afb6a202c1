"""Lists over a tree cost as many statements for a large one as for a small one."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from heat_convergence.api.services import ApiOptions
from heat_convergence.db.tables import metadata
from heat_convergence.testing.statement_counter import count_statements
from tests.functional.harness import LocalService
from tests.functional.project_client import ProjectClient, hot_template, resource_definition

WIDTHS = {"small": 1, "large": 12}
FILES = {
    "middle.yaml": json.dumps(hot_template({"m": {"type": "leaf.yaml"}})),
    "leaf.yaml": json.dumps(
        hot_template(
            {"good": resource_definition(value="1"), "bad": resource_definition(fail=True)}
        )
    ),
}


@pytest.fixture(scope="module", params=["sqlite", "mariadb", "postgresql"])
def heat(request: pytest.FixtureRequest) -> Iterator[ProjectClient]:
    """Return a client with two trees of three levels, whose innermost resources failed."""
    service = LocalService(
        request.getfixturevalue(f"{request.param}_url"), ApiOptions(max_resources_per_stack=2000)
    )
    heat = ProjectClient(service)
    for name, width in WIDTHS.items():
        root = hot_template({f"n{at}": {"type": "middle.yaml"} for at in range(width)})
        heat.create(name, root, files=FILES)
        assert heat.status(name) == "CREATE_FAILED"
    yield heat
    metadata.drop_all(service.database.engine)
    service.close()


def cost(heat: ProjectClient, url: str) -> tuple[int, dict]:
    with count_statements(heat.service.database.engine) as count:
        answer = heat.send("GET", url, leave_pending=True)
    assert answer.status_int == 200, answer.text
    return count.total, answer.json


@pytest.mark.parametrize(
    ("suffix", "noun"),
    [
        ("/resources?nested_depth=5", "resources"),
        ("/resources?nested_depth=5&with_detail=True", "resources"),
        ("/resources?nested_depth=5&status=FAILED", "resources"),
        ("/resources?nested_depth=1", "resources"),
        ("/events?nested_depth=5", "events"),
        ("/events?nested_depth=5&resource_name=bad&sort_dir=asc", "events"),
    ],
)
def test_lists_of_a_tree_cost_the_same_for_any_width(
    heat: ProjectClient, suffix: str, noun: str
) -> None:
    (few, small), (many, large) = (cost(heat, heat.path(name) + suffix) for name in WIDTHS)
    assert few == many <= 8
    assert len(large[noun]) > 5 * len(small[noun]) > 0


def test_every_event_of_a_tree_leads_to_its_root(heat: ProjectClient) -> None:
    root = heat.stack("large")["id"]
    _count, found = cost(heat, heat.path("large") + "/events?nested_depth=5")
    links = [{link["rel"]: link["href"] for link in event["links"]} for event in found["events"]]
    assert {each["root_stack"].rsplit("/", 1)[1] for each in links} == {root}
    assert len({each["stack"] for each in links}) == 1 + 2 * WIDTHS["large"]


def test_stacks_with_the_nested_ones(heat: ProjectClient) -> None:
    before, few = cost(heat, "/stacks?show_nested=True&limit=3")
    after, many = cost(heat, "/stacks?show_nested=True")
    assert before == after <= 3
    assert (len(few["stacks"]), len(many["stacks"])) == (3, 2 + 2 * sum(WIDTHS.values()))


def test_a_failure_is_found_with_a_list_a_level(heat: ProjectClient) -> None:
    """Search as ``openstack stack failures list`` does."""
    counts = set()
    for name in WIDTHS:
        stack, trail, numbers = heat.stack(name)["id"], [], []
        for _level in range(3):
            number, found = cost(heat, f"{heat.path(stack)}/resources")
            numbers.append(number)
            failed = [r for r in found["resources"] if r["resource_status"] == "CREATE_FAILED"]
            trail.append(failed[0]["resource_name"])
            stack = failed[0]["physical_resource_id"]
        assert trail[1:] == ["m", "bad"]
        assert trail[0].startswith("n")
        counts.add(tuple(numbers))
    ((first, second, last),) = counts
    assert first == second == last + 1  # the drift of nested stacks is one statement
