"""The API's views of templates, and the addresses it may fetch from."""

from typing import Any

import pytest

from heat_convergence.common.errors import HTTPBadRequest, NotFound
from heat_convergence.template.environment.environment import Environment
from heat_convergence.template.evaluation.evaluation import MissingParameters
from heat_convergence.template.parsing.url_policy import is_forbidden_ip, validate_url
from heat_convergence.template.template_views import (
    template_functions,
    template_versions,
    validation_view,
)
from tests.unit.template.template_helpers import evaluate, hot_template


def test_validation_view_lists_parameters() -> None:
    source = hot_template(
        description="about",
        parameters={
            "full": {
                "type": "string", "default": "ab", "description": "D", "label": "L",
                "tags": ["t"], "constraints": [
                    {"length": {"min": 1, "max": 3}, "description": "short"},
                    {"allowed_values": ["ab", "c"], "description": "known"},
                    {"allowed_pattern": "[a-c]+"}, {"custom_constraint": "x"}]},
            "secret": {"type": "string", "hidden": True},
            "number": {"type": "number", "default": 3, "constraints": [
                {"range": {"min": 1}}, {"modulo": {"step": 2, "offset": 1}}]},
        },
        parameter_groups=[{"label": "g", "parameters": ["full"]}],
    )  # fmt: skip
    environment = Environment.parse(
        {"parameters": {"secret": "s", "number": "7"}, "parameter_defaults": {"number": 5}}
    )
    found = evaluate(source, environment.to_dict(), missing=MissingParameters.ALLOW)
    assert validation_view(found, environment) == {
        "Description": "about",
        "Parameters": {
            "full": {
                "Type": "String", "Description": "D", "NoEcho": "false", "Label": "L",
                "Default": "ab", "Tags": ["t"], "MinLength": 1, "MaxLength": 3,
                "AllowedValues": ["ab", "c"], "AllowedPattern": "[a-c]+",
                "CustomConstraint": "x", "ConstraintDescription": "short known"},
            "secret": {"Type": "String", "Description": "", "NoEcho": "true", "Label": "secret",
                       "Value": "******"},
            "number": {"Type": "Number", "Description": "", "NoEcho": "false", "Label": "number",
                       "Default": 5, "Value": "7", "MinValue": 1, "Step": 2, "Offset": 1},
        },
        "ParameterGroups": [{"label": "g", "parameters": ["full"]}],
        "Environment": {
            "parameters": {"secret": "s", "number": "7"}, "parameter_defaults": {"number": 5},
            "resource_registry": {"resources": {}}, "event_sinks": []},
    }  # fmt: skip


def test_validation_view_omits_missing_values() -> None:
    found = evaluate(
        hot_template(parameters={"p": {"type": "json"}}), missing=MissingParameters.ALLOW
    )
    view = validation_view(found, Environment())
    assert view["Description"] == "No description"
    assert "Value" not in view["Parameters"]["p"]
    assert "ParameterGroups" not in view


def test_template_versions_are_listed() -> None:
    listed = {entry["version"]: entry for entry in template_versions()}
    assert len(listed) == 13
    assert listed["heat_template_version.2021-04-16"] == {
        "version": "heat_template_version.2021-04-16",
        "type": "hot",
        "aliases": ["heat_template_version.wallaby"],
    }
    assert listed["AWSTemplateFormatVersion.2010-09-09"]["type"] == "cfn"


def test_template_functions_are_listed() -> None:
    listed = template_functions("heat_template_version.2013-05-23")
    names = [entry["functions"] for entry in listed]
    assert "get_attr" in names
    assert "yaql" not in names
    assert names == sorted(names)
    assert all(entry["description"] for entry in listed)
    newest = template_functions("heat_template_version.wallaby", with_conditions=True)
    assert {"equals", "not"} <= {entry["functions"] for entry in newest}
    plain = template_functions("heat_template_version.wallaby", plugins={"mine": "M"})
    assert {"functions": "mine", "description": "M"} in plain
    assert "equals" not in {entry["functions"] for entry in plain}
    with pytest.raises(NotFound, match="did you mean"):
        template_functions("heat_template_version.2013-05-24")


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "0.0.0.0",
        "100.64.0.1", "224.0.0.1", "255.255.255.255", "::1", "::", "fe80::1%eth0", "fc00::1",
        "::ffff:127.0.0.1", "::127.0.0.1", "::169.254.169.254",
        "64:ff9b::7f00:1", "2002:7f00:1::", "ff02::1", "host", "",
    ],
)  # fmt: skip
def test_local_and_private_addresses_are_forbidden(address: Any) -> None:
    assert is_forbidden_ip(address)


@pytest.mark.parametrize("address", ["8.8.8.8", "2001:4860:4860::8888", "::ffff:8.8.8.8"])
def test_public_addresses_are_allowed(address: Any) -> None:
    assert not is_forbidden_ip(address)


def test_urls_of_other_schemes_are_refused() -> None:
    assert validate_url("https://Example.org:8/x") == "example.org"
    for url in ("file:///etc/passwd", "ftp://h/x", "http:///x", "x.yaml", "http://[::1"):
        with pytest.raises(HTTPBadRequest):
            validate_url(url)
