"""Planted secrets do not appear in rows, logs, events or messages.

A stack is created, updated, fails, is rolled back and is deleted with values of hidden
parameters in properties, attributes, outputs and a nested script. In between and afterwards,
everything that left the memory of the process is searched.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from webob import Request, Response

from heat_convergence.db.connection.database import Database
from heat_convergence.db.tables import metadata
from tests.functional.harness import LocalService

SECRET, DEFAULT, CHANGED = "planted-secret-one", "planted-default-two", "planted-secret-three"
BROKEN, SCRIPT, INPUT, OUTPUT = (
    "planted-broken-four",
    "planted-script-five",
    "planted-input-six",
    "planted-output-seven",
)
SECRETS = (SECRET, DEFAULT, CHANGED, BROKEN, SCRIPT, INPUT, OUTPUT)

TEMPLATE = f"""
heat_template_version: 2018-08-31
parameters:
  password: {{type: string, hidden: true}}
  token: {{type: string, hidden: true, default: {DEFAULT}}}
  fail: {{type: boolean, default: false}}
resources:
  plain: {{type: OS::Heat::Value, properties: {{value: {{get_param: password}}}}}}
  drawn:
    type: OS::Heat::Value
    properties:
      value: {{list_join: ["-", [{{get_attr: [plain, value]}}, {{get_param: token}}]]}}
  tested:
    type: OS::Heat::TestResource
    properties:
      value: {{get_attr: [drawn, value]}}
      fail: {{get_param: fail}}
outputs:
  joined: {{value: {{get_attr: [drawn, value]}}}}
"""


class RecordingService:
    """A service with everything that it sent and logged."""

    def __init__(self, url: str, records: list[logging.LogRecord]) -> None:
        self.service = LocalService(url)
        self.records = records
        self.messages: list[Any] = []
        bus = self.service.bus
        for name in ("converge", "observe"):
            setattr(bus, name, self._recording(getattr(bus, name)))

    def _recording(self, send: Any) -> Any:
        def record(*message: Any) -> None:
            self.messages.append(message)
            send(*message)

        return record

    def send(self, method: str, path: str, body: Any = None) -> Response:
        request = Request.blank(path, method=method)
        if body is not None:
            request.json = body
        return request.get_response(self.service.app)

    def everything_emitted(self) -> Iterator[tuple[str, str]]:
        """Yield place and text of everything that left memory."""
        for record in self.records:
            extra = {key: value for key, value in vars(record).items() if key != "args"}
            yield f"log of {record.name}", f"{record.getMessage()} {extra} {record.exc_text}"
        for message in self.messages:
            yield "bus", repr(message)
        yield from stored(self.service.database)


def stored(database: Database) -> Iterator[tuple[str, str]]:
    """Yield every value as the database stores it, and the files of an SQLite database."""
    with database.read() as conn:
        for table in metadata.sorted_tables:
            texts = [sa.cast(sa.type_coerce(c, sa.Text), sa.Text) for c in table.columns]
            for row in conn.execute(sa.select(*texts)):
                for column, text in zip(table.columns, row, strict=True):
                    yield str(column), str(text)
    if database.dialect == "sqlite":
        name = Path(str(database.engine.url.database))
        for path in name.parent.glob(f"{name.name}*"):
            yield path.name, path.read_bytes().decode("latin-1")


def assert_no_secret_emitted(recorder: RecordingService) -> None:
    found = [
        (place, secret)
        for place, text in recorder.everything_emitted()
        for secret in SECRETS
        if secret in text
    ]
    assert not found


@pytest.fixture(params=["sqlite", "mariadb", "postgresql"])
def recorder(
    request: pytest.FixtureRequest, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> Iterator[RecordingService]:
    url = f"sqlite:///{tmp_path}/hc.sqlite"
    if request.param != "sqlite":
        url = request.getfixturevalue(f"{request.param}_url")
    # SQLAlchemy's log of statements contains values; it is off by default.
    caplog.set_level(logging.DEBUG)
    logging.getLogger("sqlalchemy").setLevel(logging.WARNING)
    recorder = RecordingService(url, caplog.records)
    yield recorder
    metadata.drop_all(recorder.service.database.engine)
    recorder.service.close()


def status(recorder: RecordingService, path: str) -> str:
    return str(recorder.send("GET", path).json["stack"]["stack_status"])


def test_actions_of_a_stack_expose_no_secret(recorder: RecordingService) -> None:
    body = {
        "stack_name": "s",
        "template": TEMPLATE,
        "parameters": {"password": SECRET},
        "files": {"script": f"#!/bin/sh\necho {SCRIPT}"},
        "disable_rollback": False,
    }
    created = recorder.send("POST", "/v1/p/stacks", body)
    path = created.location.removeprefix("http://localhost")
    assert status(recorder, path) == "CREATE_COMPLETE"
    (output,) = recorder.send("GET", path).json["stack"]["outputs"]
    assert output["output_value"] == f"{SECRET}-{DEFAULT}"  # the values arrived
    assert_no_secret_emitted(recorder)

    body["parameters"] = {"password": CHANGED}
    recorder.send("PUT", path, body)
    assert status(recorder, path) == "UPDATE_COMPLETE"
    assert_no_secret_emitted(recorder)

    body["parameters"] = {"password": BROKEN, "fail": True}
    recorder.send("PUT", path, body)
    assert status(recorder, path) == "ROLLBACK_COMPLETE"
    assert_no_secret_emitted(recorder)

    recorder.send("POST", f"{path}/snapshots", {"name": "kept"})
    for action in ("suspend", "resume", "check"):
        recorder.send("POST", f"{path}/actions", {action: None})
    assert status(recorder, path) == "CHECK_COMPLETE"
    assert_no_secret_emitted(recorder)

    recorder.send("DELETE", path)
    assert status(recorder, path) == "DELETE_COMPLETE"
    assert_no_secret_emitted(recorder)


def test_api_masks_hidden_parameters(recorder: RecordingService) -> None:
    created = recorder.send(
        "POST",
        "/v1/p/stacks",
        {
            "stack_name": "s",
            "template": TEMPLATE,
            "parameters": {"password": SECRET, "fail": True},
        },
    )
    path = created.location.removeprefix("http://localhost")
    shown = recorder.send("GET", path).json["stack"]
    assert shown["stack_status"] == "CREATE_FAILED"
    assert shown["parameters"]["password"] == "******"
    del shown["outputs"]  # the template chooses what outputs show
    for text in (
        repr(shown),
        recorder.send("GET", f"{path}/environment").text,
        recorder.send("GET", "/v1/p/stacks").text,
    ):
        assert SECRET not in text
        assert DEFAULT not in text
    assert_no_secret_emitted(recorder)


def test_errors_of_rejected_requests_contain_no_secret(recorder: RecordingService) -> None:
    template = TEMPLATE.replace("OS::Heat::TestResource", "OS::No::Such")
    for body in (
        {"stack_name": "s", "template": template, "parameters": {"password": SECRET}},
        {"stack_name": "s", "template": TEMPLATE, "parameters": {"passwrd": SECRET}},
        {"stack_name": "s", "template": TEMPLATE, "parameters": {"password": [SECRET]}},
        {"stack_name": "s", "template": TEMPLATE, "parameters": SECRET},
    ):
        assert recorder.send("POST", "/v1/p/stacks", body).status_int == 400
    assert_no_secret_emitted(recorder)


def test_software_configs_and_deployments(recorder: RecordingService) -> None:
    created = recorder.send(
        "POST",
        "/v1/p/software_configs",
        {"name": "c", "config": SCRIPT, "inputs": [{"name": "i", "default": INPUT}]},
    )
    config_id = created.json["software_config"]["id"]
    created = recorder.send(
        "POST",
        "/v1/p/software_deployments",
        {"config_id": config_id, "server_id": "s", "input_values": {"i": INPUT}},
    )
    deployment_id = created.json["software_deployment"]["id"]
    recorder.send(
        "PUT", f"/v1/p/software_deployments/{deployment_id}", {"output_values": {"o": OUTPUT}}
    )
    assert_no_secret_emitted(recorder)
