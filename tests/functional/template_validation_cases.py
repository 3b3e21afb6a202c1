"""The requests and templates of docs/reference/validation.rst as data."""

from __future__ import annotations

from tests.functional.validation_cases import (
    STACK_VALIDATION_FAILED,
    ValidationCase,
    hot_template,
    template_with_resource,
    value_resource,
)

# -- the request: the whole body ----------------------------------------------

REQUEST: list[ValidationCase] = [
    ("no template", {}, "HTTPBadRequest", "No template"),
    ("template is a list in text", {"template": "[1]"}, "HTTPBadRequest", "map"),
    ("template is a word", {"template": "word"}, "HTTPBadRequest", "map"),
    ("no version key", {"template": {"resources": {}}}, "InvalidTemplateVersion", "version"),
    ("not YAML", {"template": "a: [b"}, "HTTPBadRequest", "pars"),
    ("template_url scheme", {"template_url": "file:///etc/hosts"}, "HTTPBadRequest", "http"),
    ("template_url inside", {"template_url": "http://127.0.0.1:1/t"}, "HTTPBadRequest", "public"),
    (
        "environment is a list",
        {"template": hot_template(), "environment": "[1]"},
        "HTTPBadRequest",
        "map",
    ),
    (
        "environment unknown section",
        {"template": hot_template(), "environment": {"colours": {}}},
        "HTTPBadRequest",
        "colours",
    ),
    (
        "environment null section",
        {"template": hot_template(), "environment": {"parameters": None}},
        "HTTPBadRequest",
        "parameters",
    ),
    (
        "timeout_mins no number",
        {"template": hot_template(), "timeout_mins": "x"},
        "HTTPBadRequest",
        "timeout_mins",
    ),
    (
        "timeout_mins negative",
        {"template": hot_template(), "timeout_mins": -1},
        "HTTPBadRequest",
        "timeout_mins",
    ),
    (
        "disable_rollback no boolean",
        {"template": hot_template(), "disable_rollback": "x"},
        "ValueError",
        "disable_rollback",
    ),
    (
        "converge in create",
        {"template": hot_template(), "converge": True},
        "HTTPBadRequest",
        "converge",
    ),
    ("tags as a list", {"template": hot_template(), "tags": ["a"]}, "AttributeError", "tags"),
    ("a long tag", {"template": hot_template(), "tags": "x" * 81}, "HTTPBadRequest", "80"),
    (
        "adopt disabled",
        {"template": hot_template(), "adopt_stack_data": "{}"},
        "NotSupported",
        "dopt",
    ),
    ("files not a map", {"template": hot_template(), "files": ["a"]}, "ValueError", "files"),
    (
        "environment_files missing",
        {"template": hot_template(), "environment_files": ["e"]},
        "KeyError",
        "e",
    ),
    (
        "environment_files bad content",
        {"template": hot_template(), "environment_files": ["e"], "files": {"e": "[1]"}},
        "ValueError",
        "e",
    ),
    ("template too large", {"template": "#" * 524_289}, "RequestLimitExceeded", "524288"),
    (
        "template of aliases",
        {
            "template": "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
            + "".join(
                f"{c}: &{c} [{','.join(['*' + p] * 10)}]\n"
                for p, c in zip("abcdefgh", "bcdefghi", strict=True)
            )
        },
        "RequestLimitExceeded",
        "template",
    ),
    (
        "template too deep",
        {"template": "{a: " * 200 + "1" + "}" * 200},
        "RequestLimitExceeded",
        "template",
    ),
    (
        "a date for a version",
        {"template": "heat_template_version: [2016]"},
        "InvalidTemplateVersion",
        "version",
    ),
]

# -- the template -------------------------------------------------------------

TEMPLATE: list[ValidationCase] = [
    ("unknown version", hot_template("2016-10-15"), "InvalidTemplateVersion", "2016-10-15"),
    ("unknown alias", hot_template("pumpkin"), "InvalidTemplateVersion", "pumpkin"),
    (
        "version not a string",
        {"heat_template_version": 20161014},
        "InvalidTemplateVersion",
        "20161014",
    ),
    (
        "two version keys",
        {**hot_template(), "AWSTemplateFormatVersion": "2010-09-09"},
        "InvalidTemplateVersion",
        "mbiguous",
    ),
    ("unknown section", hot_template(colours={}), STACK_VALIDATION_FAILED, "colours"),
    (
        "section newer than the version",
        hot_template("2016-04-08", conditions={}),
        STACK_VALIDATION_FAILED,
        "conditions",
    ),
    ("resources a list", hot_template(resources=[]), STACK_VALIDATION_FAILED, "resources"),
    ("resources of no maps", template_with_resource("x"), STACK_VALIDATION_FAILED, "resources.r"),
    (
        "missing type",
        template_with_resource({"properties": {}}),
        STACK_VALIDATION_FAILED,
        "resources.r",
    ),
    ("empty type", template_with_resource({"type": ""}), STACK_VALIDATION_FAILED, "resources.r"),
    (
        "unknown key of a resource",
        template_with_resource(value_resource(1, colour="blue")),
        STACK_VALIDATION_FAILED,
        "colour",
    ),
    (
        "output without value",
        hot_template(outputs={"o": {}}),
        STACK_VALIDATION_FAILED,
        "outputs.o",
    ),
    ("output not a map", hot_template(outputs={"o": 5}), STACK_VALIDATION_FAILED, "outputs.o"),
    (
        "unknown type",
        template_with_resource({"type": "OS::Heat::Nothing"}),
        STACK_VALIDATION_FAILED,
        "OS::Heat::Nothing",
    ),
    (
        "depends_on nothing",
        template_with_resource(value_resource(1, depends_on="x")),
        "InvalidTemplateReference",
        '"x"',
    ),
    (
        "get_resource of nothing",
        template_with_resource(value_resource({"get_resource": "x"})),
        "InvalidTemplateReference",
        '"x"',
    ),
    (
        "output of an unknown resource",
        hot_template(outputs={"o": {"value": {"get_attr": ["x", "value"]}}}),
        STACK_VALIDATION_FAILED,
        "outputs.o",
    ),
    (
        "output of an unknown attribute",
        template_with_resource(
            value_resource(1), outputs={"o": {"value": {"get_attr": ["r", "colour"]}}}
        ),
        STACK_VALIDATION_FAILED,
        "outputs.o",
    ),
    (
        "circular dependency",
        hot_template(
            resources={
                "a": value_resource(1, depends_on="b"),
                "b": value_resource(1, depends_on="a"),
            }
        ),
        "CircularDependencyException",
        "a",
    ),
    (
        "self dependency",
        template_with_resource(value_resource(1, depends_on="r")),
        "CircularDependencyException",
        "r",
    ),
    (
        "removed function",
        template_with_resource(value_resource({"Fn::GetAZs": ""}), "2015-04-30"),
        STACK_VALIDATION_FAILED,
        "Fn::GetAZs",
    ),
    (
        "wrong function arguments",
        template_with_resource(value_resource({"list_join": 5})),
        STACK_VALIDATION_FAILED,
        "list_join",
    ),
    (
        "unknown parameter in a property",
        template_with_resource(value_resource({"get_param": "x"})),
        STACK_VALIDATION_FAILED,
        "resources.r",
    ),
    (
        "undefined condition",
        template_with_resource(value_resource(1, condition="x")),
        STACK_VALIDATION_FAILED,
        '"x"',
    ),
    (
        "circular condition",
        hot_template(conditions={"a": {"not": "b"}, "b": {"not": "a"}}),
        STACK_VALIDATION_FAILED,
        "ircular",
    ),
    (
        "condition that is none",
        hot_template(conditions={"a": {"get_file": "x"}}),
        STACK_VALIDATION_FAILED,
        "conditions.a",
    ),
    (
        "external_id with depends_on",
        hot_template(
            resources={
                "a": value_resource(1),
                "r": value_resource(1, external_id="x", depends_on="a"),
            }
        ),
        "InvalidExternalResourceDependency",
        "r",
    ),
    (
        "deletion policy unknown",
        template_with_resource(value_resource(1, deletion_policy="Burn")),
        STACK_VALIDATION_FAILED,
        "Burn",
    ),
    (
        "deletion policy lower case",
        template_with_resource(value_resource(1, deletion_policy="retain"), "2016-04-08"),
        STACK_VALIDATION_FAILED,
        "retain",
    ),
    (
        "deletion policy snapshot",
        template_with_resource(value_resource(1, deletion_policy="Snapshot")),
        STACK_VALIDATION_FAILED,
        "napshot",
    ),
    (
        "unknown update_policy key",
        template_with_resource(value_resource(1, update_policy={"x": 1})),
        STACK_VALIDATION_FAILED,
        "update_policy",
    ),
    (
        "parameter group of nothing",
        hot_template(parameter_groups=[{"parameters": ["x"]}]),
        STACK_VALIDATION_FAILED,
        "x",
    ),
    (
        "resource name with a slash",
        hot_template(resources={"a/b": value_resource(1)}),
        STACK_VALIDATION_FAILED,
        "a/b",
    ),
    (
        "parameter named as a resource",
        template_with_resource(
            value_resource(1), parameters={"r": {"type": "string", "default": ""}}
        ),
        STACK_VALIDATION_FAILED,
        "of a resource",
    ),
]
