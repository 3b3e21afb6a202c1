"""Every program tells its version, and the sample of the policy can be generated."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import entry_points, version

import pytest

PROGRAMS = sorted(
    entry.name
    for entry in entry_points(group="console_scripts")
    if entry.name.startswith("heat-convergence") and entry.dist and entry.dist.name
)


def run(code: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("program", PROGRAMS)
def test_version_is_printed(program: str) -> None:
    (entry,) = entry_points(group="console_scripts", name=program)
    module, _, function = entry.value.partition(":")
    code = f"import sys; sys.argv[0] = '{program}'; from {module} import {function} as run; "
    assert version("heat-convergence") in run(code + "sys.exit(run())", "--version")


def test_sample_of_the_policy_is_generated() -> None:
    code = "from oslo_policy.generator import generate_sample; generate_sample()"
    found = run(code, "--namespace", "heat_convergence")
    assert '#"stacks:create"' in found
