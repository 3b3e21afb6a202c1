"""Only the error boundaries catch every exception (RULE 11)."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from heat_convergence.common.error_boundary import BoundaryName

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "heat_convergence"
ALLOWED = {
    # the boundary, and the text of an exception that may raise, too
    "common/error_boundary.py": ["Exception", "Exception"],
    # a daemon that cannot start, or not listen yet, tells the operator why
    "cli/daemons/daemon_service.py": ["Exception"],
    "cli/startup/waiting.py": ["Exception"],
    # these clean up and raise again
    "sandbox/expression_sandbox.py": ["BaseException"],
    # the simulator reports what the code under test raises
    "testing/simulation/scenarios/scenario_runner.py": ["Exception"],
    "testing/simulation/tasks.py": ["BaseException"],
}
CATCH_ALL = {"Exception", "BaseException"}


def caught_everywhere(source: str) -> Iterator[str]:
    """Every handler or ``suppress`` that catches whatever is raised."""
    for node in ast.walk(ast.parse(source)):
        caught: list[ast.expr | None] = []
        if isinstance(node, ast.ExceptHandler):
            caught = [*node.type.elts] if isinstance(node.type, ast.Tuple) else [node.type]
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("suppress"):
            caught = [*node.args]
        for each in caught:
            name = "BaseException" if each is None else ast.unparse(each)
            if name in CATCH_ALL:
                yield name


@pytest.mark.parametrize(
    "source",
    [
        "try:\n    f()\nexcept Exception:\n    pass",
        "try:\n    f()\nexcept (OSError, BaseException) as error:\n    pass",
        "try:\n    f()\nexcept:\n    pass",
        "with contextlib.suppress(Exception):\n    f()",
    ],
)
def test_the_search_finds_every_form(source: str) -> None:
    assert list(caught_everywhere(source))


def test_only_boundaries_catch_everything() -> None:
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        if names := list(caught_everywhere(path.read_text())):
            found[path.relative_to(PACKAGE).as_posix()] = names
    assert found == ALLOWED


def test_every_boundary_is_documented() -> None:
    page = (ROOT / "docs" / "operate" / "logging.rst").read_text()
    assert not [name for name in BoundaryName if f"\n``{name}``" not in page]


@pytest.mark.parametrize("name", BoundaryName)
def test_every_boundary_is_used(name: BoundaryName) -> None:
    used = f"BoundaryName.{name.name}"
    modules = [path for path in PACKAGE.rglob("*.py") if used in path.read_text()]
    assert 1 <= len(modules) <= 8
