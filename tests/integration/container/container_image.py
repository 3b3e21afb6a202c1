"""The image of ``deploy/container/Containerfile``, built without a container engine.

Its instructions run in a root folder of their own, whose base is this host's ``/usr`` and Python.
Dependencies are those of the tests, so that nothing but the build tool is fetched. Needs root.
"""

from __future__ import annotations

import fnmatch
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[3]
CONTAINERFILE = ROOT / "deploy" / "container" / "Containerfile"
BASE_PYTHON = Path(getattr(sys, "_base_executable", sys.executable)).resolve()
BASE_PREFIX = "/base/prefix"  # of this host's Python; services may not read home directories
BUILD_TIMEOUT_S = 240
DEPENDENCIES = "/dependencies"
_ETC = ("alternatives", "ld.so.cache", "nsswitch.conf", "pip.conf", "resolv.conf", "ssl", "hosts")
_MOUNT = r"""
set -e
mount --make-rprivate /
mount --bind "$ROOT" "$ROOT"
for name in proc dev sys; do mount --rbind /$name "$ROOT/$name"; done
mount --bind /usr "$ROOT/usr"
mount --bind "$SITE_PACKAGES" "$ROOT/dependencies"
mount --bind "$PYTHON_PREFIX" "$ROOT/base/prefix"
"""
_READ_ONLY = r"""
mount -t tmpfs tmpfs "$ROOT/tmp"
mount -o remount,bind,ro "$ROOT/usr"
mount -o remount,bind,ro "$ROOT"
"""


@dataclass(slots=True)
class Instructions:
    """The instructions of the last stage, and those of the stages before it."""

    run: list[str] = field(default_factory=list)
    environment: dict[str, str] = field(default_factory=dict)
    user: str = "0"
    command: str = ""

    @classmethod
    def read(cls) -> Instructions:
        """Return the instructions of the container file."""
        found = cls()
        text = CONTAINERFILE.read_text().replace("\\\n", " ")
        for line in text.splitlines():
            word, _, rest = line.partition(" ")
            if word == "RUN":
                found.run.append(rest)
            elif word == "ENV":
                found.environment |= dict(each.split("=", 1) for each in shlex.split(rest))
            elif word == "USER":
                found.user = rest.strip()
            elif word == "CMD":
                found.command = rest
        return found


class ContainerImage:
    """The root folder of the image.

    Args:
        folder: An empty folder, which every user may enter.
    """

    def __init__(self, folder: Path) -> None:
        self.root = folder / "root"
        self.instructions = Instructions.read()
        self._make_base()
        self._copy_source()

    def build(self) -> None:
        """Run the instructions, as root of the image."""
        for line in self.instructions.run:
            script = f'{_MOUNT}exec chroot "$ROOT" /bin/sh -c {shlex.quote(line)}'
            done = subprocess.run(
                ["unshare", "--mount", "sh", "-c", script],
                env=self.environment({"PIP_NO_DEPS": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}),
                capture_output=True,
                text=True,
                timeout=BUILD_TIMEOUT_S,
            )
            assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
        for folder in self.root.glob("opt/heat-convergence/lib/python*/site-packages"):
            (folder / "dependencies.pth").write_text(f"{DEPENDENCIES}\n")
        shutil.rmtree(self.root / "source")  # of the stage that builds

    def start(self, *command: str, output: Path) -> subprocess.Popen[bytes]:
        """Start a command as the image's user, without rights, on a read-only file system."""
        user = self.instructions.user
        inside = [
            *("setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"),
            *("--no-new-privs", "--bounding-set=-all", "--inh-caps=-all"),
            *command,
        ]
        script = f'{_MOUNT}{_READ_ONLY}exec chroot "$ROOT" '
        with output.open("wb") as file:
            return subprocess.Popen(
                ["unshare", "--mount", "sh", "-c", script + shlex.join(inside)],
                env=self.environment(self.instructions.environment),
                stdout=file,
                stderr=file,
                start_new_session=True,
            )

    def write(self, path: str, text: str) -> None:
        """Write a file that is mounted into the container, such as its configuration."""
        target = self.root / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        target.chmod(0o644)

    def _make_base(self) -> None:
        for name in (
            "base/prefix",
            "dependencies",
            "dev",
            "etc",
            "opt",
            "proc",
            "source",
            "sys",
            "tmp",
            "usr",
        ):
            (self.root / name).mkdir(parents=True)
        for name in ("bin", "lib", "lib64", "sbin"):
            (self.root / name).symlink_to(f"usr/{name}")
        (self.root / "base" / "python").symlink_to(BASE_PYTHON)  # as the base image calls it
        (self.root / "tmp").chmod(0o1777)
        for name in _ETC:
            source = Path("/etc") / name
            if source.is_dir():
                shutil.copytree(source, self.root / "etc" / name, symlinks=True)
            elif source.exists():
                shutil.copy(source, self.root / "etc" / name)
        (self.root / "etc" / "passwd").write_text("root:x:0:0:root:/root:/bin/sh\n")
        (self.root / "etc" / "group").write_text("root:x:0:\n")

    def _copy_source(self) -> None:
        """Copy what ``.dockerignore`` does not leave out."""
        lines = (ROOT / ".dockerignore").read_text().splitlines()
        kept = {line[1:] for line in lines if line.startswith("!")}
        for path in ROOT.iterdir():
            if not any(fnmatch.fnmatchcase(path.name, pattern) for pattern in kept):
                continue
            target = self.root / "source" / path.name
            if path.is_dir():
                shutil.copytree(path, target, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(path, target)

    def environment(self, values: dict[str, str]) -> dict[str, str]:
        """Return the variables of the scripts that mount the root folder, with further values."""
        pip = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
        base = f"{BASE_PREFIX}/bin:/base:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
        path = values.get("PATH", "$PATH").replace("$PATH", base)
        return {
            **pip,
            **values,
            "PATH": path,
            "ROOT": str(self.root),
            "PYTHON_PREFIX": sys.base_prefix,
            "SITE_PACKAGES": sysconfig.get_path("purelib"),
            "LD_LIBRARY_PATH": f"{BASE_PREFIX}/lib",
        }
