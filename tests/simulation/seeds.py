"""Seeds in batches, each batch run once however many tests ask for it."""

from __future__ import annotations

from functools import cache

from heat_convergence.testing.campaign import Kind, Tally, command, verdicts

BATCH = 25


@cache
def batch(first: int, store: str) -> Tally:
    """The tally of ``BATCH`` seeds."""
    tally = Tally()
    for verdict in verdicts(range(first, first + BATCH), Kind(store=store)):
        tally.add(verdict)
    return tally


def batches(first: int, count: int) -> list[int]:
    """The first seeds of the batches that make up ``count`` seeds."""
    return list(range(first, first + count, BATCH))


def no_rule_is_broken(first: int, store: str) -> None:
    broken = batch(first, store).broken
    assert not broken, "\n\n".join(
        f"{verdict.broken}\n{command(verdict.seed, Kind(store=store))}\n{verdict.scenario}"
        for verdict in broken
    )


def total(firsts: list[int], store: str) -> Tally:
    """Over all batches."""
    tally = Tally()
    for first in firsts:
        part = batch(first, store)
        tally.seeds += part.seeds
        tally.happened += part.happened
    return tally
