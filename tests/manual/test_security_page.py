"""The command of ``docs/operate/security.rst`` prints a sample of the policy."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import yaml

from heat_convergence.api.policies.rules import list_rules
from tests.documented_commands import DocumentedPage

PAGE = DocumentedPage("operate/security.rst")


def test_sample_of_the_policy_lists_every_rule() -> None:
    (line,) = PAGE.block_after("a sample lists all of them")
    program, *arguments = shlex.split(line)
    script = str(Path(sys.executable).with_name(program))
    done = subprocess.run([script, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    rules = "\n".join(
        line.removeprefix("#") for line in done.stdout.splitlines() if line.startswith('#"')
    )
    assert set(yaml.safe_load(rules)) == {rule.name for rule in list_rules()}
