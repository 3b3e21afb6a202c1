"""Templates whose resources take known times."""

from __future__ import annotations

from typing import Any

from tests.functional.project_client import hot_template, resource_definition

Json = Any


def reading(*names: str, **properties: Json) -> Json:
    value = [{"get_attr": [name, "output"]} for name in names]
    return resource_definition(value={"list_join": ["", value]}, **properties)


DIAMOND = hot_template({
    "a": resource_definition(value="a", wait_secs=3),
    "slow": reading("a", wait_secs=20),
    "fast": reading("a", wait_secs=2),
    "z": reading("slow", "fast", wait_secs=1),
    "alone": resource_definition(value="b", wait_secs=9),
})  # fmt: skip
