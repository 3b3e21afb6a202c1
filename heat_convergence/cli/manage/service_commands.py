"""``heat-convergence-manage`` about the service itself: its processes, its keys.

Called by ``manage``; decides what is printed.
"""

from __future__ import annotations

import argparse
from datetime import datetime

from heat_convergence.common.clock import utc_now
from heat_convergence.convergence.model.service_record import ServiceRecord
from heat_convergence.db.connection.database import Database
from heat_convergence.db.encryption.column_encryption import get_keyring
from heat_convergence.db.maintenance import key_rotation, purge
from heat_convergence.db.reads import services

OK, UNREADABLE_SECRETS = 0, 1
_CHANGES = {
    "rotate": key_rotation.rotate_to_newest_key,
    "encrypt": key_rotation.encrypt_plaintext,
    "decrypt": key_rotation.decrypt_to_plaintext,
}
_COLUMNS = ("Hostname", "Binary", "Engine Id", "Host", "Topic", "Status", "Updated At")


def list_services(database: Database, parsed: argparse.Namespace) -> int:
    """Prints the worker processes that have reported."""
    now = utc_now()
    with database.read() as conn:
        found = services.list_services(conn)
        dead = set(purge.find_dead_services(conn, now))
    rows = [_COLUMNS, *(_row(each, dead) for each in found)]
    widths = [max(len(row[at]) for row in rows) for at in range(len(_COLUMNS))]
    for row in rows:
        print("  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)))
    return OK


def clean_services(database: Database, parsed: argparse.Namespace) -> int:
    """Takes dead worker processes off the list."""
    print(f"{purge.purge_services(database, utc_now())} dead processes taken off the list.")
    return OK


def rewrite_secrets(database: Database, parsed: argparse.Namespace) -> int:
    """Seals what is stored with the newest key, or anew, or not at all."""
    keyring = get_keyring(database.engine.dialect)
    if not keyring:
        print("auth_encryption_key is not set: there is nothing to encrypt or decrypt with.")
        return UNREADABLE_SECRETS
    done = key_rotation.rewrite_encrypted_values(database, _CHANGES[parsed.change](keyring))
    print(f"{done.rewritten} values rewritten.")
    if done.unreadable:
        print(
            f"{done.unreadable} values were encrypted with a key that is not configured:"
            " add it as a further auth_encryption_key and repeat."
        )
        return UNREADABLE_SECRETS
    return OK


def add_commands(nouns: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
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
        verbs.add_parser(name, help=text).set_defaults(run=rewrite_secrets, change=name)


def _row(found: ServiceRecord, dead: set[str]) -> tuple[str, ...]:
    reported_at: datetime = found.updated_at or found.created_at
    status = "down" if found.id in dead else "up"
    return (
        found.hostname,
        found.binary,
        found.id,
        found.host,
        found.topic,
        status,
        reported_at.isoformat(timespec="seconds"),
    )
