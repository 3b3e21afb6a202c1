"""The account of the demo's cloud finds what was created twice and what is left over."""

from __future__ import annotations

from pathlib import Path

from heat_convergence.cli.demo.cloud_account import CloudAccount
from heat_convergence.testing.file_cloud import FileCloud


def test_account_names_what_was_created_twice_and_what_no_stack_has(tmp_path: Path) -> None:
    cloud, account = FileCloud(tmp_path), CloudAccount(tmp_path)
    assert account.last_creation() == ""
    used = cloud.create("web", {"value": "1"})
    assert account.wait_for_creation("") == used
    assert account.summarize([used]).twice == ()
    again = cloud.create("web", {"value": "1"})
    assert account.last_creation() == again
    found = account.summarize([used])
    assert (found.created, found.twice, found.left_over) == (2, ("web",), (again,))
    cloud.delete(again)
    assert account.summarize([used]).twice == ("web",)
    assert account.summarize([used]).left_over == ()


def test_others_change_and_delete_past_the_service(tmp_path: Path) -> None:
    cloud, account = FileCloud(tmp_path), CloudAccount(tmp_path)
    physical_id = cloud.create("web", {"value": "1", "ready_at": 0})
    account.change(physical_id, "2")
    assert account.value_of(physical_id) == "2"
    assert cloud.read(physical_id) == {"value": "2", "ready_at": 0}
    account.delete(physical_id)
    assert account.value_of(physical_id) is None
