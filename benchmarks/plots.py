#!/usr/bin/env python3
"""Plots of time against size for every shape, as PNG.

    python -m benchmarks.run --database mariadb --output benchmarks/data/sizes.json wide:100 …
    python -m benchmarks.plots benchmarks/data/sizes.json --folder docs/operate/plots

Reads results of ``run.py`` and the figures of Heat and Terraform in ``data/reference.json``. Both
axes are logarithmic: a straight line at 45 degrees is a time that is proportional to the size.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib import pyplot

from benchmarks.reports import results, series

TITLES = {
    "wide": "independent resources",
    "chain": "a chain",
    "layered": "layers, each of which reads the one before",
    "tree": "groups of resources, as nested stacks",
    "small": "stacks of ten resources at once",
}
PHASES = ("create", "no-op")
_STYLES = {
    series.OWN: {"color": "#0b6e4f", "marker": "o", "linewidth": 2},
    "Heat": {"color": "#c1121f", "marker": "s"},
    "Heat as shipped": {"color": "#c1121f", "marker": "s", "linestyle": ":", "alpha": 0.6},
    "Terraform": {"color": "#5a189a", "marker": "^"},
}
_DASHED = {"linestyle": "--", "alpha": 0.7}
_METADATA = {"Software": None}  # The same points give the same file on every machine.


def main(arguments: Sequence[str] | None = None) -> int:
    """Write one file for each shape."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("results", nargs="+", type=Path, help="files of run.py --output")
    parser.add_argument("--folder", type=Path, default=Path("docs/operate/plots"))
    options = parser.parse_args(arguments)
    rows = series.reference_rows()
    for path in options.results:
        rows += series.own_rows(results.read(path)[1])
    mpl.use("Agg")
    options.folder.mkdir(parents=True, exist_ok=True)
    for shape in TITLES:
        path = options.folder / f"{shape}.png"
        draw(rows, shape, path)
        print(path)
    return 0


def draw(rows: Sequence[Mapping[str, Any]], shape: str, path: Path) -> None:
    """Draw the phases of one shape."""
    figure, axes = pyplot.subplots(figsize=(8.4, 4.2), dpi=100, layout="constrained")
    for phase in PHASES:
        for system, points in series.points_by_system(rows, shape, phase).items():
            style = {**_STYLES.get(system, {}), **(_DASHED if phase != "create" else {})}
            label = system if phase == "create" else f"{system}, {phase} update"
            axes.plot(*zip(*points, strict=True), label=label, **style)
    axes.set(xscale="log", yscale="log", xlabel="resources", ylabel="seconds")
    axes.set_title(f"{shape}: {TITLES[shape]}", loc="left")
    axes.grid(visible=True, which="major", alpha=0.3)
    figure.legend(fontsize="small", loc="outside right upper")
    figure.savefig(path, metadata=_METADATA)
    pyplot.close(figure)


if __name__ == "__main__":
    sys.exit(main())
