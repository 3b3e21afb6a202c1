"""The failures of expressions that took long, remembered for a while.

Used by ``expression_sandbox``, so that an output whose expression exceeds its limits does not
take all of its time again whenever it is read.  Must not keep expressions or data, which may
be secret, nor values: an expression may read the clock or make a random number.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass

from heat_convergence.common.strict_json import encode_json
from heat_convergence.template.limits import YaqlCall, YaqlResult

_MAX_FAILURES = 1_024
_KEPT_S = 600.0
_MIN_SECONDS = 0.1  # what takes less is evaluated again
_LONGEST_ERROR = 1_000


@dataclass(frozen=True, slots=True)
class _Failure:
    result: YaqlResult
    max_steps: int
    max_seconds: float
    until: float  # by the monotonic clock


class RememberedFailures:
    """A bounded number of failures, by what was evaluated."""

    def __init__(self) -> None:
        self._failures: OrderedDict[bytes, _Failure] = OrderedDict()
        self._guard = threading.Lock()

    def find(self, call: YaqlCall) -> YaqlResult | None:
        """Return the failure of the same expression with the same data and no lower limits."""
        if not self._failures:
            return None
        key = _key(call)
        with self._guard:
            failure = self._failures.get(key)
            if failure is None or failure.until < time.monotonic():
                return None
            self._failures.move_to_end(key)
        enough = call.max_steps <= failure.max_steps and call.max_seconds <= failure.max_seconds
        return failure.result if enough else None

    def add(self, call: YaqlCall, result: YaqlResult) -> None:
        """Remember a result, if it is a failure that took long."""
        if result.error is None or result.seconds < _MIN_SECONDS:
            return
        if len(result.error) > _LONGEST_ERROR:
            return
        failure = _Failure(result, call.max_steps, call.max_seconds, time.monotonic() + _KEPT_S)
        with self._guard:
            self._failures[_key(call)] = failure
            while len(self._failures) > _MAX_FAILURES:
                self._failures.popitem(last=False)


def _key(call: YaqlCall) -> bytes:
    program = [call.expression, call.data, call.limit_iterators, call.memory_quota_bytes]
    return hashlib.sha256(encode_json(program)).digest()
