"""``OS::Magnum::Cluster`` and ``OS::Magnum::ClusterTemplate``: states and refusals."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from heat_convergence.common.errors import Invalid
from heat_convergence.common.failures import TemporaryFailure
from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.job import ObservedState
from tests.unit.resources.emulated_cloud import TYPES, EmulatedCloud

CLUSTER, TEMPLATE = "OS::Magnum::Cluster", "OS::Magnum::ClusterTemplate"
UUID = "00000000-0000-4000-8000-000000000001"


@pytest.mark.parametrize(
    ("action", "body", "expected"),
    [
        (Action.CREATE, {"status": "CREATE_COMPLETE"}, ObservedState.READY),
        (Action.CREATE, {"status": "CREATE_FAILED"}, ObservedState.FAILED),
        (Action.UPDATE, {"status": "UPDATE_COMPLETE", "node_count": 1}, ObservedState.BUSY),
        (Action.UPDATE, {"status": "UPDATE_COMPLETE", "node_count": 3}, ObservedState.READY),
        (Action.ROLLBACK, {"status": "UPDATE_COMPLETE", "node_count": 1}, ObservedState.BUSY),
        (Action.UPDATE, {"status": "UPDATE_FAILED"}, ObservedState.FAILED),
        (Action.DELETE, {"status": "CREATE_FAILED"}, ObservedState.BUSY),
        (Action.DELETE, {"status": "DELETE_FAILED"}, ObservedState.FAILED),
        (Action.CHECK, {"status": "UPDATE_COMPLETE", "node_count": 1}, ObservedState.READY),
    ],
)
def test_status_of_an_earlier_action_is_not_the_end_of_this_one(
    action: Action, body: dict[str, Any], expected: ObservedState
) -> None:
    properties = {"cluster_template": UUID, "node_count": 3}
    context = EmulatedCloud().context(CLUSTER, properties)
    shown = {"master_count": 1, **body}
    state, _ = TYPES[CLUSTER].observed_state(replace(context, action=action), shown)
    assert state is expected


def test_cluster_that_cannot_be_shown_yet_is_observed_again() -> None:
    cloud = EmulatedCloud()
    cloud.emulation.inject_failure("GET", "/clusters/", 400)
    context = replace(cloud.context(CLUSTER, {"cluster_template": UUID}), physical_id=UUID)
    with pytest.raises(TemporaryFailure):
        TYPES[CLUSTER].observe(context)


def test_volume_driver_of_another_orchestrator_is_refused() -> None:
    with pytest.raises(Invalid, match="expecting cinder"):
        TYPES[TEMPLATE].validate({"coe": "kubernetes", "volume_driver": "rexray"}, None)
    TYPES[TEMPLATE].validate({"coe": "kubernetes", "volume_driver": "cinder"}, None)
