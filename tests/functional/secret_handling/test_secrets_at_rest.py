"""A hidden value is stored encrypted, wherever a request contains it.

The SQLite file and its log are searched byte by byte after every request.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from webob import Request

from tests.functional import validation_cases as table
from tests.functional.harness import LocalService

Json = Any
PLANTED = "hunter2-was-planted-here"
OTHER = "hunter3-was-planted-here"
LONG = PLANTED + "." * 5000
HIDDEN = {"type": "string", "hidden": True}
CHILD = "heat_template_version: 2018-08-31\nparameters: {deep: {type: string, hidden: true}}\n"
TEMPLATE = table.hot_template(
    parameters={"secret": HIDDEN, "long": HIDDEN, "own": {**HIDDEN, "default": PLANTED}},
    resources={
        "reads": table.value_resource({"list_join": ["", ["<", {"get_param": "secret"}, ">"]]}),
        "whole": table.value_resource({"get_param": "long"}),
        "further": table.value_resource({"get_attr": ["reads", "value"]}),
    },
    outputs={"shown": {"value": {"get_param": "secret"}}},
)


class OnDiskService:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.local = LocalService(f"sqlite:///{folder}/hc.sqlite")

    def send(self, method: str, path: str, body: Json = None) -> Any:
        request = Request.blank(f"/v1/p{path}", method=method)
        if body is not None:
            request.json = body
        return request.get_response(self.local.app)

    def files_containing(self, text: str) -> list[str]:
        """Return the names of files that contain the text."""
        return [path.name for path in self.folder.iterdir() if text.encode() in path.read_bytes()]


@pytest.fixture
def service(tmp_path: Path) -> Any:
    service = OnDiskService(tmp_path)
    yield service
    service.local.close()


def body(secret: str = PLANTED, **more: Json) -> dict[str, Json]:
    environment_file = f"parameters: {{secret: {secret}, long: {LONG}}}\n"
    return {
        "stack_name": "secret",
        "template": TEMPLATE,
        "environment_files": ["env.yaml"],
        "files": {"env.yaml": environment_file, "notes": f"do not tell {secret}"},
        **more,
    }


def test_values_that_are_not_hidden_are_found(service: OnDiskService) -> None:
    open_template = table.hot_template(resources={"r": table.value_resource(PLANTED)})
    service.send("POST", "/stacks", {"stack_name": "open", "template": open_template})
    assert service.files_containing(PLANTED)


def test_create_update_patch_and_snapshot(service: OnDiskService) -> None:
    path = service.send("POST", "/stacks", body()).location.split("/v1/p")[1]
    assert service.send("GET", path).json["stack"]["stack_status"] == "CREATE_COMPLETE"
    assert service.files_containing(PLANTED) == []
    shown = service.send("GET", f"{path}/resources/further").json["resource"]
    assert shown["attributes"]["value"] == f"<{PLANTED}>"
    assert service.send("POST", f"{path}/snapshots", {"name": "s"}).status_int == 200
    assert service.send("PUT", path, body(OTHER)).status_int == 202
    assert service.send("PATCH", path, {"parameters": {"secret": PLANTED}}).status_int == 202
    assert service.send("GET", path).json["stack"]["stack_status"] == "UPDATE_COMPLETE"
    assert service.files_containing(PLANTED) == service.files_containing(OTHER) == []


def test_parameters_and_defaults_for_nested_stacks(service: OnDiskService) -> None:
    request = {
        "stack_name": "deep",
        "template": table.hot_template(),
        "environment": {"parameter_defaults": {"deep": PLANTED}},
        "files": {"child.yaml": CHILD},
    }
    assert service.send("POST", "/stacks", request).status_int == 201
    assert service.files_containing(PLANTED) == []


def test_encrypted_param_names_are_encrypted(service: OnDiskService) -> None:
    template = table.hot_template(parameters={"p": {"type": "string"}})
    environment = {"parameters": {"p": PLANTED}, "encrypted_param_names": ["p"]}
    request = {"stack_name": "named", "template": template, "environment": environment}
    assert service.send("POST", "/stacks", request).status_int == 201


def test_rollback(service: OnDiskService) -> None:
    path = service.send("POST", "/stacks", body()).location.split("/v1/p")[1]
    failing = {
        **TEMPLATE["resources"],
        "bad": {
            "type": "OS::Heat::TestResource",
            "properties": {"fail": True, "value": {"get_param": "secret"}},
        },
    }
    update = body(OTHER, template={**TEMPLATE, "resources": failing}, disable_rollback=False)
    assert service.send("PUT", path, update).status_int == 202
    assert service.send("GET", path).json["stack"]["stack_status"] == "ROLLBACK_COMPLETE"
    assert service.files_containing(PLANTED) == service.files_containing(OTHER) == []
    shown = service.send("GET", f"{path}/resources/reads").json["resource"]
    assert shown["attributes"]["value"] == f"<{PLANTED}>"


def test_preview_and_validate(service: OnDiskService) -> None:
    assert service.send("POST", "/stacks/preview", body()).status_int == 200
    request = {key: value for key, value in body().items() if key != "stack_name"}
    assert service.send("POST", "/validate", request).status_int == 200
    assert service.files_containing(PLANTED) == []
