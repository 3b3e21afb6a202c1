"""The log of the daemons: JSON lines, constant texts with fields, request ids."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from oslo_context.context import RequestContext, get_current

from heat_convergence.cli.daemons.workers import ContextExecutor

pytestmark = pytest.mark.processes

ROOT = Path(__file__).parents[3]
REQUEST_ID = "req-6f0c64b2-31b7-4c28-a0c0-a8e2ff0bb2f6"
LOG_ONE_LINE = f"""
import logging, sys
from oslo_context.context import RequestContext
from heat_convergence.cli import config
config.load_config(["--config-file", sys.argv[1]], prog="p")
RequestContext(request_id="{REQUEST_ID}", project_id="p1", auth_token="planted-token")
LOG = logging.getLogger("heat_convergence.cli.daemons.workers")
LOG.info("worker started: binary=%(binary)s worker=%(worker)s", {{"binary": "b", "worker": "w"}})
"""


def log_line(path: Path, options: str) -> str:
    path.write_text(f"[DEFAULT]\n{options}\n")
    command = [sys.executable, "-W", "ignore", "-c", LOG_ONE_LINE, str(path)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert "planted-token" not in done.stdout
    return done.stdout.splitlines()[-1]


def test_json_line_has_constant_text_fields_and_request_id(tmp_path: Path) -> None:
    line = json.loads(log_line(tmp_path / "hc.conf", "use_json = true"))
    assert line["msg"] == "worker started: binary=%(binary)s worker=%(worker)s"
    assert line["args"] == {"binary": "b", "worker": "w"}
    assert line["message"] == "worker started: binary=b worker=w"
    assert line["levelname"] == "INFO"
    assert line["context"]["request_id"] == REQUEST_ID
    assert line["context"]["project_id"] == "p1"


def test_text_line_has_fields_and_request_id(tmp_path: Path) -> None:
    line = log_line(tmp_path / "hc.conf", "")
    assert line.endswith("worker started: binary=b worker=w")
    assert REQUEST_ID in line


def current_request_and_thread() -> tuple[str | None, int]:
    context = get_current()
    return (None if context is None else context.request_id), threading.get_ident()


def test_documented_texts_are_those_of_the_code() -> None:
    page = (ROOT / "docs" / "operate" / "logging.rst").read_text()
    table = page[page.index("ends a daemon; see") :]
    texts = re.findall(r"^``([a-z ]+)``", table, re.M)
    code = "".join(path.read_text() for path in (ROOT / "heat_convergence").rglob("*.py"))
    assert len(texts) > 10
    assert not [text for text in texts if text not in code]


@pytest.mark.parametrize("request_id", [REQUEST_ID, "req-another"])
def test_threads_of_an_executor_log_with_the_request_of_the_submitter(request_id: str) -> None:
    with ContextExecutor(1, "verb") as executor:
        for current in ("req-before", request_id):
            RequestContext(request_id=current)
            found = executor.submit(current_request_and_thread)
            assert found.result()[0] == current
            assert found.result()[1] != threading.get_ident()
