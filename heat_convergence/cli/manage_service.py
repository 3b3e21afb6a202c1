"""``heat-convergence-manage`` about the service itself: its processes, its keys.

Called by ``manage``; decides what is printed.
"""

from __future__ import annotations

import argparse
from datetime import datetime

from heat_convergence.common.clock import utc_now
from heat_convergence.convergence.model import Service
from heat_convergence.db import purging, rekeying
from heat_convergence.db.engine import Database
from heat_convergence.db.reads import services
from heat_convergence.db.sealing import keyring_of

OK, UNREADABLE = 0, 1
_CHANGES = {
    "rotate": rekeying.rotate,
    "encrypt": rekeying.encrypt,
    "decrypt": rekeying.decrypt,
}
_COLUMNS = ("Hostname", "Binary", "Engine Id", "Host", "Topic", "Status", "Updated At")


def list_services(database: Database, parsed: argparse.Namespace) -> int:
    """Prints the worker processes that have reported."""
    now = utc_now()
    with database.read() as conn:
        found = services.listing(conn)
        dead = set(purging.dead_services(conn, now))
    rows = [_COLUMNS, *(_row(each, dead) for each in found)]
    widths = [max(len(row[at]) for row in rows) for at in range(len(_COLUMNS))]
    for row in rows:
        print("  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)))
    return OK


def clean_services(database: Database, parsed: argparse.Namespace) -> int:
    """Takes dead worker processes off the list."""
    print(f"{purging.purge_services(database, utc_now())} dead processes taken off the list.")
    return OK


def change_secrets(database: Database, parsed: argparse.Namespace) -> int:
    """Seals what is stored with the newest key, or anew, or not at all."""
    keyring = keyring_of(database.engine.dialect)
    if not keyring:
        print("auth_encryption_key is not set: there is nothing to encrypt or decrypt with.")
        return UNREADABLE
    done = rekeying.rekey(database, _CHANGES[parsed.change](keyring))
    print(f"{done.changed} values rewritten.")
    if done.unreadable:
        print(f"{done.unreadable} values were encrypted with a key that is not configured:"
              " add it as a further auth_encryption_key and repeat.")
        return UNREADABLE
    return OK


def add_to(nouns: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    verbs = nouns.add_parser("service", help="the worker processes").add_subparsers(required=True)
    verbs.add_parser("list", help="print them").set_defaults(run=list_services)
    clean = verbs.add_parser("clean", help="take the dead ones off the list")
    clean.set_defaults(run=clean_services)

    secrets = nouns.add_parser("secrets", help="what is encrypted in the database")
    verbs = secrets.add_subparsers(required=True)
    for name, text in (
        ("rotate", "encrypt it with the first auth_encryption_key, whichever it was before"),
        ("encrypt", "encrypt what ought to be and is not"),
        ("decrypt", "store it in clear, to leave or to repair; daemons read both"),
    ):
        verbs.add_parser(name, help=text).set_defaults(run=change_secrets, change=name)


def _row(found: Service, dead: set[str]) -> tuple[str, ...]:
    reported_at: datetime = found.updated_at or found.created_at
    status = "down" if found.id in dead else "up"
    return (found.hostname, found.binary, found.id, found.host, found.topic, status,
            reported_at.isoformat(timespec="seconds"))
