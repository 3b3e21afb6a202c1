"""Results of benchmarks become the points of plots and the cells of tables."""

from __future__ import annotations

import pytest

from benchmarks import figures
from benchmarks.reports import results, series
from benchmarks.reports.figure_table import FIGURES, Figure, figure_table
from benchmarks.reports.results import PhaseResult
from benchmarks.reports.tables import number, simple_table
from benchmarks.stack_shapes import tree, wide

_OTHER_SUBSETS = ("clients ", "list ", "idle ")


def phase(shape: str, total_s: float, name: str = "create", resources: int = 100) -> PhaseResult:
    return PhaseResult(
        shape=shape,
        phase=name,
        resources=resources,
        total_s=total_s,
        requests_s=0.1,
        per_second=resources / total_s,
        ms_per_link=1.0,
        statements_per_resource=2.0,
        messages_per_resource=0.08,
        processor_s={"api-1": 0.5},
        peak_memory_mb={"api-1": 150.0, "engine-1": 120.0, "engine-2": 125.0, "observer-1": 110.0},
        latency_ms={"request p99": 12.0},
    )


def test_a_file_of_results_is_read_as_it_was_written(tmp_path):
    path = tmp_path / "build" / "rows.json"
    results.write(path, results.environment(database="mariadb"), [phase("wide:100", 2.0)])
    environment, rows = results.read(path)
    assert (environment["database"], environment["processors"]) == (
        "mariadb",
        results.processors(),
    )
    assert rows[0]["shape"] == "wide:100"
    assert rows[0]["peak_memory_mb"]["engine-2"] == 125.0


def test_the_median_of_runs_is_one_of_them():
    runs = [phase("wide:100", total_s) for total_s in (3.0, 1.0, 2.0)]
    assert results.median_row(runs) is runs[2]
    assert results.median_row(runs[:2]) is runs[1]


@pytest.mark.parametrize(("share", "expected"), [(0.5, 50), (0.99, 99), (1.0, 100), (0.0, 1)])
def test_a_percentile_is_one_of_the_values(share, expected):
    assert results.percentile(range(100, 0, -1), share) == expected


def test_a_percentile_of_one_value_is_that_value():
    assert results.percentile([7.0], 0.99) == 7.0


def test_points_of_a_line_are_in_order_of_size_and_the_fastest_of_each():
    rows = series.own_rows(
        [
            {"shape": "wide:1000", "phase": "create", "resources": 1000, "total_s": 2.0},
            {"shape": "wide:1000", "phase": "create", "resources": 1000, "total_s": 1.0},
            {"shape": "wide:100", "phase": "create", "resources": 100, "total_s": 0.5},
            {"shape": "wide:100", "phase": "no-op", "resources": 100, "total_s": 0.1},
            {"shape": "chain:10", "phase": "create", "resources": 10, "total_s": 0.1},
        ]
    )
    points = series.points_by_system(rows, "wide", "create")
    assert points == {series.OWN: [(100, 0.5), (1000, 1.0)]}


def test_other_systems_have_points_for_every_shape_that_they_were_measured_with():
    rows = series.reference_rows()
    measured = {
        shape: set(series.points_by_system(rows, shape, "create"))
        for shape in ("wide", "chain", "layered", "tree", "small")
    }
    assert measured["wide"] == {"Heat", "Heat as shipped", "Terraform"}
    assert all("Heat" in systems for systems in measured.values())


def test_a_table_has_columns_as_wide_as_their_cells():
    assert simple_table(["a", "long head"], [["long cell", "b"]]) == (
        "=========  =========\n"
        "a          long head\n"
        "=========  =========\n"
        "long cell  b\n"
        "=========  =========\n"
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "–"), (1234.5, "1,234"), (0, "0"), (12.34, "12.3"), (1.234, "1.23"), (3.0, "3")],
)
def test_numbers_have_the_digits_that_mean_something(value, text):
    assert number(value) == text


def test_the_table_of_figures_shows_which_goals_are_met():
    key = "chain:200 create ms/link"
    table = figure_table([{"divisor": 1, "key": key, "value": 5.0}])
    (line,) = [line for line in table.splitlines() if line.startswith("chain of 200")]
    assert line.split("  ")[-1] == "69 ms"
    assert "5 ms" in line
    assert " yes " in line
    assert len(table.splitlines()) == len(FIGURES) + 4


def test_a_trial_with_smaller_counts_meets_no_goal():
    table = figure_table([{"divisor": 10, "key": "chain:200 create ms/link", "value": 5.0}])
    (line,) = [line for line in table.splitlines() if line.startswith("chain of 200")]
    assert "5 ms (1/10 of it)" in line
    assert " yes " not in line


def test_a_rate_has_a_minimum_and_a_time_has_a_maximum():
    assert Figure("w", "k", "", 10, "/s", is_maximum=False).is_met(11)
    assert Figure("w", "k", "", 10, "s").is_met(9)
    assert not Figure("w", "k", "", 10, "s").is_met(11)


def test_every_figure_has_a_subset_that_measures_it():
    phases = ("create", "no-op", "change-one", "read stack", "read resource", "read output")
    measured = {
        key
        for specs in figures.SUBSETS.values()
        for spec in specs
        for name in phases
        for key, _ in figures.row_values(spec, phase(spec, 1.0, name))
    }
    computed = {figure.key for figure in FIGURES if not figure.key.startswith(_OTHER_SUBSETS)}
    assert computed - measured == set()


def test_a_trial_divides_the_counts_of_a_shape():
    assert figures.divided("layered:20x25", 5) == "layered:4x5"
    assert figures.divided("tree:100x10", 50) == "tree:2x1"


def test_a_tree_counts_the_groups_of_all_levels():
    batch = tree("3x2x2", "mark")
    assert (batch.resources, batch.longest_path) == (3 + 6 + 12, 3)
    first, second = (batch.templates[0]["resources"][name] for name in ("r0", "r1"))
    assert first["properties"]["count"] == 2
    leaf = first["properties"]["resource_def"]["properties"]["resource_def"]
    assert leaf["properties"]["value"] == "mark"
    assert first != second


def test_a_wide_stack_has_an_output_of_its_first_resource():
    (template,) = wide("3", "mark").templates
    assert template["outputs"]["first"]["value"] == {"get_attr": ["r0", "output"]}
