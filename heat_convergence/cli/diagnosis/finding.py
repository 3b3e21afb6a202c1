"""Results of the checks of an installation.

Built by the checks, printed by ``manage.doctor``. A text never contains a password.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from oslo_config import cfg


class Severity(StrEnum):
    """The effect of a finding on the service."""

    OK = "ok"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report.

    Attributes:
        subject: What was checked.
        level: Whether the service works with it.
        text: What was found.
        remedy: What to do about it; empty when nothing is wrong.
    """

    subject: str
    level: Severity
    text: str
    remedy: str = ""


Check = Callable[[cfg.ConfigOpts], Iterator[Finding]]


def one_line(error: object) -> str:
    """Return the text of an error without line breaks, in at most 300 characters."""
    return " ".join(str(error).split())[:300] or type(error).__name__
