"""Desired resources of a stack, as they are to be stored."""

from __future__ import annotations

from heat_convergence.resources.builtin.test_resource import TestResource
from heat_convergence.resources.nested.template_cache import TemplateCache, TemplateFiles
from heat_convergence.resources.registry import ResourceTypeRegistry
from heat_convergence.stacks.goal.desired_resources import derive_desired_resources
from heat_convergence.template.environment.environment import Environment
from tests.unit.template.template_helpers import evaluate, hot_template


def test_resources_with_equal_long_values_have_one_text_of_them() -> None:
    values = [["x" * 10 for _ in range(1000)] for _ in range(2)]
    template = hot_template(
        resources={
            name: {"type": TestResource.name, "properties": {"value": value}}
            for name, value in zip("ab", values, strict=True)
        }
    )
    files = TemplateFiles.from_texts({}, TemplateCache())
    registry = ResourceTypeRegistry.from_types(TestResource)
    found = derive_desired_resources(evaluate(template), Environment.parse({}), files, registry)
    (first,), (second,) = (found[name].contents.items() for name in "ab")
    assert first == second
    assert first[1] is second[1]
