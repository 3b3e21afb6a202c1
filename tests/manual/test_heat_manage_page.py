"""``docs/operate/heat-manage.rst``: every command that replaces one of Heat's exists."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "operate" / "heat-manage.rst").read_text()
PROGRAM = re.compile(r"``(heat-convergence-(?:manage|status))\s+([a-z_ \n-]+?)``")
COMMANDS = sorted({(found[0], *found[1].split()) for found in PROGRAM.findall(PAGE)})


def test_page_names_commands_of_both_programs() -> None:
    assert len(COMMANDS) > 12
    assert {command[0] for command in COMMANDS} == {
        "heat-convergence-manage",
        "heat-convergence-status",
    }


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_command_exists(command: tuple[str, ...]) -> None:
    program, *arguments = command
    script = str(Path(sys.executable).with_name(program))
    done = subprocess.run([script, *arguments, "--help"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "usage:" in done.stdout
