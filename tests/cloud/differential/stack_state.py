"""The state of a stack in both services after a step, as a text that rules are matched with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Json = Any


def describe_state(heat: Json, ours: Json, before: str) -> str:
    """Return a line for each stack and resource: service, name, type, status.

    Args:
        heat, ours: the records of a step.
        before: the state before it, which is that after a step that only reads.
    """
    lines = [*_lines("heat", heat), *_lines("ours", ours)]
    return "\n".join(lines) if lines else before


def _lines(side: str, record: Json) -> Iterator[str]:
    views: Mapping[str, Json] = record.get("views") or {}
    stack = views.get("stack")
    if isinstance(stack, dict) and "stack_status" in stack:
        yield f"{side} stack {stack['stack_status']}"
    for place, each in (views.get("resources") or {}).items():
        if isinstance(each, dict) and "resource_status" in each:
            yield f"{side} {place} {each['resource_type']} {each['resource_status']}"
