"""Templates of a chain among resources that nothing refers to, for updates of parts."""

from __future__ import annotations

from typing import Any

from tests.functional.project_client import ProjectClient, hot_template, resource_definition

Json = Any


def template(size: int = 20, outputs: Json = None, **changed: Json) -> Json:
    """Return a chain of three, and resources that nothing refers to."""
    resources = {f"r{at}": resource_definition(value=f"v{at}") for at in range(size)}
    resources["b"] = resource_definition(value={"get_attr": ["a", "output"]})
    resources["a"] = resource_definition(value="first")
    resources["c"] = resource_definition(value={"get_attr": ["b", "output"]})
    resources |= changed
    return hot_template(
        {name: raw for name, raw in resources.items() if raw is not None}, outputs=outputs
    )


def physical_ids(heat: ProjectClient) -> dict[str, str]:
    return {each["resource_name"]: each["physical_resource_id"] for each in heat.resources("s")}
