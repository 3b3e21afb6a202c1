"""The command of the README that shows what the service is for, from its output."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(sys.executable).with_name("heat-convergence")


def test_demo_kills_the_service_and_shows_that_nothing_was_created_twice() -> None:
    done = subprocess.run([SCRIPT, "demo"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    (killed,) = re.findall(r"Process (\d+) is killed", done.stdout)
    (lost,) = re.findall(r"The cloud has just created (\S+); its answer is lost", done.stdout)
    (follower,) = re.findall(r"Process (\d+) serves the API", done.stdout)
    assert re.search(r"^Console: http://127\.0\.0\.1:\d+/console$", done.stdout, re.MULTILINE)
    assert killed != follower
    assert lost.startswith("demo-worker-")
    # Twelve things, the worker's second incarnation, and the server that somebody has deleted.
    assert re.findall(r"created +(\d+)$", done.stdout, re.MULTILINE) == ["13", "14"]
    assert re.findall(r"created twice +(.*)$", done.stdout, re.MULTILINE) == ["nothing"] * 2
    assert re.findall(r"left over +(.*)$", done.stdout, re.MULTILINE) == ["nothing"] * 2
    drift = done.stdout.partition("Drift: somebody")[2]
    assert re.search(r"web_2 .*DELETED by others", drift)
    # A repair may have begun before the demo reads what has drifted.
    assert re.search(r"database .*(MODIFIED by others|UPDATE_)", drift)
    assert "Repaired, without a request." in done.stdout
    assert "Left of stacks and in the cloud: nothing" in done.stdout
