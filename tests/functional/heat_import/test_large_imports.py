"""The size of an import: many stacks in flat memory, and a tree as large as an overcloud's."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from multiprocessing import get_context
from pathlib import Path

import pytest

from heat_convergence.heat_import.importer import ImportStatus
from tests.functional.harness import LocalService
from tests.functional.heat_import.copied_trees import rows_of_copies, rows_of_wide_tree
from tests.functional.heat_import.heat_source import (
    PROJECT,
    import_all,
    rows_of,
    write_heat_database,
)

MANY = int(os.environ.get("HEAT_CONVERGENCE_TEST_IMPORTED_STACKS", "200"))
FEW = MANY // 10
MEMORY_GROWTH_KIB = 10 * 1024
MEMBERS = 94  # with eight resources and four stacks each


@pytest.fixture
def service(tmp_path: Path) -> Iterator[LocalService]:
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite", custom_constraints=None)
    yield service
    service.close()


def import_in_process(url: str, folder: str) -> tuple[int, float, int]:
    """Import all; return the number of stacks, the processor seconds and the peak of memory."""
    service = LocalService(f"sqlite:///{folder}/hc.sqlite", custom_constraints=None)
    started_s = time.process_time()
    found = import_all(service, url)
    imported = sum(each.status is ImportStatus.IMPORTED for each in found.values())
    service.close()
    return imported, time.process_time() - started_s, peak_memory_kib()


def peak_memory_kib() -> int:
    """Return the peak since the start of the program; getrusage counts its parent's, too."""
    [line] = [
        each
        for each in Path("/proc/self/status").read_text().splitlines()
        if each.startswith("VmHWM:")
    ]
    return int(line.split()[1])


def test_memory_is_flat_for_many_stacks(tmp_path: Path) -> None:
    peaks = []
    for count in (FEW, MANY):
        folder = tmp_path / str(count)
        folder.mkdir()
        url = write_heat_database(folder / "heat.sqlite", rows_of_copies("base", count))
        with get_context("spawn").Pool(1) as pool:
            imported, seconds, peak = pool.apply(import_in_process, (url, str(folder)))
        print(f"{imported} stacks of 17: {seconds:.1f} s of processor time, {peak // 1024} MiB")
        assert imported == count
        peaks.append(peak)
    assert peaks[1] - peaks[0] < MEMORY_GROWTH_KIB


def test_tree_of_an_overclouds_size_is_updated_without_a_job(
    service: LocalService, tmp_path: Path
) -> None:
    rows = rows_of_wide_tree(MEMBERS)
    started_s = time.process_time()
    found = import_all(service, write_heat_database(tmp_path / "heat.sqlite", rows), "nested")
    result = found["nested"]
    print(
        f"{result.resource_count} resources in {result.stack_count} stacks:"
        f" {time.process_time() - started_s:.1f} s of processor time"
    )
    assert (result.resource_count, result.stack_count) == (8 * MEMBERS + 1, 4 * MEMBERS + 1)
    path = f"/stacks/nested/{rows_of(rows, 'stack', name='nested')[0]['id']}"
    before = service.bus.posted_job_count
    answer = service.send("PATCH", path, {}, project=PROJECT)
    assert answer.status_int == 202, answer.text
    assert service.bus.posted_job_count == before
    shown = service.send("GET", path, project=PROJECT).json["stack"]
    assert shown["stack_status"] == "UPDATE_COMPLETE"
