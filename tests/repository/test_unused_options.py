"""Every option is read somewhere in the code.

Reads the source: an option that no expression of the configuration names has no effect.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import heat_convergence
from heat_convergence.conf import clients, opts

CODE = Path(heat_convergence.__file__).parent
ANY = "*"
# Groups that are passed as a whole to the library that declares them.
LIBRARIES = dict.fromkeys(
    (clients.TRUSTEE_GROUP, clients.DRIFT_AUTH_GROUP), "load_auth_from_conf_options"
)


class OptionReadVisitor(ast.NodeVisitor):
    """Paths of attributes of variables named ``conf``, through plain assignments."""

    def __init__(self) -> None:
        self.found: set[tuple[str, ...]] = set()
        self._known: dict[str, tuple[str, ...]] = {"conf": ()}

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._known = {"conf": ()}
        self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        targets, values = [node.targets[0]], [node.value]
        if isinstance(node.targets[0], ast.Tuple) and isinstance(node.value, ast.Tuple):
            targets, values = node.targets[0].elts, node.value.elts
        for target, value in zip(targets, values, strict=True):
            path = self._path(value)
            if isinstance(target, ast.Name) and path is not None:
                self._known[target.id] = path
        self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        path = self._path(node)
        if path:
            self.found.add(path)
        self.generic_visit(node)

    def _path(self, node: ast.AST) -> tuple[str, ...] | None:
        if isinstance(node, ast.Name):
            return self._known.get(node.id)
        if isinstance(node, ast.Attribute):
            if node.attr == "conf":
                return ()
            prefix = self._path(node.value)
            return None if prefix is None else (*prefix, node.attr)
        if isinstance(node, ast.Subscript):
            prefix = self._path(node.value)
            return None if prefix is None else (*prefix, ANY)
        return None


def reads(source: str) -> set[tuple[str, ...]]:
    found = OptionReadVisitor()
    found.visit(ast.parse(source))
    return found.found


def registered() -> Iterator[tuple[str | None, str]]:
    for group, options in opts.list_opts():
        for option in options:
            if group not in LIBRARIES:
                yield group, option.dest


@pytest.fixture(scope="module")
def all_reads() -> set[tuple[str, ...]]:
    texts = [path.read_text() for path in CODE.rglob("*.py") if path.parent.name != "conf"]
    return set().union(*(reads(text) for text in texts if "conf" in text))


@pytest.mark.parametrize(("group", "name"), registered())
def test_option_is_read(all_reads: set[tuple[str, ...]], group: str | None, name: str) -> None:
    ways = {(name,)} if group is None else {(group, name), (ANY, name)}
    assert all_reads & ways, f"no code reads [{group or 'DEFAULT'}] {name}"


def test_options_of_libraries_are_passed_to_them() -> None:
    text = "".join(path.read_text() for path in (CODE / "clients").glob("*.py"))
    for call in LIBRARIES.values():
        assert f"{call}(" in text


@pytest.mark.parametrize(
    ("source", "path"),
    [
        ("conf.engine.lease", ("engine", "lease")),
        ("def f(conf):\n    it = conf.clients\n    return it.timeout", ("clients", "timeout")),
        ("self.conf[group].endpoint_type", (ANY, "endpoint_type")),
        ("how, rpc = x, parts.conf.rpc\nrpc.quiet_time", ("rpc", "quiet_time")),
    ],
)
def test_forms_of_reading_an_option(source: str, path: tuple[str, ...]) -> None:
    assert path in reads(source)


def test_other_attributes_of_the_same_name_are_no_reads() -> None:
    assert reads("other.engine.lease\ndef f(x):\n    return x.lease") == set()
