"""Points of the plots: duration by number of resources, for each shape, phase and system."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

REFERENCE = Path(__file__).parents[1] / "data" / "reference.json"
OWN = "this service"
Points = list[tuple[int, float]]


def reference_rows() -> list[dict[str, Any]]:
    """Return the measured points of other systems."""
    rows: list[dict[str, Any]] = json.loads(REFERENCE.read_text())["rows"]
    return rows


def own_rows(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows of ``run.py`` in the form of ``reference_rows``."""
    return [
        {**row, "system": OWN, "shape": str(row["shape"]).partition(":")[0]}
        for row in rows
        if "phase" in row
    ]


def points_by_system(
    rows: Sequence[Mapping[str, Any]], shape: str, phase: str
) -> dict[str, Points]:
    """Return the points of one plot, by system; of several of one size the fastest."""
    found: dict[str, dict[int, float]] = defaultdict(dict)
    for row in rows:
        if (row["shape"], row["phase"]) == (shape, phase):
            points, size = found[row["system"]], row["resources"]
            points[size] = min(row["total_s"], points.get(size, float("inf")))
    return {system: sorted(found[system].items()) for system in sorted(found)}
