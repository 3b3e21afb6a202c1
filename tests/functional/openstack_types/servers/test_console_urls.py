"""Console URLs in outputs: requested by a GET with the token of its sender."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import pytest

from heat_convergence.resources.driver.request_cloud import use_request_cloud
from tests.functional.fake_server import get_outputs
from tests.functional.harness import LocalService
from tests.functional.openstack_types.emulated_service import (
    ClockedEmulation,
    create_stack,
    port,
    server,
    template,
)

Json = Any
USE_REQUEST_CLOUD = "heat_convergence.api.trust_delegation.use_request_cloud"


def test_readers_of_outputs_and_attributes_get_console_urls(
    service: LocalService, emulated_cloud: ClockedEmulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    console = {"get_attr": ["server", "console_urls", "novnc"]}
    stack = {**template(port=port(), server=server()), "outputs": {"console": {"value": console}}}
    path = create_stack(service, stack)
    assert get_outputs(service, path) == {"console": None}  # without Keystone nobody asks

    def use_cloud_of_reader(_cloud: Any) -> AbstractContextManager[None]:
        return use_request_cloud(emulated_cloud.cloud_for(""))

    monkeypatch.setattr(USE_REQUEST_CLOUD, use_cloud_of_reader)
    assert get_outputs(service, path)["console"].startswith("http://consoles.example/novnc")
    shown = service.send("GET", f"{path}/outputs/console").json["output"]
    assert shown["output_value"].startswith("http://consoles.example/novnc")
    found = service.send("GET", f"{path}/resources/server?with_attr=console_urls").json
    assert found["resource"]["attributes"]["console_urls"]["novnc"].startswith("http://")
