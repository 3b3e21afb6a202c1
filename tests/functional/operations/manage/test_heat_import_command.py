"""``heat-convergence-manage import-heat`` as an operator runs it: output and exit codes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
import sqlalchemy as sa

from heat_convergence.cli.manage import main
from heat_convergence.db.connection.database import Database, database_from_url
from heat_convergence.db.maintenance import schema_upgrade
from heat_convergence.db.tables import event as event_table
from heat_convergence.db.tables import stack as stack_table
from heat_convergence.heat_import.heat_tables import TABLES
from tests.functional.harness import LocalService
from tests.functional.heat_import.heat_source import (
    HEAT_KEY,
    PROJECT,
    heat_rows,
    rows_of,
    write_heat_database,
)

DONE, INCOMPLETE, REJECTED = 0, 1, 3
ROOTS = 7
ImportHeat = Callable[..., int]


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    database = database_from_url(f"sqlite:///{tmp_path}/hc.sqlite")
    schema_upgrade.upgrade(database)
    yield database
    database.close()


@pytest.fixture
def heat_url(tmp_path: Path) -> str:
    return write_heat_database(tmp_path / "heat.sqlite")


@pytest.fixture
def heat_config(tmp_path: Path, heat_url: str) -> Path:
    """Return a configuration file of Heat, with options that the import does not read."""
    path = tmp_path / "heat.conf"
    path.write_text(
        f"[DEFAULT]\nauth_encryption_key = {HEAT_KEY}\nplugin_dirs = /usr/lib/heat\n"
        f"[database]\nconnection = {heat_url}\n"
        "[trustee]\nauth_type = password\n"
    )
    return path


@pytest.fixture
def run_import(tmp_path: Path, database: Database) -> ImportHeat:
    config = tmp_path / "hc.conf"
    config.write_text(
        f"[DEFAULT]\nauth_encryption_key = {LocalService.encryption_key}\n"
        f"[database]\nconnection = sqlite:///{tmp_path}/hc.sqlite\n"
        "[heat_api]\nauth_strategy = noauth\n"
    )
    return lambda *arguments: main.main(
        ["--config-file", str(config), "import-heat", *map(str, arguments)]
    )


def count(database: Database, table: sa.Table) -> int:
    with database.read() as conn:
        return int(conn.scalar(sa.select(sa.func.count()).select_from(table)) or 0)


def stack_id(name: str) -> str:
    [row] = rows_of(heat_rows(), "stack", name=name)
    return str(row["id"])


def start_engine(heat_url: str) -> None:
    """Let an engine of Heat report now."""
    engine, service = sa.create_engine(heat_url), TABLES["service"]
    with engine.begin() as conn:
        now = datetime.now(UTC).replace(tzinfo=None)
        conn.execute(service.update().values(updated_at=now, deleted_at=None))
    engine.dispose()


def test_progress_and_result_are_printed_and_a_second_run_finds_all(
    run_import: ImportHeat,
    database: Database,
    heat_config: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run_import("--heat-config", heat_config) == DONE
    lines = capsys.readouterr().out.splitlines()
    numbered = [line for line in lines if f"/{ROOTS} " in line]
    assert [line.split()[0] for line in numbered] == [f"{n + 1}/{ROOTS}" for n in range(ROOTS)]
    assert f" imported: base ({stack_id('base')}), project {PROJECT}: 1 stacks, 17" in numbered[-1]
    assert any(line.startswith("  note: stack wait was CREATE_IN_PROGRESS") for line in lines)
    assert lines[-1] == "7 stacks with 40 resources imported, 0 imported before, 0 refused."
    before = count(database, stack_table)

    assert run_import("--heat-config", heat_config) == DONE
    assert "0 stacks with 0 resources imported, 7 imported before" in capsys.readouterr().out
    assert count(database, stack_table) == before


def test_dry_run_meets_what_an_import_meets_and_writes_nothing(
    run_import: ImportHeat,
    database: Database,
    heat_config: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run_import("--heat-config", heat_config, "--dry-run") == DONE
    assert "7 stacks with 40 resources can be imported" in capsys.readouterr().out
    assert count(database, stack_table) == 0
    assert run_import("--heat-config", heat_config, "--stack", "failed") == DONE
    engine = sa.create_engine(f"sqlite:///{heat_config.parent}/heat.sqlite")
    with engine.begin() as conn:  # another stack of Heat has its name
        new = TABLES["stack"].update().where(TABLES["stack"].c.name == "snap")
        conn.execute(new.values(name="failed"))
    engine.dispose()
    capsys.readouterr()
    assert run_import("--heat-config", heat_config, "--dry-run") == INCOMPLETE
    assert "a stack of the project has the name\n  remedy: " in capsys.readouterr().out


def test_stacks_are_selected_by_project_name_and_id(
    run_import: ImportHeat,
    database: Database,
    heat_config: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    source = ("--heat-config", heat_config)
    assert run_import(*source, "--project", "other") == DONE
    assert "0 stacks with 0 resources imported" in capsys.readouterr().out
    chosen = ("--stack", stack_id("failed"), "--stack", "snap", "--project", PROJECT)
    assert run_import(*source, *chosen) == DONE
    assert "2 stacks with " in capsys.readouterr().out
    assert run_import(*source, "--stack", "base", "--stack", "typo") == REJECTED
    assert "Heat has no stack typo" in capsys.readouterr().err
    assert count(database, stack_table) == 2


@pytest.mark.parametrize("limit", [0, 3])
def test_number_of_events_is_chosen(
    run_import: ImportHeat, database: Database, heat_config: Path, limit: int
) -> None:
    chosen = ("--stack", "failed", "--events", limit)
    assert run_import("--heat-config", heat_config, *chosen) == DONE
    assert count(database, event_table) == limit


def test_live_engine_stops_the_command_and_work_in_progress_is_refused(
    run_import: ImportHeat,
    database: Database,
    heat_config: Path,
    heat_url: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    start_engine(heat_url)
    assert run_import("--heat-config", heat_config) == REJECTED
    printed = capsys.readouterr().out
    assert "An engine of Heat is alive on vm" in printed
    assert "Stop heat-api, heat-api-cfn and heat-engine on every host" in printed
    assert count(database, stack_table) == 0

    assert run_import("--heat-config", heat_config, "--despite-live-engines") == INCOMPLETE
    printed = capsys.readouterr().out
    assert "stack wait is CREATE_IN_PROGRESS\n  remedy: wait until the action ends" in printed
    assert "6 stacks" in printed
    assert "1 refused" in printed


def test_url_of_devstack_is_read_without_its_plugin(
    run_import: ImportHeat, database: Database, heat_url: str
) -> None:
    source = ("--database", f"{heat_url}?plugin=dbcounter", "--encryption-key", HEAT_KEY)
    assert run_import(*source, "--dry-run") == DONE


def test_wrong_key_refuses_what_is_encrypted_and_is_not_printed(
    run_import: ImportHeat,
    database: Database,
    heat_url: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    wrong = "another key of 32 characters...."
    assert run_import("--database", heat_url, "--encryption-key", wrong) == INCOMPLETE
    printed = capsys.readouterr()
    assert "the key is another one\n  remedy: check the encryption key" in printed.out
    assert wrong not in printed.out + printed.err
    assert count(database, stack_table) == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "Heat's database and its auth_encryption_key are required"),
        (("--database", "{url}"), "auth_encryption_key are required"),
        (("--database", "{url}", "--encryption-key", "short"), "has 16, 24 or 32"),
        (("--database", "no url", "--encryption-key", HEAT_KEY), "URL of Heat's database"),
        (("--database", "sqlite://", "--encryption-key", HEAT_KEY), "no revision of alembic"),
        (("--database", "sqlite:////none/x", "--encryption-key", HEAT_KEY), "Heat's database"),
        (("--heat-config", "{folder}/none.conf"), "none.conf"),
        (("--heat-config", "{folder}/heat.sqlite"), "heat.sqlite"),
        (("--heat-config", "{folder}"), "cannot be read"),
    ],
)
def test_unusable_source_is_named_in_one_line(
    run_import: ImportHeat,
    heat_url: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    message: str,
) -> None:
    filled = [each.format(url=heat_url, folder=tmp_path) for each in arguments]
    assert run_import(*filled) == REJECTED
    printed = capsys.readouterr().err
    assert message in printed
    assert len(printed.splitlines()) == 1
