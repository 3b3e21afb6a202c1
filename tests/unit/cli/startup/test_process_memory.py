"""Worker processes collect little garbage, and give large blocks of memory back."""

from __future__ import annotations

import platform
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from heat_convergence.cli.daemons import daemon_service
from heat_convergence.cli.daemons.daemon_service import DaemonService
from heat_convergence.cli.startup.startup_state import StartupState
from heat_convergence.cli.watchdog import Watchdog

PROGRAM = """
import gc
import weakref
from heat_convergence.cli.startup.process_memory import settle_memory
before = gc.get_threshold()
settle_memory()
loaded, kept = gc.get_freeze_count(), [{} for _ in range(1_000)]
gc.collect()
assert gc.get_freeze_count() == loaded > 1_000
assert gc.get_threshold() == (5_000, *before[1:])
class Node: pass
node = Node()
node.itself, found = node, weakref.ref(node)
del node
gc.collect()
assert found() is None
"""

BLOCKS_PROGRAM = """
from pathlib import Path
from heat_convergence.cli.startup.process_memory import settle_memory

MEGABYTE = 1024 * 1024

def resident_mb():
    fields = Path("/proc/self/statm").read_text().split()
    return int(fields[1]) * 4096 / MEGABYTE

settle_memory()
before, kept = resident_mb(), []
for size in reversed(range(8, 24)):
    text = bytearray(b"x") * (size * MEGABYTE)
    kept.append(bytearray(b"y") * 2_000)
    del text
print(resident_mb() - before)
"""

LOADING_PROGRAM = """
import gc
from types import SimpleNamespace
from heat_convergence.cli import main
collecting = []

def run_engine(arguments):
    collecting.append(gc.isenabled())
    return len(arguments)

def load(name):
    collecting.append(gc.isenabled())
    return SimpleNamespace(run_engine=run_engine)

main.import_module = load
main.concurrency.set_up_backend = lambda backend: collecting.append(gc.isenabled())
main.concurrency.configured_backend = lambda arguments, prog: "threading"
assert main._daemon("heat-convergence-engine", "daemons.none", "run_engine", ["a"]) == 1
assert collecting == [False, False, True], collecting
assert gc.get_freeze_count() > 1_000
"""


def test_daemon_loads_its_modules_without_collections() -> None:
    subprocess.run([sys.executable, "-c", LOADING_PROGRAM], check=True, timeout=60)


def test_loaded_objects_are_left_out_and_garbage_is_found() -> None:
    subprocess.run([sys.executable, "-c", PROGRAM], check=True, timeout=60)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the C library is not glibc")
def test_large_blocks_return_to_the_system() -> None:
    done = subprocess.run(
        [sys.executable, "-c", BLOCKS_PROGRAM],
        check=True, timeout=60, capture_output=True, text=True,
    )  # fmt: skip
    assert float(done.stdout) < 3


def test_worker_settles_the_collector_once_it_has_started(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: list[str] = []

    def recorded(name: str) -> Any:
        return lambda *_arguments: calls.append(name)

    monkeypatch.setattr(daemon_service.config, "configure_logging", recorded("logging"))
    monkeypatch.setattr(daemon_service, "start_tracing", recorded("tracing"))
    monkeypatch.setattr(
        daemon_service, "assemble_components", lambda *_conf, **_options: "components"
    )
    monkeypatch.setattr(daemon_service, "settle_memory", recorded("settled"))
    worker = SimpleNamespace(start=recorded("started"))
    metrics: Any = SimpleNamespace(serve=recorded("metrics"))
    conf: Any = SimpleNamespace(log_options=False)
    service = DaemonService(
        conf, lambda _components: worker, StartupState(), metrics=metrics, watchdog=Watchdog()
    )
    service.start()
    assert calls == ["logging", "tracing", "started", "metrics", "settled"]
