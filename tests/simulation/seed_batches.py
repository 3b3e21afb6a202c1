"""Seeds in batches, each batch run once however many tests ask for it."""

from __future__ import annotations

from functools import cache

from heat_convergence.testing.simulation.scenarios.campaign import (
    CampaignOptions,
    CampaignSummary,
    replay_command,
    run_seeds,
)

SEEDS_PER_BATCH = 10


@cache
def run_batch(first: int, store: str) -> CampaignSummary:
    """The tally of ``BATCH`` seeds."""
    tally = CampaignSummary()
    for verdict in run_seeds(range(first, first + SEEDS_PER_BATCH), CampaignOptions(store=store)):
        tally.add(verdict)
    return tally


def batch_starts(first: int, count: int) -> list[int]:
    """The first seeds of the batches that make up ``count`` seeds."""
    return list(range(first, first + count, SEEDS_PER_BATCH))


def assert_no_violation(first: int, store: str) -> None:
    broken = run_batch(first, store).failures
    assert not broken, "\n\n".join(
        f"{verdict.violation}\n{replay_command(verdict.seed, CampaignOptions(store=store))}\n{verdict.scenario_text}"  # noqa: E501
        for verdict in broken
    )


def sum_batches(firsts: list[int], store: str) -> CampaignSummary:
    """Over all batches."""
    tally = CampaignSummary()
    for first in firsts:
        part = run_batch(first, store)
        tally.seed_count += part.seed_count
        tally.occurrences += part.occurrences
    return tally
