"""Templates, environments and files made by a grammar of the template language.

What it makes is mostly valid, since a template that is refused at once reaches little code;
now and then a value is odd or of another type.  Read by the fuzzed requests and by the tests
of templates.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import Any

from heat_convergence.template.parsing.template_versions import HOT_KEY, TEMPLATE_VERSIONS
from tests.fuzz import resource_grammar
from tests.fuzz.expression_grammar import make_expression
from tests.fuzz.json_mutations import odd_value

Json = Any
_NEWEST = TEMPLATE_VERSIONS["heat_template_version.2021-04-16"]
_CHILD_VERSION = TEMPLATE_VERSIONS["heat_template_version.2018-08-31"]
_MAX_DEPTH = 4
_ODD = 0.004  # of all nodes
_OTHER_TYPE = 0.01
_TEXTS = ("a", "b", "a,b", "%x%", "$x", "ab$x", "é", "1", "x" * 40)
_KEYS = ("a", "b", "k", "$x", "%x%")
HOT_PARAMETERS: dict[str, Json] = {
    "s": {"type": "string", "default": "a,b", "constraints": [{"length": {"min": 1, "max": 64}}]},
    "n": {"type": "number", "default": 2, "constraints": [{"range": {"min": -5, "max": 99}}]},
    "l": {"type": "comma_delimited_list", "default": "a,b,c"},
    "j": {"type": "json", "default": {"a": [1, {"b": 2}], "k": "v"}, "hidden": True},
    "b": {"type": "boolean", "default": True},
    "p": {"type": "string", "default": "ab", "constraints": [{"allowed_pattern": "[a-z]*"}]},
}
_CFN_PARAMETERS: dict[str, Json] = {
    "s": {"Type": "String", "Default": "a,b", "MinLength": 1, "MaxLength": "64"},
    "n": {"Type": "Number", "Default": 2, "MinValue": -5, "MaxValue": "99"},
    "l": {"Type": "CommaDelimitedList", "Default": "a,b,c"},
    "j": {"Type": "Json", "Default": '{"a": [1, {"b": 2}], "k": "v"}', "NoEcho": True},
    "b": {"Type": "Boolean", "Default": True},
    "p": {"Type": "String", "Default": "ab", "AllowedPattern": "[a-z]*"},
}


class TemplateGrammar:
    """Generator of the parts of one request: template, environment, files and parameters."""

    def __init__(self, random: Random, version: Any = None) -> None:
        self.random = random
        self.pick = random.choice
        newest = random.random() < 0.5  # it has the most functions
        any_version = random.choice(tuple(TEMPLATE_VERSIONS.values()))
        self._version = version or (_NEWEST if newest else any_version)
        self._is_hot = self._version.key == HOT_KEY
        self._names = [f"r{number}" for number in range(random.randint(1, 5))]
        self._types = {name: random.choice(resource_grammar.CHOSEN_TYPES) for name in self._names}
        self._referable = self._names  # what the part that is being made may refer to

    def request(self) -> dict[str, Json]:
        """Return the fields of a request that creates or validates a stack."""
        child = TemplateGrammar(self.random, _CHILD_VERSION).template()
        fields: dict[str, Json] = {
            "template": self._as_text_or_map(self.template()),
            "files": {
                resource_grammar.CHILD: json.dumps(child),
                "f": "a text",
                "data.json": '{"a": 1}',
            },
            "environment": self._as_text_or_map(self.environment()),
        }
        if self.random.random() < 0.4:
            fields["parameters"] = self._parameter_values()
        return fields

    def template(self) -> Json:
        """Return a template of this generator's version."""
        version = self._version
        sections = self._hot() if self._is_hot else self._cfn()
        known = {version.key: version.date, **sections}
        return {name: value for name, value in known.items() if name in version.sections}

    def environment(self) -> Json:
        """Return an environment for the template."""
        hooks: Json = {"hooks": self.rarely("pre-create", ["pre-update", "pre-delete"], odd="x")}
        registry = {
            "My::Type": self.pick((resource_grammar.CHILD, "OS::Heat::Value", "OS::Heat::None")),
            "Your::*": self.rarely("OS::Heat::*", odd="Your::*"),
            "resources": {
                self.pick(self._names): self.pick(
                    (
                        hooks,
                        {"restricted_actions": ["replace", "update"]},
                        {"My::B": "OS::Heat::None"},
                    )
                )
            },
        }
        sections: dict[str, Json] = {
            "parameters": self._parameter_values(),
            "parameter_defaults": {"s": self.pick(_TEXTS), "absent": 1},
            "event_sinks": self.rarely([], odd=[{"type": "zaqar-queue", "target": "q"}]),
            "encrypted_param_names": self.rarely([], ["s"], odd=["absent"]),
            "parameter_merge_strategies": self.rarely({}, {"l": "merge"}, odd={"default": "x"}),
        }
        chosen = {name: value for name, value in sections.items() if self.random.random() < 0.4}
        return {"resource_registry": registry, **chosen}

    def _parameter_values(self) -> Json:
        values: dict[str, Json] = {
            "s": self.rarely("a", "x,y", 5, odd=""),
            "n": self.rarely(1, "2", "1.5", odd=100),
            "l": self.rarely("a,b", ["a", 1], [], odd={}),
            "j": self.rarely({"a": 1}, '{"a": [1]}', [1, 2], odd="{"),
            "b": self.rarely(True, "no", 1, odd="x"),
        }
        if self.random.random() < _OTHER_TYPE:
            values["absent"] = 1
        return {name: value for name, value in values.items() if self.random.random() < 0.3}

    # -- sections

    def _hot(self) -> dict[str, Json]:
        return {
            "description": self.pick(_TEXTS),
            "parameters": HOT_PARAMETERS,
            "parameter_groups": [{"label": "g", "parameters": ["s", "n"]}],
            "conditions": self._conditions(),
            "resources": {name: self._resource(name, self._hot_resource) for name in self._names},
            "outputs": {name: {"value": self.value(0), "description": "d"} for name in ("o", "q")},
        }

    def _cfn(self) -> dict[str, Json]:
        return {
            "Description": self.pick(_TEXTS),
            "Parameters": _CFN_PARAMETERS,
            "Mappings": {"m": {"a": {"k": "v", "l": ["x"]}, "a,b": {"k": 1}}},
            "Conditions": self._conditions(),
            "Resources": {name: self._resource(name, self._cfn_resource) for name in self._names},
            "Outputs": {name: {"Value": self.value(0)} for name in ("o", "q")},
        }

    def _conditions(self) -> dict[str, Json]:
        return {"c": self._condition(named=()), "d": self._condition(named=("c",))}

    def _resource(self, name: str, make: Callable[[str, list[str]], Json]) -> Json:
        """Make a resource that refers to earlier ones, and to any in one case of 50."""
        earlier = [other for other in self._names if other < name]
        self._referable = self._names if self.random.random() < 0.02 else earlier
        made = make(self._types[name], earlier)
        self._referable = self._names
        return made

    def _cfn_resource(self, resource_type: str, earlier: list[str]) -> Json:
        options: dict[str, Json] = {
            "Metadata": {"m": 1},
            "Condition": "c",
            "DeletionPolicy": "Retain",
            "DependsOn": earlier,
        }
        made = {
            "Type": resource_type,
            "Properties": resource_grammar.properties(resource_type, self),
        }
        return made | self._some(options)

    def _hot_resource(self, resource_type: str, earlier: list[str]) -> Json:
        options: dict[str, Json] = {
            "metadata": {"m": self.value(3)},
            "depends_on": earlier,
            "deletion_policy": self.pick(("Retain", "delete", "Snapshot", "Delete")),
            "condition": self.pick(("c", "d", True, self._condition())),
            "description": "d",
        }
        made = {
            "type": resource_type,
            "properties": resource_grammar.properties(resource_type, self),
        }
        return made | self._some(options)

    def _some(self, options: dict[str, Json]) -> dict[str, Json]:
        known = self._version.resource_keys
        return {
            name: value
            for name, value in options.items()
            if name in known and self.random.random() < 0.12
        }

    # -- values

    def value(self, depth: int) -> Json:
        """Return a value of any type."""
        made = self.pick((self.text, self.text, self.list, self.map, self._scalar, self.any))
        return made(depth)

    def text(self, depth: int) -> Json:
        """Return a text, a parameter that is one or a call that gives one."""
        return self._typed("text", depth, lambda: self.pick((self.parameter("s"), *_TEXTS)))

    def list(self, depth: int) -> Json:
        """Return a list or a call that gives one."""
        return self._typed("list", depth, lambda: self._plain_list(depth))

    def map(self, depth: int) -> Json:
        """Return a map or a call that gives one."""
        return self._typed("map", depth, lambda: self._plain_map(depth))

    def any(self, depth: int) -> Json:
        """Return a reference or a call whose type is not known."""
        return self._typed("any", depth, self._reference)

    def rarely(self, *usual: Json, odd: Json) -> Json:
        """Return one of the usual values, and the odd one in one case of a hundred."""
        return odd if self.random.random() < _OTHER_TYPE else self.pick(usual)

    def _typed(self, result: str, depth: int, plain: Callable[[], Json]) -> Json:
        if self.random.random() < _ODD:
            return odd_value(self.random)
        if self.random.random() < _OTHER_TYPE:
            return self.pick((self._scalar, self._plain_list, self._plain_map))(depth)
        calls = [name for name in CALLS[result] if name in self._version.functions]
        if depth >= _MAX_DEPTH or not calls or self.random.random() < 0.4:
            return plain()
        name = self.pick(calls)
        return {name: CALLS[result][name](self, depth + 1)}

    def _scalar(self, _depth: int) -> Json:
        return self.pick((None, True, False, 0, 1, -1, 3.5, 2**40, "", self.parameter("n")))

    def _plain_list(self, depth: int) -> Json:
        if self.random.random() < 0.2:
            return self.parameter("l")
        return [self.text(depth + 1) for _ in range(self.random.randint(0, 3))]

    def _plain_map(self, depth: int) -> Json:
        if self.random.random() < 0.2:
            return self.parameter("j")
        keys = self.random.sample(_KEYS, self.random.randint(0, 3))
        return {key: self.value(depth + 1) for key in keys}

    def parameter(self, name: str) -> Json:
        """Return a reference to a parameter."""
        return {"get_param": name} if self._is_hot else {"Ref": name}

    def _reference(self) -> Json:
        named = self.name()
        if named is None or self.random.random() < 0.3:
            return self.parameter(self.pick(tuple(HOT_PARAMETERS)))
        attribute = self.attribute(named)
        if not self._is_hot:
            return self.pick(({"Ref": "AWS::StackName"}, {"Ref": named},
                              {"Fn::GetAtt": [named, attribute]}))  # fmt: skip
        return self.pick((
            {"get_param": self.pick(("OS::stack_name", "OS::project_id", ["j", "a", 1, "b"]))},
            {"get_param": ["j", "a", self.pick(("b", -1, 10**6))]},
            {"get_attr": [named, attribute, *self.pick(([], [0], ["a", "b"], ["k"]))]},
            {"get_attr": [named, attribute]},
            {"get_resource": named},
            {"get_file": self.rarely("f", resource_grammar.CHILD, odd="absent")},
        ))  # fmt: skip

    def name(self) -> str | None:
        """Return a resource that may be referred to here; None if there is none."""
        return self.random.choice(self._referable) if self._referable else None

    def attribute(self, resource: str) -> str:
        """Return an attribute of the resource."""
        return self.pick(resource_grammar.ATTRIBUTES.get(self._types[resource], ("show",)))

    def _condition(self, depth: int = 0, named: tuple[str, ...] = ("c", "d")) -> Json:
        functions = tuple(name for name in CONDITIONS if name in self._version.condition_functions)
        if depth > 2 or not functions or self.random.random() < 0.2:
            return self.pick((*named, True, False) if depth else (True, False))
        name = self.pick(functions)
        match CONDITIONS[name]:
            case "many":
                inner: Json = [self._condition(depth + 1, named) for _ in range(self.pick((2, 3)))]
            case "one":
                inner = self._condition(depth + 1, named)
                inner = inner if name == "not" else [inner]
            case _:
                inner = [self.parameter(self.pick("snb")), self._scalar(0)]
        return {name: inner}

    def _as_text_or_map(self, document: Json) -> Json:
        return json.dumps(document) if self.random.random() < 0.2 else document

    # -- arguments of calls

    def _repeat(self, depth: int) -> Json:
        names = self.random.sample(("%x%", "$y", "a"), self.random.randint(1, 2))
        loop = {"template": self.value(depth), "for_each": {n: self.list(depth) for n in names}}
        return loop | ({"permutations": self.pick((True, False))} if self.pick((0, 0, 1)) else {})

    def _replace(self, depth: int) -> Json:
        params = {"$x": self.text(depth), "%x%": self._scalar(depth)}
        return {
            "template": self.rarely("a$x%x%", odd=self.text(depth)),
            "params": self.rarely(params, odd=self.map(depth)),
        }

    def choice(self, depth: int) -> Json:
        """Return the arguments of ``if``."""
        values = [self.value(depth) for _ in range(self.rarely(2, odd=1))]
        return [self.pick(("c", "d", self._condition())), *values]

    def _url(self, depth: int) -> Json:
        return {"scheme": "http", "host": self.rarely("h", "::1", odd=self.text(depth)),
                "port": self.rarely(80, odd="99999"), "query": self._plain_map(_MAX_DEPTH),
                "path": self.rarely("/a", odd=self.text(depth))}  # fmt: skip

    def _yaql(self, depth: int) -> Json:
        usual = ("$.data", "$.data.keys()", "$.data.len()", "[$.data, 1]")
        made = self.rarely(*usual, odd="sequence().len()")
        expression = make_expression(self.random) if self.random.random() < 0.15 else made
        return {"expression": expression, "data": self.map(depth)}


def _with_name(make: Callable[[TemplateGrammar, str], Json]) -> Callable[..., Json]:
    """Return a maker of arguments that name a resource, if there is one."""

    def arguments(grammar: TemplateGrammar, _depth: int) -> Json:
        name = grammar.name()
        return "s" if name is None else make(grammar, name)

    return arguments


def _lists(grammar: TemplateGrammar, depth: int) -> Json:
    return [grammar.list(depth) for _ in range(grammar.pick((2, 3)))]


def _get_attribute(grammar: TemplateGrammar, depth: int) -> Json:
    name = grammar.name()
    return ["absent", "x"] if name is None else [name, grammar.attribute(name)]


_TEXT_CALLS: dict[str, Any] = {
    "list_join": lambda g, d: [g.pick((",", "")), g.list(d)],
    "Fn::Join": lambda g, d: [g.pick((",", "")), g.list(d)],
    "str_replace": TemplateGrammar._replace,
    "str_replace_strict": TemplateGrammar._replace,
    "str_replace_vstrict": TemplateGrammar._replace,
    "digest": lambda g, d: [g.rarely("md5", "sha512", odd="shake_128"), g.text(d)],
    "make_url": TemplateGrammar._url,
    "Fn::Base64": lambda g, d: g.text(d),
    "Fn::Replace": lambda g, d: [g.map(d), g.text(d)],
    "Fn::FindInMap": lambda g, _d: ["m", g.pick(("a", {"Ref": "s"})), "k"],
    "if": TemplateGrammar.choice,
}
_LIST_CALLS: dict[str, Any] = {
    "repeat": TemplateGrammar._repeat,
    "list_concat": _lists,
    "list_concat_unique": _lists,
    "filter": lambda g, d: [g.list(d), g.list(d)],
    "str_split": lambda g, d: [",", g.text(d)],
    "Fn::Split": lambda g, d: [",", g.text(d)],
    "Fn::GetAZs": lambda g, _d: g.rarely("", odd="x"),
}
_MAP_CALLS: dict[str, Any] = {
    "map_merge": lambda g, d: [g.map(d) for _ in range(g.pick((1, 2, 3)))],
    "map_replace": lambda g, d: [g.map(d), {"keys": {"a": "z"}, "values": {"b": g.value(d)}}],
    "Fn::MemberListToMap": lambda g, _d: [
        "Name", "Value", [".member.0.Name=a", g.rarely(".member.0.Value=b", odd=".member")],
    ],
}  # fmt: skip
_ANY_CALLS: dict[str, Any] = {
    "yaql": TemplateGrammar._yaql,
    "if": TemplateGrammar.choice,
    "Fn::If": TemplateGrammar.choice,
    "contains": lambda g, d: [g.text(d), g.list(d)],
    "str_split": lambda g, d: [",", g.text(d), g.rarely(0, "0", odd=99)],
    "Fn::Select": lambda g, d: [g.pick((0, "1", -1)), g.list(d)],
    "resource_facade": lambda g, _d: g.rarely("metadata", "deletion_policy", odd="x"),
    "Fn::ResourceFacade": lambda g, _d: g.rarely("Metadata", odd="x"),
    "get_resource": _with_name(lambda _g, name: name),
    "get_attr": _get_attribute,
}
CALLS = {"text": _TEXT_CALLS, "list": _LIST_CALLS, "map": _MAP_CALLS, "any": _ANY_CALLS}
CONDITIONS = {
    "and": "many", "or": "many", "Fn::And": "many", "Fn::Or": "many", "not": "one",
    "Fn::Not": "one", "equals": "two", "Fn::Equals": "two",
}  # fmt: skip
