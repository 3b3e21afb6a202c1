"""Updates ask services only about the objects that changed resources name."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from heat_convergence.resources import custom_constraints
from heat_convergence.resources.catalog import custom_constraints as cloud_constraints
from heat_convergence.resources.catalog.resource_types import load_resource_types
from heat_convergence.resources.driver.request_cloud import use_request_cloud
from tests.functional.harness import LocalService
from tests.functional.heat_import.heat_source import (
    PROJECT,
    heat_rows,
    import_all,
    rows_of,
    write_heat_database,
)
from tests.functional.openstack_types.emulated_service import ClockedEmulation, emulation_service

Json = Any
VERSION = {"heat_template_version": "2018-08-31"}
SERVER = {
    "type": "OS::Nova::Server",
    "properties": {
        "image": {"get_param": "image"},
        "flavor": "m1.nano",
        "networks": [{"network": "private"}],
    },
}
IMAGE = {
    "image": {
        "type": "string",
        "default": "cirros",
        "constraints": [{"custom_constraint": "glance.image"}],
    }
}
LEAF = {**VERSION, "parameters": IMAGE, "resources": {"server": SERVER}}
GROUP = {"properties": {"count": 2, "resource_def": {"type": "leaf.yaml"}}}
SCALED = {"properties": {"min_size": 1, "max_size": 3, "resource": {"type": "leaf.yaml"}}}
FLAT = {
    **VERSION,
    "parameters": IMAGE,
    "resources": {
        "server": SERVER,
        "address": {
            "type": "OS::Neutron::FloatingIP",
            "properties": {"floating_network": "public"},
        },
        "sibling": {"type": "OS::Heat::RandomString"},
    },
    "outputs": {"image": {"value": {"get_param": "image"}}},
}
NESTED = {
    **VERSION,
    "resources": {
        "leaf": {"type": "leaf.yaml"},
        "group": {"type": "OS::Heat::ResourceGroup", **GROUP},
        "scaled": {"type": "OS::Heat::AutoScalingGroup", **SCALED},
    },
}
FILES = {"leaf.yaml": json.dumps(LEAF)}


class UpdatedStacks:
    """Stacks in an emulated cloud, whose users' requests reach it, too."""

    def __init__(self, service: LocalService, cloud: ClockedEmulation) -> None:
        self.service = service
        self.cloud = cloud
        self.emulation = cloud.emulation
        cloud.emulation.add("neutron.network", name="private", status="ACTIVE")

    def create(self, template: Json, name: str = "s") -> str:
        answer = self.service.send(
            "POST", "/stacks", {"stack_name": name, "template": template, "files": FILES}
        )
        assert answer.status_int == 201, answer.text
        path = f"/stacks/{name}/{answer.json['stack']['id']}"
        assert self.status(path) == "CREATE_COMPLETE"
        return path

    def status(self, path: str) -> str:
        return str(self.service.send("GET", path).json["stack"]["stack_status"])

    def update(self, path: str, template: Json, **fields: Json) -> tuple[int, str, Counter[str]]:
        """Send an update; return its status, its text and the calls of all that follows."""
        return self.send("PUT", path, {"template": template, "files": FILES, **fields})

    def send(
        self, method: str, path: str, body: Json, **request: Any
    ) -> tuple[int, str, Counter[str]]:
        self.service.clock.advance(3600)  # nothing is remembered
        before = self.emulation.request_counts.copy()
        answer = self.service.send(method, path, body, **request)
        return answer.status_int, answer.text, self.emulation.request_counts - before

    def remove_image(self) -> None:
        [image] = [each for each in self.cloud.bodies("glance.image") if each["name"] == "cirros"]
        self.emulation.remove(image["id"])


@pytest.fixture
def stacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[UpdatedStacks]:
    cloud = ClockedEmulation()

    def now() -> Any:
        assert cloud.service is not None
        return cloud.service.clock()

    checks = {
        **cloud_constraints.load_custom_constraints(load_resource_types(), now),
        **custom_constraints.load_constraints(),
    }
    service = emulation_service(cloud, tmp_path, custom_constraints=checks)
    monkeypatch.setattr(
        "heat_convergence.api.trust_delegation.use_request_cloud",
        lambda _cloud: use_request_cloud(cloud.cloud_for("")),
    )
    yield UpdatedStacks(service, cloud)
    service.close()


def with_resource(template: Json, name: str, resource: Json) -> Json:
    return {**template, "resources": {**template["resources"], name: resource}}


def with_metadata(text: str) -> Json:
    return {**SERVER, "properties": {**SERVER["properties"], "metadata": {"release": text}}}


@pytest.mark.parametrize("template", [FLAT, NESTED])
@pytest.mark.parametrize(("method", "has_template"), [("PUT", True), ("PATCH", False)])
def test_update_without_change_calls_no_service(
    stacks: UpdatedStacks, template: Json, method: str, has_template: bool
) -> None:
    path = stacks.create(template)
    body = {"template": template, "files": FILES} if has_template else {}

    status, text, calls = stacks.send(method, path, body)

    assert (status, calls) == (202, Counter()), text
    assert stacks.status(path) == "UPDATE_COMPLETE"


@pytest.mark.parametrize("template", [FLAT, NESTED])
def test_preview_without_change_calls_no_service(stacks: UpdatedStacks, template: Json) -> None:
    path = stacks.create(template)
    body = {"template": template, "files": FILES}
    status, text, calls = stacks.send("PUT", f"{path}/preview", body)
    assert (status, calls) == (200, Counter()), text


@pytest.mark.parametrize("name", ["nested", "asg", "signalled", "snap", "base"])
def test_imported_stack_without_change_calls_no_service(
    stacks: UpdatedStacks, tmp_path: Path, name: str
) -> None:
    import_all(stacks.service, write_heat_database(tmp_path / "heat.sqlite"))
    [row] = rows_of(heat_rows(), "stack", name=name)
    status, text, calls = stacks.send("PATCH", f"/stacks/{name}/{row['id']}", {}, project=PROJECT)
    assert (status, calls) == (202, Counter()), text


def test_removed_image_does_not_matter_while_nothing_changes(stacks: UpdatedStacks) -> None:
    path = stacks.create(FLAT)
    stacks.remove_image()
    assert stacks.update(path, FLAT)[0] == 202
    assert stacks.status(path) == "UPDATE_COMPLETE"


def expected_text(stacks: UpdatedStacks, template: Json) -> str:
    """Return the text with which a new stack of the template is refused."""
    answer = stacks.service.send(
        "POST", "/stacks", {"stack_name": "new", "template": template, "files": FILES}
    )
    assert answer.status_int == 400
    return str(answer.json["error"]["message"])


CHANGES: Mapping[str, tuple[Json, Json]] = {
    "a property": (FLAT, with_resource(FLAT, "server", with_metadata("2"))),
    "a new resource": (FLAT, with_resource(FLAT, "second", SERVER)),
    "a new nested stack like another": (
        NESTED,
        with_resource(NESTED, "second", NESTED["resources"]["leaf"]),
    ),
    "a property of a group": (
        NESTED,
        with_resource(
            NESTED,
            "group",
            {**NESTED["resources"]["group"],
             "properties": {**GROUP["properties"], "count": 3}},
        ),
    ),
}  # fmt: skip


@pytest.mark.parametrize("change", sorted(CHANGES))
def test_removed_image_is_noticed_by(stacks: UpdatedStacks, change: str) -> None:
    before, after = CHANGES[change]
    path = stacks.create(before)
    stacks.remove_image()
    status, text, _ = stacks.update(path, after)
    assert status == 400
    assert "cirros" in text
    assert expected_text(stacks, after) in text or change != "a new resource"


def test_refusal_reads_as_that_of_a_new_stack(stacks: UpdatedStacks) -> None:
    path = stacks.create(FLAT)
    stacks.remove_image()
    after = with_resource(with_resource(FLAT, "server", with_metadata("2")), "second", SERVER)
    error = json.loads(stacks.update(path, after)[1])["error"]
    assert error["type"] == "StackValidationFailed"
    assert "cirros" in error["message"]
    assert error["message"] == expected_text(stacks, after)


def test_mistakes_of_the_template_come_with_those_that_services_find(
    stacks: UpdatedStacks,
) -> None:
    path = stacks.create(FLAT)
    stacks.remove_image()
    wrong = {"type": "OS::Heat::RandomString", "properties": {"length": -1}}
    after = with_resource(with_resource(FLAT, "server", with_metadata("2")), "sibling", wrong)
    message = json.loads(stacks.update(path, after)[1])["error"]["message"]
    assert "cirros" in message
    assert "length" in message
    assert message == expected_text(stacks, after)


def test_parameter_that_only_an_output_reads_is_looked_up(stacks: UpdatedStacks) -> None:
    unused = {
        **VERSION,
        "parameters": IMAGE,
        "resources": {"sibling": {"type": "OS::Heat::RandomString"}},
        "outputs": {"image": {"value": {"get_param": "image"}}},
    }
    path = stacks.create(unused)
    assert stacks.update(path, unused)[2] == Counter()
    status, text, calls = stacks.update(path, unused, parameters={"image": "other"})
    assert status == 400
    assert "other" in text
    assert calls


def test_new_constraint_of_a_parameter_is_looked_up(stacks: UpdatedStacks) -> None:
    free = {**FLAT, "parameters": {"image": {"type": "string", "default": "cirros"}}}
    path = stacks.create(free)
    flavor = [{"custom_constraint": "nova.flavor"}]
    constrained = {**FLAT, "parameters": {"image": {**IMAGE["image"], "constraints": flavor}}}
    status, text, _ = stacks.update(path, constrained)
    assert (status, "cirros" in text) == (400, True)


def test_unhealthy_resource_is_validated_before_its_replacement(stacks: UpdatedStacks) -> None:
    path = stacks.create(FLAT)
    stacks.service.send(
        "PATCH", f"{path}/resources/server", {"mark_unhealthy": True, "resource_status_reason": ""}
    )
    stacks.remove_image()
    status, text, _ = stacks.update(path, FLAT)
    assert (status, "cirros" in text) == (400, True)


def test_update_that_observes_everything_looks_names_up(stacks: UpdatedStacks) -> None:
    path = stacks.create(FLAT)
    stacks.remove_image()
    assert stacks.update(path, FLAT, converge=True)[0] == 400


def test_changed_resource_alone_is_looked_up(stacks: UpdatedStacks) -> None:
    free = {**FLAT, "parameters": {"image": {"type": "string", "default": "cirros"}}}
    path = stacks.create(free)
    status, text, calls = stacks.update(
        path, with_resource(free, "second", free["resources"]["address"])
    )
    assert status == 202, text
    assert {key.split()[1] for key in calls} == {"network"}


def test_external_resource_without_change_is_not_read(stacks: UpdatedStacks) -> None:
    [net] = [e for e in stacks.cloud.bodies("neutron.network") if e["name"] == "private"]
    external = {"type": "OS::Neutron::Net", "external_id": net["id"]}
    template = with_resource(FLAT, "net", external)
    path = stacks.create(template)
    assert stacks.update(path, template)[2] == Counter()
    missing = with_resource(FLAT, "net", {**external, "external_id": "nowhere"})
    assert stacks.update(path, missing)[0] == 400


ZONES = {
    "HeatTemplateFormatVersion": "2012-12-12",
    "Resources": {
        "value": {"Type": "OS::Heat::Value", "Properties": {"value": {"Fn::GetAZs": ""}}}
    },
}


def test_zones_stay_without_being_read_if_the_template_does(stacks: UpdatedStacks) -> None:
    path = stacks.create(ZONES)
    stacks.emulation.availability_zones.append("second")
    assert stacks.send("PATCH", path, {})[2] == Counter()
