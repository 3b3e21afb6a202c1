"""A resource type that is data alone stays short: a row of the catalog, beside its schema."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import heat_convergence.resources.catalog

CATALOG = Path(heat_convergence.resources.catalog.__file__).parent
MOST_LINES = 60


def _rows() -> Iterator[tuple[str, int]]:
    """Yield each row of a type with its file, and its number of lines."""
    for path in sorted(CATALOG.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
                for call in ast.walk(node.value):
                    if isinstance(call, ast.Call) and _is_row(call):
                        yield f"{path.stem}: {ast.unparse(call.args[0])}", _lines(call)


def _is_row(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Name) and call.func.id.endswith("_spec") and bool(call.args)


def _lines(call: ast.Call) -> int:
    return (call.end_lineno or call.lineno) - call.lineno + 1


def test_rows_of_the_catalog_are_found():
    assert len(list(_rows())) > 90


def test_no_row_is_longer_than_sixty_lines():
    assert {name: lines for name, lines in _rows() if lines > MOST_LINES} == {}
