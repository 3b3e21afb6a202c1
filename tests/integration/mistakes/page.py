"""``docs/operate/mistakes.rst``: the catalogue of mistakes as a table.

``HEAT_CONVERGENCE_TEST_REWRITE_MISTAKES=1 pytest tests/integration/mistakes`` measures the seconds
anew and writes the page.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from tests.integration.mistakes.catalogue import EVERY, MISTAKES, OperatorMistake

REWRITE = bool(os.environ.get("HEAT_CONVERGENCE_TEST_REWRITE_MISTAKES"))
PAGE = Path(__file__).parents[3] / "docs" / "operate" / "mistakes.rst"
SECONDS = Path(__file__).parent / "data" / "seconds.json"
_HEAD = """\
========
Mistakes
========

What each daemon says about a mistake of its operator. A search for a part of the text finds the
row. The tests make each mistake and start all daemons that it concerns; they print at most three
lines about it, without a traceback and without a password.

A daemon that *ends* has written the line last, and has the exit code (:doc:`operating`). One that
*waits* repeats the line, answers 503 if it is an API, and begins to work as soon as the mistake is
corrected. One that *works* goes on without what the line names. The seconds are
those of the slowest daemon, started alone on a machine with two cores that has nothing else to do:
by the clock until it has ended, or has named the mistake and works or waits; and processor time
from the start to the end. The last column is a part of what ``heat-convergence-manage doctor``
prints; where it is empty, only the daemon itself can notice.

.. list-table::
   :header-rows: 1
   :widths: 22 36 12 6 6 18

   * - mistake
     - line of the log
     - the daemon
     - seconds
     - processor
     - ``doctor``
"""


class Seconds(NamedTuple):
    """The seconds of the slowest daemon.

    Attributes:
        clock: From its start until it has ended, or works or waits and has named the mistake.
        processor: Processor time of the daemon and its workers, from its start to its end.
    """

    clock: float
    processor: float


def read_seconds() -> dict[str, Seconds]:
    """Return the measured seconds by mistake."""
    return {title: Seconds(*pair) for title, pair in json.loads(SECONDS.read_text()).items()}


def write_seconds(seconds: Mapping[str, Seconds]) -> None:
    """Store measured seconds, and write the page with them."""
    known = {**read_seconds(), **seconds}
    titles = [mistake.title for mistake in MISTAKES if mistake.title in known]
    rows = [f" {json.dumps(title)}: {json.dumps(known[title])}" for title in titles]
    SECONDS.write_text("{\n" + ",\n".join(rows) + "\n}\n")
    PAGE.write_text(render(known))


def render(seconds: Mapping[str, Seconds]) -> str:
    """Return the page."""
    return _HEAD + "".join(_row(each, seconds.get(each.title, Seconds(0, 0))) for each in MISTAKES)


def _row(mistake: OperatorMistake, seconds: Seconds) -> str:
    cells = (
        mistake.title,
        _literal(mistake.message),
        _effect(mistake),
        f"{seconds.clock:.1f}",
        f"{seconds.processor:.1f}",
        _literal(mistake.doctor),
    )
    lines = [f"     - {cell}".rstrip() for cell in cells]
    return "\n".join(lines).replace("     - ", "   * - ", 1) + "\n"


def _effect(mistake: OperatorMistake) -> str:
    if mistake.code is not None:
        text = f"ends: {mistake.code}"
    else:
        text = "waits" if mistake.waits else "works"
    if mistake.daemons == EVERY:
        return text
    return f"{text} ({', '.join(mistake.daemons)})"


def _literal(text: str) -> str:
    return f"``{text}``" if text else ""
