"""Servers with agents, for the tests of software configurations and deployments."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.functional.project_client import ProjectClient
from tests.functional.software.test_server_agent_metadata import ServerAgentTestbed


@pytest.fixture
def testbed(tmp_path: Path) -> Iterator[ServerAgentTestbed]:
    testbed = ServerAgentTestbed(tmp_path)
    yield testbed
    testbed.service.close()
    testbed.fake.close()


@pytest.fixture
def heat(testbed: ServerAgentTestbed) -> ProjectClient:
    return ProjectClient(testbed.service)
