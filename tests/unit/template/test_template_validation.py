"""Errors of templates: type, text, position, and that all are reported together."""

from typing import Any

import pytest

from heat_convergence.common import errors
from heat_convergence.template.evaluation.evaluation import MissingParameters
from heat_convergence.template.template import Template
from tests.unit.template.template_helpers import STACK_CONTEXT, evaluate, hot_template

T = {"type": "T"}
OLD = "2013-05-23"


def resources(**named: Any) -> Any:
    return hot_template(resources=named)


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ("[]", errors.HTTPBadRequest),
        ("text", errors.HTTPBadRequest),
        ("", errors.HTTPBadRequest),
        ({}, errors.InvalidTemplateVersion),
        ({"heat_template_versoin": "2015-04-30"}, errors.InvalidTemplateVersion),
        ({"heat_template_version": "2015-04-31"}, errors.InvalidTemplateVersion),
        ({"heat_template_version": "Newton"}, errors.InvalidTemplateVersion),
        ({"heat_template_version": 20150430}, errors.InvalidTemplateVersion),
        ({"heat_template_version": None}, errors.InvalidTemplateVersion),
        (
            {"heat_template_version": "newton", "AWSTemplateFormatVersion": "2010-09-09"},
            errors.InvalidTemplateVersion,
        ),
        ({"AWSTemplateFormatVersion": "2012-12-12"}, errors.InvalidTemplateVersion),
        (hot_template(resorces={}), errors.StackValidationFailed),
        (hot_template("2016-04-08", conditions={}), errors.StackValidationFailed),
        ({"HeatTemplateFormatVersion": "2012-12-12", "Conditions": {}},
         errors.StackValidationFailed),
    ],
)  # fmt: skip
def test_documents_that_are_no_template_are_refused(source: Any, error: Any) -> None:
    with pytest.raises(errors.Error) as caught:
        Template.parse(source)
    assert type(caught.value) is error


def test_version_may_be_a_date_or_an_alias() -> None:
    assert Template.parse("heat_template_version: 2015-04-30").version.date == "2015-04-30"
    assert Template.parse(hot_template("wallaby")).version.date == "2021-04-16"
    assert Template.empty().version.date == "2015-04-30"


def test_caller_chooses_the_error_of_unknown_sections() -> None:
    with pytest.raises(
        errors.InvalidTemplateSection, match=r'invalid: output; did you mean "outputs"'
    ):
        Template.parse(hot_template(output={}), section_error=errors.InvalidTemplateSection)


def condition(**named: Any) -> Any:
    return hot_template(conditions=named)


CASES = [
    # resources
    (hot_template(resources=[]), errors.StackValidationFailed, "resources"),
    (resources(r="text"), errors.StackValidationFailed, "resources.r"),
    (resources(r=None), errors.StackValidationFailed, "resources.r"),
    (resources(r={}), errors.StackValidationFailed, "resources.r.type"),
    (resources(r={"type": ""}), errors.StackValidationFailed, "resources.r.type"),
    (resources(r={"type": {"get_param": "p"}}), errors.StackValidationFailed, "resources.r.type"),
    (resources(r={**T, "propertys": {}}), errors.StackValidationFailed, 'mean "properties"'),
    (resources(r={**T, "properties": []}), errors.StackValidationFailed, "resources.r.properties"),
    (resources(r={**T, "metadata": "x"}), errors.StackValidationFailed, "resources.r.metadata"),
    (resources(r={**T, "update_policy": 1}), errors.StackValidationFailed, "update_policy"),
    (resources(r={**T, "description": []}), errors.StackValidationFailed, "description"),
    (resources(r={**T, "depends_on": {"a": 1}}), errors.StackValidationFailed, "depends_on"),
    (resources(r={**T, "depends_on": "x"}), errors.InvalidTemplateReference, '"x"'),
    (resources(r={**T, "depends_on": "r"}), errors.CircularDependencyException, "r -> r"),
    (resources(r={**T, "deletion_policy": "Destroy"}), errors.StackValidationFailed, "Destroy"),
    (hot_template(OLD, resources={"r": {**T, "deletion_policy": "delete"}}),
     errors.StackValidationFailed, 'mean "Delete"'),
    (hot_template(OLD, resources={"r": {**T, "condition": True}}), errors.StackValidationFailed,
     "condition"),
    (resources(**{"a/b": T}), errors.StackValidationFailed, "/"),
    (resources(r={**T, "external_id": "i", "depends_on": "s"}, s=T),
     errors.InvalidExternalResourceDependency, "r"),
    (resources(r={**T, "external_id": ["i"]}), errors.StackValidationFailed, "external_id"),
    (resources(r={**T, "properties": {"v": {"get_resource": "s"}}}),
     errors.InvalidTemplateReference, '"s"'),
    (resources(r={**T, "properties": {"v": {"get_attr": ["s", "x"]}}}),
     errors.InvalidTemplateReference, '"s"'),
    (resources(r={**T, "metadata": {"v": {"get_resource": "s"}}}, s={**T, "condition": False}),
     errors.InvalidTemplateReference, '"s"'),
    (resources(r={**T, "properties": {"v": [0, {"get_resource": "s"}]}},
               s={**T, "depends_on": ["r"]}),
     errors.CircularDependencyException, "r -> s -> r"),
    (resources(r={**T, "properties": {"v": {"Ref": "r"}}}), errors.StackValidationFailed,
     "resources.r.properties.v.Ref: : The template version is invalid: The function Ref is not"),
    (resources(r={**T, "properties": {"v": {"get_param": "p"}}}), errors.StackValidationFailed,
     "Property error: : resources.r.properties.v: : The Parameter (p) was not provided."),
    (resources(r={**T, "properties": {"v": {"get_resource": {"get_attr": ["s", "n"]}}}}, s=T),
     errors.StackValidationFailed, "must be known"),
    # conditions
    (condition(c="text"), errors.StackValidationFailed, "conditions.c"),
    (condition(c=1), errors.StackValidationFailed, "conditions.c"),
    (condition(c={"equals": [1]}), errors.StackValidationFailed, "conditions.c.equals"),
    (condition(c={"and": [True]}), errors.StackValidationFailed, "conditions.c.and"),
    (condition(c={"not": "d"}), errors.StackValidationFailed,
     'conditions.c.not: : Invalid condition "d"'),
    (condition(c={"not": "d"}, d={"or": ["c", False]}), errors.StackValidationFailed, "Circular"),
    (condition(c={"equals": [{"get_attr": ["r", "x"]}, 1]}), errors.StackValidationFailed,
     "is invalid in this context"),
    (condition(c={"equals": [{"list_join": ["", []]}, 1]}), errors.StackValidationFailed,
     "list_join"),
    (hot_template(conditions=[]), errors.StackValidationFailed, "conditions"),
    (resources(r={**T, "condition": "undefined"}), errors.StackValidationFailed,
     "resources.r.condition"),
    (hot_template(parameters={"p": {"type": "string", "default": "x"}},
         conditions={"c": {"get_param": "p"}}, resources={"r": {**T, "condition": "c"}}),
     errors.StackValidationFailed, "true or false"),
    # outputs
    (hot_template(outputs=[]), errors.StackValidationFailed, "outputs"),
    (hot_template(outputs={"o": "text"}), errors.StackValidationFailed, "outputs.o"),
    (hot_template(outputs={"o": {"description": "d"}}), errors.StackValidationFailed, "outputs.o"),
    (hot_template(outputs={"o": {"value": {"get_attr": ["s", "x"]}}}), errors.StackValidationFailed,  # noqa: E501
     "outputs.o.value.get_attr"),
    (hot_template(outputs={"o": {"value": {"list_join": 1}}}), errors.StackValidationFailed, "list_join"),  # noqa: E501
    # groups
    (hot_template(parameter_groups={"a": 1}), errors.StackValidationFailed, "parameter_groups"),
    (hot_template(parameter_groups=7), errors.StackValidationFailed, "parameter_groups"),
    (hot_template(parameter_groups=["a"]), errors.StackValidationFailed, "parameter_groups[0]"),
    (hot_template(parameter_groups=[{"label": "l"}]), errors.StackValidationFailed, "parameter_groups.l"),  # noqa: E501
    (hot_template(parameter_groups=[{"parameters": ["p"]}]), errors.StackValidationFailed,
     "parameter p does not"),
    (hot_template(parameters={"p": {"type": "string", "default": "x"}},
         parameter_groups=[{"parameters": ["p"]}, {"parameters": ["p"]}]),
     errors.StackValidationFailed, "one parameter group only"),
    (hot_template(parameter_groups=[{"parameters": [], "lable": 1}]), errors.StackValidationFailed,
     'mean "label"'),
    # names
    (hot_template(parameters={"r": {"type": "string", "default": "x"}}, resources={"r": T}),
     errors.StackValidationFailed, '"r"'),
]  # fmt: skip


@pytest.mark.parametrize(("source", "error", "lines"), CASES)
def test_error_has_the_type_and_text_of_heat(source: Any, error: Any, lines: Any) -> None:
    with pytest.raises(errors.Error) as caught:
        evaluate(source)
    assert type(caught.value) is error
    assert lines in str(caught.value)


ACCEPTED = [
    {"AWSTemplateFormatVersion": "2010-09-09", "Resources": {"r": {"Type": "T", "Other": 1}}},
    hot_template(outputs={"o": {"value": 1, "other": 2}}),
    hot_template(outputs={"o": {"value": {"get_param": "undeclared"}}}),
    hot_template(outputs={"o": {"value": {"digest": ["none", "x"]}, "description": None}}),
    hot_template(resources={"r": {**T, "properties": None, "depends_on": None, "metadata": None}}),
    hot_template(resources={"r": {**T, "depends_on": ["off"]}, "off": {**T, "condition": False}}),
    hot_template(resources=None, outputs=None, parameters=None),
    hot_template(conditions={"c": {"equals": [{"get_param": "undeclared"}, 1]}}),
    hot_template(resources={"r": {**T, "properties": {"unknown_function": {"x": 1}}}}),
]


@pytest.mark.parametrize("source", ACCEPTED)
def test_unusual_valid_templates_are_accepted(source: Any) -> None:
    evaluate(source)


def test_all_errors_are_reported_with_positions_in_order_of_checks() -> None:
    text = """\
heat_template_version: 2016-10-14
outputs:
  o: {}
resources:
  one:
    type: T
    propertes: {}
  two:
    type: T
    depends_on: onee
    properties:
      v: {get_param: flavour}
parameters:
  flavor: {type: strin}
  size: {type: number}
conditions:
  c: 1
"""
    with pytest.raises(errors.InvalidSchemaError) as caught:
        evaluate(text)
    lines = str(caught.value).splitlines()
    expected = [
        ("Invalid type (strin) of parameter flavor", '"string"', "(line 14, column 3)"),
        ("UserParameterMissing: The Parameter (size)", "", "(line 15, column 3)"),
        ("Condition validation error: : ", "", "line 17, column 3)"),
        ('"propertes" is not', '"properties"', "(at resources.one.propertes, line 7, column 5)"),
        ("InvalidTemplateReference:", '"one"', "(at resources.two.depends_on, line 10, column 5)"),
        ("Property error: : resources.two.properties.v: : ", "", "(line 12, column 11)"),
        ("Output validation error: : outputs.o: : Each output", "", "(line 3, column 3)"),
    ]
    assert len(lines) == len(expected)
    for line, (start, hint, end) in zip(lines, expected, strict=True):
        assert line.startswith(start)
        assert hint in line
        assert line.endswith(end)


def test_errors_beyond_the_limit_are_counted() -> None:
    with pytest.raises(errors.StackValidationFailed, match=r"and 49 more"):
        evaluate(resources(**{f"r{n}": {} for n in range(100)}))


def test_property_values_are_not_checked_while_parameters_may_be_missing() -> None:
    source = hot_template(
        parameters={"p": {"type": "json"}, "flag": {"type": "boolean"}},
        resources={
            "maybe": {**T, "condition": {"get_param": "flag"}},
            "r": {**T, "properties": {
                "a": {"map_merge": [{"get_param": "p"}]},
                "b": {"if": [{"get_param": "flag"}, {"get_resource": "maybe"}, 1]},
                "c": {"str_split": [",", "a", 7]}}},
        },
    )  # fmt: skip
    found = evaluate(source, missing=MissingParameters.ALLOW)
    assert set(found.definitions) == {"maybe", "r"}
    assert found.definitions["r"].requires == {"maybe"}
    with pytest.raises(errors.UserParameterMissing):
        evaluate(source)
    with pytest.raises(errors.StackValidationFailed):
        evaluate(hot_template(resources={"r": {}}), missing=MissingParameters.ALLOW)


def test_evaluation_returns_definitions_outputs_and_parameters() -> None:
    source = hot_template(
        description="d",
        parameters={
            "secret": {"type": "string", "default": "s3", "hidden": True},
            "open": {"type": "string", "default": "o"},
        },
        conditions={"never": False},
        resources={
            "a": {**T, "properties": {"v": {"get_param": "secret"}}, "deletion_policy": "retain"},
            "b": {**T, "depends_on": "a", "properties": {"v": {"get_attr": ["c", "x"]}}},
            "c": {**T, "external_id": "ext", "metadata": {"v": {"get_param": "open"}}},
            "d": {**T, "condition": "never", "properties": {"v": {"get_resource": "a"}}},
        },
        outputs={
            "off": {"value": {"get_resource": "d"}, "condition": "never"},
            "on": {"value": {"get_param": "secret"}, "description": "said"},
            "omitted": {"value": {"if": ["never", 1]}},
        },
    )
    found = evaluate(source)
    assert sorted(found.definitions) == ["a", "b", "c"]
    a, b, c = (found.definitions[name] for name in "abc")
    assert a.sensitive
    assert not b.sensitive
    assert not c.sensitive
    assert (a.deletion_policy, b.deletion_policy, c.deletion_policy) == (
        "Retain", "Delete", "Retain")  # fmt: skip
    assert b.requires == {"a", "c"}
    assert b.referenced_names == {"c"}
    assert c.external_id == "ext"
    assert c.metadata == {"v": "o"}
    assert found.graph.topological_order() == ("a", "c", "b")
    assert not found.outputs["off"].enabled
    assert found.outputs["off"].value is None
    assert found.outputs["on"].sensitive
    assert found.outputs["on"].description == "said"
    assert found.outputs["omitted"].value is None
    assert found.hidden_parameter_values == {"secret": "s3"}
    assert found.description == "d"
    assert found.api_parameters() == {
        "OS::project_id": STACK_CONTEXT.project_id,
        "OS::stack_id": STACK_CONTEXT.id,
        "OS::stack_name": STACK_CONTEXT.name,
        "open": "o",
        "secret": "******",
    }


@pytest.mark.parametrize(
    ("sections", "where"),
    [
        ({"resources": {"r": {"type": "T", "properties": {
            "p": [{"list_join": ["", [{"get_resource": "s"}]]}]}}}},
         "r.Properties.p[0].list_join[1][0]"),
        ({"resources": {"r": {"type": "T", "depends_on": "s"}}}, "r"),
    ],
)  # fmt: skip
def test_invalid_reference_is_reported_with_its_path(sections: Any, where: Any) -> None:
    with pytest.raises(errors.InvalidTemplateReference) as caught:
        evaluate(hot_template(**sections))
    text = str(caught.value)
    assert text.startswith(f'The specified reference "s" (in {where}) is incorrect. (at ')
