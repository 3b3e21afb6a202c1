"""The nested stacks that an update touches: those that see its change, and no others."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
import sqlalchemy as sa

from heat_convergence.db.tables import stack
from tests.functional.harness import LocalService
from tests.functional.project_client import ProjectClient, hot_template, resource_definition

Json = Any
LEFT, RIGHT, LEAF, GROUP = "left.yaml", "right.yaml", "leaf.yaml", "group.yaml"
MAPPED = {"My::Left": LEFT, "My::Right": RIGHT, "My::Leaf": LEAF, "My::Group": GROUP}
SCRIPT = "script.sh"


def text(*types: str, parameter: str = "", **resources: Json) -> str:
    """Return a template with nested stacks and a resource that shows a parameter."""
    found: Json = {name.rpartition("::")[2]: {"type": name} for name in types}
    value = {"get_param": parameter} if parameter else "constant"
    found["shown"] = resource_definition(value=value)
    parameters = {parameter: {"type": "string", "default": "own"}} if parameter else {}
    return json.dumps(hot_template({**found, **resources}, parameters=parameters))


def group(count: Json, member: Json) -> Json:
    properties = {"count": count, "resource_def": {"type": member}}
    return {"type": "OS::Heat::ResourceGroup", "properties": properties}


FILES = {
    LEFT: text("My::Leaf", parameter="left"),
    RIGHT: text(parameter="right", script=resource_definition(value={"get_file": SCRIPT})),
    LEAF: text(parameter="leaf"),
    GROUP: text(nodes=group({"get_param": "size"}, "My::Leaf")).replace(
        '"parameters": {}', '"parameters": {"size": {"type": "number", "default": 2}}'
    ),
    SCRIPT: "echo",
}
ROOT = hot_template({name: {"type": f"My::{name.title()}"} for name in ("left", "right", "group")})


class NestedStackTree:
    """A stack with nested stacks, and the paths of those that an update has touched."""

    def __init__(self, heat: ProjectClient) -> None:
        self.heat = heat
        self.files = dict(FILES)
        self.versions: dict[str, int] = {}
        self.environment: Json = {"resource_registry": dict(MAPPED), "parameter_defaults": {}}
        heat.create("s", ROOT, files=self.files, environment=self.environment)
        assert heat.status("s") == "CREATE_COMPLETE"

    def touched(self) -> set[str]:
        """Update the stack; return the names of the nested stacks with an update."""
        before = self._updates()
        self.heat.update("s", ROOT, files=self.files, environment=self.environment)
        assert self.heat.status("s") == "UPDATE_COMPLETE", self.heat.stack("s")
        after = self._updates()
        return {path for path in after if after[path] != before.get(path)}

    def _updates(self) -> dict[str, Json]:
        """Return the id and the version of each nested stack, by path."""
        with self.heat.service.database.read() as connection:
            rows = connection.execute(sa.select(stack.c.id, stack.c.version))
            self.versions = {row.id: row.version for row in rows}
        return dict(self._nested(self.heat.path("s"), ()))

    def _nested(self, path: str, above: tuple[str, ...]) -> Iterator[tuple[str, Json]]:
        resources = self.heat.send("GET", f"{path}/resources").json["resources"]
        for each in resources:
            links = {link["rel"]: link["href"] for link in each["links"]}
            if "nested" in links:
                inner = links["nested"].split("/v1/p", 1)[1]
                stack_id = inner.rpartition("/")[2]
                names = (*above, each["resource_name"])
                yield "/".join(names), (stack_id, self.versions[stack_id])
                yield from self._nested(inner, names)


@pytest.fixture
def tree(tmp_path: Any) -> Iterator[NestedStackTree]:
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite")
    yield NestedStackTree(ProjectClient(service))
    service.close()


ALL = {"left", "left/Leaf", "right", "group", "group/nodes", "group/nodes/0", "group/nodes/1"}
LEAVES = {"left", "left/Leaf", "group", "group/nodes", "group/nodes/0", "group/nodes/1"}


def test_paths(tree: NestedStackTree) -> None:
    assert tree._updates().keys() == ALL
    assert tree.touched() == set()


@pytest.mark.parametrize(
    ("name", "touched"),
    [("left", {"left"}), ("right", {"right"}), ("leaf", LEAVES), ("unread", set())],
)
def test_default_touches_those_that_declare_it(
    tree: NestedStackTree, name: str, touched: set[str]
) -> None:
    tree.environment["parameter_defaults"][name] = "new"
    assert tree.touched() == touched
    tree.environment["parameter_defaults"][name] = "newer"
    assert tree.touched() == touched
    del tree.environment["parameter_defaults"][name]
    assert tree.touched() == touched


def test_one_member_more_touches_its_group(tree: NestedStackTree) -> None:
    tree.environment["parameter_defaults"]["size"] = 3
    assert tree.touched() == {"group", "group/nodes", "group/nodes/2"}


@pytest.mark.parametrize(
    ("name", "content", "touched"),
    [
        (SCRIPT, "echo again", {"right"}),
        (RIGHT, text(parameter="right"), {"right"}),
        (LEAF, text(parameter="other"), LEAVES),
        ("unused.yaml", text(), set()),
    ],
)
def test_file_touches_those_that_reach_it(
    tree: NestedStackTree, name: str, content: str, touched: set[str]
) -> None:
    tree.files[name] = content
    assert tree.touched() == touched


@pytest.mark.parametrize(
    ("name", "target", "touched"),
    [
        ("My::Leaf", RIGHT, LEAVES),
        ("My::Unused", LEAF, set()),
        ("My::Unu*", "Other::*", set()),
        ("My::Righ*", LEFT, {"right", "right/Leaf"}),
    ],
)
def test_registry_entry_touches_those_that_use_the_type(
    tree: NestedStackTree, name: str, target: str, touched: set[str]
) -> None:
    tree.environment["resource_registry"][name] = target
    assert tree.touched() == touched
    assert not tree.touched()
