"""The templates that are measured, all of ``OS::Heat::TestResource``.

A shape is a function of its size and of a mark; two marks give templates that
differ in the first resource alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Template = dict[str, Any]
SMALL_STACK = 10  # resources


@dataclass(frozen=True, slots=True)
class StackBatch:
    """Templates of the stacks that are made at once; ``links`` is the longest path
    through one of them, in resources."""

    templates: tuple[Template, ...]
    resources: int
    longest_path: int


def wide(size: str, mark: str) -> StackBatch:
    """N resources without any dependency."""
    count = int(size)
    return _one([_test(f"r{i}", _value(i, mark)) for i in range(count)], links=1)


def chain(size: str, mark: str) -> StackBatch:
    """N resources, each of which reads the one before."""
    resources = [_test("r0", _value(0, mark))]
    for i in range(1, int(size)):
        resources.append(_test(f"r{i}", {"get_attr": [f"r{i - 1}", "output"]}))
    return _one(resources, links=len(resources))


def layered(size: str, mark: str) -> StackBatch:
    """L layers of W (``LxW``); each resource reads two or three of the layer before,
    scattered, so that a change soon reaches everything below it."""
    layers, width = (int(part) for part in size.split("x"))
    resources = []
    for layer in range(layers):
        for at in range(width):
            name = f"r{layer}_{at}"
            if layer == 0:
                resources.append(_test(name, _value(at, mark)))
                continue
            reads = sorted({(at * 5 + step * 3 + layer) % width for step in range(2 + at % 2)})
            texts = [{"get_attr": [f"r{layer - 1}_{one}", "output"]} for one in reads]
            resources.append(_test(name, {"digest": ["sha256", {"list_join": ["/", texts]}]}))
    return _one(resources, links=layers)


def fanin(size: str, mark: str) -> StackBatch:
    """N independent resources and one that waits for them all."""
    count = int(size)
    resources = [_test(f"r{i}", _value(i, mark)) for i in range(count)]
    last = _test("last", "last", depends_on=[name for name, _ in resources])
    return _one([*resources, last], links=2)


def small(size: str, mark: str) -> StackBatch:
    """N stacks at once, each of ten independent resources."""
    one = wide(str(SMALL_STACK), mark).templates[0]
    return StackBatch((one,) * int(size), SMALL_STACK * int(size), 1)


SHAPES: dict[str, Callable[[str, str], StackBatch]] = {
    "wide": wide,
    "chain": chain,
    "layered": layered,
    "fanin": fanin,
    "small": small,
}


def _one(resources: list[tuple[str, Any]], *, links: int) -> StackBatch:
    template = {"heat_template_version": "2021-04-16", "resources": dict(resources)}
    return StackBatch((template,), len(resources), links)


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
