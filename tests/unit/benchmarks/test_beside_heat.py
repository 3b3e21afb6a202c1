"""The comparison with Heat: both get the same requests, by turns."""

from __future__ import annotations

from typing import Any

from benchmarks import beside_heat
from benchmarks.stack_client import StackClient


class RecordingClient(StackClient):
    """A client that notes what it was asked for, in a list that several share."""

    def __init__(self, system: str, noted: list[tuple[str, str]]) -> None:
        self._system, self._noted = system, noted

    def create(self, name: str, template: dict[str, Any]) -> str:
        self._noted.append((self._system, f"create {len(template['resources'])}"))
        return f"/stacks/{name}"

    def update(self, path: str, template: dict[str, Any]) -> None:
        self._noted.append((self._system, f"update {len(template['resources'])}"))

    def delete(self, path: str) -> None:
        self._noted.append((self._system, "delete"))

    def wait(self, path: str) -> None:
        self._noted.append((self._system, "wait"))


def test_both_services_get_the_same_stacks_by_turns() -> None:
    noted: list[tuple[str, str]] = []
    clients: dict[str, StackClient] = {
        system: RecordingClient(system, noted) for system in ("this service", "Heat")
    }
    rows = beside_heat.compare(clients, ["wide:3"], 2)
    turn = ["create 3", "wait", "update 3", "wait", "delete", "wait"]
    assert [request for _system, request in noted] == turn * 4
    assert [system for system, _request in noted[:: len(turn)]] == ["this service", "Heat"] * 2
    assert [(row["work"], row["phase"]) for row in rows] == [
        ("wide:3", phase) for phase in beside_heat.PHASES
    ]


def test_the_table_shows_how_many_times_as_long_heat_takes() -> None:
    row = {"work": "wide:100", "phase": "create", "this service": 0.5, "Heat": 4.0}
    *_head, line, _rule = beside_heat.table([row]).splitlines()
    assert line.split() == ["wide:100", "create", "0.50", "s", "4", "s", "8"]
