"""The tables of heat-facts ``validation.md`` as data: what is sent, what comes back.

Each row is (name, template or body, error type, a piece of the message).  Rows
that need a cloud, nested stacks or another issue's work are listed at the end of
the test module with their reason.
"""

from __future__ import annotations

from typing import Any

Json = Any
Row = tuple[str, Json, str, str]

SVF = "StackValidationFailed"
V = "2016-10-14"


def hot(version: str = V, **sections: Json) -> dict[str, Json]:
    return {"heat_template_version": version, **sections}


def one(definition: Json, version: str = V, **sections: Json) -> dict[str, Json]:
    """A template with the resource ``r``."""
    return hot(version, resources={"r": definition}, **sections)


def value(of: Json, **keys: Json) -> dict[str, Json]:
    return {"type": "OS::Heat::Value", "properties": {"value": of}, **keys}


def parameter(declared: Json, version: str = V) -> dict[str, Json]:
    return hot(version, parameters={"p": declared})


RANDOM = "OS::Heat::RandomString"

# -- the request: the whole body ----------------------------------------------

REQUEST: list[Row] = [
    ("no template", {}, "HTTPBadRequest", "No template"),
    ("template is a list in text", {"template": "[1]"}, "HTTPBadRequest", "map"),
    ("template is a word", {"template": "word"}, "HTTPBadRequest", "map"),
    ("no version key", {"template": {"resources": {}}}, "HTTPBadRequest", "version"),
    ("not YAML", {"template": "a: [b"}, "HTTPBadRequest", "pars"),
    ("template_url scheme", {"template_url": "file:///etc/hosts"}, "HTTPBadRequest", "http"),
    ("template_url inside", {"template_url": "http://127.0.0.1:1/t"}, "HTTPBadRequest", "public"),
    ("environment is a list", {"template": hot(), "environment": "[1]"}, "HTTPBadRequest",
     "map"),
    ("environment unknown section", {"template": hot(), "environment": {"colours": {}}},
     "HTTPBadRequest", "colours"),
    ("environment null section", {"template": hot(), "environment": {"parameters": None}},
     "HTTPBadRequest", "parameters"),
    ("timeout_mins no number", {"template": hot(), "timeout_mins": "x"}, "HTTPBadRequest",
     "timeout_mins"),
    ("timeout_mins negative", {"template": hot(), "timeout_mins": -1}, "HTTPBadRequest",
     "timeout_mins"),
    ("disable_rollback no boolean", {"template": hot(), "disable_rollback": "x"}, "ValueError",
     "disable_rollback"),
    ("converge in create", {"template": hot(), "converge": True}, "HTTPBadRequest", "converge"),
    ("tags as a list", {"template": hot(), "tags": ["a"]}, "AttributeError", "tags"),
    ("a long tag", {"template": hot(), "tags": "x" * 81}, "HTTPBadRequest", "80"),
    ("adopt disabled", {"template": hot(), "adopt_stack_data": "{}"}, "NotSupported", "dopt"),
    ("files not a map", {"template": hot(), "files": ["a"]}, "ValueError", "files"),
    ("environment_files missing", {"template": hot(), "environment_files": ["e"]}, "KeyError",
     "e"),
    ("environment_files bad content",
     {"template": hot(), "environment_files": ["e"], "files": {"e": "[1]"}}, "ValueError", "e"),
    ("template too large", {"template": "#" * 524_289}, "RequestLimitExceeded", "524288"),
    ("template of aliases",
     {"template": "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
                  + "".join(f"{c}: &{c} [{','.join(['*' + p] * 10)}]\n"
                            for p, c in zip("abcdefgh", "bcdefghi", strict=True))},
     "RequestLimitExceeded", "template"),
    ("template too deep", {"template": "{a: " * 200 + "1" + "}" * 200},
     "RequestLimitExceeded", "template"),
    ("a date for a version", {"template": "heat_template_version: [2016]"},
     "InvalidTemplateVersion", "version"),
]

# -- the template -------------------------------------------------------------

TEMPLATE: list[Row] = [
    ("unknown version", hot("2016-10-15"), "InvalidTemplateVersion", "2016-10-15"),
    ("unknown alias", hot("pumpkin"), "InvalidTemplateVersion", "pumpkin"),
    ("version not a string", {"heat_template_version": 20161014}, "InvalidTemplateVersion",
     "20161014"),
    ("two version keys", {**hot(), "AWSTemplateFormatVersion": "2010-09-09"},
     "InvalidTemplateVersion", "mbiguous"),
    ("unknown section", hot(colours={}), SVF, "colours"),
    ("section newer than the version", hot("2016-04-08", conditions={}), SVF, "conditions"),
    ("resources a list", hot(resources=[]), SVF, "resources"),
    ("resources of no maps", one("x"), SVF, "resources.r"),
    ("missing type", one({"properties": {}}), SVF, "resources.r"),
    ("empty type", one({"type": ""}), SVF, "resources.r"),
    ("unknown key of a resource", one(value(1, colour="blue")), SVF, "colour"),
    ("output without value", hot(outputs={"o": {}}), SVF, "outputs.o"),
    ("output not a map", hot(outputs={"o": 5}), SVF, "outputs.o"),
    ("unknown type", one({"type": "OS::Heat::Nothing"}), SVF, "OS::Heat::Nothing"),
    ("depends_on nothing", one(value(1, depends_on="x")), "InvalidTemplateReference", '"x"'),
    ("get_resource of nothing", one(value({"get_resource": "x"})), "InvalidTemplateReference",
     '"x"'),
    ("output of an unknown resource",
     hot(outputs={"o": {"value": {"get_attr": ["x", "value"]}}}), SVF, "outputs.o"),
    ("output of an unknown attribute",
     one(value(1), outputs={"o": {"value": {"get_attr": ["r", "colour"]}}}), SVF, "outputs.o"),
    ("circular dependency",
     hot(resources={"a": value(1, depends_on="b"), "b": value(1, depends_on="a")}),
     "CircularDependencyException", "a"),
    ("self dependency", one(value(1, depends_on="r")), "CircularDependencyException", "r"),
    ("removed function", one(value({"Fn::GetAZs": ""}), "2015-04-30"), SVF, "Fn::GetAZs"),
    ("wrong function arguments", one(value({"list_join": 5})), SVF, "list_join"),
    ("unknown parameter in a property", one(value({"get_param": "x"})), SVF, "resources.r"),
    ("undefined condition", one(value(1, condition="x")), SVF, '"x"'),
    ("circular condition",
     hot(conditions={"a": {"not": "b"}, "b": {"not": "a"}}), SVF, "ircular"),
    ("condition that is none", hot(conditions={"a": {"get_file": "x"}}), SVF, "conditions.a"),
    ("external_id with depends_on",
     hot(resources={"a": value(1), "r": value(1, external_id="x", depends_on="a")}),
     "InvalidExternalResourceDependency", "r"),
    ("deletion policy unknown", one(value(1, deletion_policy="Burn")), SVF, "Burn"),
    ("deletion policy lower case", one(value(1, deletion_policy="retain"), "2016-04-08"), SVF,
     "retain"),
    ("deletion policy snapshot", one(value(1, deletion_policy="Snapshot")), SVF, "napshot"),
    ("unknown update_policy key", one(value(1, update_policy={"x": 1})), SVF, "update_policy"),
    ("parameter group of nothing", hot(parameter_groups=[{"parameters": ["x"]}]), SVF, "x"),
    ("resource name with a slash", hot(resources={"a/b": value(1)}), SVF, "a/b"),
    ("parameter named as a resource",
     one(value(1), parameters={"r": {"type": "string", "default": ""}}), SVF, "of a resource"),
]

# -- parameters ---------------------------------------------------------------

PARAMETERS: list[Row] = [
    ("required and missing", {"template": parameter({"type": "string"})}, "UserParameterMissing",
     "p"),
    ("not declared", {"template": hot(), "parameters": {"x": 1}}, "UnknownUserParameter", "x"),
    ("constraint failing",
     {"template": parameter({"type": "string", "constraints": [{"length": {"max": 2}}]}),
      "parameters": {"p": "long"}}, SVF, "p"),
    ("bad number", {"template": parameter({"type": "number"}), "parameters": {"p": "x"}}, SVF,
     "p"),
    ("bad boolean", {"template": parameter({"type": "boolean"}), "parameters": {"p": "x"}}, SVF,
     "p"),
    ("bad json", {"template": parameter({"type": "json"}), "parameters": {"p": "x"}}, SVF, "p"),
    ("unknown type of parameter", {"template": parameter({"type": "colour"})},
     "InvalidSchemaError", "colour"),
    ("missing type of parameter", {"template": parameter({})}, "InvalidSchemaError", "p"),
    ("unknown key of parameter", {"template": parameter({"type": "string", "x": 1})},
     "InvalidSchemaError", "x"),
    ("bad constraint",
     {"template": parameter({"type": "string", "constraints": [{"x": 1}]})},
     "InvalidSchemaError", "x"),
    ("invalid default", {"template": parameter({"type": "number", "default": "x"})},
     "InvalidSchemaError", "x"),
    ("modulo too early",
     {"template": parameter({"type": "number", "default": 2,
                             "constraints": [{"modulo": {"step": 2, "offset": 0}}]})},
     "InvalidSchemaError", "modulo"),
    ("tags too early", {"template": parameter({"type": "string", "tags": ["a"]})},
     "InvalidSchemaError", "tags"),
    ("custom constraint unknown",
     {"template": parameter({"type": "string", "constraints": [{"custom_constraint": "x"}]}),
      "parameters": {"p": "v"}}, SVF, "x"),
]

# -- properties ---------------------------------------------------------------

PROPERTIES: list[Row] = [
    ("unknown property", one({"type": RANDOM, "properties": {"x": 1}}), SVF,
     "resources.r.properties"),
    ("required missing", one({"type": "OS::Heat::Value"}), SVF, "value"),
    ("wrong type", one({"type": RANDOM, "properties": {"length": "x"}}), SVF,
     "resources.r.properties.length"),
    ("constraint failing", one({"type": RANDOM, "properties": {"length": 0}}), SVF,
     "resources.r.properties.length"),
    ("integer with a fraction in text", one({"type": RANDOM, "properties": {"length": "10.7"}}),
     SVF, "length"),
    ("boolean from a number",
     one({"type": "OS::Heat::TestResource", "properties": {"fail": 1}}), SVF, "fail"),
    ("string from a list", one({"type": RANDOM, "properties": {"salt": ["a"]}}), SVF, "salt"),
    ("list from a string", one({"type": RANDOM, "properties": {"character_classes": "a"}}), SVF,
     "character_classes"),
]

# -- names --------------------------------------------------------------------

NAMES: list[Row] = [
    ("begins with a digit", "1a", SVF, "1a"),
    ("has a slash", "a/b", SVF, "a/b"),
    ("too long", "a" * 256, SVF, "255"),
    ("a number", 5, "HTTPBadRequest", "name"),
    ("missing", None, "HTTPBadRequest", "name"),
]

ACCEPTED: list[tuple[str, Json]] = [
    ("unknown key of a CFN resource",
     {"HeatTemplateFormatVersion": "2012-12-12",
      "Resources": {"r": {"Type": "OS::Heat::None", "Colour": "blue"}}}),
    ("unknown key of an output", hot(outputs={"o": {"value": 1, "colour": "blue"}})),
    ("unknown function name", one(value({"no_such": [1]}))),
    ("unknown parameter of an output", hot(outputs={"o": {"value": {"get_param": "x"}}})),
    ("integer from a fraction", one({"type": RANDOM, "properties": {"length": 10.7}})),
    ("boolean from text", one({"type": "OS::Heat::TestResource",
                               "properties": {"fail": "False"}})),
    ("string from an integer", one({"type": RANDOM, "properties": {"salt": 5}})),
    ("empty template", hot()),
]
