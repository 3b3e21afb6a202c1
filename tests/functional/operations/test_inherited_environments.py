"""Environments that trees hand down are kept within a bound, whatever their size."""

from __future__ import annotations

from pathlib import Path

import pytest

from heat_convergence.stacks.goal import nested_builder
from tests.functional.harness import LocalService
from tests.functional.project_client import ProjectClient, hot_template

MAX_BYTES = 60_000
CHILD = """
heat_template_version: 2021-04-16
parameters: {p0: {type: string}}
resources: {r: {type: OS::Heat::Value, properties: {value: {get_param: p0}}}}
"""
PARENT = hot_template({"child": {"type": "child.yaml", "properties": {"p0": "given"}}})


def test_environments_are_bounded_in_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nested_builder, "_MAX_INHERITED_BYTES", MAX_BYTES)
    service = LocalService(f"sqlite:///{tmp_path}/stacks.sqlite")
    client = ProjectClient(service)
    (executor,) = service.nested_executors
    kept = executor.builder._inherited
    for number in range(12):
        defaults = {f"p{at}": f"value {number} {at}" for at in range(100)}
        client.create(
            f"s{number}",
            PARENT,
            files={"child.yaml": CHILD},
            environment={"parameter_defaults": defaults},
        )
        assert client.stack(f"s{number}")["stack_status"] == "CREATE_COMPLETE"
        assert kept.size_bytes <= MAX_BYTES
    assert 1 <= len(kept) < 12
    assert executor.builder.parsed_environment_count >= 12
    service.close()
