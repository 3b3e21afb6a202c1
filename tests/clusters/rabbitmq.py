"""A RabbitMQ cluster of three nodes on loopback, with the Debian package.

Has a port mapper (epmd), a cookie and folders of its own: the machine's broker does not notice.
Queues of the tests are quorum queues; a node in a minority pauses itself.
"""

from __future__ import annotations

import os
import secrets
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from signal import SIGCONT, SIGSTOP
from tempfile import TemporaryDirectory

from heat_convergence.testing.daemon_processes import free_port, wait_until
from tests.clusters.node_process import START_TIMEOUT_S, NodeProcess

HOST = "127.0.0.1"
SCRIPTS = Path("/usr/lib/rabbitmq/bin")  # those in the path change to the package's user
_CONTROL_TIMEOUT_S = 60
_CONFIG = """\
listeners.tcp.1 = 127.0.0.1:{port}
cluster_partition_handling = pause_minority
log.file = false
log.console = true
log.console.level = warning
loopback_users = none
"""
# Nodes that nothing is heard of are taken for down after 10 instead of 60 seconds.
_ADVANCED = "[{kernel, [{net_ticktime, 10}]}]."


def find_missing_rabbitmq_parts() -> list[str]:
    """Return the commands that are not installed."""
    needed = [SCRIPTS / "rabbitmq-server", SCRIPTS / "rabbitmqctl", Path("/usr/bin/epmd")]
    return [str(path) for path in needed if not path.exists()]


class RabbitNode:
    """One broker."""

    def __init__(self, folder: Path, number: int, epmd_port: int) -> None:
        self.name = f"hc-test-{number}@localhost"
        self.port = free_port()
        self._folder = folder / f"rabbitmq-{number}"
        self._folder.mkdir()
        self._process = NodeProcess(self._folder / "log")
        (self._folder / "rabbitmq.conf").write_text(_CONFIG.format(port=self.port))
        (self._folder / "advanced.config").write_text(_ADVANCED)
        (self._folder / "enabled_plugins").write_text("[].\n")
        (self._folder / "empty").touch()
        self._environment = {
            "HOME": str(folder),  # of the cookie
            "ERL_EPMD_PORT": str(epmd_port),
            "ERL_EPMD_ADDRESS": HOST,
            "RABBITMQ_CONF_ENV_FILE": str(self._folder / "empty"),
            "RABBITMQ_NODENAME": self.name,
            "RABBITMQ_DIST_PORT": str(free_port()),
            "RABBITMQ_MNESIA_BASE": str(self._folder / "mnesia"),
            "RABBITMQ_LOG_BASE": str(self._folder),
            "RABBITMQ_CONFIG_FILE": str(self._folder / "rabbitmq.conf"),
            "RABBITMQ_ADVANCED_CONFIG_FILE": str(self._folder / "advanced.config"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(self._folder / "enabled_plugins"),
            "RABBITMQ_GENERATED_CONFIG_DIR": str(self._folder / "generated"),
            "RABBITMQ_PID_FILE": str(self._folder / "pid"),
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": (
                "-kernel inet_dist_use_interface {127,0,0,1} +S 1:1 +sbwt none"
            ),
            "ERL_CRASH_DUMP_SECONDS": "0",
        }

    def start(self) -> None:
        """Start the node; ``wait_until_ready`` returns when clients may connect."""
        self._process.start([str(SCRIPTS / "rabbitmq-server")], self._environment)

    def wait_until_ready(self) -> None:
        """Wait until clients may connect."""
        wait_until(self._is_ready, f"{self.name} is ready", timeout_s=START_TIMEOUT_S)

    def control(self, *arguments: str) -> str:
        """Run ``rabbitmqctl`` on this node and return its output."""
        done = subprocess.run(
            [str(SCRIPTS / "rabbitmqctl"), "-q", "-n", self.name, *arguments],
            capture_output=True,
            text=True,
            timeout=_CONTROL_TIMEOUT_S,
            env={**os.environ, **self._environment},
            check=True,
        )
        return done.stdout

    def join(self, other: RabbitNode) -> None:
        """Make a new node a member of the cluster of another."""
        self.control("stop_app")
        self.control("join_cluster", other.name)
        self.control("start_app")

    def isolate(self, others: list[RabbitNode], *, isolated: bool) -> None:
        """Cut the node off from others, or let them find each other again.

        Nodes with different cookies for each other refuse the other's connections.
        """
        cookie = "'other'" if isolated else "erlang:get_cookie()"
        steps = ", ".join(
            f"erlang:set_cookie('{node.name}', {cookie}), erlang:disconnect_node('{node.name}')"
            for node in others
        )
        self.control("eval", f"{steps}.")

    def freeze(self) -> None:
        """Stop the process as if its host hung."""
        self._process.signal(SIGSTOP)

    def thaw(self) -> None:
        """Let a frozen process continue."""
        self._process.signal(SIGCONT)

    def kill(self) -> None:
        """End the process at once."""
        self._process.kill()

    def log_tail(self) -> str:
        """Return the end of the node's log."""
        return self._process.log_tail()

    def _is_ready(self) -> bool:
        try:
            self.control("await_startup", "--timeout", "5")
        except subprocess.SubprocessError:
            return False
        return True


class RabbitCluster:
    """Three nodes with one port mapper."""

    def __init__(self, folder: Path, size: int = 3) -> None:
        cookie = folder / ".erlang.cookie"
        cookie.write_text(secrets.token_hex(10))
        cookie.chmod(0o400)
        self._epmd_port = free_port()
        self._epmd = NodeProcess(folder / "epmd.log")
        self.nodes = [RabbitNode(folder, number, self._epmd_port) for number in range(1, size + 1)]

    def start(self) -> None:
        """Start all nodes and join them."""
        self._epmd.start(["epmd", "-port", str(self._epmd_port), "-address", HOST])
        for node in self.nodes:
            node.start()
        for node in self.nodes:
            node.wait_until_ready()
        for node in self.nodes[1:]:
            node.join(self.nodes[0])

    def restart(self, node: RabbitNode) -> None:
        """Start a node that has ended, and wait until it takes part again."""
        node.start()
        node.wait_until_ready()

    def others(self, node: RabbitNode) -> list[RabbitNode]:
        """Return the other nodes."""
        return [each for each in self.nodes if each is not node]

    def transport_url(self, first: int = 0) -> str:
        """Return the URL of all nodes, beginning with another one for each client."""
        rotated = [*self.nodes[first % len(self.nodes) :], *self.nodes[: first % len(self.nodes)]]
        return "rabbit://" + ",".join(f"guest:guest@{HOST}:{node.port}" for node in rotated) + "/"

    def stop(self) -> None:
        """End all nodes and the port mapper."""
        for node in self.nodes:
            node.thaw()
            node.kill()
        self._epmd.kill()


@contextmanager
def running_rabbitmq() -> Iterator[RabbitCluster]:
    """Yield a running cluster, end it and delete its folder."""
    with TemporaryDirectory(prefix="heat-convergence-rabbitmq-") as name:
        cluster = RabbitCluster(Path(name))
        try:
            cluster.start()
            yield cluster
        finally:
            cluster.stop()
