"""The import from and into each supported database: one snapshot, in which nothing is written."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import sqlalchemy as sa
from sqlalchemy.engine import make_url

from heat_convergence.heat_import.heat_database import (
    HeatDatabase,
    HeatDatabaseRefused,
    list_roots,
)
from heat_convergence.heat_import.heat_tables import TABLES
from heat_convergence.heat_import.importer import ImportStatus
from tests.conftest import fresh_database
from tests.functional.harness import LocalService
from tests.functional.heat_import.heat_source import (
    PROJECT,
    fill_heat_database,
    heat_rows,
    import_all,
    rows_of,
)


@pytest.fixture(scope="module")
def heat_url(any_database_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Yield a database of Heat on the same server."""
    url = make_url(any_database_url)
    if url.get_backend_name() == "sqlite":
        found = f"sqlite:///{tmp_path_factory.mktemp('heat')}/heat.sqlite"
        fill_heat_database(found)
        yield found
        return
    server = url.set(database="postgres" if "postgresql" in url.drivername else "")
    for found in fresh_database(server.render_as_string(hide_password=False), "server"):
        fill_heat_database(found)
        yield found


def test_stacks_are_imported_and_updated_without_a_job(
    any_database_url: str, heat_url: str
) -> None:
    service = LocalService(any_database_url, custom_constraints=None)
    dry = import_all(service, heat_url, dry_run=True)
    assert {each.status for each in dry.values()} == {ImportStatus.IMPORTED}
    found = import_all(service, heat_url)
    assert {each.status for each in found.values()} == {ImportStatus.IMPORTED}
    again = import_all(service, heat_url)
    assert {each.status for each in again.values()} == {ImportStatus.PRESENT}
    [row] = rows_of(heat_rows(), "stack", name="nested")
    path = f"/stacks/nested/{row['id']}"
    before = service.bus.posted_job_count
    assert service.send("PATCH", path, {}, project=PROJECT).status_int == 202
    assert service.bus.posted_job_count == before
    shown = service.send("GET", path, project=PROJECT).json["stack"]
    assert shown["stack_status"] == "UPDATE_COMPLETE"
    assert shown["outputs"][0]["output_value"] == ["hello", "hello"]
    service.close()


def test_snapshot_shows_nothing_of_later_changes_and_refuses_to_write(heat_url: str) -> None:
    heat, writer = HeatDatabase(heat_url), sa.create_engine(heat_url)
    stack = TABLES["stack"]
    with heat.snapshot() as conn:
        before = [row.name for row in list_roots(conn, [], [])]
        if writer.dialect.name != "sqlite":  # it has one writer, and no reader beside it
            with writer.begin() as other:
                other.execute(stack.update().values(name="renamed"))
        assert [row.name for row in list_roots(conn, [], [])] == before
    with pytest.raises(HeatDatabaseRefused), heat.snapshot() as conn:
        conn.execute(stack.update().values(name="written"))
    with heat.snapshot() as conn:
        assert "written" not in {row.name for row in list_roots(conn, [], [])}
    heat.close()
    writer.dispose()
