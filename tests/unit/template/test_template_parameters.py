"""Parameters: declarations, values, precedence and API views."""

from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest

from heat_convergence.common import errors
from heat_convergence.template import bounded_regex
from heat_convergence.template.limits import TemplateLimits
from heat_convergence.template.parameters.constraints import (
    AllowedPattern,
    AllowedValues,
    CustomConstraint,
    Length,
    Modulo,
    Range,
)
from heat_convergence.template.parameters.parameter_values import check_immutable_parameters
from tests.unit.template.template_helpers import evaluate, hot_template


def evaluate_parameter(
    declared: Any, user_value: Any = None, *, version: str = "2021-04-16", **options: Any
) -> Any:
    environment = {} if user_value is None else {"parameters": {"p": user_value}}
    found = evaluate(hot_template(version, parameters={"p": declared}), environment, **options)
    return found.parameters["p"]


@pytest.mark.parametrize(
    ("parameter_type", "user_value", "value", "display_text"),
    [
        ("string", "x", "x", "x"),
        ("string", 5, "5", "5"),
        ("string", True, "True", "True"),
        ("number", "5", 5, "5"),
        ("number", "1.5", 1.5, "1.5"),
        ("number", 7, 7, "7"),
        ("boolean", "Yes", True, "True"),
        ("boolean", "0", False, "False"),
        ("boolean", 1, True, "True"),
        ("comma_delimited_list", "a, b", ["a", " b"], "a, b"),
        ("comma_delimited_list", "", [], ""),
        ("comma_delimited_list", ["a", 1], ["a", "1"], "a,1"),
        ("json", '{"a": [1]}', {"a": [1]}, '{"a": [1]}'),
        ("json", [1], [1], "[1]"),
        ("json", "", {}, "{}"),
    ],
)
def test_values_are_converted_to_the_parameter_type(
    parameter_type: Any, user_value: Any, value: Any, display_text: Any
) -> None:
    found = evaluate_parameter({"type": parameter_type}, user_value)
    assert found.value == value
    assert type(found.value) is type(value)
    assert found.display_text == display_text


@pytest.mark.parametrize(
    ("parameter_type", "user_value"),
    [
        ("string", {"a": 1}),
        ("number", "x"),
        ("number", "nan"),
        ("number", []),
        ("boolean", "maybe"),
        ("boolean", 2),
        ("comma_delimited_list", {"a": 1}),
        ("json", "{"),
        ("json", "5"),
        ("json", '{"a": NaN}'),
        ("json", "[" * 100_000),
    ],
)
def test_values_of_the_wrong_type_are_refused(parameter_type: Any, user_value: Any) -> None:
    with pytest.raises(errors.StackValidationFailed, match="Parameter 'p' is invalid"):
        evaluate_parameter({"type": parameter_type}, user_value)


@pytest.mark.parametrize(
    ("parameter_type", "constraint", "good", "bad"),
    [
        ("number", {"range": {"min": 1, "max": "3"}}, 3, 4),
        ("number", {"range": {"min": 1}}, 100, 0),
        ("number", {"modulo": {"step": 2, "offset": 1}}, 3, 4),
        ("number", {"modulo": {"step": 2, "offset": 0}}, 4, 4.5),
        ("string", {"length": {"min": 2, "max": 3}}, "ab", "abcd"),
        ("comma_delimited_list", {"length": {"max": 1}}, "a", "a,b"),
        ("json", {"length": {"min": 1}}, '{"a": 1}', "{}"),
        ("string", {"allowed_values": ["a", 1]}, "1", "b"),
        ("number", {"allowed_values": ["1", 2]}, 1, 3),
        ("boolean", {"allowed_values": [True]}, "yes", "no"),
        ("comma_delimited_list", {"allowed_values": ["a", "b"]}, "b,a", "a,c"),
        ("string", {"allowed_pattern": "[a-z]+"}, "abc", "abc1"),
        ("string", {"allowed_pattern": "(?=.*[0-9])[a-z0-9]+"}, "a1", "a"),
        ("string", {"custom_constraint": "even"}, "ab", "a"),
        ("comma_delimited_list", {"custom_constraint": "even"}, "ab,cd", "ab,c"),
        ("string", {"custom_constraint": "absent"}, None, "x"),
    ],
)
def test_values_that_violate_a_constraint_are_refused(
    parameter_type: Any, constraint: Any, good: Any, bad: Any
) -> None:
    custom = {"even": lambda value: len(value) % 2 == 0}
    declared = {"type": parameter_type, "constraints": [constraint], "default": None}
    if good is not None:
        evaluate_parameter(declared, good, custom_constraints=custom)
    with pytest.raises(errors.StackValidationFailed):
        evaluate_parameter(declared, bad, custom_constraints=custom)
    declaration = {**constraint, "description": "as I said"}
    with pytest.raises(errors.StackValidationFailed, match="as I said"):
        evaluate_parameter(
            {**declared, "constraints": [declaration]}, bad, custom_constraints=custom
        )


def test_first_violated_constraint_is_reported() -> None:
    constraints = [{"length": {"max": 1}}, {"allowed_values": ["a"]}]
    with pytest.raises(errors.StackValidationFailed, match="length"):
        evaluate_parameter({"type": "string", "constraints": constraints}, "bb")


def test_slow_patterns_time_out() -> None:
    declared = {"type": "string", "constraints": [{"allowed_pattern": "(a|aa)+$"}]}
    with pytest.raises(errors.StackValidationFailed, match="takes too long"):
        evaluate_parameter(declared, "a" * 60 + "b", limits=TemplateLimits(regex_timeout_s=0.02))


@pytest.mark.parametrize(
    "pattern",
    [
        "((a{1000}){1000}){1000}",
        "(?:(?:[^]]{99999}){99999,}x)",
        "((\\{{5000}){5000}){2}",
        "a{9999999999}",
        "a{" + "9" * 5000 + "}",
        "(?:(?:(?:ab){100}){100}){90}",
        "(?x)((ab {1000}) {1000}) {1000}",
        "(?ix:((ab {1000}) {1000}) {1000})",
        "((ab)(?#){1000}(?#)){1000}",
        "(a)?(?(1)b|c)",
        "(?:a(?R)?b)",
        "(?V1)[a-z--[b]]",
        "|".join(f"w{number}" for number in range(1_000)),
    ],
)
def test_patterns_that_take_long_to_compile_are_refused(pattern: Any) -> None:
    declared = {"type": "string", "constraints": [{"allowed_pattern": pattern}]}
    with pytest.raises(errors.InvalidSchemaError, match=r"repeats too|malformed"):
        evaluate_parameter(declared, "a")


@pytest.mark.parametrize(
    ("pattern", "value"),
    [
        ("(?:[a-z0-9]{1,63}\\.){1,127}[a-z]{2,63}", "a.b.example"),
        ("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "01234567-89ab-cdef-0123-456789abcdef"),
        ("(a{1000}){10}", "a" * 10000),
        ("[]{}()]{3}\\(x{2}", "]}{(xx"),
        ("x{,2}|a{1,65535}", "a" * 500),
        ("(?i)AB(?P<n>x)(?P=n)", "abxx"),
        ("(?=.*[A-Z])(?!.*\\s)(?<=)(?i:a).+", "aB"),
        ("(?>a+)[[:alpha:]]\\p{Lu}{2}", "aabBC"),
        ("{.*}", "{}"),
    ],
)
def test_patterns_with_small_repeats_match(pattern: Any, value: Any) -> None:
    declared = {"type": "string", "constraints": [{"allowed_pattern": pattern}]}
    assert evaluate_parameter(declared, value).value == value


def test_only_a_few_patterns_of_a_template_may_be_slow() -> None:
    """Each match is ended by its time-out; all together would take minutes."""
    text = "a" * 23 + "b"
    schemas = {
        f"p{n}": {"type": "string", "default": text,
                  "constraints": [{"allowed_pattern": f"(?:x{{{n}}}|(a|a)+)$"}]}
        for n in range(300)
    }  # fmt: skip
    bounded_regex._compile_cached.cache_clear()
    calls = []

    def matcher(pattern: Any) -> Any:
        def fullmatch(*args: Any, timeout: Any) -> None:
            calls.append(timeout)
            raise TimeoutError

        return SimpleNamespace(fullmatch=fullmatch)

    with (
        mock.patch.object(bounded_regex, "compile_pattern", matcher),
        pytest.raises(errors.RequestLimitExceeded, match=r"parameters\.p2: .*steps"),
    ):
        evaluate(hot_template(parameters=schemas))
    assert 0.4 < sum(calls) <= 0.5


@pytest.mark.parametrize(
    "declared",
    [
        "string",
        {},
        {"type": "String"},
        {"type": "strin"},
        {"type": ["string"]},
        {"type": "string", "defualt": "x"},
        {"type": "string", "Default": "x"},
        {"type": "string", "hidden": "perhaps"},
        {"type": "string", "tags": 5},
        {"type": "string", "constraints": {}},
        {"type": "string", "constraints": ["x"]},
        {"type": "string", "constraints": [{}]},
        {"type": "string", "constraints": [{"lenght": {"min": 1}}]},
        {"type": "string", "constraints": [{"length": {"min": 1}, "allowed_values": ["a"]}]},
        {"type": "string", "constraints": [{"range": {"min": 1}}]},
        {"type": "string", "constraints": [{"length": {"minimum": 1}}]},
        {"type": "string", "constraints": [{"length": {"min": 1.5}}]},
        {"type": "string", "constraints": [{"allowed_values": "a"}]},
        {"type": "string", "constraints": [{"allowed_pattern": "("}]},
        {"type": "string", "constraints": [{"custom_constraint": 1}]},
        {"type": "number", "constraints": [{"modulo": {"step": 2}}]},
        {"type": "number", "constraints": [{"modulo": {"step": 0, "offset": 0}}]},
        {"type": "number", "constraints": [{"modulo": {"step": 2, "offset": 2}}]},
        {"type": "number", "constraints": [{"modulo": {"step": 2, "offset": -1}}]},
        {"type": "string", "default": "abc", "constraints": [{"length": {"max": 2}}]},
    ],
)
def test_invalid_declarations_are_refused(declared: Any) -> None:
    with pytest.raises(errors.InvalidSchemaError, match="p"):
        evaluate_parameter(declared, "x")


@pytest.mark.parametrize(
    ("version", "declared"),
    [
        ("2016-10-14", {"type": "number", "constraints": [{"modulo": {"step": 2, "offset": 0}}]}),
        ("2017-09-01", {"type": "string", "tags": ["t"]}),
    ],
)
def test_features_of_newer_versions_are_refused(version: str, declared: Any) -> None:
    with pytest.raises(errors.InvalidSchemaError):
        evaluate_parameter(declared, "2", version=version)


def test_empty_default_may_break_a_constraint() -> None:
    declared = {"type": "string", "default": "", "constraints": [{"length": {"min": 3}}]}
    assert evaluate_parameter(declared).value == ""
    with pytest.raises(errors.StackValidationFailed):
        evaluate_parameter(declared, "a")


def test_missing_and_unknown_parameters_are_refused() -> None:
    with pytest.raises(errors.UserParameterMissing, match="p"):
        evaluate_parameter({"type": "string"})
    with pytest.raises(errors.UserParameterMissing):
        evaluate_parameter({"type": "string", "default": None})
    with pytest.raises(errors.UnknownUserParameter, match=r'"size"'):
        evaluate(
            hot_template(parameters={"size": {"type": "number", "default": 1}}),
            {"parameters": {"siez": 1}},
        )
    evaluate(hot_template(), {"parameter_defaults": {"anything": 1}})


def test_user_values_take_precedence_over_defaults() -> None:
    template = hot_template(parameters={"p": {"type": "string", "default": "own"}})
    both = {"parameters": {"p": "given"}, "parameter_defaults": {"p": "for all"}}
    assert evaluate(template, both).parameters["p"].value == "given"
    del both["parameters"]
    assert evaluate(template, both).parameters["p"].value == "for all"
    assert evaluate(template).parameters["p"].value == "own"
    assert not evaluate(template).parameters["p"].is_user_provided


def test_hidden_values_are_never_shown() -> None:
    constraint: dict[str, Any] = {"length": {"max": 3}}
    declared = {"type": "string", "hidden": True, "constraints": [constraint]}
    assert evaluate_parameter(declared, "abc").display_text == "******"
    with pytest.raises(errors.StackValidationFailed) as caught:
        evaluate_parameter(declared, "secret")
    assert "secret" not in str(caught.value)
    constraint["description"] = "at most three letters"
    with pytest.raises(errors.StackValidationFailed, match="at most three letters"):
        evaluate_parameter(declared, "secret")


def test_cfn_declarations_are_parsed() -> None:
    parameters: dict[str, Any] = {
        "p": {
            "Type": "Number", "Default": "3", "MinValue": "1", "MaxValue": 5, "NoEcho": "TRUE",
            "ConstraintDescription": "one to five", "Label": "L", "Description": "D"},
        "q": {"Type": "String", "Default": "ab", "MinLength": "1", "MaxLength": "2",
              "AllowedPattern": "[a-b]*", "AllowedValues": ["ab", "b"]},
    }  # fmt: skip
    template = {"AWSTemplateFormatVersion": "2010-09-09", "Parameters": parameters}
    schema = evaluate(template).parameters["p"].schema
    assert (schema.hidden, schema.label, schema.constraints) == (True, "L", (Range(1, 5),))
    assert evaluate(template).parameters["q"].schema.constraints == (
        AllowedValues(("ab", "b")), AllowedPattern("[a-b]*"), Length(1, 2))  # fmt: skip
    parameters["p"]["NoEcho"] = False
    with pytest.raises(errors.StackValidationFailed, match="one to five"):
        evaluate(template, {"parameters": {"p": 9}})


def test_immutable_parameters_cannot_change() -> None:
    template = hot_template(parameters={"p": {"type": "string", "immutable": True}})
    before = evaluate(template, {"parameters": {"p": "a"}}).parameters
    after = evaluate(template, {"parameters": {"p": "b"}}).parameters
    check_immutable_parameters(before, before)
    check_immutable_parameters({}, after)
    with pytest.raises(errors.ImmutableParameterModified, match="p"):
        check_immutable_parameters(before, after)


@pytest.mark.parametrize(
    ("constraint", "declaration"),
    [
        (Range(1, None), {"range": {"min": 1}}),
        (Length(None, 2, "d"), {"length": {"max": 2}, "description": "d"}),
        (Modulo(2, 1), {"modulo": {"step": 2, "offset": 1}}),
        (AllowedValues(("a",)), {"allowed_values": ["a"]}),
        (AllowedPattern("a"), {"allowed_pattern": "a"}),
        (CustomConstraint("c"), {"custom_constraint": "c"}),
    ],
)
def test_constraints_convert_to_template_form(constraint: Any, declaration: Any) -> None:
    assert constraint.to_dict() == declaration


def test_constraints_refuse_values_of_other_types() -> None:
    assert "number" in str(Range(1).find_violation("x"))
    assert "length" in str(Length(1).find_violation(5))
    assert "whole" in str(Modulo(2, 0).find_violation("x"))
    assert "malformed" in str(AllowedPattern("(").find_violation("x"))
    violation = CustomConstraint("c").find_violation("x", {"c": lambda value: "because"})
    assert violation == "Error validating value 'x': because"
    assert CustomConstraint("c").find_violation("x", {"c": lambda value: None}) is None


@pytest.mark.parametrize(
    ("value", "allowed", "is_valid"),
    [
        ("1", 1, True), (1, "1", True), (1, 1.0, True), ("1", 1.0, False), (True, "TRUE", True),
        ("yes", True, False), ("tRue", True, True), (True, True, True), (False, True, False),
        ("TRUE", "true", False), ("a", "a", True), ("a", "A", False), (True, 1, False),
        (["a", "b"], "a", False), (["a"], "a", True),
    ],
)  # fmt: skip
def test_allowed_value_equals_what_yaml_may_have_read_as_another_type(
    value: Any, allowed: Any, is_valid: bool
) -> None:
    violation = AllowedValues((allowed, "other")).find_violation(value)
    assert (violation is None) is is_valid
