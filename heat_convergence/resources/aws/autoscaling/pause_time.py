"""Durations in ISO 8601 form, as update policies have them."""

from __future__ import annotations

import re

from heat_convergence.common.errors import StackValidationFailed

MAX_PAUSE_S = 3600
_DURATION = re.compile(r"PT(?=.)(?:(\d{1,5})H)?(?:(\d{1,5})M)?(?:(\d{1,5})S)?")


def parse_pause(text: str) -> float:
    """Return the seconds of a duration such as ``PT1M30S``.

    Raises:
        StackValidationFailed: It has another form, or is longer than an hour.
    """
    found = _DURATION.fullmatch(text)
    if found is None:
        raise StackValidationFailed(f"Invalid ISO 8601 duration: {text:.40}", path="PauseTime")
    hours, minutes, seconds = (int(part or 0) for part in found.groups())
    total_s = hours * 3600 + minutes * 60 + seconds
    if total_s > MAX_PAUSE_S:
        raise StackValidationFailed("Maximum PauseTime is 1 hour.", path="PauseTime")
    return float(total_s)
