"""Names, docstrings and sizes of the code: retired words stay retired.

``data/retired_words.yaml`` lists the words and class names that a plain word has replaced
(``docs/reference/glossary.rst`` has the plain ones), and the folders that still have some.  Remove
a folder from the list once it is clean.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
DATA = yaml.safe_load((Path(__file__).parent / "data" / "retired_words.yaml").read_text())
RETIRED_WORDS = frozenset(DATA["words"])
RETIRED_NAMES = frozenset(DATA["class names"])
KEPT_NAMES = frozenset(DATA["exceptions"]["names"])
MAX_MODULES = 15
MAX_LINES = 400
SOURCES = sorted(
    path.relative_to(ROOT)
    for part in ("heat_convergence", "tests", "benchmarks")
    for path in (ROOT / part).rglob("*.py")
)
FOLDERS = sorted({str(path.parent) for path in SOURCES})
RIDDLE = re.compile(
    r"(What|Of|As|Whether|With|Without|By|Who|Whoever|Whose|Where|That|Those|There|It|Its|How"
    r"|When|If|In|On|At|To|From|Under|Beside|Before|After|For|Such|One of)\b"
)


@cache
def names_and_docstrings(path: Path) -> tuple[frozenset[str], tuple[str, ...]]:
    """Return a file's names and docstrings; a tree that is kept slows later tests down."""
    tree = ast.parse((ROOT / path).read_text())
    return frozenset(bound_names(tree)), tuple(docstrings(tree))


def bound_names(tree: ast.Module) -> Iterator[str]:
    """Yield the names that a file defines, assigns or takes as parameters."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr


def words(name: str) -> set[str]:
    return set(re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name).lower().split("_"))


def docstrings(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node)
            if text:
                yield text.splitlines()[0]


def files_of(folder: str) -> list[Path]:
    return [path for path in SOURCES if str(path.parent) == folder]


def unless_listed(rule: str) -> list[str]:
    listed = DATA["exceptions"][rule] or []
    return [folder for folder in FOLDERS if folder not in listed]


def test_identifiers_use_no_retired_word() -> None:
    found = {
        f"{path}: {name}"
        for folder in unless_listed("words")
        for path in files_of(folder)
        for name in names_and_docstrings(path)[0]
        if (words(name) & RETIRED_WORDS and name not in KEPT_NAMES) or name in RETIRED_NAMES
    }
    assert found == set()


def test_docstrings_begin_with_a_verb_or_a_noun() -> None:
    found = {
        f"{path}: {line}"
        for folder in unless_listed("docstrings")
        for path in files_of(folder)
        for line in names_and_docstrings(path)[1]
        if RIDDLE.match(line)
    }
    assert found == set()


def test_public_class_names_are_unique() -> None:
    names = Counter(
        node.name
        for path in SOURCES
        if path.parts[0] == "heat_convergence"
        for node in ast.parse((ROOT / path).read_text()).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    repeated = {name for name, count in names.items() if count > 1}
    assert repeated - set(DATA["exceptions"]["class names"] or []) == set()


def test_folders_have_few_modules() -> None:
    counts = Counter(str(path.parent) for path in SOURCES if path.name != "__init__.py")
    assert {folder: n for folder, n in counts.items() if n > MAX_MODULES} == {}


def test_files_are_short() -> None:
    sizes = {str(path): len((ROOT / path).read_text().splitlines()) for path in SOURCES}
    long = {name: size for name, size in sizes.items() if size > MAX_LINES}
    assert set(long) == set(DATA["exceptions"]["long files"] or []), long


def test_exceptions_of_names_are_needed() -> None:
    used = {name for path in SOURCES for name in names_and_docstrings(path)[0]}
    assert used >= KEPT_NAMES
    assert all(words(name) & RETIRED_WORDS or name in RETIRED_NAMES for name in KEPT_NAMES)
