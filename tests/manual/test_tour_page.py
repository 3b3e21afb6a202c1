"""The commands of ``docs/start/tour.rst``, run as they are printed but for the address."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from heat_convergence.testing.daemon_processes import ServiceDeployment
from tests.documented_commands import DocumentedPage

PAGE = DocumentedPage("start/tour.rst")
ROOT = Path(__file__).parents[2]
PAGE_ADDRESS = "127.0.0.1:8004"
SECTIONS = {
    "can be checked and tried": 2,
    "Create a stack\n": 3,
    "and do it\n": 3,
    "Delete the stack\n": 1,
}


@pytest.fixture
def environment(tmp_path: Path) -> Iterator[Mapping[str, str]]:
    """The variables that the page exports, for a service on a free port."""
    deployment = ServiceDeployment(
        tmp_path,
        database_url=f"sqlite:///{tmp_path}/stacks.sqlite",
        transport_url="fake:/",
        options={},
    ).start_standalone()
    exported = shlex.split(PAGE.block_after("In another terminal::")[0])[1:]
    variables = dict(each.split("=", 1) for each in exported)
    assert PAGE_ADDRESS in variables["OS_ENDPOINT"]
    variables["OS_ENDPOINT"] = variables["OS_ENDPOINT"].replace(
        PAGE_ADDRESS, f"127.0.0.1:{deployment.port}"
    )
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    yield {**os.environ, **variables, "PATH": path}
    deployment.close()


def test_every_command_of_the_tour_succeeds(environment: Mapping[str, str]) -> None:
    for section, count in SECTIONS.items():
        commands = PAGE.block_after(section)
        assert len(commands) == count, section
        for command in commands:
            done = subprocess.run(
                shlex.split(command), cwd=ROOT, env=environment, capture_output=True, text=True
            )
            assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
