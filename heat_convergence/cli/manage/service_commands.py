"""``heat-convergence-manage``: commands for worker processes and encryption keys.

Called by ``main``; decides what is printed.
"""

from __future__ import annotations

import argparse
from datetime import datetime

from heat_convergence.cli.manage.table import format_table
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
_COLUMNS = (
    *("Hostname", "Binary", "Engine Id", "Host", "Topic", "Status", "Updated At"),
    *("Started At", "Version"),
)


def list_services(database: Database, parsed: argparse.Namespace) -> int:
    """Print the worker processes that have written a heartbeat."""
    now = utc_now()
    with database.read() as conn:
        found = services.list_services(conn)
        dead = set(purge.find_dead_services(conn, now))
    for line in format_table(_COLUMNS, [_row(each, dead) for each in found]):
        print(line)
    return OK


def clean_services(database: Database, parsed: argparse.Namespace) -> int:
    """Remove dead worker processes from the list."""
    print(
        f"{purge.purge_services(database, utc_now())} dead worker processes removed from the list."
    )
    return OK


def rewrite_secrets(database: Database, parsed: argparse.Namespace) -> int:
    """Encrypt stored secrets with the newest key, or encrypt or decrypt them."""
    keyring = get_keyring(database.engine.dialect)
    if not keyring:
        print("auth_encryption_key is not set: there is no key to encrypt or decrypt with.")
        return UNREADABLE_SECRETS
    # With a wrong key, the database would hold values of keys that are not configured together.
    found = key_rotation.rewrite_encrypted_values(database, key_rotation.verify_keys(keyring))
    if found.unreadable:
        print(
            f"Nothing was changed: {found.unreadable} values were encrypted with a key that is not"
            " configured: add it as a further auth_encryption_key and repeat the command."
        )
        return UNREADABLE_SECRETS
    done = key_rotation.rewrite_encrypted_values(database, _CHANGES[parsed.change](keyring))
    print(f"{done.rewritten} values rewritten.")
    return OK


def add_commands(nouns: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the commands to the parser of nouns."""
    verbs = nouns.add_parser("service", help="manage the list of worker processes").add_subparsers(
        required=True
    )
    verbs.add_parser("list", help="print the worker processes").set_defaults(run=list_services)
    clean = verbs.add_parser("clean", help="remove dead worker processes from the list")
    clean.set_defaults(run=clean_services)

    secrets = nouns.add_parser("secrets", help="manage the encryption of secrets in the database")
    verbs = secrets.add_subparsers(required=True)
    for name, text in (
        ("rotate", "encrypt all secrets with the first auth_encryption_key"),
        ("encrypt", "encrypt secrets that are stored in plain text"),
        ("decrypt", "store secrets in plain text, to migrate or to repair; daemons read both"),
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
        found.created_at.isoformat(timespec="seconds"),
        found.version or "unknown",
    )
