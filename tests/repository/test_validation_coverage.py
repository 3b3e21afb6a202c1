"""Every row of docs/reference/validation.rst names the tests that show it, and they are there.

``tests/functional/data/validation_rows.yaml`` lists the rows; a test that is renamed or
taken away leaves its row without one.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
import yaml

TESTS = Path(__file__).parents[1]
ROWS = TESTS / "functional" / "data" / "validation_rows.yaml"
CASES = "functional/validation_cases.py"
TEMPLATE_CASES = "functional/template_validation_cases.py"
RULES = "functional/templates/test_validation_rules.py"
# The tables of "row" are tests of test_create_validation.py.
TABLES = {
    "row": {
        "REQUEST": TEMPLATE_CASES,
        "TEMPLATE": TEMPLATE_CASES,
        "PARAMETERS": CASES,
        "PROPERTIES": CASES,
        "NAMES": CASES,
        "ACCEPTED": CASES,
    },
    "update": {"UPDATES": RULES},
    "order": {"MISTAKES": RULES},
}


def rows() -> Iterator[tuple[str, list[str]]]:
    for section, cases in yaml.safe_load(ROWS.read_text()).items():
        for case, shown in cases.items():
            yield f"{section}: {case}", shown


@cache
def tree(path: str) -> ast.Module:
    return ast.parse((TESTS / path).read_text())


def functions(path: str) -> set[str]:
    found = (node for node in ast.walk(tree(path)) if isinstance(node, ast.FunctionDef))
    return {node.name for node in found if node.name.startswith("test_")}


def table(path: str, name: str) -> list[str]:
    """First words of the rows of a list."""
    for node in tree(path).body:
        target = node.target if isinstance(node, ast.AnnAssign) else None
        if isinstance(target, ast.Name) and target.id == name:
            assert isinstance(node.value, ast.List)
            return [each.elts[0].value for each in node.value.elts]
    raise AssertionError(f"{path} has no table {name}")


def case_names(table_name: str) -> list[str]:
    return [each for name, path in TABLES[table_name].items() for each in table(path, name)]


@pytest.mark.parametrize(("row", "shown"), rows(), ids=[row for row, _shown in rows()])
def test_a_row_has_its_tests(row: str, shown: list[str]) -> None:
    assert shown, f"{row} is shown by no test"
    for each in shown:
        table_name, _space, name = each.partition(" ")
        if table_name in TABLES:
            assert name in case_names(table_name), f"{row}: there is no {each}"
            continue
        path, _colons, test = each.partition("::")
        assert (TESTS / path).is_file(), f"{row}: there is no {path}"
        assert test in functions(path), f"{row}: {path} has no {test}"


def test_every_table_is_run() -> None:
    text = (TESTS / "functional" / "templates" / "test_create_validation.py").read_text()
    assert [name for name in TABLES["row"] if f"table.{name}" not in text] == []
    own = (TESTS / RULES).read_text()
    assert own.count("UPDATES") > 1
    assert own.count("MISTAKES") > 1


def test_every_refusal_belongs_to_a_row() -> None:
    """List the cases that no row of the facts has, so that no row is lost by mistake."""
    named = {each for _row, shown in rows() for each in shown}
    beyond = {
        f"{table_name} {name}" for table_name in TABLES for name in case_names(table_name)
    } - named
    assert beyond == {
        "order resource", "row a date for a version", "row empty template",
        "row not YAML", "row template is a word", "row template of aliases",
        "row template too deep", "row template_url inside", "update environment a list",
        "update no version key", "update unknown version",
    } - named  # fmt: skip
