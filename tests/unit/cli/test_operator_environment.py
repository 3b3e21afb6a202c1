"""The operator's environment, merged from a directory of files."""

from __future__ import annotations

from pathlib import Path

import pytest

from heat_convergence.cli.components.operator_environment import load_operator_environment
from heat_convergence.template.limits import DEFAULT_LIMITS


def test_files_are_merged_in_order_of_their_names(tmp_path: Path) -> None:
    (tmp_path / "10-first.yaml").write_text(
        "resource_registry: {'My::One': 'OS::Heat::None', 'My::Two': 'OS::Heat::None'}"
    )
    (tmp_path / "20-second.yaml").write_text("resource_registry: {'My::Two': 'OS::Heat::Value'}")
    (tmp_path / ".hidden").write_text("resource_registry: {'My::One': 'OS::Heat::Delay'}")
    found = load_operator_environment(str(tmp_path), limits=DEFAULT_LIMITS)
    assert found is not None
    assert found.registry.resolve("My::One") == "OS::Heat::None"
    assert found.registry.resolve("My::Two") == "OS::Heat::Value"


def test_invalid_file_is_logged_and_ignored(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "10-bad.yaml").write_text("colours: [red]")
    (tmp_path / "20-good.yaml").write_text("resource_registry: {'My::One': 'OS::Heat::None'}")
    found = load_operator_environment(str(tmp_path), limits=DEFAULT_LIMITS)
    assert found is not None
    assert "10-bad.yaml" in caplog.text
    assert "colours" in caplog.text


def test_without_files_there_is_no_environment(tmp_path: Path) -> None:
    assert load_operator_environment(str(tmp_path / "nowhere"), limits=DEFAULT_LIMITS) is None
    assert load_operator_environment(str(tmp_path), limits=DEFAULT_LIMITS) is None
