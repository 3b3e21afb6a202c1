"""Every scenario shows what its file has on record, and breaks no rule.

``pytest tests/scenarios --rewrite`` records them anew; the difference is reviewed.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from heat_convergence.testing.simulation.scenarios import transcript

SCENARIO_DIRECTORY = Path(__file__).parent
SCENARIO_FILES = sorted(
    path.relative_to(SCENARIO_DIRECTORY) for path in SCENARIO_DIRECTORY.rglob("*.txt")
)


@pytest.mark.parametrize("name", SCENARIO_FILES, ids=str)
def test_scenario(name: Path, request: pytest.FixtureRequest) -> None:
    path = SCENARIO_DIRECTORY / name
    recorded = path.read_text()
    shown = transcript.record_scenario(recorded)
    if request.config.getoption("--rewrite", default=False):
        path.write_text(shown)
    assert not transcript.shows_violation(shown), shown
    assert shown == path.read_text()
