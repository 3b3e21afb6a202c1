"""What must not be told of a resource is sought where there is something to tell."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from heat_convergence.common.errors import ResourceFailure
from heat_convergence.convergence.model import Observed
from heat_convergence.resources import hiding
from heat_convergence.resources.builtin.test_resource import TestResource
from heat_convergence.resources.plugin import Look, View
from heat_convergence.resources.registry import Registry
from heat_convergence.template.definition import Definition
from heat_convergence.testing.inline import InlineService
from heat_convergence.testing.store import MemoryStore

SECRET = "planted-value"


class Telling(TestResource):
    """Says what it has: when it is made, or at each later look."""

    made = ""
    seen = ""

    def create(self, view: View) -> Look:
        if self.made.startswith("no "):
            raise ResourceFailure(self.made)
        return Look(Observed.BUSY, physical_id="thing-1", reason=self.made, again_s=0.0)

    def observe(self, view: View) -> Look:
        return Look(Observed.FAILED if self.seen else Observed.READY, reason=self.seen)


@pytest.fixture
def sought(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    found: list[Any] = []
    texts_of = hiding.texts_of

    def noted(value: Any) -> Iterator[str]:
        found.append(value)
        return texts_of(value)

    monkeypatch.setattr(hiding, "texts_of", noted)
    return found


def _made(kind: TestResource, *, sensitive: bool = True) -> str:
    """The reasons told of a resource with the secret, while it is made."""
    store = MemoryStore()
    service = InlineService(store, Registry.of(kind))
    wanted = {
        "a": Definition(
            name="a", type=kind.name, properties={"value": SECRET}, sensitive=sensitive
        )
    }
    service.create(wanted, name="red")
    service.settle()
    for _ in range(3):
        service.observer.tick()
        service.settle()
    (row,) = store.tables.resources.values()
    return "; ".join([*(event.reason for event in store.tables.events), row.status_reason])


def test_nothing_is_sought_where_there_are_no_words(sought: list[Any]) -> None:
    assert "completed successfully" in _made(Telling())
    assert sought == []


@pytest.mark.parametrize(
    ("made", "seen"), [(f"no {SECRET} here", ""), ("", f"bad {SECRET}")]
)
def test_it_is_taken_out_of_all_words(sought: list[Any], made: str, seen: str) -> None:
    kind = Telling()
    kind.made, kind.seen = made, seen
    told = _made(kind)
    assert SECRET not in told
    assert "******" in told
    assert sought


def test_what_is_no_secret_is_told(sought: list[Any]) -> None:
    kind = Telling()
    kind.seen = f"bad {SECRET}"
    assert SECRET in _made(kind, sensitive=False)
    assert sought == []
