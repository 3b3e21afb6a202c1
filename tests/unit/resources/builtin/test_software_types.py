"""Tests of the types of software configurations and deployments."""

from __future__ import annotations

import email
import email.policy
import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from heat_convergence.clients.endpoints import NoAuthCloud
from heat_convergence.common.errors import StackValidationFailed
from heat_convergence.common.failures import ResourceFailure
from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.db.statements.software import SoftwareConfigRow
from heat_convergence.resources.builtin.software import deployment_inputs
from heat_convergence.resources.builtin.software.configs import (
    CloudConfig,
    SoftwareComponent,
    SoftwareConfig,
    StructuredConfig,
)
from heat_convergence.resources.builtin.software.deployments import (
    SoftwareDeployment,
    StructuredDeployment,
)
from heat_convergence.resources.builtin.software.multipart_mime import MultipartMime
from heat_convergence.resources.openstack.heat.deployed_server import DeployedServer
from heat_convergence.resources.openstack.nova import user_data
from heat_convergence.resources.protocol.resource_type import ResourceType
from heat_convergence.resources.protocol.verb_values import ResourceContext
from tests.unit.resources.builtin.test_builtin_conformance import (
    attribute_as_fact,
    descriptions,
    property_as_fact,
    support_as_fact,
)

Json = Any
ContextBuilder = Callable[..., ResourceContext]
FACTS = json.loads((Path(__file__).parents[1] / "data" / "software_types.json").read_text())
CONFIGS = (
    CloudConfig(),
    MultipartMime(),
    SoftwareComponent(),
    SoftwareConfig(),
    StructuredConfig(),
)
TYPES = (*CONFIGS, DeployedServer(), SoftwareDeployment(), StructuredDeployment())
every_type = pytest.mark.parametrize("resource_type", TYPES, ids=lambda item: item.name)
every_config = pytest.mark.parametrize("resource_type", CONFIGS, ids=lambda item: item.name)
NOW = datetime(2026, 1, 1, tzinfo=UTC)
ID = "01a1ff71-a5d4-7000-9789-d3fafedd3c77"
REQUIRED = {"OS::Heat::SoftwareComponent": {"configs": [{"config": "x", "tool": "script"}]}}


class FakeConfigStore:
    """A ``SoftwareConfigStore`` in memory."""

    def __init__(self) -> None:
        self.configs: dict[str, SoftwareConfigRow] = {}

    def store_config(self, config: SoftwareConfigRow) -> None:
        self.configs.setdefault(config.id, config)

    def find_config(self, project_id: str, config_id: str) -> SoftwareConfigRow | None:
        found = self.configs.get(config_id)
        return found if found is not None and found.project_id == project_id else None

    def delete_config(self, project_id: str, config_id: str) -> None:
        self.configs.pop(config_id, None)


@pytest.fixture
def store() -> FakeConfigStore:
    return FakeConfigStore()


def test_facts_cover_all_types() -> None:
    assert sorted(FACTS) == sorted(item.name for item in TYPES)


@every_type
def test_schema_matches_the_facts(resource_type: ResourceType) -> None:
    facts, schema = FACTS[resource_type.name], resource_type.schema
    properties = {name: property_as_fact(each) for name, each in schema.properties.items()}
    attributes = {name: attribute_as_fact(each) for name, each in schema.attributes.items()}
    assert (properties, attributes) == (facts["properties"], facts["attributes"])
    assert support_as_fact(schema) == facts["support_status"]


@every_type
def test_every_property_has_a_description(resource_type: ResourceType) -> None:
    assert resource_type.schema.description
    assert [name for name, text in descriptions(resource_type.schema.properties) if not text] == []


@every_config
def test_lifecycle_from_create_to_delete(
    resource_type: ResourceType, build_context: ContextBuilder, store: FakeConfigStore
) -> None:
    options = {"cloud": NoAuthCloud(None, store)}
    properties = REQUIRED.get(resource_type.name, {})
    context = build_context(resource_type, properties, **options)
    assert resource_type.find(context) is None
    result = resource_type.create(context)
    assert result.physical_id == "r-1"
    assert list(store.configs) == [resource_type.find(context)]
    assert resource_type.resume_create(context) == result  # of a lost call
    config_row = store.configs["r-1"]
    assert (config_row.project_id, config_row.name) == ("p", "web-r-0123456789ab")
    assert result.attributes == {"config": config_row.body["config"] or None}
    created = build_context(resource_type, properties, Action.CREATE, physical_id="r-1", **options)
    assert resource_type.observe(created).observed is ObservedState.READY
    deleting = build_context(
        resource_type, properties, Action.DELETE, physical_id="r-1", **options
    )
    for _twice in range(2):
        assert resource_type.delete(deleting).observed is ObservedState.ABSENT
    assert resource_type.observe(deleting).observed is ObservedState.ABSENT


def test_create_without_a_store_fails(build_context: ContextBuilder) -> None:
    with pytest.raises(ResourceFailure, match="no store"):
        SoftwareConfig().create(build_context(SoftwareConfig(), {}))


def test_create_stores_all_properties(
    build_context: ContextBuilder, store: FakeConfigStore
) -> None:
    properties = {
        "group": "script",
        "config": "echo",
        "options": {"a": 1},
        "inputs": [{"name": "i", "default": 3}],
        "outputs": [{"name": "o"}],
    }
    SoftwareConfig().create(
        build_context(SoftwareConfig(), properties, cloud=NoAuthCloud(None, store))
    )
    config_row = store.configs["r-1"]
    assert (config_row.group, config_row.body["config"], config_row.body["options"]) == (
        "script",
        "echo",
        {"a": 1},
    )
    assert config_row.body["inputs"] == [
        {"name": "i", "default": 3, "type": "String", "replace_on_change": False}
    ]
    assert config_row.body["outputs"] == [{"name": "o", "type": "String", "error_output": False}]


def test_cloud_config_is_yaml_with_a_header(build_context: ContextBuilder) -> None:
    properties = {"cloud_config": {"packages": ["a"], "ä": "ö"}}
    text = CloudConfig().build_content(build_context(CloudConfig(), properties))
    assert text.splitlines()[0] == "#cloud-config"
    assert yaml.safe_load(text) == properties["cloud_config"]


def test_component_with_two_configurations_for_an_action_is_refused() -> None:
    first, second = ["CREATE"], ["UPDATE", "CREATE"]
    configs = [{"tool": "t", "actions": first}, {"tool": "t", "actions": second}]
    with pytest.raises(StackValidationFailed, match="CREATE") as caught:
        SoftwareComponent().validate({"configs": configs}, None)
    assert caught.value.path == "configs[1].actions"


def test_multipart_parts_are_texts_ids_and_messages(
    build_context: ContextBuilder, store: FakeConfigStore
) -> None:
    cloud = NoAuthCloud(None, store)
    store.store_config(
        SoftwareConfigRow(ID, "p", "n", "g", {"config": "#cloud-config\na: ü\n"}, NOW)
    )
    inner = MultipartMime().build_content(build_context(
        MultipartMime(), {"parts": [{"config": "inner", "filename": "x-shellscript.sh"}]},
        cloud=cloud,
    ))  # fmt: skip
    properties = {
        "parts": [
            {"config": ID, "subtype": "cloud-config"},
            {"config": "plain text"},
            {"config": inner, "type": "multipart"},
        ]
    }
    text = MultipartMime().build_content(build_context(MultipartMime(), properties, cloud=cloud))
    assert text == MultipartMime().build_content(
        build_context(MultipartMime(), properties, cloud=cloud)
    )
    message = email.message_from_string(text, policy=email.policy.default)
    assert message.get_content_type() == "multipart/mixed"
    found = [
        (part.get_content_subtype(), part.get_content(), part.get_filename())
        for part in message.iter_parts()
    ]
    assert found == [
        ("cloud-config", "#cloud-config\na: ü\n", None),
        ("plain", "plain text", None),
        ("x-shellscript", "inner", "x-shellscript.sh"),
    ]


def test_configuration_of_another_project_is_not_read(
    build_context: ContextBuilder, store: FakeConfigStore
) -> None:
    store.store_config(SoftwareConfigRow(ID, "other", "n", "g", {"config": "secret"}, NOW))
    context = build_context(
        MultipartMime(), {"parts": [{"config": ID}]}, cloud=NoAuthCloud(None, store)
    )
    assert "secret" not in MultipartMime().build_content(context)


@pytest.mark.parametrize(
    ("form", "text"), [("RAW", "echo"), ("SOFTWARE_CONFIG", "echo"), ("HEAT_CFNTOOLS", ID)]
)
def test_user_data_may_be_the_id_of_a_configuration(
    build_context: ContextBuilder, store: FakeConfigStore, form: str, text: str
) -> None:
    store.store_config(SoftwareConfigRow(ID, "p", "n", "g", {"config": "echo"}, NOW))
    context = build_context(CloudConfig(), {}, cloud=NoAuthCloud(None, store))
    properties = {"user_data": ID, "user_data_format": form}
    assert user_data.resolve_user_data(context, properties) == text
    assert (
        user_data.resolve_user_data(context, {**properties, "user_data": "#!/bin/sh"})
        == "#!/bin/sh"
    )


def config(tool: str = "script", content: Json = "echo", **body: Json) -> SoftwareConfigRow:
    return SoftwareConfigRow(ID, "p", "n", tool, {"config": content, **body}, NOW)


def test_inputs_list_declared_ones_first() -> None:
    declared = [{"name": "a", "type": "Number", "default": 1}, {"name": "b", "type": "String"}]
    values, further = {"b": "x", "c": 3}, {"deploy_action": "CREATE"}
    found = deployment_inputs.build_inputs(config(inputs=declared), values, further)
    assert [(each["name"], each["type"], each["value"]) for each in found] == [
        ("a", "Number", 1),
        ("b", "String", "x"),
        ("c", "String", 3),
        ("deploy_action", "String", "CREATE"),
    ]


@pytest.mark.parametrize(
    ("before", "after", "replaced"),
    [
        ({"r": 1}, {"r": 1, "o": 2}, False),
        ({"r": 1}, {"r": 2}, True),
        ({}, {"r": 7}, False),
        ({}, {"r": 8}, True),
    ],
)
def test_replace_on_change_requires_a_new_deployment(
    before: Json, after: Json, replaced: bool
) -> None:
    inputs = [{"name": "r", "default": 7, "replace_on_change": True}, {"name": "o"}]
    assert (
        bool(deployment_inputs.inputs_require_replacement(config(inputs=inputs), before, after))
        is replaced
    )


def test_component_selects_the_configuration_of_the_action() -> None:
    content = {
        "configs": [
            {"actions": ["CREATE"], "tool": "script", "config": "one"},
            {"actions": ["DELETE"], "tool": "puppet", "config": "two"},
        ]
    }
    component = config("component", content)
    assert deployment_inputs.select_config(component, "CREATE") == ("script", "one")
    assert deployment_inputs.select_config(component, "DELETE") == ("puppet", "two")
    assert deployment_inputs.select_config(component, "UPDATE") is None
    assert deployment_inputs.select_config(None, "UPDATE") == ("Heat::Ungrouped", "")


def test_inputs_are_substituted_in_a_map() -> None:
    content = {"a": {"get_input": "x"}, "b": [{"get_input": "y"}], "c": {"get_input": 1, "z": 2}}
    assert deployment_inputs.substitute_inputs(
        content, {"x": {"k": 1}}, "get_input", strict=False
    ) == {"a": {"k": 1}, "b": [None], "c": {"get_input": 1, "z": 2}}
    with pytest.raises(ResourceFailure, match='"y"'):
        deployment_inputs.substitute_inputs(content, {"x": 1}, "get_input", strict=True)


@pytest.mark.parametrize(
    ("outputs", "expected"),
    [
        ({}, []),
        ({"deploy_status_code": "0", "fine": "x"}, []),
        (
            {"deploy_status_code": 3},
            ["deploy_status_code : Deployment exited with non-zero status code: 3"],
        ),
        ({"bad": "it broke", "deploy_status_code": 0}, ["bad : it broke"]),
        ({"bad": ""}, []),
    ],
)
def test_failure_reasons_of_outputs(outputs: Json, expected: list[str]) -> None:
    declared = [{"name": "bad", "error_output": True}, {"name": "fine", "error_output": False}]
    assert deployment_inputs.failure_reasons(config(outputs=declared), outputs) == expected
