"""The OpenAPI document against the service: no 5xx, every response fits the schema.

Requests are generated from the document that the service serves; half of them name a
stack that exists, so that they get beyond the first 404.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from webob import Request

from tests.functional.harness import LocalService

schemathesis = pytest.importorskip("schemathesis")
checks = pytest.importorskip("schemathesis.specs.openapi.checks")

TEMPLATE = {
    "heat_template_version": "2018-08-31",
    "parameters": {"p": {"type": "string", "default": "x"}},
    "resources": {
        "r": {"type": "OS::Heat::RandomString"},
        "t": {"type": "OS::Heat::TestResource"},
    },
    "outputs": {"o": {"value": {"get_attr": ["r", "value"]}}},
}
EXAMPLES = int(os.environ.get("HEAT_CONVERGENCE_TEST_EXAMPLES", "3"))  # of each operation
CHECKED = [
    schemathesis.checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
    checks.response_headers_conformance,
]


class FuzzedService:
    """The service under test with one stack, which is recreated when it was deleted."""

    def __init__(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.service = LocalService(f"sqlite:///{Path(self.folder.name)}/hc.sqlite")
        self.known: dict[str, str] = {}
        self.request_count = 0

    def stack(self) -> dict[str, str]:
        """Return the path parameters of an existing stack."""
        if not self.known or self._send("GET", self._path()).status_int != 200:
            body = {"stack_name": "s", "template": TEMPLATE}
            found = self._send("POST", "/v1/p/stacks", body)
            if found.status_int == 201:
                stack_id = found.json["stack"]["id"]
            else:  # an earlier one, which was updated to another state
                stack_id = self._send("GET", "/v1/p/stacks?name=s").json["stacks"][0]["id"]
            self.known = {"stack_name": "s", "stack_id": stack_id}
        return {
            "tenant_id": "p",
            "resource_name": "r",
            "output_key": "o",
            "type_name": "OS::Heat::Value",
            "template_version": "heat_template_version.2018-08-31",
            "server_id": "server",
            **self.known,
        }

    def uses_existing_objects(self) -> bool:
        """Return True for every second request, which names existing objects."""
        self.request_count += 1
        return self.request_count % 2 == 0

    def _path(self) -> str:
        return f"/v1/p/stacks/s/{self.known['stack_id']}"

    def _send(self, method: str, path: str, body: Any = None) -> Any:
        request = Request.blank(path, method=method)
        if body is not None:
            request.json = body
        return request.get_response(self.service.app)

    def close(self) -> None:
        self.service.close()
        self.folder.cleanup()


FUZZED_SERVICE = FuzzedService()
SCHEMA = schemathesis.openapi.from_wsgi("/openapi.json", FUZZED_SERVICE.service.app)
# Requests that fit the document and requests that do not.
SCHEMA.config.generation.update(modes=list(schemathesis.GenerationMode))


@pytest.fixture(scope="module", autouse=True)
def _close_service() -> Any:
    yield
    FUZZED_SERVICE.close()


@SCHEMA.parametrize()
@settings(
    max_examples=EXAMPLES,
    derandomize=True,
    database=None,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_responses_conform_to_the_openapi_document(case: Any) -> None:
    if FUZZED_SERVICE.uses_existing_objects():
        case.path_parameters = {
            name: FUZZED_SERVICE.stack().get(name, value)
            for name, value in (case.path_parameters or {}).items()
        }
    case.call_and_validate(checks=CHECKED)
