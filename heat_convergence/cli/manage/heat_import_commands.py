"""``heat-convergence-manage import-heat``: bring over live stacks from Heat's database.

Called by ``main``; decides what is printed. The import itself is ``heat_import``.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from oslo_config import cfg
from sqlalchemy.engine import Connection

from heat_convergence.cli.components.assembly import (
    ProcessComponents,
    assemble_components,
    create_stack_services,
)
from heat_convergence.cli.manage import heat_verify_commands
from heat_convergence.clients.stack_users import StackUsers
from heat_convergence.common.clock import utc_now
from heat_convergence.common.errors import Error, Invalid
from heat_convergence.db.connection.database import Database
from heat_convergence.heat_import import heat_database
from heat_convergence.heat_import.cloud_access import CloudAccess
from heat_convergence.heat_import.heat_database import HeatDatabase
from heat_convergence.heat_import.heat_rows import HeatRow
from heat_convergence.heat_import.heat_values import HeatCipher
from heat_convergence.heat_import.imported_attributes import ServiceAddress
from heat_convergence.heat_import.importer import (
    HeatImporter,
    ImportRequest,
    ImportResult,
    ImportStatus,
)
from heat_convergence.stacks.services import StackServices

OK, INCOMPLETE, REJECTED = 0, 1, 3
_DEFAULT_EVENTS = 100
_HEAT_OPTIONS: tuple[tuple[str, str | None, str], ...] = (
    ("url", "database", "connection"),
    ("encryption_key", None, "auth_encryption_key"),
    ("waitcondition_url", None, "heat_waitcondition_server_url"),
    ("user_domain_id", None, "stack_user_domain_id"),
    ("auth_url", "clients_keystone", "auth_uri"),
)
"""Field of ``_HeatOptions``, and the group and name of Heat's option."""


@dataclass(frozen=True, slots=True)
class _HeatOptions:
    """The options of Heat's configuration that the import uses."""

    url: str | None = None
    encryption_key: str | None = None
    waitcondition_url: str | None = None
    user_domain_id: str | None = None
    auth_url: str | None = None


def import_heat(database: Database, parsed: argparse.Namespace) -> int:
    """Import stacks; exit code 1 if one was refused."""
    options = _heat_options(parsed)
    if not options.url or not options.encryption_key:
        raise Invalid(
            "Heat's database and its auth_encryption_key are required: --heat-config FILE, or"
            " --database URL with --encryption-key KEY"
        )
    cipher = HeatCipher(options.encryption_key)
    heat = HeatDatabase(options.url)
    components = assemble_components(parsed.conf)
    try:
        with heat.snapshot() as conn:
            return _import(conn, components, cipher, options, parsed)
    finally:
        components.close()
        heat.close()


def _import(
    conn: Connection,
    components: ProcessComponents,
    cipher: HeatCipher,
    options: _HeatOptions,
    parsed: argparse.Namespace,
) -> int:
    heat_database.check_revision(conn)
    hosts = heat_database.list_live_engines(conn, utc_now())
    if hosts and not (parsed.dry_run or parsed.despite_live_engines):
        print(
            f"An engine of Heat is alive on {', '.join(hosts)}: it would go on with the stacks."
            " Stop heat-api, heat-api-cfn and heat-engine on every host and repeat the command;"
            " an engine that was killed counts as alive for two minutes."
        )
        return REJECTED
    # The constraints of the cloud were checked by Heat, and are checked again by an update.
    services = replace(create_stack_services(components), custom_constraints=None)
    request = ImportRequest(
        cipher=cipher,
        address=ServiceAddress(
            options.waitcondition_url, options.auth_url, options.user_domain_id
        ),
        max_events=parsed.events,
        dry_run=parsed.dry_run,
        cloud=_cloud_access(components, services, parsed),
        engines_alive=bool(hosts),
    )
    importer = HeatImporter(components.database, services, components.ids, request)
    roots = _select_roots(conn, parsed)
    return _report(importer, conn, roots, None if parsed.dry_run else _stack_users(components))


def _select_roots(conn: Connection, parsed: argparse.Namespace) -> list[HeatRow]:
    """Return the root stacks that the arguments name.

    Raises:
        Invalid: Heat has no root stack of a name or id.
    """
    roots = heat_database.list_roots(conn, parsed.project, parsed.stack)
    unknown = set(parsed.stack) - {key for root in roots for key in (root.id, root.name)}
    if unknown:
        raise Invalid(f"Heat has no stack {', '.join(sorted(unknown))}")
    return roots


def _report(
    importer: HeatImporter,
    conn: Connection,
    roots: Sequence[HeatRow],
    users: StackUsers | None,
) -> int:
    counts: Counter[ImportStatus] = Counter()
    resources = unowned = 0
    for number, result in enumerate(importer.run(conn, roots), start=1):
        counts[result.status] += 1
        resources += result.resource_count
        print(f"{number}/{len(roots)} {_line(result)}", flush=True)
        problem = None if users is None else _take_over_users(users, result)
        if problem is not None:
            unowned += 1
            print(f"  users not taken over: {problem}\n  remedy: repeat the command")
    refused = counts[ImportStatus.REFUSED]
    dry_run = importer.request.dry_run
    print(
        f"{counts[ImportStatus.IMPORTED]} stacks with {resources} resources"
        f" {'can be imported' if dry_run else 'imported'},"
        f" {counts[ImportStatus.PRESENT]} imported before, {refused} refused."
    )
    return INCOMPLETE if refused or unowned else OK


def _line(result: ImportResult) -> str:
    root = result.root
    text = f"{result.status.value}: {root.name} ({root.id}), project {root.tenant}"
    if result.rejection is not None:
        return f"{text}: {result.rejection.reason}\n  remedy: {result.rejection.remedy}"
    if result.status is ImportStatus.IMPORTED:
        text += f": {result.stack_count} stacks, {result.resource_count} resources"
    return "\n  note: ".join([text, *result.notes])


def _take_over_users(users: StackUsers, result: ImportResult) -> str | None:
    """Give the project of the tree's users the name by which this service finds it."""
    project_id = result.root.stack_user_project_id
    own = project_id is not None and project_id != result.root.tenant
    if result.status is ImportStatus.REFUSED or not own:
        return None
    try:
        users.take_over_project(result.root.id, project_id)
    except Error as error:
        return str(error)
    return None


def _stack_users(components: ProcessComponents) -> StackUsers | None:
    clouds = components.cloud_cache
    if clouds is None:
        return None
    users = StackUsers(clouds.settings, clouds.service_auth)
    return users if users.is_configured else None


def _cloud_access(
    components: ProcessComponents, services: StackServices, parsed: argparse.Namespace
) -> CloudAccess | None:
    clouds = components.cloud_cache
    if clouds is None:
        return None
    return CloudAccess(
        clouds.settings,
        clouds.service_auth,
        services,
        reads_attributes=not parsed.cached_attributes,
    )


def _heat_options(parsed: argparse.Namespace) -> _HeatOptions:
    found = _HeatOptions() if parsed.heat_config is None else _read_config(parsed.heat_config)
    return replace(
        found,
        url=parsed.database or found.url,
        encryption_key=parsed.encryption_key or found.encryption_key,
    )


def _read_config(path: str) -> _HeatOptions:
    """Return the options of Heat's configuration file.

    Raises:
        Invalid: It is missing, may not be read, or is no such file.
    """
    conf = cfg.ConfigOpts()
    for _field, group, name in _HEAT_OPTIONS:
        conf.register_opt(cfg.StrOpt(name), group=group)
    try:
        conf([], default_config_files=[path], default_config_dirs=[])
    except (cfg.Error, OSError, UnicodeDecodeError) as error:
        raise Invalid(f"Heat's configuration file {path} cannot be read: {error}") from error
    return _HeatOptions(
        **{
            field: conf[name] if group is None else conf[group][name]
            for field, group, name in _HEAT_OPTIONS
        }
    )


def add_commands(nouns: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the parser of nouns."""
    command = nouns.add_parser(
        "import-heat",
        help="import live stacks from the database of Heat, without touching their resources",
    )
    command.add_argument("--heat-config", metavar="FILE", help="Heat's configuration file")
    command.add_argument("--database", metavar="URL", help="URL of Heat's database")
    command.add_argument(
        "--encryption-key", metavar="KEY", help="Heat's option auth_encryption_key"
    )
    command.add_argument(
        "--project", action="append", default=[], help="import the stacks of this project only"
    )
    command.add_argument(
        "--stack",
        action="append",
        default=[],
        help="import this stack only, by id or name, with its nested stacks",
    )
    command.add_argument(
        "--events",
        type=int,
        default=_DEFAULT_EVENTS,
        help="number of the newest events of each stack to import (default: %(default)s)",
    )
    command.add_argument(
        "--cached-attributes",
        action="store_true",
        help="read no attributes from the cloud; those that Heat had not cached are missing until"
        " the next check or update of their resource",
    )
    command.add_argument(
        "--dry-run", action="store_true", help="check everything and write nothing"
    )
    command.add_argument(
        "--despite-live-engines",
        action="store_true",
        help="import although an engine of Heat is alive",
    )
    heat_verify_commands.add_options(command)
    command.set_defaults(run=import_heat)
