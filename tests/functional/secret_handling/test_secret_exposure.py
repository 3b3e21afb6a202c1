"""Planted secrets are found nowhere: not in rows, logs, events or messages.

A stack lives through create, update, failure, rollback and delete with values of
hidden parameters in properties, attributes, outputs and a nested script; afterwards,
and in between, everything that left the process's memory is searched.
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
    """A service, everything it sent and everything it logged."""

    def __init__(self, url: str, records: list[logging.LogRecord]) -> None:
        self.service = LocalService(url)
        self.records = records
        self.sent: list[Any] = []
        bus = self.service.bus
        for name in ("converge", "observe"):
            setattr(bus, name, self._noting(getattr(bus, name)))

    def _noting(self, send: Any) -> Any:
        def noting(*message: Any) -> None:
            self.sent.append(message)
            send(*message)

        return noting

    def ask(self, method: str, path: str, body: Any = None) -> Response:
        request = Request.blank(path, method=method)
        if body is not None:
            request.json = body
        return request.get_response(self.service.app)

    def everything_emitted(self) -> Iterator[tuple[str, str]]:
        """(place, text) of all that left memory."""
        for record in self.records:
            extra = {key: value for key, value in vars(record).items() if key != "args"}
            yield f"log of {record.name}", f"{record.getMessage()} {extra} {record.exc_text}"
        for message in self.sent:
            yield "bus", repr(message)
        yield from stored(self.service.database)


def stored(database: Database) -> Iterator[tuple[str, str]]:
    """Every value as the database has it, and the files of an SQLite database."""
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


def assert_nowhere(watched: RecordingService) -> None:
    found = [
        (place, secret)
        for place, text in watched.everything_emitted()
        for secret in SECRETS
        if secret in text
    ]
    assert not found


@pytest.fixture(params=["sqlite", "mariadb", "postgresql"])
def watched(
    request: pytest.FixtureRequest, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> Iterator[RecordingService]:
    url = f"sqlite:///{tmp_path}/hc.sqlite"
    if request.param != "sqlite":
        url = request.getfixturevalue(f"{request.param}_url")
    # SQLAlchemy's own log of statements is for debugging that tool, and off by default.
    caplog.set_level(logging.DEBUG)
    logging.getLogger("sqlalchemy").setLevel(logging.WARNING)
    watched = RecordingService(url, caplog.records)
    yield watched
    metadata.drop_all(watched.service.database.engine)
    watched.service.close()


def status(watched: RecordingService, path: str) -> str:
    return str(watched.ask("GET", path).json["stack"]["stack_status"])


def test_a_stack_keeps_its_secrets_all_its_life(watched: RecordingService) -> None:
    body = {
        "stack_name": "s",
        "template": TEMPLATE,
        "parameters": {"password": SECRET},
        "files": {"script": f"#!/bin/sh\necho {SCRIPT}"},
        "disable_rollback": False,
    }
    made = watched.ask("POST", "/v1/p/stacks", body)
    path = made.location.removeprefix("http://localhost")
    assert status(watched, path) == "CREATE_COMPLETE"
    (output,) = watched.ask("GET", path).json["stack"]["outputs"]
    assert output["output_value"] == f"{SECRET}-{DEFAULT}"  # it did get there
    assert_nowhere(watched)

    body["parameters"] = {"password": CHANGED}
    watched.ask("PUT", path, body)
    assert status(watched, path) == "UPDATE_COMPLETE"
    assert_nowhere(watched)

    body["parameters"] = {"password": BROKEN, "fail": True}
    watched.ask("PUT", path, body)
    assert status(watched, path) == "ROLLBACK_COMPLETE"
    assert_nowhere(watched)

    watched.ask("POST", f"{path}/snapshots", {"name": "kept"})
    for action in ("suspend", "resume", "check"):
        watched.ask("POST", f"{path}/actions", {action: None})
    assert status(watched, path) == "CHECK_COMPLETE"
    assert_nowhere(watched)

    watched.ask("DELETE", path)
    assert status(watched, path) == "DELETE_COMPLETE"
    assert_nowhere(watched)


def test_what_the_api_shows_of_a_stack_is_masked(watched: RecordingService) -> None:
    made = watched.ask(
        "POST",
        "/v1/p/stacks",
        {
            "stack_name": "s",
            "template": TEMPLATE,
            "parameters": {"password": SECRET, "fail": True},
        },
    )
    path = made.location.removeprefix("http://localhost")
    shown = watched.ask("GET", path).json["stack"]
    assert shown["stack_status"] == "CREATE_FAILED"
    assert shown["parameters"]["password"] == "******"
    del shown["outputs"]  # what outputs show, their template says
    for text in (
        repr(shown),
        watched.ask("GET", f"{path}/environment").text,
        watched.ask("GET", "/v1/p/stacks").text,
    ):
        assert SECRET not in text
        assert DEFAULT not in text
    assert_nowhere(watched)


def test_refused_requests_are_not_told_with_their_secrets(watched: RecordingService) -> None:
    template = TEMPLATE.replace("OS::Heat::TestResource", "OS::No::Such")
    for body in (
        {"stack_name": "s", "template": template, "parameters": {"password": SECRET}},
        {"stack_name": "s", "template": TEMPLATE, "parameters": {"passwrd": SECRET}},
        {"stack_name": "s", "template": TEMPLATE, "parameters": {"password": [SECRET]}},
        {"stack_name": "s", "template": TEMPLATE, "parameters": SECRET},
    ):
        assert watched.ask("POST", "/v1/p/stacks", body).status_int == 400
    assert_nowhere(watched)


def test_software_configs_and_deployments(watched: RecordingService) -> None:
    made = watched.ask(
        "POST",
        "/v1/p/software_configs",
        {"name": "c", "config": SCRIPT, "inputs": [{"name": "i", "default": INPUT}]},
    )
    config_id = made.json["software_config"]["id"]
    made = watched.ask(
        "POST",
        "/v1/p/software_deployments",
        {"config_id": config_id, "server_id": "s", "input_values": {"i": INPUT}},
    )
    deployment_id = made.json["software_deployment"]["id"]
    watched.ask(
        "PUT", f"/v1/p/software_deployments/{deployment_id}", {"output_values": {"o": OUTPUT}}
    )
    assert_nowhere(watched)
