"""Checks of the repository itself: dependencies, commands, entry points."""

from __future__ import annotations

import ast
import configparser
import importlib
import re
import sys
from collections import Counter
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted(
    path
    for part in ("heat_convergence", "tests", "benchmarks", "alembic")
    for path in (ROOT / part).rglob("*.py")
)


@pytest.fixture(scope="module")
def setup_cfg() -> configparser.ConfigParser:
    parser = configparser.ConfigParser(delimiters=("=",))
    parser.optionxform = str
    parser.read(ROOT / "setup.cfg")
    return parser


def _names(requirements: str) -> set[str]:
    lines = (line.strip() for line in requirements.splitlines())
    return {_normal(re.split(r"[\s<>=!~;\[]", line)[0]) for line in lines if line}


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _imported(paths: list[Path]) -> set[str]:
    """Top-level packages that files import, without those of Python and our own."""
    found = {name.split(".")[0] for path in paths for name in _modules(path)}
    return found - set(sys.stdlib_module_names) - {"heat_convergence"}


def _modules(path: Path) -> set[str]:
    """Modules that a file imports."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module)
    return found


def test_every_import_is_declared(setup_cfg):
    declared = _names(setup_cfg["options"]["install_requires"])
    for extra in ("mysql", "otel", "osprofiler"):  # loaded by name, where an option chooses them
        declared |= _names(setup_cfg["options.extras_require"][extra])
    provided_by = packages_distributions()
    code = [path for path in SOURCES if path.is_relative_to(ROOT / "heat_convergence")]
    undeclared = {
        name
        for name in _imported(code)
        if not {_normal(dist) for dist in provided_by.get(name, [name])} & declared
    }
    assert undeclared == set()


def test_units_run_alone():
    """A generated example, a server and a daemon take too long for ``tests/unit``."""
    slow = {"hypothesis", "http.server", "socketserver", "wsgiref.simple_server"}
    units = [path for path in SOURCES if path.is_relative_to(ROOT / "tests" / "unit")]
    assert {path.name: found for path in units if (found := _modules(path) & slow)} == {}


def test_every_dependency_has_a_comment_with_its_reason():
    lines = [line.strip() for line in (ROOT / "setup.cfg").read_text().splitlines()]
    start = lines.index("install_requires =") + 1
    block = lines[start : lines.index("", start)]
    requirements = [index for index, line in enumerate(block) if line[:1] != "#"]
    assert len(requirements) > 20
    assert [block[index] for index in requirements if not block[index - 1].startswith("#")] == []


def test_names_of_test_modules_are_unique():
    """Folders of tests are no packages, so that pytest could not tell the modules apart."""
    count = Counter(path.name for path in SOURCES if path.name.startswith("test_"))
    assert [name for name, times in count.items() if times > 1] == []


def test_package_modules_hold_no_code():
    for path in SOURCES:
        if path.name == "__init__.py":
            body = ast.parse(path.read_text()).body
            assert all(isinstance(node, ast.Expr) for node in body), path


def test_no_import_is_made_for_type_checkers_alone():
    # Such an import hides a cycle; the noun that both modules need belongs below both.
    package = [path for path in SOURCES if ROOT / "heat_convergence" in path.parents]
    assert len(package) > 500
    found = [path for path in package if "TYPE_CHECKING" in path.read_text()]
    assert found == []


def test_nothing_at_the_top_shadows_the_migration_library():
    assert not (ROOT / "alembic" / "__init__.py").exists()


def test_ci_runs_the_command_of_the_readme():
    readme = (ROOT / "README.rst").read_text()
    (command,) = re.findall(r"^    (python3 -m venv .*tox)$", readme, re.M)
    assert command in (ROOT / ".ci" / "run").read_text()


@pytest.mark.parametrize(
    "group", ["console_scripts", "heat_convergence.resource_types", "oslo.config.opts"]
)
def test_entry_points_lead_somewhere(setup_cfg, group):
    lines = setup_cfg["options.entry_points"][group].strip().splitlines()
    for line in lines:
        name, _, target = (part.strip() for part in line.partition(" = "))
        module, _, attribute = target.partition(":")
        found = getattr(importlib.import_module(module), attribute)
        if group == "heat_convergence.resource_types":
            assert found.name == name


def test_log_lines_are_complete_in_every_format():
    """The default format drops values passed in ``extra``."""
    package = [path for path in SOURCES if ROOT / "heat_convergence" in path.parents]
    found = [str(path.relative_to(ROOT)) for path in package if "extra={" in path.read_text()]
    assert found == []
