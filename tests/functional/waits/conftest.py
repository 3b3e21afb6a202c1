"""A server whose requests wait, with a short interval."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from eventlet.green import threading as green_threading
from eventlet.green import time as green_time

from heat_convergence.api import change_wait
from heat_convergence.cli.daemons.http_limits import HttpLimits
from tests.functional.harness import LocalService
from tests.functional.http_servers import GREEN, NATIVE, ServedApplication


@pytest.fixture(params=[NATIVE, GREEN])
def served(
    request: pytest.FixtureRequest, service: LocalService, monkeypatch: pytest.MonkeyPatch
) -> Iterator[ServedApplication]:
    """Yield a server with two threads, for whose clocks and threads the watch was made."""
    monkeypatch.setattr(change_wait, "_INTERVAL_S", 0.05)
    if request.param == GREEN:
        monkeypatch.setattr(change_wait, "threading", green_threading)
        monkeypatch.setattr(change_wait, "time", green_time)
    served = ServedApplication(request.param, service.app, HttpLimits(threads=2))
    yield served
    served.stop()
