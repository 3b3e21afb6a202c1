"""Secrets are searched for, and redacted, only where a resource has a reason text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from heat_convergence.common.failures import ResourceFailure
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources import redaction
from heat_convergence.resources.builtin.test_resource import TestResource
from heat_convergence.resources.protocol.verb_values import ResourceContext, VerbResult
from heat_convergence.resources.registry import ResourceTypeRegistry
from heat_convergence.template.evaluation.resource_definition import ResourceDefinition
from heat_convergence.testing.in_process_service import InProcessService
from heat_convergence.testing.memory.store import MemoryStore

SECRET = "planted-value"


class SecretEchoingType(TestResource):
    """A type whose reason texts contain its secret: at creation, or at each observation."""

    create_reason = ""
    observe_reason = ""

    def create(self, view: ResourceContext) -> VerbResult:
        if self.create_reason.startswith("no "):
            raise ResourceFailure(self.create_reason)
        return VerbResult(
            ObservedState.BUSY,
            physical_id="physical-1",
            reason=self.create_reason,
            poll_after_s=0.0,
        )

    def observe(self, view: ResourceContext) -> VerbResult:
        return VerbResult(
            ObservedState.FAILED if self.observe_reason else ObservedState.READY,
            reason=self.observe_reason,
        )


@pytest.fixture
def searched_values(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    found: list[Any] = []
    texts_of = redaction.sensitive_texts

    def record(value: Any) -> Iterator[str]:
        found.append(value)
        return texts_of(value)

    monkeypatch.setattr(redaction, "sensitive_texts", record)
    return found


def _reasons(resource_type: TestResource, *, sensitive: bool = True) -> str:
    """Return the reasons recorded while a resource with the secret is created."""
    store = MemoryStore()
    service = InProcessService(store, ResourceTypeRegistry.from_types(resource_type))
    desired = {
        "a": ResourceDefinition(
            name="a", type=resource_type.name, properties={"value": SECRET}, sensitive=sensitive
        )
    }
    service.create(desired, name="red")
    service.run_until_idle()
    for _ in range(3):
        service.observer.tick()
        service.run_until_idle()
    (row,) = store.tables.resources.values()
    return "; ".join([*(event.reason for event in store.tables.events), row.state.reason])


def test_nothing_is_searched_without_a_reason(searched_values: list[Any]) -> None:
    assert "completed successfully" in _reasons(SecretEchoingType())
    assert searched_values == []


@pytest.mark.parametrize(
    ("create_reason", "observe_reason"), [(f"no {SECRET} here", ""), ("", f"bad {SECRET}")]
)
def test_secret_is_redacted_from_all_reasons(
    searched_values: list[Any], create_reason: str, observe_reason: str
) -> None:
    resource_type = SecretEchoingType()
    resource_type.create_reason = create_reason
    resource_type.observe_reason = observe_reason
    reasons = _reasons(resource_type)
    assert SECRET not in reasons
    assert "******" in reasons
    assert searched_values


def test_insensitive_value_is_not_redacted(searched_values: list[Any]) -> None:
    resource_type = SecretEchoingType()
    resource_type.observe_reason = f"bad {SECRET}"
    assert SECRET in _reasons(resource_type, sensitive=False)
    assert searched_values == []
