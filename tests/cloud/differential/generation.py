"""Stories made from a seed: templates, their updates, actions and bad requests."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from typing import Any

from tests.cloud.differential.story import Story, StoryStep

Json = Any
VERSION = "2018-08-31"
_NAMES = ("alpha", "beta", "gamma", "delta", "epsilon")
_MOST_STEPS = 5
# What a failing update removes is gone before it fails, in both services.
_FAILURE_DELAY_S = 8
_ATTRIBUTES = {
    "OS::Heat::Value": "value",
    "OS::Heat::TestResource": "output",
    "OS::Heat::ResourceGroup": "refs_map",
    "OS::Heat::RandomString": "show",
}


def generate_stories(seed: int, count: int) -> list[Story]:
    """Return stories that depend on nothing but seed and number."""
    return [_StoryMaker(random.Random(f"{seed}-{number}")).make(f"generated {seed} {number}")
            for number in range(count)]  # fmt: skip


class _StoryMaker:
    def __init__(self, generator: random.Random) -> None:
        self._random = generator
        self._is_suspended = False

    def make(self, name: str) -> Story:
        """Return a story: a create, some steps, a delete."""
        template = self._template()
        steps = [StoryStep("create", self._body(template))]
        for _ in range(self._random.randint(2, _MOST_STEPS)):
            template, step = self._next(template)
            steps.append(step)
        return Story(name, [*steps, StoryStep("delete")])

    def _body(self, template: Json) -> Json:
        body: dict[str, Json] = {"template": _with_failure_last(template), "timeout_mins": 5}
        if self._random.random() < 0.3:
            body["disable_rollback"] = False
        if self._random.random() < 0.5:
            body["parameters"] = {"size": self._random.randint(1, 4)}
        if self._random.random() < 0.2:
            body["tags"] = self._random.choice(["one", "one,two"])
        return body

    def _next(self, template: Json) -> tuple[Json, StoryStep]:
        roll = self._random.random()
        if roll < 0.5:
            changed = self._changed(template)
            verb = "update" if self._random.random() < 0.7 else "patch"
            return changed, StoryStep(verb, self._body(changed))
        if roll < 0.6:
            changed = _with_failure_last(self._changed(template))
            return template, StoryStep("preview update", {"template": changed})
        if roll < 0.75:
            return template, StoryStep(self._action())
        if roll < 0.85:
            name = self._random.choice([*template["resources"], "nowhere"])
            return template, StoryStep("mark unhealthy", {"resource": name, "reason": "by hand"})
        if roll < 0.93:
            return template, StoryStep(
                "signal", {"resource": self._random.choice(_NAMES), "data": {}}
            )
        return template, StoryStep(*self._bad_update(template))

    def _action(self) -> str:
        """Return an action that Heat accepts: a resume follows a suspend."""
        action = "resume" if self._is_suspended else self._random.choice(("suspend", "check"))
        self._is_suspended = action == "suspend"
        return action

    def _template(self) -> Json:
        template: dict[str, Json] = {
            "heat_template_version": VERSION,
            "parameters": {"size": {"type": "number", "default": 2}},
            "resources": {}, "outputs": {},
        }  # fmt: skip
        for name in self._random.sample(_NAMES, self._random.randint(1, 4)):
            self._add(template, name)
        return template

    def _add(self, template: Json, name: str) -> None:
        makers: list[Callable[[list[str]], Json]] = [
            self._value, self._test_resource, self._group, self._random_string,
            self._test_resource,
        ]  # fmt: skip
        earlier = list(template["resources"])
        resource = self._random.choice(makers)(earlier)
        _fail_once(template, name, resource)
        if earlier and self._random.random() < 0.3:
            resource["depends_on"] = self._random.choice(earlier)
        template["resources"][name] = resource
        if self._random.random() < 0.6:
            attribute = _ATTRIBUTES[resource["type"]]
            template["outputs"][f"{name}_out"] = {"value": {"get_attr": [name, attribute]}}

    def _input(self, earlier: list[str]) -> Json:
        replaced = {"str_replace": {"template": "v-x", "params": {"x": "y"}}}
        choices: list[Json] = ["plain", "other", {"get_param": "size"}, replaced]
        if earlier:
            choices.append({"get_resource": self._random.choice(earlier)})
        return self._random.choice(choices)

    def _value(self, earlier: list[str]) -> Json:
        return {"type": "OS::Heat::Value", "properties": {"value": self._input(earlier)}}

    def _test_resource(self, earlier: list[str]) -> Json:
        properties: dict[str, Json] = {"value": self._input(earlier)}
        if self._random.random() < 0.3:
            properties["update_replace"] = True
        if self._random.random() < 0.15:
            properties["fail"] = True
        if self._random.random() < 0.2:
            properties["wait_secs"] = 1
        if "fail" in properties:
            properties["wait_secs"] = _FAILURE_DELAY_S
        return {"type": "OS::Heat::TestResource", "properties": properties}

    def _group(self, _earlier: list[str]) -> Json:
        member = {"type": "OS::Heat::TestResource", "properties": {"value": "m-%index%"}}
        return {"type": "OS::Heat::ResourceGroup", "properties": {
            "count": self._random.choice([0, 1, {"get_param": "size"}]),
            "resource_def": member}}  # fmt: skip

    def _random_string(self, _earlier: list[str]) -> Json:
        return {"type": "OS::Heat::RandomString",
                "properties": {"length": self._random.choice([9, 16])}}  # fmt: skip

    def _changed(self, template: Json) -> Json:
        changed = copy.deepcopy(template)
        missing = [name for name in _NAMES if name not in changed["resources"]]
        roll = self._random.random()
        if roll < 0.3 and missing:
            self._add(changed, self._random.choice(missing))
        elif roll < 0.5 and len(changed["resources"]) > 1:
            self._remove(changed, self._random.choice(list(changed["resources"])))
        else:
            name = self._random.choice(list(changed["resources"]))
            earlier = list(changed["resources"])[: list(changed["resources"]).index(name)]
            outputs = changed["outputs"]
            outputs.pop(f"{name}_out", None)
            resource = changed["resources"][name]
            make = {"OS::Heat::Value": self._value, "OS::Heat::ResourceGroup": self._group,
                    "OS::Heat::RandomString": self._random_string,
                    "OS::Heat::TestResource": self._test_resource}[resource["type"]]  # fmt: skip
            resource["properties"] = make(earlier)["properties"]
            _fail_once(changed, name, resource)
        return changed

    @staticmethod
    def _remove(template: Json, name: str) -> None:
        """Remove a resource and everything that refers to it."""
        template["outputs"].pop(f"{name}_out", None)
        del template["resources"][name]
        for other, resource in list(template["resources"].items()):
            value = resource["properties"].get("value")
            if resource.get("depends_on") == name or value == {"get_resource": name}:
                _StoryMaker._remove(template, other)

    def _bad_update(self, template: Json) -> tuple[str, Json]:
        bad = copy.deepcopy(template)
        name = self._random.choice(list(bad["resources"]))
        mistakes: list[Callable[[], Json]] = [
            lambda: bad["resources"][name].update(type="OS::No::Type"),
            lambda: bad["resources"][name]["properties"].update(surplus=1),
            lambda: bad["resources"][name].update(depends_on="nowhere"),
            lambda: bad["resources"][name].update(colour="red"),
            lambda: bad["outputs"].update(broken={}),
            lambda: bad.update(heat_template_version="1999-01-01"),
            lambda: bad.update(surplus={}),
        ]
        self._random.choice(mistakes)()
        return "update", {"template": bad}


def _with_failure_last(template: Json) -> Json:
    """Return a template whose failing resource comes after all that does not wait for it.

    Otherwise it is chance what a service has begun when it fails.
    """
    resources = template["resources"]
    failing = [name for name, each in resources.items() if "fail" in each["properties"]]
    if not failing:
        return template
    waiting = set(failing)
    while more := {name for name in resources.keys() - waiting
                   if waiting & _dependencies(resources[name])}:  # fmt: skip
        waiting |= more
    earlier = [name for name in resources if name not in waiting]
    changed = copy.deepcopy(template)
    if earlier:
        changed["resources"][failing[0]]["depends_on"] = earlier
    return changed


def _dependencies(resource: Json) -> set[str]:
    """Return the names of the resources that one waits for."""
    value = resource["properties"].get("value")
    reference = value.get("get_resource") if isinstance(value, dict) else None
    return {name for name in (resource.get("depends_on"), reference) if name}


def _fail_once(template: Json, name: str, resource: Json) -> None:
    """Leave one failing resource in a template: which of two is the first one is chance."""
    others = [each for other, each in template["resources"].items() if other != name]
    properties = resource["properties"]
    if any("fail" in each["properties"] for each in others) and properties.pop("fail", None):
        del properties["wait_secs"]  # it would end with the failing one, or after it
