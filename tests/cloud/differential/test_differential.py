"""Real Heat and this service side by side: the same stories, the same views.

``HEAT_CONVERGENCE_TEST_HEAT`` is real Heat's endpoint up to ``/v1``, beside the cloud that
``HEAT_CONVERGENCE_TEST_CLOUD`` describes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

import pytest

from tests.cloud.conftest import DeployService
from tests.cloud.differential.comparison import load_accepted, unaccepted
from tests.cloud.differential.generation import generate_stories
from tests.cloud.differential.projects import SidePair, side_pairs
from tests.cloud.differential.report import describe, run_stories
from tests.cloud.differential.story import Story, load_stories
from tests.cloud.testbed import HEAT_VARIABLE, CloudTestbed

SEED = 1
GENERATED = 100


@pytest.fixture(scope="module")
def pairs(cloud_testbed: CloudTestbed, deploy: DeployService) -> Iterator[list[SidePair]]:
    heat_url = os.environ.get(HEAT_VARIABLE)
    if not heat_url:
        pytest.skip(f"{HEAT_VARIABLE} names no real Heat")
    service = deploy(hidden_stack_tags="hidden", stack_scheduler_hints=True)
    ours_url = f"{service.endpoint}/v1"
    with side_pairs(cloud_testbed, heat_url, ours_url, service.region) as found:
        yield found


@pytest.mark.timeout(7200)
@pytest.mark.parametrize(
    "stories",
    [
        pytest.param(load_stories(), id="written"),
        pytest.param(generate_stories(SEED, GENERATED), id="generated"),
    ],
)
def test_same_stories_give_the_same_views(stories: Sequence[Story], pairs: list[SidePair]) -> None:
    rules = load_accepted()
    results = run_stories(stories, pairs)
    report = describe(results, rules)
    print(report)
    assert not any(result.error for result in results), report
    assert not any(unaccepted(result.found, rules) for result in results), report
