"""Views of users who may not export a stack mask the secrets that others read there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from oslo_config import cfg

from heat_convergence.api.app import build_app
from tests.functional.harness import LocalService
from tests.functional.project_client import ProjectClient

Json = Any
HIDDEN, INPUT = "planted-hidden-one", "planted-input-two"
TEMPLATE = {
    "heat_template_version": "2018-08-31",
    "parameters": {"password": {"type": "string", "hidden": True}},
    "resources": {
        "random": {"type": "OS::Heat::RandomString"},
        "held": {
            "type": "OS::Heat::TestResource",
            "properties": {"value": {"list_join": [":", ["me", {"get_param": "password"}]]}},
            "metadata": {"login": {"get_param": "password"}, "on": True},
        },
        "plain": {
            "type": "OS::Heat::TestResource",
            "properties": {"value": "visible"},
            "metadata": {"note": "visible"},
        },
    },
    "outputs": {"shown": {"value": {"get_attr": ["random", "value"]}}},
}


@pytest.fixture
def heat(tmp_path: Path) -> Iterator[ProjectClient]:
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite")
    heat = ProjectClient(service)
    heat.create("s", TEMPLATE, parameters={"password": HIDDEN})
    yield heat
    service.close()


@pytest.fixture
def reader(heat: ProjectClient, tmp_path: Path) -> ProjectClient:
    """The same client, once nobody may export."""
    (tmp_path / "policy.yaml").write_text('"stacks:export": "!"\n')
    (tmp_path / "hc.conf").write_text(f"[oslo_policy]\npolicy_file = {tmp_path}/policy.yaml\n")
    conf = cfg.ConfigOpts()
    conf([], default_config_files=[str(tmp_path / "hc.conf")], default_config_dirs=[])
    heat.service.use_application(build_app(heat.service.services, conf=conf))
    return heat


def test_attributes_hide_what_the_properties_and_the_type_hold_in_secret(
    heat: ProjectClient, request: pytest.FixtureRequest
) -> None:
    value = heat.resource("s", "random")["attributes"]["value"]
    assert heat.resource("s", "held")["attributes"]["output"] == f"me:{HIDDEN}"
    reader = request.getfixturevalue("reader")
    listed = reader.resources("s", "?with_detail=true")
    shown = [reader.resource("s", name) for name in ("random", "held", "plain")]
    for document in (listed, shown):
        assert value not in json.dumps(document)
        assert HIDDEN not in json.dumps(document)
    assert [each["attributes"].get("output") for each in shown] == [None, "******", "visible"]
    assert shown[0]["attributes"]["value"] == "******"


def test_metadata_of_a_sensitive_resource_are_masked(reader: ProjectClient) -> None:
    path = f"{reader.path('s')}/resources"
    held = reader.send("GET", f"{path}/held/metadata").json
    assert held == {"metadata": {"login": "******", "on": True}}
    assert reader.send("GET", f"{path}/plain/metadata").json == {"metadata": {"note": "visible"}}


def test_metadata_are_shown_to_users_who_may_export(heat: ProjectClient) -> None:
    held = heat.send("GET", f"{heat.path('s')}/resources/held/metadata").json
    assert held == {"metadata": {"login": HIDDEN, "on": True}}


def test_outputs_are_shown_as_the_author_wrote_them(reader: ProjectClient) -> None:
    assert len(reader.outputs("s")["shown"]) == 32


def test_inputs_of_configurations_and_deployments_are_masked(
    heat: ProjectClient, request: pytest.FixtureRequest
) -> None:
    inputs = [{"name": "password", "value": INPUT}]
    body = {"name": "c", "config": "#!/bin/sh", "inputs": inputs}
    config = heat.send("POST", "/software_configs", body).json["software_config"]
    values = {"config_id": config["id"], "server_id": "srv", "input_values": {"password": INPUT}}
    made = heat.send("POST", "/software_deployments", values).json["software_deployment"]
    paths = (
        f"/software_configs/{config['id']}",
        f"/software_deployments/{made['id']}",
        "/software_deployments",
        "/software_deployments/metadata/srv",
    )
    assert all(INPUT in heat.send("GET", path).text for path in (paths[0], paths[1]))
    reader = request.getfixturevalue("reader")
    answers = [reader.send("GET", path) for path in paths]
    assert [answer.status_int for answer in answers] == [200] * 4
    assert not any(INPUT in answer.text for answer in answers)
    shown = answers[0].json["software_config"]
    assert (shown["config"], shown["inputs"][0]["name"]) == ("#!/bin/sh", "password")
