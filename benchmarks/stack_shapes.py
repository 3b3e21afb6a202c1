"""The templates of the benchmarks, of ``OS::Heat::TestResource`` and groups of them.

A shape is a function of its size and a mark; two marks give templates that differ in the
first resource only.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Template = dict[str, Any]
SMALL_STACK = 10  # resources


@dataclass(frozen=True, slots=True)
class StackBatch:
    """The templates of stacks that are created at the same time.

    ``longest_path`` is the number of resources on the longest path through one of them.
    """

    templates: tuple[Template, ...]
    resources: int
    longest_path: int


def wide(size: str, mark: str) -> StackBatch:
    """Return a batch of N independent resources, and an output of the first."""
    count = int(size)
    batch = _one([_test(f"r{i}", _value(i, mark)) for i in range(count)], longest_path=1)
    batch.templates[0]["outputs"] = {"first": {"value": {"get_attr": ["r0", "output"]}}}
    return batch


def chain(size: str, mark: str) -> StackBatch:
    """Return a batch of N resources, each of which reads the previous one."""
    resources = [_test("r0", _value(0, mark))]
    for i in range(1, int(size)):
        resources.append(_test(f"r{i}", {"get_attr": [f"r{i - 1}", "output"]}))
    return _one(resources, longest_path=len(resources))


def layered(size: str, mark: str) -> StackBatch:
    """Return a batch of L layers of W resources (``LxW``).

    Each resource reads two or three scattered resources of the previous layer, so that a
    change soon affects all later layers.
    """
    layers, width = (int(part) for part in size.split("x"))
    resources = []
    for layer in range(layers):
        for column in range(width):
            name = f"r{layer}_{column}"
            if layer == 0:
                resources.append(_test(name, _value(column, mark)))
                continue
            reads = sorted(
                {(column * 5 + step * 3 + layer) % width for step in range(2 + column % 2)}
            )
            texts = [{"get_attr": [f"r{layer - 1}_{read}", "output"]} for read in reads]
            resources.append(_test(name, {"digest": ["sha256", {"list_join": ["/", texts]}]}))
    return _one(resources, longest_path=layers)


def fanin(size: str, mark: str) -> StackBatch:
    """Return a batch of N independent resources and one that requires them all."""
    count = int(size)
    resources = [_test(f"r{i}", _value(i, mark)) for i in range(count)]
    last = _test("last", "last", depends_on=[name for name, _ in resources])
    return _one([*resources, last], longest_path=2)


def small(size: str, mark: str) -> StackBatch:
    """Return a batch of N stacks, each of ten independent resources."""
    template = wide(str(SMALL_STACK), mark).templates[0]
    return StackBatch((template,) * int(size), SMALL_STACK * int(size), 1)


def tree(size: str, mark: str) -> StackBatch:
    """Return a batch of one stack of groups, in groups as deep as ``AxBxC`` says.

    The groups of all levels count as resources, as clients see them. The mark is a property of
    what the first group holds, so that two marks differ in one branch of the tree.
    """
    counts = [int(part) for part in size.split("x")]
    first, other = (_group(counts[1:], value) for value in (mark, "value"))
    resources = [(f"r{i}", first if i == 0 else other) for i in range(counts[0])]
    per_level = [math.prod(counts[: level + 1]) for level in range(len(counts))]
    return StackBatch(
        _one(resources, longest_path=1).templates, sum(per_level), longest_path=len(counts)
    )


def _group(counts: list[int], value: str) -> dict[str, Any]:
    if not counts:
        return _test("member", value)[1]
    properties = {"count": counts[0], "resource_def": _group(counts[1:], value)}
    return {"type": "OS::Heat::ResourceGroup", "properties": properties}


SHAPES: dict[str, Callable[[str, str], StackBatch]] = {
    "wide": wide,
    "chain": chain,
    "layered": layered,
    "fanin": fanin,
    "small": small,
    "tree": tree,
}


def _one(resources: list[tuple[str, Any]], *, longest_path: int) -> StackBatch:
    template = {"heat_template_version": "2021-04-16", "resources": dict(resources)}
    return StackBatch((template,), len(resources), longest_path)


def _value(number: int, mark: str) -> str:
    return mark if number == 0 else f"value {number}"


def _test(name: str, value: Any, depends_on: list[str] | None = None) -> tuple[str, Any]:
    definition: dict[str, Any] = {
        "type": "OS::Heat::TestResource",
        "properties": {"value": value},
    }
    if depends_on:
        definition["depends_on"] = depends_on
    return name, definition
