"""Ports for daemons that listen later are neither taken nor those of clients."""

from __future__ import annotations

import socket

import pytest

from heat_convergence.testing import daemon_processes
from heat_convergence.testing.daemon_processes import free_port


def test_port_is_outside_the_range_of_clients() -> None:
    with socket.create_server(("127.0.0.1", 0)) as chosen_by_system:
        assert free_port() < min(32_768, chosen_by_system.getsockname()[1])


def test_port_at_which_somebody_listens_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", free_port())) as listener:
        taken = listener.getsockname()[1]
        other = free_port()
        offered = iter([taken, taken, other])
        monkeypatch.setattr(daemon_processes.secrets, "choice", lambda _ports: next(offered))
        assert free_port() == other
