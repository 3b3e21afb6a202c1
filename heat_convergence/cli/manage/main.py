"""``heat-convergence-manage``: the operator's tool for the database.

Decides nothing: it maps commands to functions of ``db`` and their results to exit codes. Runs
in the foreground on native threads.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

from oslo_config import cfg

from heat_convergence.cli import config
from heat_convergence.cli.command_lines import add_completion
from heat_convergence.cli.manage import (
    credential_commands,
    doctor_commands,
    heat_export_commands,
    heat_import_commands,
    heat_verify_commands,
    job_commands,
    service_commands,
    stack_commands,
)
from heat_convergence.cli.startup.startup_state import StartupProblem
from heat_convergence.common import errors
from heat_convergence.common.failures import Unavailable
from heat_convergence.db.connection.database import Database, create_database
from heat_convergence.db.encryption.column_encryption import Keyring, attach_keyring
from heat_convergence.db.maintenance import restored_work, schema_revisions, schema_upgrade

OK, SCHEMA_DIFFERS, DATABASE_UNREACHABLE, REJECTED = 0, 1, 2, 3


def main(arguments: list[str] | None = None) -> int:
    """Run a command.

    Returns:
        Exit code: 0 done, 1 the schema differs from this release's or the command reports
            a problem, 2 the database is unreachable, 3 the command cannot be run as
            requested.
    """
    parsed = create_parser().parse_args(arguments)
    try:
        if heat_verify_commands.is_requested(parsed):  # it only reads two APIs
            return heat_verify_commands.verify_heat(parsed)
        conf = _load_config(parsed)
        if parsed.noun in doctor_commands.NOUNS:
            return int(parsed.run(conf, parsed))
        parsed.conf = conf
        database = _database(conf)
    except (cfg.Error, errors.Error, StartupProblem) as error:
        print(error, file=sys.stderr)
        return REJECTED
    try:
        return _run(database, parsed)
    except Unavailable as error:
        print(error.log_text, file=sys.stderr)
        return DATABASE_UNREACHABLE
    except errors.Error as error:
        print(error, file=sys.stderr)
        return REJECTED
    finally:
        database.close()


def _load_config(parsed: argparse.Namespace) -> cfg.ConfigOpts:
    arguments = [f"--config-file={name}" for name in parsed.config_file or ()]
    arguments += [f"--config-dir={name}" for name in parsed.config_dir or ()]
    arguments += ["--debug"] if parsed.debug else []
    conf = config.load_config(arguments, prog="heat-convergence-manage")
    conf.set_default("use_stderr", True)  # standard output has the result, perhaps as JSON
    config.configure_logging(conf)
    if parsed.connection:
        conf.set_override("connection", parsed.connection, group="database")
    return conf


def _database(conf: cfg.ConfigOpts) -> Database:
    database = create_database(conf)
    attach_keyring(database.engine, Keyring(conf.auth_encryption_key))
    return database


def _run(database: Database, parsed: argparse.Namespace) -> int:
    if parsed.noun != "db":
        found = schema_revisions.get_current_revision(database)
        # The schema of a later release is compatible, too; see docs/operate/operating.rst.
        if not schema_revisions.is_compatible(found):
            print(
                f"The schema is at {found}; this release's is {schema_revisions.HEAD_REVISION}."
                " Run heat-convergence-manage db upgrade",
                file=sys.stderr,
            )
            return SCHEMA_DIFFERS
    return int(parsed.run(database, parsed))


def upgrade(database: Database, parsed: argparse.Namespace) -> int:
    """Upgrade the schema, by default to this release's."""
    before = schema_revisions.get_current_revision(database)
    schema_upgrade.upgrade(database, parsed.revision)
    after = schema_revisions.get_current_revision(database)
    print(f"The schema was at {before} and is at {after}.")
    return OK


def version(database: Database, parsed: argparse.Namespace) -> int:
    """Print the revision of the schema."""
    print(schema_revisions.get_current_revision(database))
    return OK


def check(database: Database, parsed: argparse.Namespace) -> int:
    """Print the differences between the schema and this release's."""
    found = schema_revisions.get_current_revision(database)
    if found != schema_revisions.HEAD_REVISION:
        print(f"The schema is at {found}; this release's is {schema_revisions.HEAD_REVISION}.")
        return SCHEMA_DIFFERS
    differences = schema_upgrade.find_schema_differences(database)
    for difference in differences:
        print(f"The schema differs from revision {found}: {difference}")
    if differences:
        return SCHEMA_DIFFERS
    print(f"The schema is at {found}, the newest of this release, and complete.")
    return OK


def restored(database: Database, parsed: argparse.Namespace) -> int:
    """Prepare work in progress of a restored database; see ``docs/operate/backup.rst``."""
    marked = restored_work.mark_possible_creations(database)
    print(f"{marked} resources are looked for before they are created.")
    return OK


def create_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(
        prog="heat-convergence-manage", description="Manage the database of Heat Convergence."
    )
    add_completion(parser)
    parser.add_argument(
        "--config-file", action="append", help="configuration file; may be repeated"
    )
    parser.add_argument(
        "--config-dir", action="append", help="folder of configuration files; may be repeated"
    )
    parser.add_argument("--debug", action="store_true", help="log details to standard error")
    parser.add_argument("--version", action="version", version=config.package_version())
    parser.add_argument("--connection", help="database URL instead of the configured one")
    nouns = parser.add_subparsers(dest="noun", required=True)
    verbs = nouns.add_parser("db", help="manage the database schema").add_subparsers(required=True)
    described: tuple[tuple[Callable[..., int], str], ...] = (
        (upgrade, "upgrade the schema, by default to the revision of this release"),
        (version, "print the revision of the schema"),
        (check, "compare the schema with this release's; exit code 1 if they differ"),
        (restored, "prepare a database restored from a dump, before the daemons start"),
    )
    for run, text in described:
        verb = verbs.add_parser(run.__name__, help=text)
        verb.set_defaults(run=run)
        if run is upgrade:
            verb.add_argument("revision", nargs="?", default="head")
    stack_commands.add_commands(nouns)
    service_commands.add_commands(nouns)
    job_commands.add_commands(nouns)
    credential_commands.add_commands(nouns)
    doctor_commands.add_commands(nouns)
    heat_import_commands.add_commands(nouns)
    heat_export_commands.add_commands(nouns)
    return parser


if __name__ == "__main__":
    sys.exit(main())
