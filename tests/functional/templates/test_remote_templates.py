"""Templates of nested stacks that are not part of the request.

They are fetched by URL, or read from files that the operator's environment names.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from heat_convergence.api.services import ApiOptions
from heat_convergence.template.environment.environment import Environment
from tests.functional.harness import LocalService
from tests.functional.project_client import ProjectClient, hot_template, resource_definition

Json = Any
LEAF = hot_template(
    {"a": resource_definition(value={"get_param": "v"})},
    parameters={"v": {"type": "string", "default": "d"}},
    outputs={"out": {"get_attr": ["a", "output"]}},
)
INNER = {
    "HeatTemplateFormatVersion": "2012-12-12",
    "Parameters": {"P": {"Type": "String"}},
    "Resources": {"A": {"Type": "OS::Heat::TestResource", "Properties": {"value": {"Ref": "P"}}}},
    "Outputs": {"Out": {"Value": {"Fn::GetAtt": ["A", "output"]}}},
}


@dataclass
class TemplateSite:
    """The pages of a web server on loopback, and the requests it received."""

    pages: dict[str, str] = field(default_factory=dict)
    requested_paths: list[str] = field(default_factory=list)
    port: int = 0

    def put(self, path: str, template: Json) -> str:
        self.pages[path] = json.dumps(template)
        return f"http://127.0.0.1:{self.port}{path}"


@pytest.fixture
def site() -> Iterator[TemplateSite]:
    found = TemplateSite()

    class Pages(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found.requested_paths.append(self.path)
            body = found.pages.get(self.path, "").encode()
            self.send_response(200 if body else 404)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Pages)
    found.port = server.server_port
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield found
    server.shutdown()
    thread.join()
    server.server_close()


def service(path: Any, **options: Any) -> LocalService:
    services = {
        name: options.pop(name) for name in ("global_environment", "limits") if name in options
    }
    api_options = ApiOptions(**{"fetch_private_addresses": True, **options})
    return LocalService(f"sqlite:///{path}/hc.sqlite", api_options, **services)


@pytest.fixture
def heat(tmp_path: Any) -> Iterator[ProjectClient]:
    local_service = service(tmp_path)
    yield ProjectClient(local_service)
    local_service.close()


def get_refusal(heat: ProjectClient, template: Json, **body: Json) -> str:
    """Return the message with which the create was refused."""
    answer = heat.send("POST", "/stacks", {"stack_name": "bad", "template": template, **body})
    assert answer.status_int == 400, answer.text
    return str(answer.json["error"]["message"])


def test_nested_templates_are_fetched_at_every_level(
    heat: ProjectClient, site: TemplateSite
) -> None:
    leaf = site.put("/leaf.yaml", LEAF)
    middle = site.put("/middle.yaml", hot_template(
        {"n": {"type": leaf, "properties": {"v": "deep"}}, "m": {"type": leaf}},
        outputs={"out": {"get_attr": ["n", "out"]}},
    ))  # fmt: skip
    template = hot_template({"n": {"type": middle}, "g": {
        "type": "OS::Heat::ResourceGroup", "properties": {"resource_def": {"type": leaf}}}},
        outputs={"out": {"get_attr": ["n", "out"]}})  # fmt: skip
    heat.create("s", template)
    assert heat.outputs("s") == {"out": "deep"}
    # The API fetches each template once.
    assert sorted(site.requested_paths) == ["/leaf.yaml", "/middle.yaml"]
    assert set(heat.send("GET", f"{heat.path('s')}/files").json) == {leaf, middle}
    site.pages.clear()
    heat.send("PATCH", heat.path("s"), {})
    assert heat.status("s") == "UPDATE_COMPLETE"


def test_template_of_a_cloudformation_stack_is_fetched(
    heat: ProjectClient, site: TemplateSite
) -> None:
    url = site.put("/inner.template", INNER)
    template = {
        "HeatTemplateFormatVersion": "2012-12-12",
        "Parameters": {"Url": {"Type": "String"}},
        "Resources": {"N": {"Type": "AWS::CloudFormation::Stack", "Properties": {
            "TemplateURL": {"Ref": "Url"}, "Parameters": {"P": "given"}}}},
        "Outputs": {"Out": {"Value": {"Fn::GetAtt": ["N", "Outputs.Out"]}}},
    }  # fmt: skip
    heat.create("s", template, parameters={"Url": url})
    assert heat.outputs("s") == {"Out": "given"}


def test_files_of_the_request_are_not_fetched(heat: ProjectClient, site: TemplateSite) -> None:
    url = site.put("/leaf.yaml", hot_template({}))
    template = hot_template({"n": {"type": url}}, outputs={"out": {"get_attr": ["n", "out"]}})
    heat.create("s", template, files={url: json.dumps(LEAF)})
    assert (heat.outputs("s"), site.requested_paths) == ({"out": "d"}, [])


def test_templates_that_cannot_be_fetched_are_refused(
    heat: ProjectClient, site: TemplateSite, tmp_path: Any
) -> None:
    absent = f"http://127.0.0.1:{site.port}/absent.yaml"
    message = get_refusal(heat, hot_template({"n": {"type": absent}}))
    assert message.startswith("Could not retrieve template")
    assert "404" in message
    secret = tmp_path / "secret.yaml"
    secret.write_text(json.dumps(LEAF))
    for name in (f"file://{secret}", str(secret), "ftp://example.com/x.yaml", "http://[x.yaml"):
        assert f'no template "{name}"' in get_refusal(heat, hot_template({"n": {"type": name}}))


def test_private_addresses_are_not_contacted(tmp_path: Any, site: TemplateSite) -> None:
    local_service = service(tmp_path, fetch_private_addresses=False)
    url = site.put("/leaf.yaml", LEAF)
    assert "not a public one" in get_refusal(
        ProjectClient(local_service), hot_template({"n": {"type": url}})
    )
    assert site.requested_paths == []
    local_service.close()


def test_total_size_of_fetched_templates_is_limited(tmp_path: Any, site: TemplateSite) -> None:
    local_service = service(tmp_path, max_json_body_bytes=4000)
    filler = hot_template({"a": resource_definition(value="x" * 2500)})
    names = [site.put(f"/{number}.yaml", filler) for number in range(4)]
    template = hot_template({f"n{at}": {"type": name} for at, name in enumerate(names)})
    assert "it is larger than" in get_refusal(ProjectClient(local_service), template)
    assert len(site.requested_paths) <= 4
    local_service.close()


def test_operator_templates_may_come_from_files_of_the_host(tmp_path: Any) -> None:
    """Users reach such files by their type, also in their own templates, and no other files."""
    ours = tmp_path / "ours.yaml"
    ours.write_text(json.dumps(LEAF))
    mapped = {"resource_registry": {"Our::Type": f"file://{ours}", "Our::Gone": "/no/such.yaml"}}
    local_service = service(tmp_path, global_environment=Environment.parse(mapped))
    heat = ProjectClient(local_service)
    nested = hot_template({"n": {"type": "Our::Type", "properties": {"v": "theirs"}}},
                 outputs={"out": {"get_attr": ["n", "out"]}})  # fmt: skip
    template = hot_template(
        {"n": {"type": "user.yaml"}}, outputs={"out": {"get_attr": ["n", "out"]}}
    )
    heat.create("s", template, files={"user.yaml": json.dumps(nested)})
    assert heat.outputs("s") == {"out": "theirs"}
    assert "/no/such.yaml" in get_refusal(heat, hot_template({"n": {"type": "Our::Gone"}}))
    other = tmp_path / "other.yaml"
    other.write_text(json.dumps(LEAF))
    assert "no template" in get_refusal(heat, hot_template({"n": {"type": f"file://{other}"}}))
    local_service.close()
