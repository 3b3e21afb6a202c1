"""What must not be told of a resource is sought where there is something to tell."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from heat_convergence.common.errors import ResourceFailure
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources import redaction
from heat_convergence.resources.builtin.test_resource import TestResource
from heat_convergence.resources.protocol.resource_type import ResourceContext, VerbResult
from heat_convergence.resources.registry import ResourceTypeRegistry
from heat_convergence.template.evaluation.resource_definition import ResourceDefinition
from heat_convergence.testing.in_process_service import InProcessService
from heat_convergence.testing.memory.store import MemoryStore

SECRET = "planted-value"


class SecretEchoingType(TestResource):
    """Says what it has: when it is made, or at each later look."""

    made = ""
    seen = ""

    def create(self, view: ResourceContext) -> VerbResult:
        if self.made.startswith("no "):
            raise ResourceFailure(self.made)
        return VerbResult(
            ObservedState.BUSY, physical_id="thing-1", reason=self.made, poll_after_s=0.0
        )

    def observe(self, view: ResourceContext) -> VerbResult:
        return VerbResult(
            ObservedState.FAILED if self.seen else ObservedState.READY, reason=self.seen
        )


@pytest.fixture
def sought(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    found: list[Any] = []
    texts_of = redaction.sensitive_texts

    def noted(value: Any) -> Iterator[str]:
        found.append(value)
        return texts_of(value)

    monkeypatch.setattr(redaction, "sensitive_texts", noted)
    return found


def _made(resource_type: TestResource, *, sensitive: bool = True) -> str:
    """The reasons told of a resource with the secret, while it is made."""
    store = MemoryStore()
    service = InProcessService(store, ResourceTypeRegistry.from_types(resource_type))
    wanted = {
        "a": ResourceDefinition(
            name="a", type=resource_type.name, properties={"value": SECRET}, sensitive=sensitive
        )
    }
    service.create(wanted, name="red")
    service.run_until_idle()
    for _ in range(3):
        service.observer.tick()
        service.run_until_idle()
    (row,) = store.tables.resources.values()
    return "; ".join([*(event.reason for event in store.tables.events), row.status_reason])


def test_nothing_is_sought_where_there_are_no_words(sought: list[Any]) -> None:
    assert "completed successfully" in _made(SecretEchoingType())
    assert sought == []


@pytest.mark.parametrize(("made", "seen"), [(f"no {SECRET} here", ""), ("", f"bad {SECRET}")])
def test_it_is_taken_out_of_all_words(sought: list[Any], made: str, seen: str) -> None:
    kind = SecretEchoingType()
    kind.made, kind.seen = made, seen
    told = _made(kind)
    assert SECRET not in told
    assert "******" in told
    assert sought


def test_what_is_no_secret_is_told(sought: list[Any]) -> None:
    kind = SecretEchoingType()
    kind.seen = f"bad {SECRET}"
    assert SECRET in _made(kind, sensitive=False)
    assert sought == []
