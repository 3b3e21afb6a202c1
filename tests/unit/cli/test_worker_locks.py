"""Locks by which the workers of a host notice that one of them has ended."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from heat_convergence.cli.daemons.worker_locks import EndedWorker, WorkerLocks, locks_folder

ENGINE, OBSERVER = "heat-convergence-engine", "heat-convergence-observer"
OTHER_PROCESS = """
import sys, time
from pathlib import Path
from heat_convergence.cli.daemons.worker_locks import WorkerLocks
locks = WorkerLocks(Path(sys.argv[1]), "heat-convergence-engine", "other")
locks.acquire()
for text in sys.argv[2:]:
    locks.write(text)
print("locked", flush=True)
time.sleep(60)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "locks"


def start_other(folder: Path, *texts: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", OTHER_PROCESS, str(folder), *texts]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "locked\n"
    return process


def acquired(folder: Path, binary: str = ENGINE, worker_id: str = "own") -> WorkerLocks:
    locks = WorkerLocks(folder, binary, worker_id)
    locks.acquire()
    return locks


def ended(locks: WorkerLocks, *binaries: str) -> dict[str, str]:
    with locks.ended_workers(binaries or (ENGINE, OBSERVER)) as found:
        return {worker_id: each.binary for worker_id, each in found.items()}


@pytest.mark.processes
def test_killed_process_is_noticed_once(folder: Path) -> None:
    locks = acquired(folder)
    other = start_other(folder)
    assert ended(locks) == {}
    other.kill()
    other.wait()
    assert ended(locks) == {"other": ENGINE}
    assert ended(locks) == {}


@pytest.mark.processes
def test_worker_that_ended_while_none_ran_is_noticed_later(folder: Path) -> None:
    other = start_other(folder)
    other.kill()
    other.wait()
    assert ended(acquired(folder)) == {"other": ENGINE}


@pytest.mark.processes
def test_end_is_noticed_again_when_the_takeover_failed(folder: Path) -> None:
    locks = acquired(folder)
    other = start_other(folder)
    other.kill()
    other.wait()
    with pytest.raises(ValueError, match="no database"), locks.ended_workers((ENGINE,)):
        raise ValueError("no database")
    assert ended(locks) == {"other": ENGINE}


@pytest.mark.processes
def test_two_workers_do_not_take_over_from_the_same_one(folder: Path) -> None:
    one, two = acquired(folder), acquired(folder, worker_id="two")
    other = start_other(folder)
    other.kill()
    other.wait()
    with one.ended_workers((ENGINE,)) as found:
        assert found == {"other": EndedWorker(ENGINE, "")}
        assert ended(two) == {}


@pytest.mark.processes
def test_only_workers_of_the_watched_daemons_are_noticed(folder: Path) -> None:
    other = start_other(folder)
    other.kill()
    other.wait()
    assert ended(acquired(folder), OBSERVER) == {}


def test_stopped_worker_leaves_no_file(folder: Path) -> None:
    acquired(folder).release()
    assert not folder.exists()


def test_folder_of_others_is_not_used(folder: Path) -> None:
    folder.mkdir(mode=0o777)
    folder.chmod(0o777)
    assert ended(acquired(folder)) == {}
    assert list(folder.iterdir()) == []


def test_folder_depends_on_the_database_and_not_on_its_password() -> None:
    one, two, three = (
        locks_folder("/locks", f"mysql+pymysql://heat:{password}@host/{name}")
        for password, name in (("a", "heat"), ("b", "heat"), ("a", "other"))
    )
    assert one == two != three


@pytest.mark.processes
def test_text_of_a_killed_process_is_read(folder: Path) -> None:
    locks = acquired(folder)
    other = start_other(folder, "a longer text", "short")
    other.kill()
    other.wait()
    with locks.ended_workers((ENGINE,)) as found:
        assert found == {"other": EndedWorker(ENGINE, "short")}
