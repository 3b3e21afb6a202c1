"""Conformance cases of Zaqar's types."""

from __future__ import annotations

from typing import Any

from tests.conformance.case import ConformanceCase
from tests.conformance.cases.automation.mistral import FLOW

QUEUE = ("queue", "OS::Zaqar::Queue", {"name": "hc-queue"})
OTHER_QUEUE = ("other", "OS::Zaqar::Queue", {"name": "hc-other-queue"})


def _case(name: str, *prerequisites: Any, **fields: Any) -> ConformanceCase:
    return ConformanceCase(f"OS::Zaqar::{name}", prerequisites, **fields)


CASES = [
    _case(
        "Queue",
        properties={"metadata": {"a": 1, "b": {"c": 2}}},
        changes=[{"metadata": {"b": "3", "d/e": "4"}}, {"metadata": None}],
    ),
    _case(
        "Queue",
        properties={"name": "hc-named-queue"},
        attributes={
            "queue_id": "hc-named-queue",
            "href": "{queues_url}/hc-named-queue",
        },
        replacement_properties={"name": "hc-other-queue"},
        case_label="Queue of a given name",
    ),
    _case(
        "Subscription",
        QUEUE,
        OTHER_QUEUE,
        properties={"queue_name": "hc-queue", "subscriber": "http://hook.invalid/1"},
        changes=[
            {"subscriber": "mailto:a@hook.invalid", "ttl": 3600, "options": {"subject": "s"}},
            {"options": None},
        ],
        replacement_properties={"queue_name": "hc-other-queue"},
    ),
    _case(
        "MistralTrigger",
        FLOW,
        QUEUE,
        OTHER_QUEUE,
        properties={"queue_name": "hc-queue", "workflow_id": "{uuid}", "input": {"a": 1}},
        changes=[
            {"ttl": 3600, "params": {"env": {"b": 2}}, "input": {"c": 3}},
            {"workflow_id": "00000000-0000-4000-8000-000000000001"},
        ],
        replacement_properties={"queue_name": "hc-other-queue"},
    ),
    _case(
        "SignedQueueURL",
        QUEUE,
        properties={"queue": "hc-queue", "ttl": 60, "paths": ["messages"], "methods": ["POST"]},
        emulation_attributes={
            "signature": "5i9n",
            "expires": "2026-01-01T00:01:00+00:00",
            "query_str": "signature=5i9n&expires=2026-01-01T00%3A01%3A00%2B00%3A00"
            "&paths=%2Fv2%2Fqueues%2Fhc-queue%2Fmessages&methods=POST"
            "&project_id=5f1c0de0000000000000000000000001&queue_name=hc-queue",
        },
        can_be_found=False,
        always_exists=True,
        replacement_properties=None,
    ),
]
