"""The suite's clouds: the emulation, and with ``HEAT_CONVERGENCE_TEST_CLOUD`` a real one.

The variable is a file as the test bed writes it, with ``auth_url``, ``region``,
``password``, ``projects`` and ``ids``; users ``demo`` and ``admin`` are used.  Without
it the real runs are skipped, also under ``CI=true``: a control plane is none of the
three services that the tests need.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import openstack
import pytest

from heat_convergence.clients.rest import Connected, Slots
from heat_convergence.resources.registry import Registry
from heat_convergence.testing.openstack.emulation import PROJECT
from heat_convergence.testing.openstack.wire import connect, emulated
from tests.conformance.driving import Driver

VARIABLE = "HEAT_CONVERGENCE_TEST_CLOUD"
START = datetime(2026, 1, 1, tzinfo=UTC)


class Bed:
    """A cloud to drive types at; ``word`` fills names in braces in cases."""

    def __init__(self, words: dict[str, str], driver: Callable[[bool], Driver]) -> None:
        self._words = words
        self.driver = driver

    def filled(self, value: Any) -> Any:
        if isinstance(value, str):
            for word, meaning in self._words.items():
                value = value.replace("{" + word + "}", meaning)
            return value
        if isinstance(value, dict):
            return {key: self.filled(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.filled(item) for item in value]
        return value


@pytest.fixture(scope="session")
def registry() -> Registry:
    return Registry.load()


@pytest.fixture
def emulated_bed(registry) -> Bed:
    emulation = emulated()
    connection = connect(emulation)
    cloud = Connected(str(uuid.uuid4()), PROJECT, lambda: connection, Slots(8))

    def driver(admin: bool) -> Driver:
        return Driver(
            cloud, PROJECT, registry, tick=emulation.advance,
            now=lambda: START + timedelta(seconds=emulation.now_s),
        )

    bed = Bed({"other_project": "5f1c0de0000000000000000000000002"}, driver)
    bed.emulation = emulation
    return bed


@pytest.fixture(scope="session")
def real_bed(registry) -> Bed:
    path = os.environ.get(VARIABLE)
    if not path:
        pytest.skip(f"{VARIABLE} names no cloud: the real services are left out")
    facts = json.loads(Path(path).read_text())
    clouds = {user: _cloud(facts, user) for user in ("demo", "admin")}

    def driver(admin: bool) -> Driver:
        user = "admin" if admin else "demo"
        return Driver(clouds[user], facts["projects"][user], registry)

    return Bed({"other_project": facts["projects"]["alt_demo"], **facts["ids"]}, driver)


def _cloud(facts: dict[str, Any], user: str) -> Connected:
    connection = openstack.connect(
        auth_url=facts["auth_url"], username=user, password=facts["password"],
        project_name=user, user_domain_id="default", project_domain_id="default",
        region_name=facts["region"],
    )
    return Connected(user, facts["projects"][user], lambda: connection, Slots(8))
