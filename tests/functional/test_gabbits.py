"""The API as conversations: every file beside this one, in process, on SQLite."""

from __future__ import annotations

import sys
import tempfile
import unittest
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from gabbi import driver, fixture
from gabbi.handlers.base import ResponseHandler
from gabbi.suite import GabbiSuite

from tests.functional.harness import LocalService

DIRECTORY = Path(__file__).parent / "gabbits"


class ServiceFixture(fixture.GabbiFixture):
    """A service with an empty database for each file."""

    current: LocalService

    def start_fixture(self) -> None:
        self._directory = tempfile.TemporaryDirectory()
        ServiceFixture.current = LocalService(f"sqlite:///{self._directory.name}/hc.sqlite")

    def stop_fixture(self) -> None:
        ServiceFixture.current.close()
        self._directory.cleanup()


class ForbiddenStrings(ResponseHandler):
    """``response_forbidden_strings``: what the body must not hold."""

    test_key_suffix = "forbidden_strings"
    test_key_value: list[str] = []  # noqa: RUF012  # gabbi reads its type

    def action(self, test: Any, expected: str, value: Any = None) -> None:
        assert expected not in test.output


def application() -> Callable[..., Iterable[bytes]]:
    def app(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        return ServiceFixture.current.app(environ, start_response)

    return app


def conversations() -> dict[str, GabbiSuite]:
    """File name → its steps, which build on each other."""
    suites = driver.build_tests(
        str(DIRECTORY),
        unittest.TestLoader(),
        intercept=application,
        fixture_module=sys.modules[__name__],
        response_handlers=[ForbiddenStrings],
        test_loader_name="api",
    )
    return {type(next(iter(suite))).__name__.partition("_")[0]: suite for suite in suites}


SUITES = conversations()


@pytest.mark.parametrize("name", sorted(path.stem for path in DIRECTORY.glob("*.yaml")))
def test_conversation(name: str) -> None:
    """gabbi's own plug-in for pytest cannot stand other tests' names, so its suites
    are run here, a file at a time."""
    result = unittest.TestResult()
    SUITES[name].run(result)
    failures = [f"{step}\n{trace}" for step, trace in [*result.failures, *result.errors]]
    assert not failures, "\n".join(failures)
    assert result.testsRun > 0
