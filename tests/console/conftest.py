"""A browser for all tests of the console, and services whose console it opens."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from heat_convergence.api.services import ApiOptions
from heat_convergence.cli.daemons.http_limits import HttpLimits
from heat_convergence.testing.daemon_processes import ServiceDeployment
from tests.console.browser import RecordedPage, launched_chromium, recorded_page
from tests.functional.drift.drift_cases import INTERVAL_S
from tests.functional.harness import LocalService
from tests.functional.http_servers import NATIVE, ServedApplication
from tests.functional.openstack_types.emulated_service import ClockedEmulation, emulation_service


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    with launched_chromium() as browser:
        yield browser


@pytest.fixture
def recorded(chromium: Browser) -> Iterator[RecordedPage]:
    with recorded_page(chromium) as page:
        yield page


@pytest.fixture(scope="module")
def standalone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Yield the address of the console of a standalone service."""
    with ServiceDeployment(
        tmp_path_factory.mktemp("standalone"), database_url="", transport_url="fake://"
    ) as deployment:
        deployment.start_standalone()
        yield f"{deployment.endpoint}/console"


@dataclass(frozen=True, slots=True)
class EmulatedConsole:
    """A service over the emulated cloud, and the address of its console."""

    url: str
    service: LocalService
    cloud: ClockedEmulation


@pytest.fixture
def emulated(tmp_path: Path) -> Iterator[EmulatedConsole]:
    cloud = ClockedEmulation()
    options = ApiOptions(console=True, max_resources_per_stack=-1)
    service = emulation_service(cloud, tmp_path, options=options)
    service.use_settings(watch_interval_s=INTERVAL_S)
    server = ServedApplication(NATIVE, service.app, HttpLimits())
    yield EmulatedConsole(f"http://127.0.0.1:{server.address[1]}/console", service, cloud)
    server.stop()
    service.close()
