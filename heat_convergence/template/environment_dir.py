"""The operator's global environment: every file of a directory.

Called by the daemons at start.  Decides nothing but which files count; the one
module here that reads from disk, and must read nothing but that directory.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from heat_convergence.common.errors import Invalid
from heat_convergence.template.environment import Environment, parse_sections
from heat_convergence.template.limits import DEFAULT, Limits


def load_global(directory: str | Path, *, limits: Limits = DEFAULT) -> Environment:
    """The files merged in the order of their names; later ones win.

    A directory that does not exist is an empty environment.  Raises ``Invalid``
    naming the file that is wrong.
    """
    root = Path(directory)
    merged: dict[str, Any] = {}
    for path in sorted(root.iterdir()) if root.is_dir() else ():
        if not path.is_file() or path.name.startswith("."):
            continue
        try:
            sections = parse_sections(path.read_bytes(), limits=limits)
            _merge(merged, sections)
            Environment.parse(merged, limits=limits)
        except (Invalid, OSError) as error:
            raise Invalid(f"The global environment file {path} is wrong: {error}") from error
    return Environment.parse(merged, limits=limits)


def _merge(merged: dict[str, Any], sections: dict[str, Any]) -> None:
    for name, content in sections.items():
        if isinstance(content, list):
            merged[name] = [*merged.get(name, []), *content]
            continue
        before = merged.get(name, {})
        merged[name] = {**before, **content}
        if name == "resource_registry" and "resources" in before and "resources" in content:
            merged[name]["resources"] = {**before["resources"], **content["resources"]}
