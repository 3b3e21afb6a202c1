"""``heat-convergence standalone``: the whole service in one process, for one machine.

Decides the embedded defaults: an SQLite file, the in-process transport, loopback, no
authentication. Everything else is what the daemons run.
"""

from __future__ import annotations

import argparse
import os
import secrets
import webbrowser
from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from socket import socket

from oslo_config import cfg

from heat_convergence.api.console.console import CONSOLE_PATH, STANDALONE_PROJECT_ID
from heat_convergence.cli import config
from heat_convergence.cli.components.assembly import ProcessComponents
from heat_convergence.cli.daemons.api_daemon import CLOUDFORMATION, ApiWorker, listen
from heat_convergence.cli.daemons.daemon_service import run_daemon
from heat_convergence.cli.daemons.workers import EngineWorker, ObserverWorker
from heat_convergence.cli.startup.checks import check_configuration
from heat_convergence.cli.startup.required_modules import DAEMON_MODULES
from heat_convergence.cli.startup.startup_state import StartupState
from heat_convergence.db.connection.database import create_database
from heat_convergence.db.maintenance import schema_upgrade

LOOPBACK = "127.0.0.1"
NO_CLOUD, EMULATED = "none", "emulated"


class StandaloneWorker:
    """APIs, engine and observer over one database and one transport."""

    def __init__(
        self, components: ProcessComponents, listener: socket, cfn_listener: socket | None = None
    ) -> None:
        self._workers = (EngineWorker(components), ObserverWorker(components))
        self._apis = [ApiWorker(components, listener)]
        if cfn_listener is not None:
            self._apis.append(ApiWorker(components, cfn_listener, CLOUDFORMATION))

    def start(self, startup: StartupState) -> None:
        """Start all of them in the background."""
        for worker in self._workers:
            worker.start(startup)
        for api in self._apis:
            api.start(startup)

    def stop(self, *, timeout_s: float) -> None:
        """Stop the APIs, then drain engine and observer."""
        for api in self._apis:
            api.stop(timeout_s=timeout_s)
        for worker in self._workers:
            worker.stop(timeout_s=timeout_s)


def main(arguments: Sequence[str]) -> int:
    """Run the command, and return its exit code."""
    parsed, rest = _parser().parse_known_args(arguments)
    conf = config.load_config(rest, prog="heat-convergence-standalone")
    database = Path(parsed.database).expanduser()
    database.parent.mkdir(parents=True, exist_ok=True)
    restrict_to_owner(database)
    _set_embedded_options(conf, database)
    check_configuration(conf, DAEMON_MODULES, transport_url="fake://")
    _upgrade_schema(conf)
    listener = listen(LOOPBACK, parsed.port, backlog=128)
    cfn_port = parsed.cfn_port
    cfn_listener = None if cfn_port is None else listen(LOOPBACK, cfn_port, backlog=128)
    port = listener.getsockname()[1]
    if conf.clients_heat.url is None:
        conf.set_override("url", f"http://{LOOPBACK}:{port}/v1/%(tenant_id)s", "clients_heat")
    print(_instructions(port, database, conf.console.enabled), flush=True)
    if parsed.open_console and conf.console.enabled:
        webbrowser.open(_console_url(port))  # the listener keeps the request until workers run
    return run_daemon(
        conf,
        1,
        lambda components: StandaloneWorker(
            _with_cloud(components, parsed.cloud), listener, cfn_listener
        ),
        transport_url="fake://",
    )


def _with_cloud(components: ProcessComponents, cloud: str) -> ProcessComponents:
    """Return the components with the cloud that was asked for."""
    if cloud != EMULATED:
        return components
    emulation = import_module("heat_convergence.cli.offline.standalone_cloud")
    heat_url = components.conf.clients_heat.url
    return replace(
        components, emulated_cloud=emulation.create_emulated_cloud(components.database, heat_url)
    )


def _set_embedded_options(conf: cfg.ConfigOpts, database: Path) -> None:
    conf.set_override("connection", f"sqlite:///{database}", group="database")
    conf.set_override("auth_strategy", "noauth", group="heat_api")
    conf.set_default("enabled", True, group="console")
    if not conf.auth_encryption_key:
        conf.set_override("auth_encryption_key", [_read_or_create_key(Path(f"{database}.key"))])


def restrict_to_owner(database: Path) -> None:
    """Let only the owner read the database; SQLite's further files take over its mode."""
    os.close(os.open(database, os.O_WRONLY | os.O_CREAT, 0o600))
    for path in database.parent.glob(f"{database.name}*"):
        path.chmod(0o600)


def _read_or_create_key(path: Path) -> str:
    """Return the key in the file, created the first time and readable by its owner only."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return path.read_text(encoding="ascii").strip()
    key = secrets.token_urlsafe(32)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(key)
    return key


def _upgrade_schema(conf: cfg.ConfigOpts) -> None:
    database = create_database(conf)
    schema_upgrade.upgrade(database)
    database.close()  # the worker process opens its own


def _console_url(port: int) -> str:
    return f"http://{LOOPBACK}:{port}{CONSOLE_PATH}"


def _instructions(port: int, database: Path, has_console: bool) -> str:
    console = f"Console: {_console_url(port)}\n" if has_console else ""
    return (
        f"Heat Convergence, standalone, on {database}\n"
        f"{console}"
        "In another terminal:\n\n"
        "  export OS_AUTH_TYPE=none\n"
        f"  export OS_ENDPOINT=http://{LOOPBACK}:{port}/v1/{STANDALONE_PROJECT_ID}\n"
        "  openstack stack list\n\n"
        "Press Ctrl-C to stop it; the stacks remain in the file."
    )


def _parser() -> argparse.ArgumentParser:
    home = os.environ.get("XDG_DATA_HOME") or "~/.local/share"
    parser = argparse.ArgumentParser(
        prog="heat-convergence standalone",
        description="Run the whole service in one process, reachable from this machine only.",
        epilog="All options of the daemons, such as --config-file and --debug, are accepted, too.",
    )
    parser.add_argument(
        "--port",
        type=int,
        default=8004,
        help="port of the API, 0 for any free one (default: %(default)s)",
    )
    parser.add_argument(
        "--cfn-port",
        type=int,
        help="port of the CloudFormation API, 0 for any free one; it is not served without",
    )
    parser.add_argument(
        "--cloud",
        choices=[NO_CLOUD, EMULATED],
        default=NO_CLOUD,
        help="emulated: resources of OpenStack services exist in an emulation of these services,"
        " which is empty at every start (default: %(default)s)",
    )
    parser.add_argument(
        "--open-console", action="store_true", help="open the console in the browser of the system"
    )
    parser.add_argument(
        "--database",
        default=f"{home}/heat-convergence/standalone.sqlite",
        help="SQLite file, created when it does not exist (default: %(default)s)",
    )
    return parser
