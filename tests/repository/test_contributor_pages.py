"""The pages for contributors name files that exist, and the hooks run the linters of tox."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from tools import linters

ROOT = Path(__file__).parents[2]
_PLACEHOLDERS = ("greeting", "SERVICE", "…")
_FOLDERS = ("heat_convergence", "tests", "docs", "etc", "tools", "releasenotes", "benchmarks")


def named_paths() -> list[str]:
    """Return the paths of this repository that CONTRIBUTING.rst names."""
    literals = re.findall(r"``([^`\s]+)``", (ROOT / "CONTRIBUTING.rst").read_text())
    paths = {each for each in literals if each.startswith(_FOLDERS) and "/" in each}
    return sorted(each for each in paths if not any(word in each for word in _PLACEHOLDERS))


@pytest.mark.parametrize("path", named_paths())
def test_contributing_names_existing_files(path: str) -> None:
    assert list(ROOT.glob(path.rstrip("/"))), f"CONTRIBUTING.rst names {path}"


@pytest.mark.parametrize(
    "page", ["README.rst", *(str(p.relative_to(ROOT)) for p in (ROOT / "docs").rglob("*.rst"))]
)
def test_links_of_pages_lead_to_files(page: str) -> None:
    text = (ROOT / page).read_text()
    targets = re.findall(r"`[^`<]+<([\w./-]+)>`_", text)
    assert [each for each in targets if not (ROOT / page).parent.joinpath(each).exists()] == []


def test_contributing_names_existing_modules() -> None:
    text = (ROOT / "CONTRIBUTING.rst").read_text()
    modules = re.findall(r"python -m ([\w.]+)", text)
    assert modules
    assert [
        each for each in modules if not (ROOT / f"{each.replace('.', '/')}.py").is_file()
    ] == []


def test_hooks_run_the_linters_of_tox() -> None:
    # xargs gives a linter the files that pre-commit would.
    commands = {command.rpartition("xargs -0 ")[2].split()[0] for command in linters.COMMANDS}
    (repository,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    assert repository["repo"] == "local"  # A commit needs no network.
    entries = {hook["entry"].split()[0] for hook in repository["hooks"]}
    assert entries == {f".venv/bin/{command}" for command in commands}
