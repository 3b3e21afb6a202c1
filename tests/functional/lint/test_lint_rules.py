"""Each rule of the linter: a template that breaks it, and one that does not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from heat_convergence.common.clock import utc_now
from heat_convergence.lint import linter, rules
from heat_convergence.lint.environments import EnvironmentFiles
from heat_convergence.lint.linter import Linter
from heat_convergence.resources.registry import ResourceTypeRegistry
from heat_convergence.stacks.services import StackServices

VERSION = "heat_template_version: 2018-08-31\n"
PARAMETER = VERSION + "parameters:\n  size: {type: number}\n"
CONDITIONS = VERSION + "conditions:\n  big: true\n"
SECRET = VERSION + "parameters:\n  db_password: {type: string, hidden: true}\n"
READS_SIZE = "resources:\n  a: {type: OS::Heat::Value, properties: {value: {get_param: size}}}\n"
SERVER = VERSION + "resources:\n  s:\n    type: OS::Nova::Server\n    properties:\n"
BREAKING = {
    rules.UNREADABLE: ("a: [b", 2),
    rules.VERSION: ("heat_template_version: 1999-01-01\n", 1),
    rules.UNREADABLE_REFERENCE: (
        VERSION + "resources:\n  a:\n    type: missing.yaml\n",
        4,
    ),
    rules.SECTION: (VERSION + "resuorces: {}\n", 2),
    rules.PARAMETER: (VERSION + "parameters:\n  n: {type: number, default: x}\n", 3),
    rules.PARAMETER_GROUP: (
        VERSION + "parameter_groups:\n- parameters: [nobody]\n",
        3,
    ),
    rules.CONDITION: (VERSION + "conditions:\n  c: {equals: [1]}\n", 3),
    rules.DEFINITION: (VERSION + "resources:\n  a: {typ: OS::Heat::Value}\n", 3),
    rules.FUNCTION: (
        VERSION + "outputs:\n  o: {value: {list_join: [1, 2, 3, 4]}}\n",
        3,
    ),
    rules.NAME_CONFLICT: (
        PARAMETER + "resources:\n  size: {type: OS::Heat::RandomString}\n",
        5,
    ),
    rules.DEPENDENCY: (
        VERSION + "resources:\n  a: {type: OS::Heat::RandomString, depends_on: a}\n",
        3,
    ),
    rules.RESOURCE: (
        VERSION + "resources:\n  a:\n    type: OS::Heat::RandomString\n    properties:\n"
        "      lenght: 3\n",
        6,
    ),
    rules.OUTPUT: (
        VERSION + "resources:\n  a: {type: OS::Heat::RandomString}\noutputs:\n"
        "  o: {value: {get_attr: [a, nothing]}}\n",
        5,
    ),
    rules.ENVIRONMENT: ("parameters: {}\nresource_registri: {}\n", 1),
    rules.UNUSED_PARAMETER: (PARAMETER, 3),
    rules.UNUSED_CONDITION: (CONDITIONS, 3),
    rules.SECRET_NOT_HIDDEN: (SECRET.replace(", hidden: true", ""), 3),
    rules.SECRET_OUTPUT: (SECRET + "outputs:\n  o: {value: {get_param: db_password}}\n", 5),
    rules.DUPLICATE_KEY: (
        VERSION + "resources:\n  a: {type: OS::Heat::RandomString}\n"
        "  a: {type: OS::Heat::RandomString}\n",
        4,
    ),
    rules.UNUSED_MAPPING: (
        "HeatTemplateFormatVersion: 2012-12-12\nMappings:\n  M: {k: {v: x}}\n",
        3,
    ),
    rules.DEPRECATED_TYPE: (VERSION + "resources:\n  a: {type: OS::Nova::FloatingIP}\n", 3),
    rules.DEPRECATED_PROPERTY: (
        VERSION + "resources:\n  p:\n    type: OS::Neutron::Port\n    properties:\n"
        "      network_id: private\n",
        6,
    ),
    rules.LITERAL_ID: (
        VERSION + "resources:\n  p:\n    type: OS::Neutron::Port\n    properties:\n"
        "      network: 0a1b2c3d-0000-4000-8000-000000000000\n",
        6,
    ),
    rules.NEEDLESS_DEPENDENCY: (
        VERSION
        + "resources:\n  a: {type: OS::Heat::RandomString}\n  b:\n    type: OS::Heat::Value\n"
        "    properties: {value: {get_resource: a}}\n    depends_on: a\n",
        7,
    ),
    rules.REPLACED_BY_UPDATE: (SERVER + "      flavor: m1\n      key_name: k\n", 5),
}
CLEAN = {
    "used parameter": PARAMETER + READS_SIZE,
    "parameter of a nested call": PARAMETER
    + "outputs:\n  o: {value: {list_join: ['', [{get_param: [size, 0]}]]}}\n",
    "condition of a resource": CONDITIONS
    + "resources:\n  a: {type: OS::Heat::RandomString, condition: big}\n",
    "condition in a connective": CONDITIONS + "outputs:\n  o: {value: 1, condition: {not: big}}\n",
    "condition in a choice": CONDITIONS + "outputs:\n  o: {value: {if: [big, 1, 2]}}\n",
    "condition of a condition": CONDITIONS.replace("true", "true\n  more: {not: big}")
    + "outputs:\n  o: {value: 1, condition: more}\n",
    "name of a secret": VERSION + "parameters:\n  secret_name: {type: string}\n"
    "outputs:\n  o: {value: {get_param: secret_name}}\n",
    "dependency that nothing else makes": VERSION
    + "resources:\n  a: {type: OS::Heat::RandomString}\n"
    "  b: {type: OS::Heat::RandomString, depends_on: a}\n",
    "unknown value of a condition": PARAMETER + "conditions:\n"
    "  big: {equals: [{get_param: size}, 3]}\nresources:\n"
    "  a: {type: OS::Heat::RandomString, condition: big}\n",
    "remote template": VERSION + "resources:\n  a: {type: 'https://example.org/a.yaml'}\n",
    "environment": "parameters: {size: 3}\nresource_registry: {'My::Type': OS::Heat::Value}\n",
    "equal keys of different maps": VERSION
    + "resources:\n  a: {type: OS::Heat::RandomString}\n  b: {type: OS::Heat::RandomString}\n",
    "merged maps": VERSION + "resources:\n  a: &a {type: OS::Heat::RandomString}\n"
    "  b:\n    <<: *a\n    <<: *a\n",
    "mapping that is read": "HeatTemplateFormatVersion: 2012-12-12\nMappings:\n"
    "  M: {k: {v: x}}\nOutputs:\n  O: {Value: {'Fn::FindInMap': [M, k, v]}}\n",
    "CFN": "HeatTemplateFormatVersion: 2012-12-12\nParameters: {Size: {Type: Number}}\n"
    "Outputs: {O: {Value: {Ref: Size}}}\n",
}


@pytest.fixture(scope="module")
def services() -> StackServices:
    return StackServices(registry=ResourceTypeRegistry.load(), clock=utc_now)


@pytest.mark.parametrize(
    "rule",
    [each for each in rules.RULES if each is not rules.CHECK_FAILED],
    ids=lambda rule: rule.id,
)
def test_every_rule_is_broken_at_its_line(
    services: StackServices, tmp_path: Path, rule: rules.LintRule
) -> None:
    text, line = BREAKING[rule]
    found = Linter(services).lint("a.yaml", text, tmp_path)
    assert line in [each.line for each in found if each.rule is rule], found


@pytest.mark.parametrize("text", CLEAN.values(), ids=CLEAN.keys())
def test_valid_documents_have_no_findings(
    services: StackServices, tmp_path: Path, text: str
) -> None:
    assert Linter(services).lint("a.yaml", text, tmp_path) == []


def test_comments_and_options_switch_rules_off(services: StackServices, tmp_path: Path) -> None:
    of_line = PARAMETER.rstrip() + "  # lint: disable=W201\n"
    of_file = "# lint: disable=W202, W201\n" + PARAMETER
    of_other_line = PARAMETER.replace("31\n", "31  # lint: disable=W201\n")
    for text, count in ((of_line, 0), (of_file, 0), (of_other_line, 1)):
        assert len(Linter(services).lint("a.yaml", text, tmp_path)) == count
    assert Linter(services, disabled=["W201"]).lint("a.yaml", PARAMETER, tmp_path) == []


def test_files_are_found_beside_those_that_name_them(
    services: StackServices, tmp_path: Path
) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / "script.sh").write_text("echo outside")
    (tmp_path / "below" / "script.sh").write_text("echo inside")
    (tmp_path / "below" / "inner.yaml").write_text(
        VERSION + "parameters: {size: {type: number}}\nresources:\n  a:\n"
        "    type: OS::Heat::Value\n    properties:\n"
        "      value: [{get_file: script.sh}, {get_param: size}]\n"
    )
    text = (
        VERSION
        + "resources:\n  inner:\n    type: below/inner.yaml\n    properties: {size: three}\n"
        "outputs:\n  o: {value: {get_file: script.sh}}\n"
    )
    found = Linter(services).lint("outer.yaml", text, tmp_path)
    assert {each.rule for each in found} == {rules.RESOURCE}
    assert found[0].message == (
        "resources.inner<below/inner.yaml>: : Parameter 'size' is invalid:"
        " could not convert string to float: 'three'"
    )
    assert Linter(services).lint("outer.yaml", text.replace("three", "3"), tmp_path) == []


def test_template_that_names_itself_ends(services: StackServices, tmp_path: Path) -> None:
    text = VERSION + "resources:\n  a: {type: self.yaml}\n"
    (tmp_path / "self.yaml").write_text(text)
    found = Linter(services).lint("self.yaml", text, tmp_path)
    assert [each.rule for each in found] == [rules.RESOURCE]
    assert "Recursion depth exceeds" in found[0].message


def test_environments_give_values_and_types(services: StackServices, tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(VERSION + "parameters: {n: {type: number}}\n")
    text = PARAMETER + "resources:\n  a: {type: My::Type, properties: {n: {get_param: size}}}\n"
    mapping = "resource_registry: {'My::Type': mine.yaml}\n"
    environment = EnvironmentFiles({tmp_path / "e.yaml": mapping}, {"size": "3"})
    assert Linter(services, environment).lint("a.yaml", text, tmp_path) == []
    wrong = EnvironmentFiles({tmp_path / "e.yaml": mapping}, {"size": "many"})
    assert rules.PARAMETER in {
        each.rule for each in Linter(services, wrong).lint("a.yaml", text, tmp_path)
    }
    missing = Linter(services).lint("a.yaml", text, tmp_path)
    assert [each.rule for each in missing] == [rules.DEFINITION]


@pytest.mark.parametrize("odd", ["[[b]]", "{b: c}", "5", "[{a: b}, 5]", "true"])
def test_odd_names_in_depends_on_stop_no_rule(
    services: StackServices, tmp_path: Path, odd: str
) -> None:
    text = (
        VERSION + f"resources:\n  a: {{type: OS::Heat::RandomString, depends_on: {odd}}}\n"
        "  b: {type: OS::Heat::RandomString}\n"
    )
    assert Linter(services).lint("a.yaml", text, tmp_path)


def test_a_defect_in_one_rule_fails_that_rule_alone(
    services: StackServices, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def defective(_linted: object) -> list[object]:
        raise ZeroDivisionError

    rest = tuple(each for each in linter._ADVICE if each is not linter.resources.literal_ids)
    monkeypatch.setattr(linter, "_ADVICE", (defective, *rest))
    found = Linter(services).lint("t", PARAMETER, tmp_path)
    assert {each.rule for each in found} == {rules.CHECK_FAILED, rules.UNUSED_PARAMETER}
    (failed,) = [each for each in found if each.rule is rules.CHECK_FAILED]
    assert "The check of defective has failed, error id " in failed.message


def test_a_defect_in_the_validation_leaves_the_advice(
    services: StackServices, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def defective(*_arguments: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(linter.NestedStackValidator, "validate", defective)
    found = Linter(services).lint("t", PARAMETER, tmp_path)
    assert {each.rule for each in found} == {rules.CHECK_FAILED, rules.UNUSED_PARAMETER}


@pytest.mark.parametrize(("resources", "type_key"), [("resources", "type"), ("Resources", "Type")])
def test_template_at_a_url_counts_as_valid(
    services: StackServices, tmp_path: Path, resources: str, type_key: str
) -> None:
    version = "heat_template_version: 2018-08-31"
    if type_key == "Type":
        version = "HeatTemplateFormatVersion: '2012-12-12'"
    properties = {"TemplateURL": "http://host.invalid/a.yaml"}
    body: dict[str, Any] = {type_key: "AWS::CloudFormation::Stack"}
    body["properties" if type_key == "type" else "Properties"] = properties
    text = f"{version}\n{resources}: {json.dumps({'a': body})}\n"
    assert Linter(services).lint("a.yaml", text, tmp_path) == []
