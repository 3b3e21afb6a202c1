"""Secrets are masked in every view of a stack except the exported document."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest

from heat_convergence.api.services import ApiOptions
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.builtin.local_type import LocalType
from heat_convergence.resources.protocol.schema import PropertySchema, PropertyType, TypeSchema
from heat_convergence.resources.protocol.verb_values import ResourceContext, VerbResult
from tests.functional.harness import LocalService
from tests.functional.project_client import ProjectClient, hot_template

Json = Any
HIDDEN, CHILD_DEFAULT, KEY = "planted-hidden-one", "planted-default-two", "planted-key-three"

CHILD = """
heat_template_version: 2018-08-31
parameters:
  given: {type: string}
  pin: {type: string, hidden: true}
resources:
  held:
    type: OS::Heat::TestResource
    properties: {value: {list_join: ["", [{get_param: given}, {get_param: pin}]]}}
    metadata: {seen: {get_param: given}}
"""
TEMPLATE = {
    "heat_template_version": "2018-08-31",
    "parameters": {"password": {"type": "string", "hidden": True}},
    "resources": {
        "tested": {
            "type": "OS::Heat::TestResource",
            "properties": {"value": {"get_param": "password"}, "fail": False},
            "metadata": {"login": ["me", {"get_param": "password"}]},
        },
        "child": {"type": "child.yaml", "properties": {"given": {"get_param": "password"}}},
        "key": {"type": "Test::Key"},
    },
}


class KeyType(LocalType):
    """A resource type that creates a secret of its own."""

    name = "Test::Key"
    schema = TypeSchema(properties={"size": PropertySchema(type=PropertyType.INTEGER)})
    secret_data: ClassVar[frozenset[str]] = frozenset({"private_key"})

    def create(self, view: ResourceContext) -> VerbResult:
        data = {"private_key": KEY, "fingerprint": "12:34"}
        return VerbResult(ObservedState.READY, physical_id="key", data=data)


@pytest.fixture
def service(tmp_path: Path) -> Iterator[LocalService]:
    options = ApiOptions(enable_stack_abandon=True)
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite", options, types=(KeyType(),))
    yield service
    service.close()


@pytest.fixture
def heat(service: LocalService) -> ProjectClient:
    heat = ProjectClient(service)
    heat.create(
        "s",
        TEMPLATE,
        files={"child.yaml": CHILD},
        parameters={"password": HIDDEN},
        environment={"parameter_defaults": {"pin": CHILD_DEFAULT}},
    )
    assert heat.status("s") == "CREATE_COMPLETE"
    return heat


def secrets_in(document: Json) -> list[str]:
    text = json.dumps(document)
    return [secret for secret in (HIDDEN, CHILD_DEFAULT, KEY) if secret in text]


def events_by_resource(heat: ProjectClient, path: str) -> Mapping[str, list[Json]]:
    """The details of all events, by name of their resource."""
    found: dict[str, list[Json]] = {}
    for event in heat.send("GET", f"{path}/events").json["events"]:
        link = next(each["href"] for each in event["links"] if each["rel"] == "self")
        shown = heat.send("GET", link.split("/v1/p", 1)[1]).json["event"]
        found.setdefault(shown["resource_name"], []).append(shown)
    return found


def child_path(heat: ProjectClient) -> str:
    links = heat.resource("s", "child")["links"]
    (link,) = [each["href"] for each in links if each["rel"] == "nested"]
    return str(link.split("/v1/p", 1)[1])


def test_events_mask_the_properties_of_a_sensitive_resource(heat: ProjectClient) -> None:
    for path in (heat.path("s"), child_path(heat)):
        shown = events_by_resource(heat, path)
        assert not secrets_in(shown)
    shown = events_by_resource(heat, heat.path("s"))["tested"]
    properties = [event["resource_properties"] for event in shown if event["resource_properties"]]
    assert properties
    assert all(each["value"] == "******" for each in properties)
    assert all(each["fail"] is False for each in properties)


def test_events_show_the_properties_of_other_resources(heat: ProjectClient) -> None:
    template = {
        "heat_template_version": "2018-08-31",
        "resources": {"r": {"type": "OS::Heat::TestResource", "properties": {"value": "plain"}}},
    }
    heat.create("t", template)
    shown = events_by_resource(heat, heat.path("t"))["r"]
    assert "plain" in [event["resource_properties"].get("value") for event in shown]


def test_snapshots_are_masked_when_listed_shown_and_taken(heat: ProjectClient) -> None:
    path = heat.path("s")
    taken = heat.send("POST", f"{path}/snapshots", {"name": "n"}).json
    listed = heat.send("GET", f"{path}/snapshots").json
    shown = heat.send("GET", f"{path}/snapshots/{taken['id']}").json
    assert [secrets_in(each) for each in (taken, listed, shown)] == [[], [], []]
    data = shown["snapshot"]["data"]
    assert data["environment"]["parameters"] == {"password": "******"}
    assert data["environment"]["parameter_defaults"] == {"pin": "******"}
    assert data["resources"]["tested"]["metadata"] == {"login": ["******", "******"]}
    assert data["resources"]["key"]["resource_data"]["private_key"] == "******"


def test_a_masked_snapshot_is_restored_with_its_values(heat: ProjectClient) -> None:
    path = heat.path("s")
    taken = heat.send("POST", f"{path}/snapshots", {"name": "n"}).json
    heat.send("PATCH", path, {"parameters": {"password": "another"}})
    heat.send("POST", f"{path}/snapshots/{taken['id']}/restore")
    assert heat.status("s") == "RESTORE_COMPLETE"
    assert HIDDEN in json.dumps(heat.send("GET", f"{path}/export").json["environment"])


def test_environments_mask_defaults_of_parameters_that_a_nested_stack_hides(
    heat: ProjectClient,
) -> None:
    for path in (heat.path("s"), child_path(heat)):
        shown = heat.send("GET", f"{path}/environment").json
        assert not secrets_in(shown)
        assert shown["parameter_defaults"] == {"pin": "******"}


@pytest.fixture
def with_plain_defaults(service: LocalService) -> ProjectClient:
    """A stack with defaults for its tree, for a template not in use yet, and for no template."""
    unused = json.dumps(
        hot_template({}, parameters={"later": {"type": "string", "hidden": "yes"}})
    )
    heat = ProjectClient(service)
    heat.create(
        "s",
        TEMPLATE,
        files={"child.yaml": CHILD, "unused.yaml": unused, "notes": "hidden: [ never closed"},
        parameters={"password": HIDDEN},
        environment={
            "parameter_defaults": {
                "pin": CHILD_DEFAULT, "later": KEY, "given": "plain", "nowhere": "plain"
            },
        },
    )  # fmt: skip
    return heat


def test_environments_show_the_defaults_that_no_template_hides(
    with_plain_defaults: ProjectClient,
) -> None:
    heat = with_plain_defaults
    for path in (heat.path("s"), child_path(heat)):
        shown = heat.send("GET", f"{path}/environment").json
        assert shown["parameter_defaults"] == {
            "pin": "******", "later": "******", "given": "plain", "nowhere": "plain"
        }  # fmt: skip


def test_snapshots_show_the_defaults_that_no_template_hides(
    with_plain_defaults: ProjectClient,
) -> None:
    heat = with_plain_defaults
    taken = heat.send("POST", f"{heat.path('s')}/snapshots", {"name": "n"}).json
    shown = heat.send("GET", f"{heat.path('s')}/snapshots/{taken['id']}").json
    assert shown["snapshot"]["data"]["environment"]["parameter_defaults"] == {
        "pin": "******", "later": "******", "given": "plain", "nowhere": "plain"
    }  # fmt: skip


def test_a_nested_stack_masks_the_parameters_that_got_a_hidden_value(heat: ProjectClient) -> None:
    shown = heat.send("GET", child_path(heat)).json["stack"]
    assert (shown["parameters"]["given"], shown["parameters"]["pin"]) == ("******", "******")
    assert shown["parameters"]["OS::stack_name"] == shown["stack_name"]


def test_the_exported_document_has_the_secrets(heat: ProjectClient) -> None:
    shown = heat.send("GET", f"{heat.path('s')}/export").json
    assert secrets_in(shown) == [HIDDEN, CHILD_DEFAULT, KEY]
