"""Breakers: a mass loss is not believed until a user confirms it or the resources are back."""

from __future__ import annotations

from typing import Any

import pytest

from heat_convergence.convergence.drift.repair_budget import RepairLimits
from heat_convergence.convergence.drift.settings import DriftSettings, MassLossLimits
from tests.functional.drift.drift_cases import drift, watch
from tests.functional.drift.test_automatic_repair import REPAIR_ALL, created, nets, run
from tests.functional.openstack_types.emulated_service import create_stack

Json = Any
COUNT = 12


def breakers(service, project="p") -> list[Json]:
    answer = service.send("GET", "/drift/breakers", project=project)
    assert answer.status_int == 200, answer.text
    return answer.json["breakers"]


def confirm(service, ids, project="p", status=200) -> Json:
    answer = service.send("PUT", "/drift/breakers", {"confirmed": ids}, project=project)
    assert answer.status_int == status, answer.text
    return answer.json


def lose_networks(cloud) -> list[Json]:
    """Remove the networks of stacks, and return them."""
    collection = cloud.emulation.collection("neutron.network")
    lost = [each for each in cloud.bodies("neutron.network") if each["name"].startswith("s-net")]
    for each in lost:
        collection.remove(each["id"])
    return lost


@pytest.fixture
def lost_stack(service, emulated_cloud):
    """Return the path of a stack whose networks are missing, and what a second read has seen."""
    limits = RepairLimits(per_stack=100, per_project=100)
    service.use_settings(drift=DriftSettings(repairs=limits))
    path = create_stack(service, nets(COUNT), environment=REPAIR_ALL)
    watch(service)
    lose_networks(emulated_cloud)
    emulated_cloud.emulation.request_counts.clear()
    run(service, 300)
    return path


def test_mass_loss_opens_a_breaker_and_repairs_nothing(service, emulated_cloud, lost_stack):
    (found,) = breakers(service)
    assert found["resource_type"] == "OS::Neutron::Net"
    assert (found["lost"], found["total"], found["confirmed"]) == (COUNT, COUNT, False)
    assert created(emulated_cloud) == 0
    assert drift(service, lost_stack)["resource_counts"]["UNKNOWN"] == COUNT


def test_breaker_closes_when_the_resources_are_back(service, emulated_cloud):
    service.use_settings(drift=DriftSettings(repairs=RepairLimits(per_stack=100)))
    path = create_stack(service, nets(COUNT), environment=REPAIR_ALL)
    watch(service)
    emulated_cloud.emulation.request_counts.clear()
    collection = emulated_cloud.emulation.collection("neutron.network")
    lost = lose_networks(emulated_cloud)
    run(service, 120)
    assert len(breakers(service)) == 1
    for each in lost:
        collection.add(each)
    run(service, 120)
    assert breakers(service) == []
    assert created(emulated_cloud) == 0
    assert drift(service, path)["drift_status"] == "IN_SYNC"


def test_confirmed_loss_is_repaired_and_closes_the_breaker(service, emulated_cloud, lost_stack):
    (found,) = breakers(service)
    (confirmed,) = confirm(service, [found["id"]])["breakers"]
    assert confirmed == {**found, "confirmed": True}
    run(service, 300)
    assert created(emulated_cloud) == COUNT
    assert breakers(service) == []
    assert drift(service, lost_stack)["drift_status"] == "IN_SYNC"


def test_confirmed_loss_is_repaired_within_the_budget(service, emulated_cloud, lost_stack):
    service.use_settings(drift=DriftSettings(repairs=RepairLimits(per_stack=4)))
    confirm(service, [breakers(service)[0]["id"]])
    run(service, 600)
    assert created(emulated_cloud) == 4


def test_next_mass_loss_needs_another_confirmation(service, emulated_cloud, lost_stack):
    confirm(service, [breakers(service)[0]["id"]])
    run(service, 300)
    assert lose_networks(emulated_cloud)
    run(service, 300)
    (found,) = breakers(service)
    assert not found["confirmed"]
    assert created(emulated_cloud) == COUNT


def test_service_that_does_not_answer_leaves_the_breaker_open(service, emulated_cloud, lost_stack):
    before = breakers(service)
    emulated_cloud.emulation.inject_failure("GET", "/networks", 500, times=1000)
    run(service, 120)
    assert breakers(service) == before


def test_operator_sets_what_is_suspect(service, emulated_cloud):
    limits = DriftSettings(mass_loss=MassLossLimits(count=2, share=0.5))
    service.use_settings(drift=limits)
    create_stack(service, nets(3), environment=REPAIR_ALL)
    watch(service)
    emulated_cloud.emulation.request_counts.clear()
    lose_networks(emulated_cloud)
    run(service, 120)
    assert len(breakers(service)) == 1
    assert created(emulated_cloud) == 0


def test_other_projects_neither_see_nor_confirm_a_breaker(service, lost_stack):
    (found,) = breakers(service)
    assert breakers(service, project="q") == []
    assert "EntityNotFound" in str(confirm(service, [found["id"]], project="q", status=404))
    assert breakers(service) == [found]


def test_confirmation_with_an_id_that_is_not_there_confirms_nothing(service, lost_stack):
    (found,) = breakers(service)
    answer = confirm(service, [found["id"], "of-another-project"], status=404)
    assert answer["error"]["type"] == "EntityNotFound"
    assert breakers(service) == [found]


def test_confirmation_of_more_ids_than_allowed_is_refused(service):
    answer = confirm(service, [str(number) for number in range(1_001)], status=400)
    assert answer["error"]["type"] == "RequestLimitExceeded"
    assert '"confirmed" has 1001 ids; at most 1000' in answer["error"]["message"]
    confirm(service, [str(number) for number in range(1_000)], status=404)


@pytest.mark.parametrize("body", [{}, {"confirmed": "x"}, {"confirmed": [1]}, {"other": []}])
def test_bad_confirmation_is_refused(service, body):
    answer = service.send("PUT", "/drift/breakers", body)
    assert answer.status_int == 400
    assert "confirmed" in answer.text


def test_breaker_stays_open_while_a_stack_is_in_progress(service, emulated_cloud):
    """The resources of a stack in progress are not read: that others are fewer proves nothing."""
    service.use_settings(drift=DriftSettings(repairs=RepairLimits(per_stack=100)))
    create_stack(service, nets(3), environment=REPAIR_ALL, stack_name="s")
    other = create_stack(service, nets(COUNT - 3), environment=REPAIR_ALL, stack_name="s-nets")
    watch(service)
    lose_networks(emulated_cloud)
    emulated_cloud.emulation.request_counts.clear()
    run(service, 120)
    (before,) = breakers(service)
    assert before["lost"] == COUNT
    service.send("POST", f"{other}/actions", {"check": None}, leave_pending=True)
    watch(service, 120)
    assert breakers(service) == [before]
    assert created(emulated_cloud) == 0


def _lose_two_stacks(service: Any, emulated_cloud: Any) -> tuple[str, Json]:
    """Lose the networks of two stacks; return the path of one, and the breaker."""
    service.use_settings(drift=DriftSettings(repairs=RepairLimits(per_stack=100)))
    create_stack(service, nets(2), environment=REPAIR_ALL, stack_name="s")
    other = create_stack(service, nets(COUNT - 2), environment=REPAIR_ALL, stack_name="s-nets")
    watch(service)
    lose_networks(emulated_cloud)
    run(service, 120)
    (found,) = breakers(service)
    return other, found


def test_breaker_stays_open_while_users_replace_what_is_missing(service, emulated_cloud):
    """RULE 10: that fewer are missing is no proof that the others are back."""
    other, found = _lose_two_stacks(service, emulated_cloud)
    service.send("POST", f"{other}/actions", {"repair": None})
    service.run_until_idle()
    emulated_cloud.emulation.request_counts.clear()
    run(service, 300)
    (still,) = breakers(service)
    assert still["id"] == found["id"]
    assert created(emulated_cloud) == 0


def test_breaker_stays_open_while_all_that_is_missing_is_not_read(service, emulated_cloud):
    """RULE 10: the lost resources of stacks in progress may be missing still."""
    service.use_settings(drift=DriftSettings(repairs=RepairLimits(per_stack=100)))
    path = create_stack(service, nets(COUNT), environment=REPAIR_ALL, stack_name="s")
    create_stack(service, nets(3), environment=REPAIR_ALL, stack_name="kept")
    watch(service)
    lose_networks(emulated_cloud)
    run(service, 120)
    (found,) = breakers(service)
    service.send("POST", f"{path}/actions", {"check": None}, leave_pending=True)
    watch(service, 120)
    assert breakers(service) == [found]
