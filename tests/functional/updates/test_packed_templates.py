"""Requests with templates whose resources are packed are answered as others are."""

from __future__ import annotations

import json
from typing import Any

import pytest

from heat_convergence.common import strict_json
from heat_convergence.common.values import packed_map
from heat_convergence.common.values.packed_map import PackedMap
from heat_convergence.stacks.snapshot_data import with_resource_properties
from heat_convergence.template.parsing.document_loader import PACKED_SECTIONS
from heat_convergence.template.template import Template
from tests.functional.project_client import ProjectClient, hot_template, resource_definition

NAMES = [f"packed{number}" for number in range(60)]


@pytest.fixture(autouse=True)
def _packed_early(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strict_json, "_LARGE", 0)
    monkeypatch.setattr(packed_map, "PACKED_FROM", 20)
    monkeypatch.setattr(packed_map, "_PART_SIZE", 7)
    monkeypatch.setattr(packed_map, "_OPEN_PARTS", 1)


def template(value: str = "1", *names: str) -> dict[str, Any]:
    """Return a template of many resources, of which some have a value, and the last reads one."""
    resources = {name: resource_definition(value="1", wait_secs=0) for name in NAMES}
    resources |= {name: resource_definition(value=value, wait_secs=0) for name in names}
    first = {"get_attr": [NAMES[7], "output"]}
    resources["last"] = resource_definition(value=first, wait_secs=0)
    return hot_template(resources)


def updated(heat: ProjectClient) -> set[str]:
    return {
        each["resource_name"]
        for each in heat.resources("s")
        if each["resource_status"] == "UPDATE_COMPLETE"
    }


def text_of(document: dict[str, Any]) -> str:
    return json.dumps(document, indent=1)


@pytest.mark.parametrize("form", [dict, text_of], ids=["map", "text"])
def test_templates_of_requests_are_packed(
    heat: ProjectClient, monkeypatch: pytest.MonkeyPatch, form: Any
) -> None:
    parsed: list[Any] = []
    names = Template.resource_names.fget
    assert names is not None

    def noted(each: Template) -> tuple[str, ...]:
        parsed.append(each.raw.get("resources"))
        found: tuple[str, ...] = names(each)
        assert found == (*NAMES, "last")
        return found

    monkeypatch.setattr(Template, "resource_names", property(noted))
    heat.create("s", form(template()))
    assert parsed
    assert all(isinstance(each, PackedMap) for each in parsed)


@pytest.mark.parametrize("form", [dict, text_of], ids=["map", "text"])
def test_changed_resources_and_their_dependents_are_updated(
    heat: ProjectClient, form: Any
) -> None:
    heat.create("s", form(template()))
    heat.update("s", form(template("2", NAMES[7], NAMES[50])))
    assert updated(heat) == {NAMES[7], NAMES[50], "last"}
    assert heat.resource("s", "last")["attributes"]["output"] == "2"


def test_update_without_a_change_updates_nothing(heat: ProjectClient) -> None:
    heat.create("s", template())
    heat.update("s", template())
    assert updated(heat) == set()


def test_restore_goes_back_to_the_values(heat: ProjectClient) -> None:
    heat.create("s", template())
    path = heat.path("s")
    snapshot = heat.send("POST", f"{path}/snapshots", {}).json["id"]
    heat.update("s", template("2", NAMES[7]))
    heat.send("POST", f"{path}/snapshots/{snapshot}/restore")
    assert heat.stack("s")["stack_status"] == "RESTORE_COMPLETE"
    assert heat.resource("s", "last")["attributes"]["output"] == "1"


def test_restored_properties_are_put_into_packed_resources() -> None:
    parsed = Template.parse(text_of(template()), packed=PACKED_SECTIONS)
    assert isinstance(parsed.raw["resources"], PackedMap)
    found = with_resource_properties(parsed, {NAMES[30]: {"value": "2"}, "gone": {"value": "3"}})
    assert found == template("2", NAMES[30])
    assert parsed.raw == template()


def test_preview_shows_the_changed_resources(heat: ProjectClient) -> None:
    heat.create("s", template())
    body = {"template": template("2", NAMES[7])}
    changes = heat.send("PUT", f"{heat.path('s')}/preview", body).json["resource_changes"]
    assert NAMES[7] in {each["resource_name"] for each in changes["updated"]}
    assert len(changes["unchanged"]) >= len(NAMES) - 2


def test_mistakes_in_resources_are_found(heat: ProjectClient) -> None:
    wrong = template()
    wrong["resources"]["bad"] = {"type": "OS::Heat::TestResource", "properties": {"valu": 1}}
    answer = heat.send("POST", "/stacks", {"stack_name": "s", "template": wrong})
    assert answer.status_code == 400
    assert "Unknown Property valu" in answer.json["error"]["message"]
    findings = heat.send("POST", "/lint", {"template": wrong}).json["findings"]
    assert any("valu" in each["message"] for each in findings)
