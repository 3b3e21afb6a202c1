"""Only named modules log in as the service or as the domain administrator.

``clients.service_account`` has all operations with their power; the names that lead around it
may stand nowhere else.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "heat_convergence"
CLIENTS = {"clients/auth.py", "clients/service_account.py"}
ALLOWED = {
    # plug-ins of keystoneauth that log in with a password or from the configuration
    "keystoneauth1.identity": {
        *CLIENTS,
        "clients/login/user_login.py",  # with what the user of the console enters alone
    },
    "keystoneauth1.loading": {
        "clients/auth.py",
        "conf/clients.py",
        "clients/remote/remote_clouds.py",  # with the credential of a stack's author alone
        "cli/startup/option_names.py",  # reads the names of options alone
        "cli/startup/library_options.py",  # asks whether plug-ins are installed
    },
    "load_plugin": {"clients/auth.py"},
    "own_plugin": CLIENTS,
    "load_trust_plugin": {"clients/auth.py"},
    "load_reader_plugin": {"cli/components/watch_clouds.py"},
    "stack_domain_admin_password": {
        "clients/service_account.py",
        "clients/settings.py",
        "cli/components/settings.py",
    },
    "ServiceAccount": {
        "clients/login/identity_probe.py",
        "clients/keystone.py",
        "clients/signed_urls.py",
    },
    "DomainAdministrator": {"clients/login/identity_probe.py", "clients/stack_users.py"},
}


def names_in(tree: ast.AST) -> Iterator[str]:
    """Every imported module and every identifier of a module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr


def is_named(found: str, restricted: str) -> bool:
    return found == restricted or found.startswith(f"{restricted}.")


def test_the_search_finds_imports_and_attributes() -> None:
    source = "from keystoneauth1.identity.v3 import Password\nservice.load_plugin()"
    found = set(names_in(ast.parse(source)))
    assert any(is_named(name, "keystoneauth1.identity") for name in found)
    assert "load_plugin" in found


@pytest.mark.parametrize("restricted", sorted(ALLOWED))
def test_privileged_sessions_are_made_by_named_modules(restricted: str) -> None:
    users = {
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*.py")
        if "testing" not in path.parts  # of the emulated cloud
        and any(is_named(name, restricted) for name in names_in(ast.parse(path.read_text())))
    }
    assert users == ALLOWED[restricted]
