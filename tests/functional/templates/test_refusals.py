"""Refusals have the code, the type and the beginning of the text that Heat's have."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from heat_convergence.api.services import ApiOptions
from tests.functional.harness import LocalService
from tests.functional.project_client import ProjectClient, hot_template, resource_definition

Json = Any
REFUSALS = yaml.safe_load((Path(__file__).parents[1] / "data" / "refusals.yaml").read_text())


@pytest.fixture(scope="module")
def heat(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProjectClient]:
    folder = tmp_path_factory.mktemp("db")
    service = LocalService(f"sqlite:///{folder}/hc.sqlite", ApiOptions())
    client = ProjectClient(service)
    client.create("s", hot_template({"a": resource_definition(value="one")}))
    yield client
    service.close()


def send(heat: ProjectClient, refusal: Json) -> Any:
    if "request" in refusal:
        method, path, body = refusal["request"]
        return heat.send(method, path.replace("{stack}", heat.path("s")), body)
    template = hot_template({"a": {"type": "OS::Heat::Value", "properties": {"value": 1}}})
    if "parameter" in refusal:
        template["parameters"] = {"p": refusal["parameter"]}
    else:
        template["resources"]["a"]["properties"]["value"] = refusal["value"]
    return heat.send("POST", "/stacks", {"stack_name": "t", "template": template})


@pytest.mark.parametrize("refusal", REFUSALS, ids=lambda refusal: refusal["answer"][2][:60])
def test_refusal_begins_as_heat_s_does(heat: ProjectClient, refusal: Json) -> None:
    code, error_type, text = refusal["answer"]
    answer = send(heat, refusal)
    assert answer.status_int == code, answer.text
    error = answer.json["error"]
    assert error["type"] == error_type
    assert error["message"].startswith(text), error["message"]


def test_signal_to_a_suspended_resource_is_refused_with_an_event(heat: ProjectClient) -> None:
    heat.create("u", hot_template({"a": resource_definition(value="one")}))
    heat.perform_action("u", "suspend")
    path = heat.path("u")
    answer = heat.send("POST", f"{path}/resources/a/signal", {})
    assert answer.json["error"]["message"] == "Signal resource during SUSPEND is not supported."
    event = heat.events("u", "?limit=1")[0]
    assert event["resource_status"] == "SUSPEND_COMPLETE"
    assert event["resource_status_reason"] == "Cannot signal resource during SUSPEND"
    template = hot_template({"a": resource_definition(value="two")})
    answer = heat.send("PUT", path, {"template": template})
    text = "Updating a stack when it is suspended is not supported."
    assert answer.json["error"]["message"] == text


def test_group_s_view_has_every_declared_attribute(heat: ProjectClient) -> None:
    member = {"type": "OS::Heat::TestResource"}
    group = {"type": "OS::Heat::ResourceGroup", "properties": {"count": 1, "resource_def": member}}
    heat.create("g", hot_template({"g": group}))
    attributes = heat.resource("g", "g")["attributes"]
    assert attributes["attributes"] is None
    assert {"refs", "refs_map", "removed_rsrc_list"} <= set(attributes)


def test_preview_of_an_update_shows_no_records_of_the_service(heat: ProjectClient) -> None:
    child = "heat_template_version: '2018-08-31'\nparameters: {v: {type: string}}\nresources:\n" \
            "  x: {type: OS::Heat::TestResource, properties: {value: {get_param: v}}}\n" \
            "outputs: {o: {value: {get_attr: [x, output]}}}\n"  # fmt: skip

    def template(value: str) -> Json:
        nested = {"type": "child.yaml", "properties": {"v": value}}
        return hot_template({"n": nested}, outputs={"i": {"get_attr": ["n", "resource.x.output"]}})

    files = {"child.yaml": child}
    heat.create("p", template("one"), files=files)
    body = {"template": template("two"), "files": files}
    changes = heat.send("PUT", f"{heat.path('p')}/preview", body).json["resource_changes"]
    (updated,) = changes["updated"]
    assert not [name for name in updated["attributes"] if name.startswith("$")]
