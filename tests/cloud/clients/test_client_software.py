"""The environment of other projects' clients, without any cloud."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.cloud.clients.client_software import ClientSoftware

PRINT = "import os; print(sorted(n for n in os.environ if n[:2] in ('OS', 'PY', 'TE')))"


def test_a_client_gets_neither_this_cloud_nor_these_packages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OS_USERNAME", "PYTHONPATH", "PYTHONHOME"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.setenv("TEST_KEPT", "1")
    client = ClientSoftware(tmp_path)
    printed = client.run([sys.executable, "-c", PRINT], tmp_path, {"OS_CLOUD": "devstack"})
    assert "'OS_CLOUD'" in printed
    assert "TEST_KEPT" in printed
    assert not {"OS_USERNAME", "PYTHONPATH", "PYTHONHOME"} & set(printed.split("'"))
