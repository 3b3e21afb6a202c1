"""The record of the jobs that a worker prepares, and what its end counts for."""

from __future__ import annotations

import pytest

from heat_convergence.convergence.ports.bus import ResourceHint
from heat_convergence.engine.preparation_journal import PreparationJournal, parse_journal


def test_jobs_are_recorded_while_they_are_prepared() -> None:
    texts: list[str] = []
    journal = PreparationJournal(texts.append)
    several = [ResourceHint("red", 1, ("a", "b")), ResourceHint("blue", 3, ("d",))]
    with journal.preparing(several), journal.preparing([ResourceHint("green", 7, ("c",))]):
        assert parse_journal(texts[-1]) == [(1, ("a", "b")), (3, ("d",)), (7, ("c",))]
    assert parse_journal(texts[-1]) == []


def test_failed_preparation_ends_the_record() -> None:
    texts: list[str] = []
    journal = PreparationJournal(texts.append)
    with (
        pytest.raises(ValueError, match="why"),
        journal.preparing([ResourceHint("red", 1, ("a",))]),
    ):
        raise ValueError("why")
    assert parse_journal(texts[-1]) == []


@pytest.mark.parametrize("text", ["", '[[1, ["a"', "null", "[1]", '{"a": 1}', '[["x", ["a"]]]'])
def test_text_that_is_no_journal_has_no_jobs(text: str) -> None:
    assert parse_journal(text) == []
