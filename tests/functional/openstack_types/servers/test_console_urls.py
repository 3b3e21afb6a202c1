"""Console URLs in outputs: requested by a GET with the token of its sender."""

from __future__ import annotations

from typing import Any

import pytest

from tests.functional.fake_server import get_outputs
from tests.functional.harness import LocalService
from tests.functional.openstack_types.emulated_service import (
    ClockedEmulation,
    create_stack,
    port,
    server,
    template,
)
from tests.functional.user_clouds import let_requests_use

Json = Any


def test_readers_of_outputs_and_attributes_get_console_urls(
    service: LocalService, emulated_cloud: ClockedEmulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    console = {"get_attr": ["server", "console_urls", "novnc"]}
    stack = {**template(port=port(), server=server()), "outputs": {"console": {"value": console}}}
    path = create_stack(service, stack)
    assert get_outputs(service, path) == {"console": None}  # without Keystone nobody asks
    let_requests_use(monkeypatch, emulated_cloud)
    assert get_outputs(service, path)["console"].startswith("http://consoles.example/novnc")
    shown = service.send("GET", f"{path}/outputs/console").json["output"]
    assert shown["output_value"].startswith("http://consoles.example/novnc")
    found = service.send("GET", f"{path}/resources/server?with_attr=console_urls").json
    assert found["resource"]["attributes"]["console_urls"]["novnc"].startswith("http://")
