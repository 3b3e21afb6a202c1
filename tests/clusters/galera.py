"""A MariaDB Galera cluster of three nodes on loopback, with the Debian packages.

Needs ``mariadbd``, ``mariadb-install-db``, the provider of ``galera-4`` and ``rsync``, with which
a node that has lost its data gets those of another.  Everything is below one folder.  Started by
root, the servers run as the user ``mysql`` of the packages: rsync refuses to serve root's files.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from signal import SIGCONT, SIGSTOP, SIGTERM
from tempfile import TemporaryDirectory
from typing import Any

import pymysql

from heat_convergence.testing.daemon_processes import free_port, wait_until
from tests.clusters.node_process import START_TIMEOUT_S, NodeProcess

HOST = "127.0.0.1"
USER = "mysql"
PROVIDER = "/usr/lib/galera/libgalera_smm.so"
COMMANDS = ("mariadbd", "mariadb-install-db", "rsync")
_RECOVERED = re.compile(r"Recovered position: ?(\S+)")
_CHECK_TIMEOUT_S = 2


def find_missing_galera_parts() -> list[str]:
    """Return the commands and files that are not installed."""
    path = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
    missing = [name for name in COMMANDS if shutil.which(name, path=path) is None]
    return missing if Path(PROVIDER).exists() else [*missing, PROVIDER]


@dataclass(frozen=True, slots=True)
class NodePorts:
    """The ports of a node: for clients, for replication, and for the two kinds of transfer."""

    sql: int
    group: int
    incremental: int
    full: int


class GaleraNode:
    """One node."""

    def __init__(self, folder: Path, number: int, ports: NodePorts) -> None:
        self.name = f"galera-{number}"
        self.port = ports.sql
        self.group_address = f"{HOST}:{ports.group}"
        self._ports = ports
        self._folder = folder / self.name
        self._folder.mkdir()
        _give_away(self._folder)
        self._data = self._folder / "data"
        self._process = NodeProcess(self._folder / "log")

    def install(self) -> None:
        """Create the system tables; the administrator has no password."""
        subprocess.run(
            [
                "mariadb-install-db",
                "--no-defaults",
                f"--datadir={self._data}",
                "--auth-root-authentication-method=normal",
                "--skip-test-db",
                *_user_option(),
            ],
            check=True,
            capture_output=True,
            timeout=START_TIMEOUT_S,
        )

    def start(self, group: str, *, bootstrap: bool = False) -> None:
        """Start the node; ``wait_until_synced`` returns when it takes part.

        Args:
            group: the addresses of all nodes.
            bootstrap: whether to begin a new cluster.
        """
        command = [*self._command(), f"--wsrep_cluster_address=gcomm://{group}"]
        if bootstrap:
            command.append("--wsrep-new-cluster")
        else:
            command += self._recovered_position(command)
        self._process.start(command, _PATH)

    def wait_until_synced(self) -> None:
        """Wait until the node takes part in the cluster."""
        wait_until(self.is_synced, f"{self.name} is synced", timeout_s=START_TIMEOUT_S)

    def is_synced(self) -> bool:
        """Return whether the node answers as a member of the primary component.

        That is what a load balancer asks before it sends a client to a node.
        """
        try:
            status = self.status()
        except (pymysql.Error, OSError):
            return False
        return status["wsrep_ready"] == "ON" and status["wsrep_local_state"] == "4"

    def status(self) -> dict[str, str]:
        """Return the node's variables of replication."""
        return dict(self.query("SHOW STATUS LIKE 'wsrep%'"))

    def last_committed(self) -> int:
        """Return the number of the node's last committed transaction."""
        return int(self.status()["wsrep_last_committed"])

    def query(self, statement: str, database: str | None = None) -> list[Any]:
        """Run a statement on this node and return the rows."""
        with pymysql.connect(
            host=HOST,
            port=self.port,
            user="root",
            database=database,
            connect_timeout=_CHECK_TIMEOUT_S,
            read_timeout=_CHECK_TIMEOUT_S,
            autocommit=True,
        ) as connection:
            cursor = connection.cursor()
            cursor.execute(statement)
            return list(cursor.fetchall())

    def isolate(self, *, isolated: bool) -> None:
        """Cut the node off from the others, or let it find them again."""
        value = 1 if isolated else 0
        self.query(f"SET GLOBAL wsrep_provider_options='gmcast.isolate={value}'")

    def freeze(self) -> None:
        """Stop the process as if its host hung."""
        self._process.signal(SIGSTOP)

    def thaw(self) -> None:
        """Let a frozen process continue."""
        self._process.signal(SIGCONT)

    def kill(self) -> None:
        """End the process at once."""
        self._process.kill()

    def stop(self) -> None:
        """Shut the node down."""
        self._process.signal(SIGTERM)
        self._process.wait()

    def log_tail(self) -> str:
        """Return the end of the node's log."""
        return self._process.log_tail()

    def _command(self) -> list[str]:
        ports = self._ports
        provider_options = {
            "base_port": ports.group,
            "gmcast.listen_addr": f"tcp://{HOST}:{ports.group}",
            "ist.recv_addr": f"{HOST}:{ports.incremental}",
            "gcache.size": "64M",
        }
        options = {
            "datadir": self._data,
            "socket": self._folder / "socket",
            "pid-file": self._folder / "pid",
            "port": ports.sql,
            "bind-address": HOST,
            "skip-name-resolve": 1,
            "max-connections": 500,
            "binlog-format": "ROW",
            "innodb-autoinc-lock-mode": 2,
            "innodb-buffer-pool-size": "64M",
            "innodb-log-file-size": "32M",
            # A transaction is durable when all nodes have it.
            "innodb-flush-log-at-trx-commit": 0,
            "wsrep-on": "ON",
            "wsrep-provider": PROVIDER,
            "wsrep-cluster-name": "heat-convergence-test",
            "wsrep-node-name": self.name,
            "wsrep-node-address": f"{HOST}:{ports.group}",
            "wsrep-sst-method": "rsync",
            "wsrep-sst-receive-address": f"{HOST}:{ports.full}",
            "wsrep-slave-threads": 2,
            "wsrep-provider-options": ";".join(f"{k}={v}" for k, v in provider_options.items()),
        }
        written = [f"--{name}={value}" for name, value in options.items()]
        return ["mariadbd", "--no-defaults", *written, *_user_option()]

    def _recovered_position(self, command: list[str]) -> list[str]:
        """Return the option with the last transaction that a killed node has stored."""
        done = subprocess.run(
            [*command, "--wsrep-recover"],
            capture_output=True,
            text=True,
            timeout=START_TIMEOUT_S,
            env={**os.environ, **_PATH},
            check=False,
        )
        found = _RECOVERED.search(done.stderr + done.stdout)
        return [] if found is None else [f"--wsrep-start-position={found[1]}"]


class GaleraCluster:
    """Three nodes."""

    def __init__(self, folder: Path, size: int = 3) -> None:
        self.nodes = [
            GaleraNode(
                folder, number, NodePorts(free_port(), free_port(), free_port(), free_port())
            )
            for number in range(1, size + 1)
        ]
        self._group = ",".join(node.group_address for node in self.nodes)

    def start(self) -> None:
        """Create and start all nodes."""
        for node in self.nodes:
            node.install()
        self.nodes[0].start(self._group, bootstrap=True)
        self.nodes[0].wait_until_synced()
        for node in self.nodes[1:]:
            self.restart(node)

    def restart(self, node: GaleraNode) -> None:
        """Start a node that has ended, and wait until it takes part again."""
        node.start(self._group)
        node.wait_until_synced()

    def wait_until_applied(self) -> None:
        """Wait until all nodes have what the first one has committed.

        For after changes of the schema. A node may apply an index of a table beside later rows
        of the table that it refers to; each then waits for the other for ever.
        """
        committed = self.nodes[0].last_committed()
        wait_until(
            lambda: all(node.last_committed() >= committed for node in self.nodes),
            "all nodes have applied the schema",
            timeout_s=START_TIMEOUT_S,
        )

    def stop(self) -> None:
        """End all nodes."""
        for node in self.nodes:
            node.thaw()
            node.kill()


@contextmanager
def running_galera() -> Iterator[GaleraCluster]:
    """Yield a running cluster, end it and delete its folder."""
    with TemporaryDirectory(prefix="heat-convergence-galera-") as name:
        folder = Path(name)
        folder.chmod(0o711)  # for the servers' user
        cluster = GaleraCluster(folder)
        try:
            cluster.start()
            yield cluster
        finally:
            cluster.stop()


_PATH = {"PATH": f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"}


def _user_option() -> list[str]:
    return [f"--user={USER}"] if os.geteuid() == 0 else []


def _give_away(folder: Path) -> None:
    if os.geteuid() == 0:
        shutil.chown(folder, USER, USER)
