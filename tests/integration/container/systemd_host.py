"""A host for systemd: root folder, processes and control groups are its own.

systemd leaves the real root folder with ``pivot_root`` before it starts, finds no unit but a few
empty targets, and has no capability that reaches beyond its namespaces. Only the network is
shared, for database and broker. Needs root.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import uuid
from pathlib import Path

from heat_convergence.testing.daemon_processes import wait_until
from tests.integration.container.container_image import BASE_PREFIX, ContainerImage

SYSTEMD = Path("/usr/lib/systemd/systemd")
PROGRAMS = ("unshare", "nsenter", "pivot_root", "setpriv", "mknod", "systemd-sysusers")
_MARK = "root-of-systemd-in-tests"
_COMMAND_TIMEOUT_S = 180
_UNSHARE = ("unshare", "--mount", "--pid", "--fork", "--kill-child", "--ipc", "--uts", "--cgroup")
_START = f"""
set -eu
echo $$ > "$GROUP/cgroup.procs"
exec {" ".join(_UNSHARE)} sh -c "$INSIDE"
"""
_INSIDE = r"""
set -eu
read_only() { mount --bind "$1" "$2"; mount -o remount,bind,ro "$2"; }
empty() { mount -t tmpfs -o mode="$1" tmpfs "$ROOT/$2"; }

mount --make-rprivate /
mount --bind "$ROOT" "$ROOT"
read_only /usr "$ROOT/usr"
read_only "$SITE_PACKAGES" "$ROOT/dependencies"
read_only "$PYTHON_PREFIX" "$ROOT/base/prefix"

# Without their units and lists, systemd can start nothing and clean nothing of its own.
for name in sysusers.d tmpfiles.d systemd/system systemd/system-generators; do
    empty 755 "usr/lib/$name"
done
for name in basic multi-user network-online network shutdown sysinit umount; do
    cp "/usr/lib/systemd/system/$name.target" "$ROOT/usr/lib/systemd/system/"
done

empty 1777 tmp
empty 755 run
empty 755 dev
mkdir "$ROOT/dev/shm"
empty 1777 dev/shm
mknod -m 666 "$ROOT/dev/null" c 1 3
mknod -m 666 "$ROOT/dev/zero" c 1 5
mknod -m 666 "$ROOT/dev/full" c 1 7
mknod -m 666 "$ROOT/dev/random" c 1 8
mknod -m 666 "$ROOT/dev/urandom" c 1 9
mknod -m 666 "$ROOT/dev/tty" c 5 0
ln -s pts/ptmx "$ROOT/dev/ptmx"
mount -t proc proc "$ROOT/proc"
read_only "$ROOT/proc/sys" "$ROOT/proc/sys"
if [ -e "$ROOT/proc/sysrq-trigger" ]; then
    mount --bind "$ROOT/dev/null" "$ROOT/proc/sysrq-trigger"
fi
mount -t sysfs -o ro sysfs "$ROOT/sys"
mount -t cgroup2 cgroup2 "$ROOT/sys/fs/cgroup"

cd "$ROOT"
mkdir old
pivot_root . old
cd /
umount -l /old
rmdir /old
exec env -i container=tests PATH=/usr/bin:/usr/sbin setpriv \
    --bounding-set=-sys_boot,-sys_module,-sys_rawio,-sys_time,-syslog,-wake_alarm \
    /usr/lib/systemd/systemd --system --unit=multi-user.target
"""


def find_missing() -> str:
    """Return why systemd cannot be started here; empty if it can."""
    if os.geteuid() != 0:
        return "only root can make a root folder"
    names = [name for name in PROGRAMS if shutil.which(name) is None]
    names += [] if SYSTEMD.exists() else ["systemd"]
    if names:
        return f"{', '.join(names)} not installed"
    if _control_groups() is None:
        return "no control groups of version 2 that can be written to"
    done = subprocess.run([*_UNSHARE, "true"], capture_output=True, text=True)
    return done.stderr.strip()


def _control_groups() -> Path | None:
    """Return where control groups of version 2 are mounted."""
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, folder, file_system, options, *_ = line.split()
        if file_system == "cgroup2" and "rw" in options.split(","):
            return Path(folder)
    return None


class SystemdHost:
    """systemd in the root folder of an image that has been built.

    Args:
        image: Its root folder is changed.
    """

    def __init__(self, image: ContainerImage) -> None:
        self._image = image
        groups = _control_groups()
        assert groups is not None
        self._group = groups / f"hc-tests-{uuid.uuid4().hex[:12]}"
        self._process: subprocess.Popen[bytes] | None = None
        self._prepare()

    def start(self, output: Path) -> None:
        """Start systemd, and wait until it takes commands."""
        self._group.mkdir()
        environment = self._image.environment({"GROUP": str(self._group), "INSIDE": _INSIDE})
        with output.open("wb") as file:
            self._process = subprocess.Popen(
                ["sh", "-c", _START], env=environment, stdout=file, stderr=file
            )

        def answers() -> bool:
            assert self._process is not None
            assert self._process.poll() is None, output.read_text()
            return bool(self._init() and self.run("systemctl is-active multi-user.target")[0] == 0)

        wait_until(answers, "systemd takes commands", timeout_s=60)

    def run(self, command: str) -> tuple[int, str]:
        """Run a command on the host as its root; return exit code and output."""
        inside = f"test -e /{_MARK} || exit 99; cd /source; {command}"
        done = subprocess.run(
            [
                *("nsenter", f"--target={self._init()}"),
                *("--mount", "--pid", "--ipc", "--uts", "--cgroup"),
                *("env", "-i", "PATH=/opt/heat-convergence/bin:/usr/bin:/usr/sbin"),
                *(f"LD_LIBRARY_PATH={BASE_PREFIX}/lib", "sh", "-c", inside),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=_COMMAND_TIMEOUT_S,
        )
        return done.returncode, done.stdout.strip()

    def stop(self) -> None:
        """End all processes of the host."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        wait_until(self._remove_groups, "the processes of the host end", timeout_s=30)

    def _prepare(self) -> None:
        root = self._image.root
        for name in ("etc/systemd/system", "run", "root", "source", "var/log", "var/tmp"):
            (root / name).mkdir(parents=True, exist_ok=True)
        (root / _MARK).touch()
        (root / "etc" / "machine-id").write_text(f"{uuid.uuid4().hex}\n")
        self._image.write(
            "/etc/systemd/system.conf",
            f"[Manager]\nDefaultEnvironment=LD_LIBRARY_PATH={BASE_PREFIX}/lib\n",
        )

    def _init(self) -> int:
        """Return the process of systemd; 0 as long as there is none."""
        assert self._process is not None
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children")
        with contextlib.suppress(OSError):
            return next(map(int, children.read_text().split()), 0)
        return 0

    def _remove_groups(self) -> bool:
        if not self._group.exists():
            return True
        folders = [path for path in self._group.rglob("*") if path.is_dir()]
        with contextlib.suppress(OSError):
            for folder in [*reversed(folders), self._group]:
                folder.rmdir()
        return not self._group.exists()
