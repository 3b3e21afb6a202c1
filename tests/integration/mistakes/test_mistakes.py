"""Mistakes of operators: each daemon and ``doctor`` name them in a line, and go on or end."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from heat_convergence.db.connection.database import database_from_url
from heat_convergence.db.maintenance import schema_upgrade
from heat_convergence.testing.daemon_processes import free_port
from tests.conftest import MARIADB, fresh_database
from tests.integration.mistakes import page
from tests.integration.mistakes.catalogue import MISTAKES, OperatorMistake, Places
from tests.integration.mistakes.runner import Outcome, Program

MAX_SECONDS = 5  # of the page, which is measured on a machine that nobody else uses
MAX_LINES = 3
MAX_CHARACTERS = 600
SECRET = "wrong-password"


@pytest.fixture(scope="module")
def empty_database_url() -> Iterator[str]:
    yield from fresh_database(MARIADB, "MariaDB")


@pytest.fixture(scope="module")
def upgraded_url() -> Iterator[str]:
    for url in fresh_database(MARIADB, "MariaDB"):
        database = database_from_url(url)
        schema_upgrade.upgrade(database)
        database.close()
        yield url


@pytest.fixture
def places(
    tmp_path: Path, upgraded_url: str, empty_database_url: str, rabbit_url: str
) -> Iterator[Places]:
    with socket.create_server(("127.0.0.1", 0)) as other:
        yield Places(
            folder=tmp_path,
            database=upgraded_url,
            empty_database=empty_database_url,
            broker=rabbit_url,
            used_port=other.getsockname()[1],
            closed_port=free_port(),
        )


@pytest.fixture(scope="module")
def measured() -> Iterator[dict[str, page.Seconds]]:
    """The seconds of the slowest daemon by mistake, written to the page on request."""
    seconds: dict[str, page.Seconds] = {}
    yield seconds
    if page.REWRITE:
        page.write_seconds(seconds)


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.title)
def test_mistake_is_named(
    mistake: OperatorMistake, places: Places, measured: dict[str, page.Seconds]
) -> None:
    program = Program(mistake, places)
    daemons = _tested_daemons(mistake)
    with ThreadPoolExecutor(1 if page.REWRITE else None) as pool:
        doctor = pool.submit(program.run_doctor) if mistake.doctor else None
        outcomes = list(pool.map(program.run_daemon, daemons))
    for outcome in outcomes:
        assert mistake.message in outcome.text, outcome.text
        assert outcome.code == (mistake.code or 0), outcome.text
        assert_short(outcome)
    measured[mistake.title] = _slowest(outcomes)
    if doctor is not None:
        report = doctor.result()
        assert mistake.doctor in report.text, report.text
        assert report.code == mistake.doctor_code, report.text
        assert "Traceback" not in report.text
        assert SECRET not in report.text


def _slowest(outcomes: Sequence[Outcome]) -> page.Seconds:
    return page.Seconds(
        clock=round(max(outcome.clock_s for outcome in outcomes), 1),
        processor=round(max(outcome.processor_s for outcome in outcomes), 1),
    )


def _tested_daemons(mistake: OperatorMistake) -> Sequence[str]:
    """Return the daemons that a run starts: the checks of all are the same module's.

    A run that measures for the page starts all of them, others one, in turn.
    """
    if page.REWRITE:
        return mistake.daemons
    return [mistake.daemons[MISTAKES.index(mistake) % len(mistake.daemons)]]


def assert_short(outcome: Outcome) -> None:
    complaints = outcome.complaints
    assert 1 <= len(complaints) <= MAX_LINES, outcome.text
    assert max(map(len, complaints)) <= MAX_CHARACTERS
    assert "Traceback" not in outcome.text
    assert SECRET not in outcome.text


def test_page_shows_the_catalogue() -> None:
    seconds = page.read_seconds()
    assert max(each.clock for each in seconds.values()) < MAX_SECONDS
    assert page.PAGE.read_text() == page.render(seconds)
