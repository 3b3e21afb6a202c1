"""``heat-convergence-manage``: commands that purge stacks and check their consistency.

Called by ``main``; decides what is printed and how long purging continues.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial

from heat_convergence.common.clock import utc_now
from heat_convergence.common.stored_values import StoredValueUnreadable
from heat_convergence.common.transactions import retry_transaction
from heat_convergence.convergence.invariants.checker import find_violations
from heat_convergence.convergence.invariants.transition import Transition
from heat_convergence.db.connection.database import Database
from heat_convergence.db.maintenance import consistency, purge
from heat_convergence.db.maintenance.inconsistency import Inconsistency

OK, INCONSISTENT = 0, 1
_SECONDS = {"days": 86_400, "hours": 3600, "minutes": 60, "seconds": 1}
_PAGE = 100
# Invariants that can be checked on rows alone, with the remedy of each.
_REMEDIES = {
    1: "the sweep of an observer repairs it; otherwise openstack stack update with its template",
    2: "openstack stack update with its template",
    7: "openstack stack update with its template",
    9: "openstack stack cancel, or any other action on the stack",
}


def purge_deleted(database: Database, parsed: argparse.Namespace) -> int:
    """Delete the rows of stacks that were deleted some time ago."""
    before = _time_before_now(parsed.age * _SECONDS[parsed.granularity])

    def next_batch() -> list[str]:
        return purge.find_deleted_stacks(database, before, parsed.project_id, parsed.batch_size)

    stacks = _purge(database, next_batch)
    contents = purge.purge_contents(database)
    print(f"Purged {stacks} deleted stacks and {contents} texts.")
    return OK


def purge_project(database: Database, parsed: argparse.Namespace) -> int:
    """Delete all rows of a project that Keystone has deleted."""
    project_id = parsed.project_id
    if not parsed.yes:
        found = len(purge.find_project_stacks(database, project_id, 1_000_000))
        print(
            f"Project {project_id} has {found} stacks. Their physical resources will not"
            " be deleted. Repeat with --yes to delete their rows."
        )
        return OK
    stacks = _purge(
        database, lambda: purge.find_project_stacks(database, project_id, parsed.batch_size)
    )
    software = purge.purge_software(database, project_id)
    contents = purge.purge_contents(database)
    print(
        f"Purged {stacks} stacks, {software} software configs and deployments"
        f" and {contents} texts of project {project_id}."
    )
    return OK


def check_stacks(database: Database, parsed: argparse.Namespace) -> int:
    """Print inconsistent rows with their remedies."""
    found = list(_find_inconsistencies(database, parsed.stack_id))
    for each in found:
        owner = f"stack {each.stack_id}" if each.stack_id else "no stack"
        print(f"{owner}: {each.problem}\n  remedy: {each.remedy}")
    if found:
        return INCONSISTENT
    print("No inconsistencies found.")
    return OK


def add_commands(nouns: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the commands to the parser of nouns."""
    purge = nouns.add_parser("purge_deleted", help="delete the rows of deleted stacks")
    purge.add_argument(
        "age",
        nargs="?",
        type=_age,
        default=90,
        help="minimum time since the deletion (default: %(default)s)",
    )
    purge.add_argument(
        "-g",
        "--granularity",
        choices=sorted(_SECONDS),
        default="days",
        help="unit of the age (default: %(default)s)",
    )
    purge.add_argument("-p", "--project-id", help="purge stacks of this project only")
    _add_batch_size(purge)
    purge.set_defaults(run=purge_deleted)

    project = nouns.add_parser("purge_project", help="delete all rows of a project")
    project.add_argument("project_id")
    project.add_argument(
        "--yes",
        action="store_true",
        help="delete the rows; without it the command only counts them",
    )
    _add_batch_size(project)
    project.set_defaults(run=purge_project)

    stack = nouns.add_parser("stack", help="check stacks")
    verbs = stack.add_subparsers(required=True)
    verb = verbs.add_parser(
        "check",
        help="print inconsistent rows with the remedy; exit code 1 if there are any",
    )
    verb.add_argument("stack_id", nargs="?", help="check this stack only")
    verb.set_defaults(run=check_stacks)


def _add_batch_size(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-b",
        "--batch-size",
        "--batch_size",
        type=_positive,
        default=20,
        help="number of stacks per transaction (default: %(default)s)",
    )


def _purge(database: Database, next_batch: Callable[[], list[str]]) -> int:
    """Purge batch after batch until none is left, and return the number of stacks."""
    purged, last = 0, None
    while batch := next_batch():
        done = retry_transaction(partial(purge.purge_stacks, database, batch), wait=time.sleep)
        if not done and batch == last:
            break  # no progress: another process purges the same stacks
        purged, last = purged + done, batch
    return purged


def _find_inconsistencies(database: Database, only: str | None) -> Iterator[Inconsistency]:
    with database.read() as conn:
        inconsistencies = [
            each
            for each in consistency.find_inconsistencies(conn)
            if only in (None, each.stack_id)
        ]
    yield from inconsistencies
    for stack_id in [only] if only else _list_stack_ids(database):
        # Daemons change rows meanwhile: only what is found twice is reported.
        first_result = set(_find_violations(database, stack_id))
        if first_result:
            second_result = _find_violations(database, stack_id)
            yield from (each for each in second_result if each in first_result)


def _find_violations(database: Database, stack_id: str) -> list[Inconsistency]:
    try:
        return _find_violations_of_rows(database, stack_id)
    except StoredValueUnreadable:
        return []  # ``find_inconsistencies`` has reported it


def _find_violations_of_rows(database: Database, stack_id: str) -> list[Inconsistency]:
    with database.read() as conn:
        found = consistency.load_stack_state(conn, stack_id)
    if found is None:
        return [Inconsistency(stack_id, "the stack does not exist", "check the id")]
    return [
        Inconsistency(stack_id, str(violation), _REMEDIES[violation.rule])
        for violation in find_violations(Transition(now=utc_now(), after=found))
        if violation.rule in _REMEDIES
    ]


def _list_stack_ids(database: Database) -> Iterator[str]:
    last = ""
    while True:
        with database.read() as conn:
            page = consistency.list_live_stacks(conn, last, _PAGE)
        yield from page
        if len(page) < _PAGE:
            return
        last = page[-1]


def _time_before_now(seconds: int) -> datetime:
    try:
        return utc_now() - timedelta(seconds=seconds)
    except OverflowError:
        return datetime.min.replace(tzinfo=UTC)


def _age(text: str) -> int:
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError("an age is not negative")
    return number


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("at least 1")
    return number
