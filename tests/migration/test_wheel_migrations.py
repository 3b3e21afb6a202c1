"""The wheel carries its migrations and example, and upgrades a database with them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from heat_convergence.db.maintenance.schema_revisions import HEAD_REVISION

ROOT = Path(__file__).parents[2]
WITHIN_S = 240


def run(*command: str, cwd: Path, **environ: str) -> str:
    done = subprocess.run(
        command,
        cwd=cwd,
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        timeout=WITHIN_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build a wheel from a copy, so that nothing is left in the checkout."""
    where = tmp_path_factory.mktemp("wheel")
    source = where / "source"
    source.mkdir()
    for name in ("setup.cfg", "setup.py", "pyproject.toml", "README.rst", "LICENSE"):
        shutil.copy(ROOT / name, source)
    skip = shutil.ignore_patterns("__pycache__")
    for name in ("heat_convergence", "alembic", "examples"):
        shutil.copytree(ROOT / name, source / name, ignore=skip)
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", ".", cwd=source)
    (built,) = source.glob("*.whl")
    return built


def test_wheel_has_one_top_level_package(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"heat_convergence"}
    assert "heat_convergence/migrations/env.py" in names
    assert "heat_convergence/migrations/alembic.ini" in names
    assert any(name.startswith("heat_convergence/migrations/versions/0001") for name in names)
    assert "heat_convergence/examples/shop.yaml" in names


def test_installed_wheel_upgrades_database(wheel, tmp_path):
    installed = tmp_path / "installed"
    pip = (sys.executable, "-m", "pip", "install", "--quiet", "--no-deps")
    run(*pip, "--target", str(installed), str(wheel), cwd=tmp_path)
    manage = (sys.executable, "-m", "heat_convergence.cli.manage.main")
    url = f"sqlite:///{tmp_path}/fresh.sqlite"

    def db(verb: str) -> str:
        return run(
            *manage, "--connection", url, "db", verb, cwd=tmp_path, PYTHONPATH=str(installed)
        )

    where = run(
        sys.executable,
        "-c",
        "from heat_convergence.db.maintenance import schema_upgrade;"
        " print(schema_upgrade.get_scripts_directory())",
        cwd=tmp_path,
        PYTHONPATH=str(installed),
    )
    assert where.strip() == str(installed / "heat_convergence" / "migrations")
    assert f"is at {HEAD_REVISION}" in db("upgrade")
    assert db("version").strip() == HEAD_REVISION
    assert "complete" in db("check")
