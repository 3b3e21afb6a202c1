"""``heat-convergence-manage credentials``: stacks whose delegated credentials no longer work.

Called by ``main``; logs in to Keystone for each stack and changes nothing.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from heat_convergence.cli.components.assembly import create_keystone_clients
from heat_convergence.clients.clouds import StackCloudCache
from heat_convergence.common import errors
from heat_convergence.db.connection.database import Database
from heat_convergence.db.statements import credentials
from heat_convergence.db.statements.credentials import DelegatingStack

OK, UNUSABLE, UNREACHABLE = 0, 1, 2
_PAGE, _LOGINS_AT_ONCE = 100, 8
_REMEDY = (
    "an update with the same template, by a user with the required roles in the project,"
    " replaces the credential"
)


def check_credentials(database: Database, parsed: argparse.Namespace) -> int:
    """Print the stacks for whose users the service cannot act any more."""
    clouds, _ = create_keystone_clients(parsed.conf, database)
    if clouds is None:
        print("Stacks have no credentials: [heat_api] auth_strategy is noauth.")
        return OK
    checked = unusable = 0
    with ThreadPoolExecutor(_LOGINS_AT_ONCE) as executor:
        for page in _pages(database):
            reasons = executor.map(lambda stack: _find_problem(clouds, stack), page)
            for stack, problem in zip(page, reasons, strict=True):
                checked += 1
                if isinstance(problem, errors.AuthorizationFailure):
                    unusable += 1
                    print(
                        f"stack {stack.id} ({stack.name}), project {stack.project_id}: {problem}"
                    )
                elif problem is not None:
                    print(f"Keystone does not answer: {problem}")
                    return UNREACHABLE
    print(f"{checked} stacks checked, {unusable} without a usable credential.")
    if unusable:
        print(f"remedy: {_REMEDY}")
    return UNUSABLE if unusable else OK


def add_commands(nouns: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the commands to the parser of nouns."""
    verbs = nouns.add_parser(
        "credentials", help="check the delegated credentials of stacks"
    ).add_subparsers(required=True)
    verb = verbs.add_parser(
        "check",
        help="log in with the credential of each stack, and print those that Keystone refuses;"
        " exit code 1 if there are any",
    )
    verb.set_defaults(run=check_credentials)


def _pages(database: Database) -> Iterator[list[DelegatingStack]]:
    last = ""
    while True:
        with database.read() as conn:
            page = credentials.list_delegating(conn, last, _PAGE)
        yield page
        if len(page) < _PAGE:
            return
        last = page[-1].id


def _find_problem(clouds: StackCloudCache, stack: DelegatingStack) -> errors.Error | None:
    """Return the error of a login with the credential of a stack, or None."""
    try:
        clouds.get(stack.id).reauthenticate()
    except errors.Error as error:
        return error
    return None
