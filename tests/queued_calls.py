"""The calls of ``JoinedCalls``, as tests wait until they are queued."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from threading import Semaphore
from typing import Any

import pytest

from heat_convergence.api.controllers import joined_calls


@contextmanager
def queued_calls() -> Iterator[Semaphore]:
    """Yield a semaphore that each call releases when it waits for its turn, or begins."""
    queued = Semaphore(0)

    class ReportedTurn(Future[Any]):
        def result(self, timeout: float | None = None) -> Any:
            queued.release()
            return super().result(timeout)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(joined_calls, "Future", ReportedTurn)
        yield queued
