"""The access log in the pipeline of the API, and the option that turns it off."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path

import pytest

from heat_convergence.api.app import build_app
from heat_convergence.api.services import ApiOptions
from tests.functional.harness import LocalService

LOGGER = "heat_convergence.api.middleware.access_log"


@pytest.mark.parametrize("enabled", [True, False])
def test_requests_are_logged_unless_the_option_is_off(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, enabled: bool
) -> None:
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite")
    options = ApiOptions(access_log=enabled)
    service.use_application(build_app(replace(service.services, options=options)))
    with caplog.at_level(logging.INFO, logger=LOGGER):
        service.send("GET", "/stacks")
        service.send("GET", "/stacks/nowhere/0f5a")
    service.close()
    fields = [record.args for record in caplog.records if record.name == LOGGER]
    statuses = [each["status"] for each in fields if isinstance(each, dict)]
    assert statuses == (["200", "404"] if enabled else [])
    for each in fields:
        assert isinstance(each, dict)
        assert each["request_id"].startswith("req-")
        assert each["project"] == "p"
