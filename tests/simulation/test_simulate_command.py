"""``heat-convergence simulate``: its output, files and exit codes."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from heat_convergence.cli import simulate
from heat_convergence.observer.drift_repairs import DriftRepairs
from heat_convergence.observer.sweep import Sweep

SCENARIO_TEXT = "create red\n  a: Resource\nsettle\n"


@pytest.fixture
def seed_without_sweep(monkeypatch: pytest.MonkeyPatch) -> int:
    """Return a seed that violates a rule because the sweep is removed."""
    monkeypatch.setattr(Sweep, "run", lambda self, now: None)
    return 3


def test_prints_the_counts_of_several_seeds(capsys) -> None:
    assert simulate.main(["--seed", "1-3", "--steps", "100"]) == simulate.EXIT_OK
    output = capsys.readouterr().out
    assert "3 seeds on the memory store: 0 violated an invariant" in output
    assert "user create" in output


def test_seeds_on_two_processes_and_sqlite(capsys) -> None:
    arguments = ["--seed", "1-2", "--steps", "20", "--store", "sqlite", "--processes", "2"]
    assert simulate.main(arguments) == simulate.EXIT_OK
    assert "2 seeds on the sqlite store" in capsys.readouterr().out


def test_the_same_seed_repeats_the_same_history(capsys) -> None:
    simulate.main(["--seed", "5"])
    once = capsys.readouterr().out
    simulate.main(["--seed", "5"])
    assert capsys.readouterr().out == once


def test_a_violation_is_printed_with_its_command_and_kept_in_a_file(
    seed_without_sweep, capsys, tmp_path
) -> None:
    kept = tmp_path / "found"
    assert (
        simulate.main(["--seed", str(seed_without_sweep), "--keep", str(kept)])
        == simulate.EXIT_INVARIANT_VIOLATED
    )
    output = capsys.readouterr().out
    assert "replay: heat-convergence simulate --seed" in output
    (path,) = kept.iterdir()
    assert path.read_text().startswith("# Found by: heat-convergence simulate --seed")
    assert simulate.main(["--replay", str(path)]) == simulate.EXIT_INVARIANT_VIOLATED
    assert "| VIOLATED rule" in capsys.readouterr().out


def test_seeds_of_drift(capsys) -> None:
    arguments = ["--seed", "1-2", "--templates", "drift"]
    assert simulate.main(arguments) == simulate.EXIT_OK
    output = capsys.readouterr().out
    assert "2 seeds on the memory store: 0 violated an invariant" in output
    assert "automatic repair" in output


@pytest.mark.parametrize("keeps", [False, True])
def test_history_of_drift_that_violates_a_rule_is_shown(
    keeps, monkeypatch, capsys, tmp_path
) -> None:
    monkeypatch.setattr(DriftRepairs, "end_due", lambda *_args: None)
    arguments = ["--seed", "1-3", "--templates", "drift"]
    arguments += ["--keep", str(tmp_path)] if keeps else []
    assert simulate.main(arguments) == simulate.EXIT_INVARIANT_VIOLATED
    output = capsys.readouterr().out
    kept = "".join(path.read_text() for path in tmp_path.iterdir())
    assert "violates rule 15: no end of the repair" in output
    assert "# Found by: heat-convergence simulate --seed" in (kept if keeps else output)
    assert " --templates drift\n" in output
    assert "user: create red" in (kept if keeps else output)


def test_a_scenario_is_replayed(tmp_path: Path, capsys) -> None:
    path = tmp_path / "scenario.txt"
    path.write_text(SCENARIO_TEXT)
    assert simulate.main(["--replay", str(path)]) == simulate.EXIT_OK
    assert "| red: CREATE_COMPLETE" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("dance\n", "line 1: no such command: dance"),
        ("  a: Resource\n", "line 1: no command before this"),
        ("environment colour=blue\n", "line 1: no such setting: colour=blue"),
        ("create red\n  a: Dragon\n", "no such type: a: Dragon"),
        ("fail create a boredom\n", "no such fault: boredom at call"),
    ],
)
def test_a_scenario_that_cannot_be_read(text, complaint, tmp_path, capsys) -> None:
    path = tmp_path / "scenario.txt"
    path.write_text(text)
    assert simulate.main(["--replay", str(path)]) == simulate.EXIT_USAGE
    assert complaint in capsys.readouterr().err


@pytest.mark.parametrize("seed", ["0", "x", "3-1", "1-x", ""])
def test_no_seeds(seed: str, capsys) -> None:
    with pytest.raises(SystemExit) as ended:
        simulate.main(["--seed", seed])
    assert ended.value.code == simulate.EXIT_USAGE
    assert "argument --seed" in capsys.readouterr().err


COMMAND = ("-m", "heat_convergence.cli.main", "simulate", "--seed", "1", "--steps", "8")


def test_it_is_a_command() -> None:
    done = subprocess.run([sys.executable, *COMMAND], capture_output=True, text=True, check=True)
    assert "1 seeds on the memory store" in done.stdout


def test_it_ends_silently_with_the_reader_of_its_output() -> None:
    with subprocess.Popen(
        [sys.executable, *COMMAND], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as started:
        assert started.stdout is not None
        started.stdout.close()
        assert started.stderr is not None
        assert started.stderr.read() == b""
    assert started.returncode == -signal.SIGPIPE
