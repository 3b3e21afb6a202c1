"""The model of scale saturates where arithmetic says, and names what limits it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.scaling.bottlenecks import REMEDIES, WAITING, first_bottleneck
from benchmarks.scaling.deployment import Deployment, ServiceTimes, Workload, clustered
from benchmarks.scaling.model import Prediction, ScaleModel

ONE_CLUSTER = clustered(1, 1, 1)


def predict(times: ServiceTimes, work: Workload, deployment: Deployment) -> Prediction:
    return ScaleModel(times, work, deployment).run()


@pytest.mark.parametrize(
    ("times", "part"),
    [
        (ServiceTimes(api_s=0.01), "API processes"),
        (ServiceTimes(engine_s=0.01), "engine processes"),
        (ServiceTimes(observer_s=0.01), "observer processes"),
        (ServiceTimes(database_s=0.01), "processors of the database"),
        (ServiceTimes(broker_s=0.01), "processors of the broker"),
    ],
)
def test_one_server_saturates_at_one_job_per_service_time(times, part):
    work = Workload(stacks=200, projects=200, clients=200)
    deployment = replace(ONE_CLUSTER, processors=4, broker_processors=1)
    prediction = predict(times, work, deployment)
    assert prediction.per_second == pytest.approx(100.0)
    assert prediction.utilization[part] == pytest.approx(1.0)
    assert first_bottleneck(prediction) == part


def test_twice_the_engines_are_twice_as_fast_until_the_database_is_busy():
    times = ServiceTimes(engine_s=0.01, database_s=0.004)
    work = Workload(stacks=400, projects=400, clients=400)
    by_hosts = {hosts: predict(times, work, clustered(hosts, 1, 1)) for hosts in (1, 2, 4, 8)}
    speeds = {hosts: prediction.per_second for hosts, prediction in by_hosts.items()}
    assert speeds[2] == pytest.approx(2 * speeds[1], rel=0.05)
    assert speeds[4] == pytest.approx(speeds[8]) == pytest.approx(250.0, rel=0.05)
    assert first_bottleneck(by_hosts[1]) == "processors of the hosts"
    assert first_bottleneck(by_hosts[8]) == "processors of the database"


def test_one_machine_is_shared_by_all_parts():
    times = ServiceTimes(
        client_s=0.001, api_s=0.001, engine_s=0.004, observer_s=0.003, database_s=0.002,
        broker_s=0.001,
    )  # fmt: skip
    deployment = Deployment(processors=2, engines=4, observers=4)
    prediction = predict(times, Workload(stacks=300, projects=300), deployment)
    assert prediction.per_second == pytest.approx(2 / 0.012, rel=0.02)
    assert first_bottleneck(prediction) == "processors of the hosts"


def test_a_chain_takes_the_sum_of_its_steps_however_many_hosts_there_are():
    times = ServiceTimes(engine_s=0.006, observer_s=0.005, database_s=0.005, commit_s=0.001)
    work = Workload(stacks=1, length=100)
    few, many = (predict(times, work, clustered(hosts, 2, 8)) for hosts in (1, 32))
    assert few.total_s == pytest.approx(many.total_s)
    # Of the statements a tenth is the API's, once for all jobs; each link commits three times.
    request_s = 100 * times.database_s * times.api_database_share + times.commit_s
    link_s = 0.006 + 0.005 + 0.9 * 0.005 + 3 * times.commit_s
    assert few.total_s == pytest.approx(request_s + 100 * link_s)
    assert first_bottleneck(many) == WAITING


def test_commits_that_wait_together_share_one_write_of_the_log():
    times = ServiceTimes(commit_s=0.01)
    alone = predict(times, Workload(stacks=1), clustered(4, 4, 8))
    together = predict(times, Workload(stacks=100, projects=100, clients=100), clustered(4, 4, 8))
    # Whoever comes while the first one is written waits for that write and shares the next.
    assert together.total_s == pytest.approx(2 * alone.total_s)


def test_one_stack_has_one_observation_at_a_time():
    times = ServiceTimes(observer_s=0.01)
    work = Workload(stacks=1, width=100, jobs_on_bus=100)
    prediction = predict(times, work, clustered(8, 2, 8))
    assert prediction.per_second == pytest.approx(100.0)
    assert first_bottleneck(prediction) == "locks of stacks"


def test_one_project_is_bounded_by_its_places_on_the_bus():
    times = ServiceTimes(engine_s=0.01, claim_share=1.0)
    crowd = Workload(stacks=200, projects=1, clients=200)
    prediction = predict(times, crowd, clustered(8, 2, 8))
    assert prediction.per_second == pytest.approx(100.0)
    assert first_bottleneck(prediction) == "places on the bus"
    many = predict(times, replace(crowd, projects=200), clustered(8, 2, 8))
    assert many.per_second > 10 * prediction.per_second


def test_resources_per_second_count_those_of_each_message():
    work = Workload(stacks=10, resources_per_job=25.0, projects=10)
    prediction = predict(ServiceTimes(engine_s=0.01), work, ONE_CLUSTER)
    assert prediction.per_second == pytest.approx(2500.0)


def test_a_prediction_is_the_same_each_time():
    times = ServiceTimes(api_s=0.002, engine_s=0.006, observer_s=0.005, commit_s=0.001)
    work = Workload(stacks=50, length=3, width=2, projects=7)
    assert predict(times, work, clustered(3, 2, 4)) == predict(times, work, clustered(3, 2, 4))


def test_every_part_has_a_remedy():
    prediction = predict(ServiceTimes(engine_s=0.01), Workload(stacks=1), ONE_CLUSTER)
    assert {*prediction.utilization, WAITING} == set(REMEDIES)
