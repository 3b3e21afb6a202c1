"""Template functions and constraints of other packages, loaded from entry points."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from stevedore import ExtensionManager
from stevedore.extension import Extension

from heat_convergence.cli.components import function_plugins
from heat_convergence.resources import custom_constraints
from heat_convergence.template.functions.function import Function, FunctionScope

SHOUT = Function("The text in capitals.", lambda text, _scope: text.upper())


def extensions(**loaded: Any) -> ExtensionManager[Any]:
    return ExtensionManager.make_test_instance(
        [
            Extension(
                name, EntryPoint(name, "m:a", function_plugins.ENTRY_POINT_GROUP), plugin, None
            )
            for name, plugin in loaded.items()
        ]
    )


def test_valid_functions_are_returned_by_name(caplog: pytest.LogCaptureFixture) -> None:
    found = function_plugins.valid_functions(extensions(shout=SHOUT, wrong=SimpleNamespace()))
    assert found == {"shout": SHOUT}
    assert "wrong" in caplog.text


def test_functions_are_loaded_from_entry_points(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Load a package on the path like an installed one."""
    (tmp_path / "shouting.py").write_text(
        "from heat_convergence.template.functions.function import Function\n"
        "shout = Function('In capitals.', lambda text, scope: text.upper())\n"
        "def long_enough(value):\n"
        "    return None if len(value) > 2 else 'too short'\n"
    )
    info = tmp_path / "shouting-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Name: shouting\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        f"[{function_plugins.ENTRY_POINT_GROUP}]\n"
        "shout = shouting:shout\nmissing = shouting:missing\n"
        "[heat_convergence.constraints]\nlong_enough = shouting:long_enough\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(ExtensionManager, "ENTRY_POINT_CACHE", {})
    found = function_plugins.load_functions()
    assert found["shout"].evaluate("a", cast("FunctionScope", None)) == "A"
    assert "missing" not in found
    assert "shouting:missing" in caplog.text
    assert custom_constraints.load_constraints().keys() >= {"long_enough", "ip_addr"}
