"""Other projects' clients and their own tests, installed beside this project's packages.

Each has a virtual environment of its own, since their requirements differ. A folder that
``HEAT_CONVERGENCE_TEST_CLIENTS`` names keeps them for the next run.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

CLIENTS_VARIABLE = "HEAT_CONVERGENCE_TEST_CLIENTS"
TIMEOUT_S = 3600
_NOT_INHERITED = ("OS_", "PYTHON", "VIRTUAL_ENV")
STACK_COLLECTION = "ansible_collections/openstack/cloud/"


@dataclass(frozen=True, slots=True)
class ClientSoftware:
    """A folder with a virtual environment and unpacked distributions."""

    folder: Path

    @property
    def programs(self) -> Path:
        """The folder of the environment's programs."""
        return self.folder / "venv" / "bin"

    def install(self, *requirements: str) -> ClientSoftware:
        """Create the environment with these requirements, unless it is there."""
        finished = self.folder / "installed"
        if not finished.exists():
            self.folder.mkdir(parents=True, exist_ok=True)
            _run([sys.executable, "-m", "venv", self.folder / "venv"])
            _run([self.programs / "pip", "install", "-q", *requirements])
            finished.touch()
        return self

    def unpack_source(self, requirement: str) -> Path:
        """Return the folder of a source distribution, which has the tests."""
        found = self._download("--no-binary", ":all:", requirement, suffix=".tar.gz")
        folder = self.folder / found.name.removesuffix(".tar.gz")
        if not folder.exists():
            with tarfile.open(found) as archive:
                archive.extractall(self.folder, filter="data")
        return folder

    def unpack_collection(self, requirement: str) -> Path:
        """Return the folder of Ansible's collections, with that of OpenStack's modules."""
        if not (self.folder / STACK_COLLECTION).exists():
            found = self._download("--only-binary", ":all:", requirement, suffix=".whl")
            with zipfile.ZipFile(found) as archive:
                names = [name for name in archive.namelist() if name.startswith(STACK_COLLECTION)]
                archive.extractall(self.folder, names)
        return self.folder

    def _download(self, *arguments: str, suffix: str) -> Path:
        name = arguments[-1].partition("==")[0].replace("-", "?")
        if not list(self.folder.glob(f"{name}-*{suffix}")):
            command = [self.programs / "pip", "download", "-q", "--no-deps", "-d", self.folder]
            _run([*command, *arguments])
        (found,) = self.folder.glob(f"{name}-*{suffix}")
        return found

    def run(
        self, command: Sequence[str | Path], folder: Path, environment: Mapping[str, str]
    ) -> str:
        """Run a program and return what it prints; ``AssertionError`` with it on a failure."""
        ended = subprocess.run(
            command, cwd=folder, env={**foreign_environment(), **environment}, timeout=TIMEOUT_S,
            text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
        )  # fmt: skip
        assert ended.returncode == 0, ended.stdout[-8000:]
        return ended.stdout


def foreign_environment() -> dict[str, str]:
    """Return this process's variables without those of clouds and of its own packages."""
    return {name: text for name, text in os.environ.items() if not name.startswith(_NOT_INHERITED)}


def _run(command: Sequence[str | Path]) -> None:
    subprocess.run(command, check=True, timeout=TIMEOUT_S, env=foreign_environment())
