"""The OpenAPI document against the service: no 5xx, no answer outside the schema.

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
    """The service under test, with one stack in it that is made anew when it is gone."""

    def __init__(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.service = LocalService(f"sqlite:///{Path(self.folder.name)}/hc.sqlite")
        self.known: dict[str, str] = {}
        self.turns = 0

    def stack(self) -> dict[str, str]:
        """Path parameters of a stack that lives."""
        if not self.known or self._ask("GET", self._path()).status_int != 200:
            body = {"stack_name": "s", "template": TEMPLATE}
            found = self._ask("POST", "/v1/p/stacks", body)
            if found.status_int == 201:
                stack_id = found.json["stack"]["id"]
            else:  # an earlier one, which was updated to another state
                stack_id = self._ask("GET", "/v1/p/stacks?name=s").json["stacks"][0]["id"]
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

    def turn(self) -> bool:
        """Whether this request is to name what exists: every second one."""
        self.turns += 1
        return self.turns % 2 == 0

    def _path(self) -> str:
        return f"/v1/p/stacks/s/{self.known['stack_id']}"

    def _ask(self, method: str, path: str, body: Any = None) -> Any:
        request = Request.blank(path, method=method)
        if body is not None:
            request.json = body
        return request.get_response(self.service.app)

    def close(self) -> None:
        self.service.close()
        self.folder.cleanup()


FUZZED_SERVICE = FuzzedService()
SCHEMA = schemathesis.openapi.from_wsgi("/openapi.json", FUZZED_SERVICE.service.app)
# What fits the document, and what does not.
SCHEMA.config.generation.update(modes=list(schemathesis.GenerationMode))


@pytest.fixture(scope="module", autouse=True)
def _closed() -> Any:
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
def test_answers_are_those_of_the_document(case: Any) -> None:
    if FUZZED_SERVICE.turn():
        case.path_parameters = {
            name: FUZZED_SERVICE.stack().get(name, value)
            for name, value in (case.path_parameters or {}).items()
        }
    case.call_and_validate(checks=CHECKED)
