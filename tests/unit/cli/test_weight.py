"""What a daemon loads: engines and observers serve no web pages."""

from __future__ import annotations

import subprocess
import sys

import pytest

_SAY = "import sys, heat_convergence.cli.{}; print(*{{n.split('.')[0] for n in sys.modules}})"


@pytest.mark.parametrize(("module", "serves"), [("daemons", False), ("serving", True)])
def test_only_the_api_loads_the_web_framework(module: str, serves: bool) -> None:
    command = [sys.executable, "-W", "ignore", "-c", _SAY.format(module)]
    loaded = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    assert ({"pecan", "keystonemiddleware", "cheroot"} <= set(loaded)) is serves
    assert serves or not {"pecan", "keystonemiddleware", "cheroot"} & set(loaded)
