"""An update that looks at a part of its template comes to what the whole would have come to."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

from heat_convergence.common.errors import Error
from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.resources.registry import ResourceTypeRegistry
from heat_convergence.stacks.goal import changed_part
from heat_convergence.stacks.goal.kept_resources import UpdateBase
from heat_convergence.stacks.goal.stack_builder import PreparedStack, StackBuilder
from heat_convergence.stacks.services import StackOptions, StackServices
from heat_convergence.stacks.source.template_source import (
    SourceRequest,
    StoredGoal,
    TemplateSource,
)
from heat_convergence.testing.sample_rows import START_TIME, stack_row

Json = Any
NAMES = tuple(f"r{at}" for at in range(8))
FORMS = ("value",) * 3 + ("attribute", "reference", "parameter", "computed")
CLOUD_FORMS = {
    "network": "OS::Neutron::Net",
    "subnet": "OS::Neutron::Subnet",
    "port": "OS::Neutron::Port",
    "interface": "OS::Neutron::RouterInterface",
    "address": "OS::Neutron::FloatingIP",
}


@dataclass(frozen=True)
class GeneratedResource:
    """A resource of a generated template, which refers to earlier ones that exist."""

    form: str
    at: int = 0  # the place of what it refers to
    value: Json = None
    depends_on: int | None = None
    condition: str | None = None


def _reference(at: int, place: int, names: list[str], otherwise: Json) -> Json:
    target = NAMES[at % place] if place else None
    return {"get_resource": target} if target in names else otherwise


def _properties(
    resource: GeneratedResource, place: int, names: list[str]
) -> tuple[str, dict[str, Json]]:
    used = _reference(resource.at, place, names, "given")
    target = used["get_resource"] if isinstance(used, dict) else None
    if resource.form in CLOUD_FORMS:
        return CLOUD_FORMS[resource.form], {
            "network": {"name": str(resource.value)},
            "subnet": {"network": used, "cidr": "10.0.0.0/24"},
            "port": {"network": used},
            "interface": {"router": "given", "subnet": used},
            "address": {"floating_network": "given", "port_id": used},
        }[resource.form]
    values: dict[str, Json] = {"parameter": {"get_param": "given"}, "reference": used}
    if target is not None:
        values["attribute"] = {"get_attr": [target, "show"]}
        values["computed"] = {"get_resource": _computed(target)}
    if resource.form in values:
        return "OS::Heat::TestResource", {"value": values[resource.form]}
    return "OS::Heat::Value", {"value": {"shown": resource.value}, "type": "json"}


def _computed(name: str) -> Json:
    """Return a call that comes to the name, which the template does not hold as a text."""
    return {"list_join": ["", [name[:1], name[1:]]]}


def render(
    resources: Mapping[str, GeneratedResource], outputs: Mapping[str, bool]
) -> dict[str, Json]:
    """Return the template of the resources.

    Args:
        resources: name → resource.
        outputs: name of a resource that an output shows → whether it computes the name.
    """
    names = list(resources)
    shown_resources: dict[str, Json] = {}
    for name, resource in resources.items():
        place = NAMES.index(name)
        type_name, properties = _properties(resource, place, names)
        shown_resources[name] = {"type": type_name, "properties": properties}
        if (
            resource.depends_on is not None
            and NAMES[resource.depends_on % (place or 1)] in names[:place]
        ):
            shown_resources[name]["depends_on"] = NAMES[resource.depends_on % place]
        if resource.condition is not None:
            shown_resources[name]["condition"] = resource.condition
    shown = {
        name: {"value": {"get_attr": [_computed(name) if computes else name, "show"]}}
        for name, computes in outputs.items()
        if name in resources
    }
    return {
        "heat_template_version": "2018-08-31",
        "parameters": {"given": {"type": "string", "default": "something"}},
        "conditions": {"yes": {"equals": [1, 1]}, "no": {"equals": [1, 2]}},
        "resources": shown_resources,
        "outputs": shown,
    }


VALUES = st.sampled_from((1, 1.0, True, "1", "text", None, ["a"], {"a": 0}, {"a": False}))
RESOURCES = st.builds(
    GeneratedResource,
    form=st.sampled_from((*FORMS, *CLOUD_FORMS)),
    at=st.integers(0, 7),
    value=VALUES,
    depends_on=st.none() | st.integers(0, 7),
    condition=st.sampled_from((None,) * 12 + ("yes", "no")),
)
TEMPLATES = st.dictionaries(st.sampled_from(NAMES), RESOURCES, min_size=4)
EDITS = st.dictionaries(st.sampled_from(NAMES), st.none() | RESOURCES, max_size=2)
OUTPUTS = st.dictionaries(st.sampled_from(NAMES), st.booleans(), max_size=2)


@pytest.fixture(scope="module", autouse=True)
def _parts_of_any_size() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(changed_part, "_LARGEST_SHARE", 1.0)
        yield


def new_builder(*, parts: bool = True) -> StackBuilder:
    """Return a builder with all installed types and no cloud."""
    options = StackOptions(partial_update_min_resources=0 if parts else 10**9)
    return StackBuilder(
        StackServices(
            registry=ResourceTypeRegistry.load(), clock=lambda: START_TIME, options=options
        )
    )


BUILDER, WHOLE_BUILDER = new_builder(), new_builder(parts=False)
STACK = replace(
    stack_row("stack-1"),
    action=Action.CREATE,
    status=Status.COMPLETE,
    goal_id="goal-1",
    complete_goal_id="goal-1",
)


def read(template: Json) -> TemplateSource:
    """Return the source of a request."""
    return BUILDER.sources.from_request(SourceRequest(template=json.dumps(template)))


def update(builder: StackBuilder, before: PreparedStack, text: str, after: Json) -> PreparedStack:
    """Return the goal of an update of the stack that has reached another one."""
    goal = replace(before.goal, environment=json.loads(json.dumps(before.goal.environment)))
    base = UpdateBase(StoredGoal(goal, text, {}), stored_stack=STACK)
    updated = replace(STACK, goal_id="goal-2")
    return builder.prepare_update(read(after), updated, lambda _name: False, base)


def create(template: Json, stack: Stack = STACK) -> PreparedStack:
    """Return the goal of a new stack."""
    return WHOLE_BUILDER.prepare_new(read(template), stack, lambda _name: False)


@settings(max_examples=400)
@given(TEMPLATES, EDITS, OUTPUTS)
def test_part_comes_to_what_the_whole_comes_to(
    resources: dict[str, GeneratedResource],
    edits: dict[str, GeneratedResource | None],
    outputs: dict[str, bool],
) -> None:
    resources = {name: resources[name] for name in NAMES if name in resources}
    merged = {**resources, **edits}
    edited = {name: resource for name in NAMES if (resource := merged.get(name)) is not None}
    old, new = render(resources, outputs), render(edited, outputs)
    try:
        before = create(old)
        whole = update(WHOLE_BUILDER, before, json.dumps(old), new)
    except Error:
        assume(False)
    found = update(BUILDER, before, json.dumps(old), new)
    event("part" if found.part else "whole")
    assert found.goal.outputs == whole.goal.outputs
    assert found.goal.parameters == whole.goal.parameters
    assert found.goal.template_hash == whole.goal.template_hash
    if found.part is None:
        assert found.desired_resources == whole.desired_resources
        return
    part, changing = found.part, found.part.changing
    removed = before.desired_resources.keys() - whole.desired_resources.keys()
    assert removed <= changing <= part.names
    assert found.desired_resources.keys() == whole.desired_resources.keys() & part.names
    for name, desired in whole.desired_resources.items():
        if name in part.names:
            assert found.desired_resources[name] == desired
            assert desired.requires & whole.desired_resources.keys() <= part.names
        else:
            assert before.desired_resources[name] == desired
        if name not in changing:
            earlier = before.desired_resources[name]
            assert earlier.definition_hash == desired.definition_hash
            assert not desired.referenced_names & changing
    for name in changing & before.desired_resources.keys():
        earlier = before.desired_resources[name].requires
        assert earlier & whole.desired_resources.keys() <= part.names
    others = len(whole.desired_resources.keys() - part.names)
    assert part.admits_others(others)
