"""Tests of the validation of definitions against their types."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from heat_convergence.common.errors import (
    Error,
    ResourcePropertyConflict,
    ResourceTypeUnavailable,
    StackValidationFailed,
)
from heat_convergence.resources.builtin.delay import Delay
from heat_convergence.resources.builtin.none_resource import NoneResource
from heat_convergence.resources.builtin.random_string import RandomString
from heat_convergence.resources.builtin.test_resource import TestResource
from heat_convergence.resources.builtin.value import Value
from heat_convergence.resources.custom_constraints import CLOUDLESS_CONSTRAINTS
from heat_convergence.resources.protocol.schema import PropertySchema, PropertyType, TypeSchema
from heat_convergence.resources.registry import ResourceTypeRegistry
from heat_convergence.resources.validation import (
    ResourceChecks,
    check_resources,
    validate_template,
)
from heat_convergence.template.diagnostics import Diagnostics
from heat_convergence.template.environment.environment import Environment
from heat_convergence.template.evaluation.evaluation import EvaluatedTemplate, evaluate_template
from heat_convergence.template.evaluation.resource_definition import ResourceDefinition
from heat_convergence.template.expression import Expression
from heat_convergence.template.parameters.constraints import Range
from heat_convergence.template.parameters.parameter_values import StackContext
from heat_convergence.template.parsing.template_versions import CFN_DIALECT, HOT_DIALECT
from heat_convergence.template.template import Template


class ValidatingType(NoneResource):
    name = "OS::Test::Group"
    allows_snapshot_on_delete = True
    schema = TypeSchema(
        properties={"n": PropertySchema(type=PropertyType.ANY)},
        update_policy={
            "rolling_update": PropertySchema(
                type=PropertyType.MAP,
                schema={
                    "max_batch_size": PropertySchema(
                        type=PropertyType.INTEGER, constraints=(Range(min=1),)
                    )
                },
            )
        },
    )

    def validate(self, properties: Mapping[str, Any], timeout_s: float | None) -> None:
        errors: dict[Any, Error] = {
            1: ResourcePropertyConflict("a and b"),
            2: ResourceTypeUnavailable("not there"),
            3: StackValidationFailed("deep", path="n"),
        }
        if error := errors.get(properties.get("n")):
            raise error


REGISTRY = ResourceTypeRegistry.from_types(
    Delay, ValidatingType, NoneResource, RandomString, TestResource, Value
)
TEST = "OS::Heat::TestResource"


def get_attr(*arguments: Any) -> Expression:
    return Expression("get_attr", "attr_optional_name", list(arguments))


def define(name: str, resource_type: str, **fields: Any) -> ResourceDefinition:
    return ResourceDefinition(name=name, type=resource_type, **fields)


def lines(
    *definitions: ResourceDefinition, outputs: Mapping[str, Any] | None = None, **options: Any
) -> list[str]:
    problems = Diagnostics()
    by_name = {definition.name: definition for definition in definitions}
    fields = {
        "registry": REGISTRY,
        "implementation": lambda name: by_name[name].type,
        "dialect": HOT_DIALECT,
        **options,
    }
    check_resources(by_name, outputs or {}, ResourceChecks(**fields), problems)
    try:
        problems.raise_if_any()
    except Error as error:
        return [f"{type(error).__name__}: {line}" for line in str(error).splitlines()]
    return []


def one_line(*definitions: ResourceDefinition, **options: Any) -> str:
    (line,) = lines(*definitions, **options)
    return line


def test_valid_definitions_have_no_mistakes() -> None:
    later = get_attr("v", "value")
    assert (
        lines(
            define("v", "OS::Heat::Value", properties={"value": 1}),
            define("t", TEST, properties={"value": later, "wait_secs": later}),
            define("u", TEST, properties=later),
            define("n", "OS::Heat::None", properties={"x": get_attr("t", "show")}),
            outputs={"o": {"a": [get_attr("n", "anything"), get_attr("t", "output", 0)]}},
        )
        == []
    )


def test_unknown_type_is_reported_with_a_hint() -> None:
    line = one_line(define("r", "OS::Heat::Valu", properties={"x": 1}))
    assert line.startswith(
        "StackValidationFailed: The Resource Type (OS::Heat::Valu) could not be found."
    )
    assert line.endswith('Did you mean "OS::Heat::Value"? (at resources.r.type)')


def test_properties_are_checked_against_the_mapped_type() -> None:
    own = define("r", "My::Own", properties={"value": "x", "type": "number"})
    line = one_line(own, implementation=lambda name: "OS::Heat::Value")
    assert "Property error: : resources.r.properties.value: : " in line


def test_property_mistakes_have_paths() -> None:
    found = lines(
        define("a", TEST, properties={"wait_secs": "long", "valu": 1}),
        define("b", "OS::Heat::Value"),
    )
    assert found[0].startswith(
        "StackValidationFailed: Property error: : resources.a.properties: : Unknown Property valu"
    )
    assert "Property error: : resources.a.properties.wait_secs: : " in found[1]
    assert found[2].endswith(
        "Property error: : resources.b.properties: : Property value not assigned"
    )
    assert len(found) == 3


def test_cfn_paths_use_cfn_section_names() -> None:
    line = one_line(define("a", "OS::Heat::Value"), dialect=CFN_DIALECT)
    assert "Property error: : Resources.a.Properties: : " in line


def test_custom_constraints_are_checked_when_passed() -> None:
    definition = define("a", TEST, properties={"constraint_prop_secs": 3})
    assert lines(definition) == []
    refuse = {"test_constr": lambda value: f"{value} is too slow"}
    line = one_line(definition, custom=refuse)
    assert line.endswith(
        "resources.a.properties.constraint_prop_secs: : Error validating value '3': 3 is too slow"
    )


def test_validate_of_the_type_is_called() -> None:
    slow = define("d", "OS::Heat::Delay", properties={"min_wait": 100})
    assert lines(slow, timeout_s=100) == []
    line = one_line(slow, timeout_s=99)
    assert "Property error: : resources.d.properties: : " in line
    unknown = define("d", "OS::Heat::Delay", properties={"min_wait": get_attr("x", "y")})
    assert lines(unknown, timeout_s=1) == []
    number = define("v", "OS::Heat::Value", properties={"value": "x", "type": "number"})
    assert "Property error: : resources.v.properties.value: : " in one_line(number)


def test_validate_is_skipped_after_schema_mistakes() -> None:
    classes = [{"class": "nonsense", "min": 1}]
    definition = define("r", "OS::Heat::RandomString", properties={"character_classes": classes})
    assert "character_classes[0].class: " in one_line(definition)


@pytest.mark.parametrize(
    ("n", "expected"),
    [
        (1, "ResourcePropertyConflict: a and b (at resources.g.properties)"),
        (2, "StackValidationFailed: resources.g.properties: : ResourceTypeUnavailable: not there"),
        (3, "StackValidationFailed: Property error: : resources.g.properties.n: : deep"),
    ],
)
def test_errors_raised_by_validate(n: int, expected: str) -> None:
    assert one_line(define("g", "OS::Test::Group", properties={"n": n})) == expected


def test_properties_of_external_resource_are_not_checked() -> None:
    assert lines(define("v", "OS::Heat::Value", external_id="x")) == []


def test_update_policy_mistakes() -> None:
    good = {"rolling_update": {"max_batch_size": "2"}}
    assert lines(define("g", "OS::Test::Group", update_policy=good)) == []
    line = one_line(define("g", "OS::Test::Group", update_policy={"rolling": {}}))
    assert "resources.g.update_policy: : Unknown Property rolling" in line
    bad = {"rolling_update": {"max_batch_size": 0}}
    line = one_line(define("g", "OS::Test::Group", update_policy=bad))
    assert "resources.g.update_policy.rolling_update.max_batch_size: " in line
    assert "resources.t.update_policy: " in one_line(define("t", TEST, update_policy=good))


def test_deletion_policy_snapshot_requires_support_of_the_type() -> None:
    assert lines(define("g", "OS::Test::Group", deletion_policy="Snapshot")) == []
    assert lines(define("t", TEST, deletion_policy="Retain")) == []
    line = one_line(define("t", TEST, deletion_policy="Snapshot"))
    assert "resources.t.deletion_policy: " in line
    assert TEST in line


def test_unknown_attributes_are_reported() -> None:
    found = lines(
        define("t", TEST),
        define("n", "OS::Heat::None", properties={"x": [{"y": get_attr("t", "outptu")}]}),
        define("m", "OS::Heat::None", metadata={"x": get_attr("t", "nope")}),
        outputs={"o": get_attr("t", "value")},
    )
    assert (
        "resources.n.properties.x[0].y.get_attr: : The Referenced Attribute (t outptu) is"
        in found[0]
    )
    assert '"output"' in found[0]
    assert (
        "resources.m.metadata.x.get_attr: : The Referenced Attribute (t nope) is incorrect"
        in found[1]
    )
    assert (
        "outputs.o.value.get_attr: : The Referenced Attribute (t value) is incorrect" in found[2]
    )
    assert len(found) == 3


def test_unresolvable_attribute_references_pass() -> None:
    inner = get_attr("t", "outptu")
    test = define("t", TEST)
    assert lines(test, outputs={"o": get_attr("t")}) == []
    assert "(t outptu)" in one_line(test, outputs={"o": get_attr("n", inner)})
    assert "(t outptu)" in one_line(test, outputs={"o": get_attr("t", "show", inner)})
    assert lines(outputs={"o": get_attr("gone", "x")}) == []


TEMPLATE = """
heat_template_version: 2016-10-14
resources:
  lamp:
    type: My::Lamp
    properties:
      valu: bright
  other:
    type: OS::Heat::None
    depends_on: lamp
    properties:
      shown: {get_attr: [lamp, outptu]}
outputs:
  o:
    value: {get_attr: [lamp, nothing]}
"""


def evaluated(text: str) -> EvaluatedTemplate:
    facts = StackContext(id="s", name="web", project_id="p")
    return evaluate_template(Template.parse(text), Environment(), {}, facts)


def test_template_mistakes_have_lines() -> None:
    environment = Environment.parse({"resource_registry": {"My::Lamp": TEST}})
    with pytest.raises(StackValidationFailed) as caught:
        validate_template(evaluated(TEMPLATE), REGISTRY, environment)
    first, second, third = str(caught.value).splitlines()
    assert first.startswith("Property error: : resources.lamp.properties: : Unknown Property valu")
    assert "(line " in first
    assert second.startswith(
        "resources.other.properties.shown.get_attr: : The Referenced Attribute (lamp outptu)"
    )
    assert third.startswith("outputs.o.value.get_attr: : The Referenced Attribute (lamp nothing)")


def test_unmapped_type_is_reported() -> None:
    with pytest.raises(
        StackValidationFailed, match=r"The Resource Type \(My::Lamp\) .* \(at resources.lamp.type"
    ):
        validate_template(evaluated(TEMPLATE), REGISTRY, Environment())


def test_valid_template_passes() -> None:
    good = TEMPLATE.replace("valu:", "value:").replace("outptu", "output")
    environment = Environment.parse({"resource_registry": {"My::Lamp": TEST}})
    validate_template(
        evaluated(good.replace("nothing", "show")), REGISTRY, environment, timeout_s=60
    )


@pytest.mark.parametrize("template_type", ["hot", "cfn"])
@pytest.mark.parametrize("name", ["OS::Heat::TestResource", "OS::Heat::Delay"])
def test_generated_template_is_valid(name: str, template_type: str) -> None:
    generated = REGISTRY.generate_template(name, template_type)
    environment = Environment.parse(
        {"parameters": {"update_replace_value": "x", "action_wait_secs": {"create": 1}}}
        if name == TEST
        else {}
    )
    facts = StackContext(id="s", name="web", project_id="p")
    made = evaluate_template(Template.parse(generated), environment, {}, facts)
    validate_template(made, REGISTRY, environment, timeout_s=60, custom=CLOUDLESS_CONSTRAINTS)
