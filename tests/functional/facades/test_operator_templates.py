"""Names that the operator maps to templates, in the lists and schemas of resource types."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from heat_convergence.api.app import build_app
from heat_convergence.template.environment.environment import Environment
from tests.functional.harness import LocalService

Json = Any
TEMPLATE = {
    "heat_template_version": "2018-08-31",
    "description": "A server of ours.",
    "parameters": {
        "count": {
            "type": "number",
            "default": 3,
            "description": "How many.",
            "constraints": [{"range": {"min": 1, "max": 5}}],
        },
        "names": {"type": "comma_delimited_list", "constraints": [{"length": {"max": 2}}]},
        "tags": {"type": "json"},
        "size": {"type": "string"},
    },
    "resources": {"r": {"type": "OS::Heat::None"}},
    "outputs": {"id": {"description": "Its id.", "value": 1}, "other": {"value": 2}},
}
PLAIN = {"update_allowed": True, "immutable": False}
SHOW = {"description": "Detailed information about resource.", "type": "map"}
UNDESCRIBED = "No description available"


class OperatorTemplates:
    """The service with an operator's environment that maps names to templates in a folder."""

    def __init__(self, service: LocalService, folder: Path) -> None:
        self._service, self._folder = service, folder

    def install(self, **content: Json) -> None:
        """Write ``NAME.yaml`` for each name, and map ``My::NAME`` to it."""
        for name, template in content.items():
            text = template if isinstance(template, str) else json.dumps(template)
            (self._folder / f"{name}.yaml").write_text(text)
        self.map({f"My::{name}": self.url(name) for name in content})

    def url(self, name: str) -> str:
        """Return the URL of a template, which need not exist."""
        return f"file://{self._folder}/{name}.yaml"

    def map(self, registry: Json, **sections: Json) -> None:
        """Start the service again with this environment."""
        operator = Environment.parse({"resource_registry": registry, **sections})
        self._service.services = replace(self._service.services, global_environment=operator)
        self._service.use_application(build_app(self._service.services))

    def get(self, path: str, status: int = 200) -> Json:
        """Return the answer to ``GET /resource_types`` and this path."""
        response = self._service.send("GET", f"/resource_types{path}")
        assert response.status_int == status, response.text
        return response.json

    def listed(self, query: str = "") -> list[Json]:
        """Return the listed names that begin with ``My``."""
        found: list[Json] = self.get(f"?name=My{query}")["resource_types"]
        return found


@pytest.fixture
def operator(service: LocalService, tmp_path: Path) -> OperatorTemplates:
    return OperatorTemplates(service, tmp_path)


def test_names_are_listed_with_their_descriptions(operator: OperatorTemplates) -> None:
    undescribed = {key: value for key, value in TEMPLATE.items() if key != "description"}
    operator.install(Server=TEMPLATE, Plain=undescribed)
    assert operator.listed() == ["My::Plain", "My::Server"]
    assert operator.listed("&with_description=true") == [
        {"resource_type": "My::Plain", "description": UNDESCRIBED},
        {"resource_type": "My::Server", "description": "A server of ours."},
    ]
    assert operator.listed("&support_status=SUPPORTED") == ["My::Plain", "My::Server"]
    assert operator.listed("&version=2014.1") == []


def test_only_whole_names_of_types_are_listed(operator: OperatorTemplates) -> None:
    operator.install(Server=TEMPLATE)
    url = operator.url("Server")
    inner = {"r": {"My::Inner": url}}
    operator.map({"My::Server": "My::Next", "My::Next": url, "My::W*": url, "resources": inner})
    assert operator.listed() == ["My::Next", "My::Server"]
    assert operator.get("/My::Inner", 404)["error"]["type"] == "EntityNotFound"
    assert operator.get("/My::Server") == {
        **operator.get("/My::Next"),
        "resource_type": "My::Server",
    }


def test_schema_has_the_parameters_and_outputs(operator: OperatorTemplates) -> None:
    operator.install(Server=TEMPLATE)
    assert operator.get("/My::Server") == {
        "resource_type": "My::Server",
        "properties": {
            "count": {
                "type": "number",
                "description": "How many.",
                "required": False,
                "constraints": [{"range": {"min": 1, "max": 5}}],
                **PLAIN,
            },
            "names": {
                "type": "list",
                "required": True,
                "constraints": [{"length": {"max": 2}}],
                **PLAIN,
            },
            "tags": {"type": "map", "required": True, **PLAIN},
            "size": {"type": "string", "required": True, **PLAIN},
        },
        "attributes": {"id": {"description": "Its id."}, "other": {}, "show": SHOW},
        "support_status": {
            "status": "SUPPORTED",
            "message": None,
            "version": None,
            "previous_status": None,
        },
    }


def test_defaults_of_the_environment_make_properties_optional(
    operator: OperatorTemplates,
) -> None:
    operator.install(Server=TEMPLATE)
    operator.map({"My::Server": operator.url("Server")}, parameter_defaults={"size": "large"})
    shown = operator.get("/My::Server")["properties"]
    assert {name: each["required"] for name, each in shown.items()} == {
        "count": False,
        "names": True,
        "tags": True,
        "size": False,
    }


@pytest.mark.parametrize(
    ("language", "words", "types"),
    [
        ("hot", ("resources", "parameters", "type"), ["comma_delimited_list", "json"]),
        ("cfn", ("Resources", "Parameters", "Type"), ["CommaDelimitedList", "Json"]),
    ],
)
def test_template_is_generated(
    operator: OperatorTemplates, language: str, words: tuple[str, str, str], types: list[str]
) -> None:
    operator.install(Server=TEMPLATE)
    resources, parameters, type_word = words
    generated = operator.get(f"/My::Server/template?template_type={language}")
    assert [each[type_word] for each in generated[resources].values()] == ["My::Server"]
    assert [generated[parameters][each][type_word] for each in ("names", "tags")] == types


def test_template_over_a_type_takes_the_place_of_its_schema(operator: OperatorTemplates) -> None:
    operator.install(Server=TEMPLATE)
    operator.map({"OS::Heat::Value": operator.url("Server")})
    assert set(operator.get("/OS::Heat::Value")["properties"]) == set(TEMPLATE["parameters"])
    names = operator.get("?name=OS::Heat::Value")["resource_types"]
    assert names == ["OS::Heat::Value"]


@pytest.mark.parametrize(
    "broken",
    [
        "heat_template_version: [",
        "no: template",
        "x" * 600_000,
        {**TEMPLATE, "parameters": {"a": {"type": "no_such"}}},
    ],
    ids=["syntax", "no version", "size", "parameters"],
)
def test_template_that_is_wrong_leaves_the_others_alone(
    operator: OperatorTemplates, caplog: pytest.LogCaptureFixture, broken: Json
) -> None:
    with caplog.at_level(logging.ERROR):
        operator.install(Broken=broken, Server=TEMPLATE)
    assert "template of a resource type cannot be read" in caplog.text
    assert operator.listed() == ["My::Broken", "My::Server"]
    described = operator.listed("&with_description=true")
    assert [each["description"] for each in described] == [UNDESCRIBED, "A server of ours."]
    for path in ("/My::Broken", "/My::Broken/template"):
        assert operator.get(path, 500)["error"]["type"] == "InvalidGlobalResource"
    assert operator.get("/My::Server")["resource_type"] == "My::Server"


def test_missing_files_and_remote_templates_have_no_schema(operator: OperatorTemplates) -> None:
    operator.map({"My::Gone": operator.url("gone"), "My::Remote": "http://127.0.0.1:9/t.yaml"})
    assert operator.listed() == ["My::Gone", "My::Remote"]
    for name in operator.listed():
        assert operator.get(f"/{name}", 500)["error"]["type"] == "InvalidGlobalResource"


def test_each_template_is_read_once(
    operator: OperatorTemplates, monkeypatch: pytest.MonkeyPatch
) -> None:
    operator.install(Server=TEMPLATE)
    opened: list[str] = []
    original = Path.open

    def record(path: Path, *arguments: Any, **keywords: Any) -> Any:
        opened.append(path.name)
        return original(path, *arguments, **keywords)

    monkeypatch.setattr(Path, "open", record)
    names: Mapping[str, str] = dict.fromkeys(("My::A", "My::B"), operator.url("Server"))
    operator.map(names)
    for _ in range(3):
        operator.listed("&with_description=true")
        operator.get("/My::A")
        operator.get("/My::B/template")
    assert opened.count("Server.yaml") == 1
