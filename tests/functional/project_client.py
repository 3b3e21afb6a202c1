"""A client of one project, and templates of test resources."""

from __future__ import annotations

from typing import Any

from webob import Request

from tests.functional.harness import HOLD_HEADER, LocalService

Json = Any


class ProjectClient:
    """Requests of one project; each runs the service until idle, unless it is held."""

    def __init__(self, service: LocalService) -> None:
        self.service = service

    def send(
        self, method: str, path: str, body: Json = None, *, leave_pending: bool = False
    ) -> Any:
        request = Request.blank(f"/v1/p{path}", method=method)
        if body is not None:
            request.json = body
        if leave_pending:
            request.environ[HOLD_HEADER] = "1"
        return request.get_response(self.service.app)

    def create(self, name: str, template: Json, **body: Any) -> str:
        """Id of the stack, settled."""
        hold = body.pop("hold", False)
        body = {"stack_name": name, "template": template, **body}
        answer = self.send("POST", "/stacks", body, leave_pending=hold)
        assert answer.status_int == 201, answer.text
        return str(answer.json["stack"]["id"])

    def update(self, name: str, template: Json, **body: Any) -> None:
        hold = body.pop("hold", False)
        stack = self.stack(name)
        path = f"/stacks/{name}/{stack['id']}"
        answer = self.send("PUT", path, {"template": template, **body}, leave_pending=hold)
        assert answer.status_int == 202, answer.text

    def delete(self, name: str, *, leave_pending: bool = False) -> None:
        answer = self.send("DELETE", self.path(name), leave_pending=leave_pending)
        assert answer.status_int == 204, answer.text

    def perform_action(self, name: str, action: str, *, leave_pending: bool = False) -> Any:
        return self.send(
            "POST", f"{self.path(name)}/actions", {action: None}, leave_pending=leave_pending
        )

    def stack(self, key: str) -> Json:
        found = self.send("GET", f"/stacks/{key}", leave_pending=True)
        if found.status_int == 404:
            return None
        found = self.send("GET", found.location.split("/v1/p", 1)[1], leave_pending=True)
        return found.json["stack"]

    def path(self, key: str) -> str:
        stack = self.stack(key)
        return f"/stacks/{stack['stack_name']}/{stack['id']}"

    def status(self, key: str) -> str:
        return str(self.stack(key)["stack_status"])

    def outputs(self, key: str) -> dict[str, Json]:
        return {each["output_key"]: each["output_value"] for each in self.stack(key)["outputs"]}

    def resources(self, key: str, query: str = "") -> list[Json]:
        found = self.send("GET", f"{self.path(key)}/resources{query}", leave_pending=True)
        assert found.status_int == 200, found.text
        return list(found.json["resources"])

    def resource(self, key: str, name: str) -> Json:
        found = self.send("GET", f"{self.path(key)}/resources/{name}", leave_pending=True)
        assert found.status_int == 200, found.text
        return found.json["resource"]

    def events(self, key: str, query: str = "") -> list[Json]:
        found = self.send("GET", f"{self.path(key)}/events{query}", leave_pending=True)
        assert found.status_int == 200, found.text
        return list(found.json["events"])

    def nested_stack(self, key: str, name: str) -> Json:
        """The stack behind a resource."""
        return self.stack(self.resource(key, name)["physical_resource_id"])


def hot_template(resources: Json, *, parameters: Json = None, outputs: Json = None) -> Json:
    """A template as a map."""
    template = {"heat_template_version": "2021-04-16", "resources": resources}
    if parameters is not None:
        template["parameters"] = parameters
    if outputs is not None:
        template["outputs"] = {name: {"value": value} for name, value in outputs.items()}
    return template


def resource_definition(**properties: Json) -> Json:
    return {"type": "OS::Heat::TestResource", "properties": properties}
