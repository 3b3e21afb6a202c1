"""The first bottleneck of a predicted run, and what helps against it."""

from __future__ import annotations

from benchmarks.scaling.model import Prediction

_SATURATED = 0.85
WAITING = "jobs that follow one another"
REMEDIES = {
    "API processes": "more API workers ([heat_api] workers) or hosts with an API",
    "engine processes": "more engine workers (num_engine_workers) or engine hosts",
    "observer processes": "more observer workers ([observer] workers) or observer hosts",
    "processors of the hosts": "another host, or a host of its own for the database",
    "processors of the database": "a larger database host, then observers that divide the stacks"
    " among themselves, and tables that are partitioned by stack",
    "processors of the broker": "a larger broker host, then larger batches ([engine] batch_size)",
    "log of the database": "faster disks for the log of the database, or larger batches"
    " ([engine] batch_size), which need fewer commits",
    "locks of stacks": "larger batches ([engine] batch_size): an observer's transaction locks its"
    " stack, so that one stack has one at a time; nested stacks divide it",
    "places on the bus": "more [engine] jobs_on_bus, which bounds the jobs of one project that"
    " wait for a worker, or work of more projects",
    WAITING: "no machine: the time is that of one job after the other, so a smaller number of"
    " statements and messages of a job, or fewer dependencies in the template",
}


_LIMITS = ("locks of stacks", "places on the bus")


def first_bottleneck(prediction: Prediction) -> str:
    """Return the part that is busy the most, or ``WAITING`` if none is saturated.

    A lock or a place on the bus is held while its job waits for something else, so that it is
    the bottleneck only if nothing is saturated that does the work.
    """
    busiest_first = sorted(prediction.utilization, key=lambda part: -prediction.utilization[part])
    for part in sorted(busiest_first, key=lambda part: part in _LIMITS):
        if prediction.utilization[part] >= _SATURATED:
            return part
    return WAITING
