"""Run all linters side by side, as ``tox -e lint`` does: most of them use one processor.

    python -m tools.linters

Prints what each one says when it has ended. Fails if one of them fails.
"""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

# The slowest first, so that none of them is left to the end.
COMMANDS = (
    "mypy",
    "git ls-files -z | xargs -0 detect-secrets-hook --baseline .secrets.baseline",
    "bandit -q -c pyproject.toml -r heat_convergence tools alembic setup.py",
    "lint-imports",
    "ruff check .",
    "ruff format --check .",
)


def main() -> int:
    """Return 1 if a linter has failed, else 0."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return max(pool.map(_run, COMMANDS))


def _run(command: str) -> int:
    """Run a linter, print what it says at once, and return 1 if it fails."""
    folders = (str(Path(sys.executable).parent), os.environ["PATH"])
    done = subprocess.run(  # nosec B603  # commands of this file
        ["/bin/bash", "-o", "pipefail", "-c", command],
        env={**os.environ, "PATH": os.pathsep.join(folders)},
        capture_output=True,
        text=True,
        check=False,
    )
    failed = done.returncode != 0
    print(f"{'FAILED' if failed else 'passed'}: {command}", done.stdout, done.stderr, sep="\n")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
