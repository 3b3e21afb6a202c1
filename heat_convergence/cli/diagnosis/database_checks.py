"""Checks of the database: login, schema, keys, and the workers that report there.

Run by ``doctor``; read a few rows and change nothing.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator

from oslo_config import cfg
from sqlalchemy.engine import make_url

from heat_convergence.cli.config import package_version
from heat_convergence.cli.diagnosis.finding import Finding, Severity, one_line
from heat_convergence.common import errors
from heat_convergence.common.clock import utc_now
from heat_convergence.common.failures import AccessRefused
from heat_convergence.convergence.model.service_record import ServiceRecord
from heat_convergence.db.connection.database import Database, create_database
from heat_convergence.db.encryption.column_encryption import Keyring, attach_keyring
from heat_convergence.db.maintenance import key_rotation, purge, schema_revisions
from heat_convergence.db.maintenance.server_clock import read_server_time
from heat_convergence.db.reads import services

MAX_CLOCK_DIFFERENCE_S = 2.0
SAMPLED_ROWS = 20  # newest rows of each table that are decrypted
DAEMONS = ("heat-convergence-api", "heat-convergence-engine", "heat-convergence-observer")


def check_database(conf: cfg.ConfigOpts) -> Iterator[Finding]:
    """Check the database and what it contains of the service."""
    try:
        database = create_database(conf)
    except (cfg.Error, errors.Error, ImportError):
        return  # ``check_files`` names the mistake
    keyring = Keyring([key for key in conf.auth_encryption_key if key])
    attach_keyring(database.engine, keyring)
    try:
        yield from _check_connection(database, keyring)
    except AccessRefused as error:
        yield _refused(conf, error)
    except errors.Error as error:
        yield Finding(
            "database",
            Severity.ERROR,
            f"{_address(conf)} does not answer: {one_line(error.log_text)}",
            "start the server, and check host and port in [database] connection",
        )
    finally:
        database.close()


def _check_connection(database: Database, keyring: Keyring) -> Iterator[Finding]:
    began = time.monotonic()
    database.ping()
    milliseconds = round((time.monotonic() - began) * 1000)
    address = database.engine.url.render_as_string(hide_password=True)
    yield Finding("database", Severity.OK, f"{address} answers in {milliseconds} ms")
    yield from _check_clock(database)
    revision = schema_revisions.get_current_revision(database)
    yield _schema(revision)
    if schema_revisions.is_compatible(revision):
        yield from _check_keys(database, keyring)
        yield from _check_workers(database)


def _check_clock(database: Database) -> Iterator[Finding]:
    before = utc_now()
    server_time = read_server_time(database)
    if server_time is None:
        return
    middle = before + (utc_now() - before) / 2
    ahead_s = (middle - server_time).total_seconds()
    if abs(ahead_s) <= MAX_CLOCK_DIFFERENCE_S:
        yield Finding("clock", Severity.OK, "this host and the database server agree")
        return
    word = "ahead of" if ahead_s > 0 else "behind"
    yield Finding(
        "clock",
        Severity.WARNING,
        f"this host is {abs(ahead_s):.1f} s {word} the database server",
        "synchronise the clocks of all hosts: leases expire early or late",
    )


def _schema(revision: str | None) -> Finding:
    head = schema_revisions.HEAD_REVISION
    if schema_revisions.is_compatible(revision):
        return Finding("schema", Severity.OK, f"revision {revision}; this release's is {head}")
    found = "was never created" if revision is None else f"is at {revision}"
    return Finding(
        "schema",
        Severity.ERROR,
        f"the schema {found}; this release needs {head}",
        "run heat-convergence-manage db upgrade",
    )


def _check_keys(database: Database, keyring: Keyring) -> Iterator[Finding]:
    unreadable = key_rotation.count_unreadable(database, keyring, SAMPLED_ROWS)
    if unreadable:
        yield Finding(
            "keys",
            Severity.ERROR,
            f"{unreadable} of the newest secrets cannot be decrypted",
            "add the key that encrypted them as a further auth_encryption_key",
        )
    else:
        yield Finding("keys", Severity.OK, "the newest secrets can be decrypted")


def _check_workers(database: Database) -> Iterator[Finding]:
    with database.read() as conn:
        found = services.list_services(conn)
        down = set(purge.find_dead_services(conn, utc_now()))
    alive = [each for each in found if each.id not in down]
    counts = Counter(each.binary for each in alive)
    for binary in DAEMONS:
        if counts[binary]:
            yield Finding("workers", Severity.OK, f"{binary}: {counts[binary]} up")
        else:
            yield Finding(
                "workers",
                Severity.WARNING,
                f"{binary}: none is up",
                f"start {binary}, see its log",
            )
    yield from _check_versions(alive)
    if down:
        yield Finding(
            "workers",
            Severity.WARNING,
            f"{len(down)} ended without removing themselves",
            "nothing, or heat-convergence-manage service clean",
        )


def _check_versions(alive: list[ServiceRecord]) -> Iterator[Finding]:
    versions = {each.version or "unknown" for each in alive}
    if versions - {package_version()}:
        yield Finding(
            "workers",
            Severity.WARNING,
            f"versions {', '.join(sorted(versions))} run; installed is {package_version()}",
            "finish the upgrade: restart the daemons that run another version",
        )


def _refused(conf: cfg.ConfigOpts, error: AccessRefused) -> Finding:
    return Finding(
        "database",
        Severity.ERROR,
        f"{_address(conf)} refuses user, password or database: {one_line(error.log_text)}",
        "correct [database] connection, or create the database and grant the user its rights",
    )


def _address(conf: cfg.ConfigOpts) -> str:
    return make_url(conf.database.connection).render_as_string(hide_password=True)
