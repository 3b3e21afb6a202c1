"""What setup.cfg cannot say: packages that stand elsewhere than their name.

``alembic/`` and ``examples/`` are at the top of the repository; installed at the
top, ``alembic`` would shadow the library.  The wheel carries them inside the package.
"""

from setuptools import find_packages, setup

MOVED = {
    "heat_convergence.migrations": "alembic",
    "heat_convergence.migrations.versions": "alembic/versions",
    "heat_convergence.examples": "examples",
}

setup(
    packages=[*find_packages(include=["heat_convergence", "heat_convergence.*"]), *MOVED],
    package_dir=MOVED,
)
