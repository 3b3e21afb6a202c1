"""Properties of the resource types that generated templates use."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, Protocol

Json = Any
CHILD = "child.yaml"
_MEMBERS = ("OS::Heat::RandomString", "OS::Heat::Value", CHILD, "My::Type")


class ValueMaker(Protocol):
    """The generator of values, as the types see it."""

    random: Random
    pick: Any

    def value(self, depth: int) -> Json: ...

    def text(self, depth: int) -> Json: ...

    def map(self, depth: int) -> Json: ...

    def rarely(self, *usual: Json, odd: Json) -> Json: ...

    def name(self) -> str | None: ...


ATTRIBUTES = {
    "OS::Heat::Value": ("value",),
    "OS::Heat::RandomString": ("value",),
    "OS::Heat::TestResource": ("output",),
    "OS::Heat::None": ("show", "a"),
    "OS::Heat::ResourceGroup": ("refs", "refs_map", "attributes", "resource.0.value"),
    "OS::Heat::ResourceChain": ("refs", "attributes"),
    "OS::Heat::AutoScalingGroup": ("refs", "outputs", "current_size", "outputs_list"),
    "OS::Heat::SoftwareConfig": ("config",),
    "OS::Heat::StructuredConfig": ("config",),
    "OS::Heat::CloudConfig": ("config",),
    "OS::Heat::MultipartMime": ("config",),
    "OS::Heat::WaitCondition": ("data",),
    CHILD: ("o", "q", "outputs", "resource.r0"),
}
_PROPERTIES: dict[str, Callable[[Any], Json]] = {
    "OS::Heat::Value": lambda g: {"value": g.value(0)},
    "OS::Heat::RandomString": lambda g: {"length": g.rarely(5, "8", odd=513)},
    "OS::Heat::TestResource": lambda g: {"value": g.text(1), "fail": g.rarely(False, odd=True)},
    "OS::Heat::None": lambda g: {"anything": g.value(2)},
    "OS::Heat::ResourceGroup": lambda g: {
        "count": g.rarely(0, 1, 3, odd=g.value(3)),
        "resource_def": {
            "type": g.pick(_MEMBERS), "properties": g.pick(({}, {"value": "%index%"})),
        },
    },
    "OS::Heat::ResourceChain": lambda g: {
        "resources": [_MEMBERS[0]], "concurrent": g.pick((True, False)),
    },
    "OS::Heat::AutoScalingGroup": lambda g: {
        "min_size": g.pick((0, 1)), "max_size": g.rarely(1, 3, odd="x"),
        "resource": {"type": g.pick(_MEMBERS), "properties": {}},
    },
    "OS::Heat::SoftwareConfig": lambda g: {"config": g.text(2), "group": "script"},
    "OS::Heat::StructuredConfig": lambda g: {"config": g.map(2)},
    "OS::Heat::CloudConfig": lambda g: {"cloud_config": g.map(2)},
    "OS::Heat::WaitConditionHandle": lambda g: {},
    "OS::Heat::WaitCondition": lambda g: {
        "handle": {"get_resource": name} if (name := g.name()) else "none",
        "timeout": 5, "count": 1,
    },
    "OS::Heat::Delay": lambda g: {"min_wait": g.pick((0, 1))},
    "OS::Heat::MultipartMime": lambda g: {"parts": [{"config": g.text(3), "type": "text"}]},
    "OS::Neutron::Net": lambda g: {"name": g.text(3)},
    CHILD: lambda g: {"s": g.text(3), "n": 1},
    "My::Type": lambda g: {"s": g.text(3)},
}  # fmt: skip
# Types that need nothing are chosen more often, so that more templates are accepted.
CHOSEN_TYPES = (
    *_PROPERTIES,
    *("OS::Heat::Value", "OS::Heat::TestResource", "OS::Heat::None") * 8,
    *("OS::Heat::ResourceGroup", CHILD) * 3,
)


def properties(resource_type: str, grammar: ValueMaker) -> Json:
    """Return the properties of a resource of the type."""
    made: Json = _PROPERTIES[resource_type](grammar)
    if grammar.random.random() < 0.01:
        made[grammar.pick((*made, "absent"))] = grammar.value(2)
    return made
