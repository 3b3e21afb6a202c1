"""A measured phase becomes the service times and the work of the model."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.instrumented_daemon import COUNTERS, CounterValues, bucket_index
from benchmarks.reports.results import PhaseResult
from benchmarks.scaling.calibration import JOBS_ON_BUS, crowd, measured_workload, service_times
from benchmarks.server_counters import grown

ROW = PhaseResult(
    shape="small:40",
    phase="create",
    resources=400,
    total_s=2.0,
    requests_s=1.0,
    per_second=200.0,
    ms_per_link=2000.0,
    statements_per_resource=5.0,
    messages_per_resource=0.2,
    processor_s={
        "driver": 0.04,
        "api-1": 0.4,
        "engine-1": 0.3,
        "engine-2": 0.1,
        "observer-1": 0.2,
        "database": 0.4,
        "broker": -0.1,
    },
    jobs=40,
    statements_by_component={"api-1": 500, "engine-1": 700, "engine-2": 300, "observer-1": 500},
)


def test_service_times_are_those_of_one_job():
    times = service_times(ROW, commit_s=0.001)
    assert times.engine_s == pytest.approx(0.01)
    assert times.observer_s == pytest.approx(0.005)
    assert times.database_s == pytest.approx(0.01)
    assert times.commit_s == 0.001
    assert (times.observer_database_share, times.api_database_share) == (0.25, 0.25)
    assert times.broker_s == 0.0


def test_small_stacks_are_one_job_each():
    work = measured_workload(ROW, stacks=40, longest_path=1)
    assert (work.stacks, work.length, work.width, work.jobs) == (40, 1, 1, 40)
    assert work.resources_per_job == 10
    assert (work.projects, work.jobs_on_bus) == (1, JOBS_ON_BUS // 10)


def test_a_chain_is_one_job_after_the_other():
    row = replace(ROW, shape="chain:60", resources=60, jobs=60)
    work = measured_workload(row, stacks=1, longest_path=60)
    assert (work.length, work.width, work.jobs_on_bus) == (60, 1, JOBS_ON_BUS)


def test_a_larger_installation_has_more_stacks_of_the_same_form():
    work = measured_workload(ROW, stacks=40, longest_path=1)
    larger = crowd(work, jobs=1000, projects=64)
    assert (larger.stacks, larger.projects, larger.resources_per_job) == (1000, 64, 10)
    assert crowd(work, jobs=10, projects=64).stacks == 64


def test_counters_of_a_server_are_compared_by_name():
    assert grown({"statements": 5}, {"statements": 7, "deadlocks": 1}) == {
        "statements": 2,
        "deadlocks": 1,
    }


def counts(*steps: tuple[str, float]) -> CounterValues:
    numbers = list(CounterValues().numbers)
    for step, duration_s in steps:
        numbers[bucket_index(step, duration_s)] += 1
    return CounterValues(tuple(numbers))


def test_percentiles_come_from_buckets_of_a_tenth_of_their_width():
    found = counts(*[("converge", 0.01)] * 99, ("converge", 1.0), ("observe", 5.0))
    assert found.handled("converge") == 100
    assert found.percentile_ms("converge", 0.5) == pytest.approx(10, rel=0.1)
    assert found.percentile_ms("converge", 1.0) == pytest.approx(1000, rel=0.1)
    assert found.percentile_ms("job wait", 0.5) is None


@pytest.mark.parametrize("duration_s", [0.0, 0.0001, 1e6])
def test_every_duration_has_a_bucket_of_its_step(duration_s):
    assert counts(("observe", duration_s)).handled("observe") == 1


def test_counts_add_up_and_have_differences():
    two = counts(("observe", 0.1), ("observe", 0.2))
    assert (two + two).handled("observe") == 4
    assert (two + two - two) == two
    assert [CounterValues()[name] for name in COUNTERS] == [0, 0, 0]
