"""The previous release, taken from the history of this repository.

It is the last commit before the first migration of the present release, as a folder that precedes
the installed package on the path of the daemons.
"""

from __future__ import annotations

import configparser
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.conftest import fail_or_skip

ROOT = Path(__file__).parents[3]
FIRST_NEW_REVISION = "0010"
LAST_OLD_REVISION = "0009"
VERSION = "0.0.9"  # in the list of services
_LAUNCHER = """
import sys

from heat_convergence.cli import main

if __name__ == "__main__":
    role = sys.argv.pop(1)
    sys.exit(getattr(main, role.replace("-", "_"))())
"""


@dataclass(frozen=True, slots=True)
class PreviousRelease:
    """The code of the release, in a folder."""

    folder: Path

    @property
    def launcher(self) -> list[str]:
        """The command that starts a daemon, without its role; with the present environment."""
        inherited = os.environ.get("PYTHONPATH")
        path = os.pathsep.join(filter(None, [str(self.folder), inherited]))
        return ["env", f"PYTHONPATH={path}", sys.executable, str(self.folder / "launch.py")]

    def manage(self, config: Path, *arguments: str) -> str:
        """Run a command of the release's ``heat-convergence-manage``, and return its output."""
        command = [*self.launcher, "manage", "--config-file", str(config), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


def check_out_previous_release(folder: Path) -> PreviousRelease:
    """Write the code of the previous release to a folder, with the metadata of a package."""
    (migration,) = (ROOT / "alembic" / "versions").glob(f"{FIRST_NEW_REVISION}_*.py")
    name = str(migration.relative_to(ROOT))
    commits = _git("log", "--format=%H", "--diff-filter=A", "--", name).split()
    if not commits:
        fail_or_skip("The history of the repository", f"no commit adds {name}")
    archive = folder.parent / "previous-release.tar"
    _git("archive", f"--output={archive}", f"{commits[-1]}^")
    folder.mkdir()
    subprocess.run(["tar", "-xf", archive, "-C", folder], check=True)
    (folder / "launch.py").write_text(_LAUNCHER)
    _write_metadata(folder)
    return PreviousRelease(folder)


def _git(*arguments: str) -> str:
    try:
        done = subprocess.run(
            ["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError) as error:
        fail_or_skip("The history of the repository", getattr(error, "stderr", "") or str(error))
        raise
    return done.stdout


def _write_metadata(folder: Path) -> None:
    """Make its entry points known in place of those of the installed package."""
    setup = configparser.ConfigParser()
    setup.read(folder / "setup.cfg")
    lines = []
    for group, entries in setup["options.entry_points"].items():
        lines += [f"[{group}]", *filter(None, map(str.strip, entries.splitlines()))]
    package = folder / f"heat_convergence-{VERSION}.dist-info"
    package.mkdir()
    (package / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: heat-convergence\nVersion: {VERSION}\n"
    )
    (package / "entry_points.txt").write_text("\n".join(lines) + "\n")
