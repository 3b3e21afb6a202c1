"""``heat-convergence try`` on the templates of a clone of openstack/heat-templates.

    python -m tools.tried_templates CHECKOUT [--only PART] [--rst FILE]

Each is created, updated and deleted by the command, as users call it, with sample values for
parameters that have no default.  The update changes what can be changed in place and adds a
resource.  Prints a line per template; ``--rst FILE`` writes
``docs/reference/tried-templates.rst``.
"""

from __future__ import annotations

import argparse
import io
import json
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from heat_convergence.cli.offline import main as try_command
from tools.public_templates import PublicTemplates, sample_objects, sample_parameters

Json = Any
ADDED_NAME = "tried_update"
# By type what an update changes in place.
_CHANGES: Mapping[str, Mapping[str, Json]] = {
    "OS::Nova::Server": {"metadata": {"tried": "yes"}},
    "OS::Cinder::Volume": {"metadata": {"tried": "yes"}},
    "OS::Neutron::Net": {"tags": ["tried"]},
    "OS::Neutron::Subnet": {"tags": ["tried"]},
    "OS::Neutron::Port": {"tags": ["tried"]},
    "OS::Neutron::Router": {"tags": ["tried"]},
    "OS::Neutron::SecurityGroup": {"description": "tried"},
    "OS::Keystone::Project": {"description": "tried"},
    "OS::Keystone::Group": {"description": "tried"},
    "OS::Keystone::User": {"description": "tried"},
    "OS::Keystone::Service": {"description": "tried"},
    "OS::Keystone::Region": {"description": "tried"},
}
_UNCOPIED = shutil.ignore_patterns(".git")
_STEPS = ("CREATE_COMPLETE", "UPDATE_COMPLETE", "DELETE_COMPLETE")
_PAGE = """\
================
Tried templates
================

``python -m tools.tried_templates CHECKOUT --rst docs/reference/tried-templates.rst`` runs
``heat-convergence try`` on the templates of a clone of ``openstack/heat-templates``: each is
created, updated (what can be changed in place is changed, and a resource is added) and deleted in
the emulated cloud. Of {total} templates these {passed} came to ``CREATE_COMPLETE``,
``UPDATE_COMPLETE`` and ``DELETE_COMPLETE``; why others do not is in :doc:`public-templates`.

.. list-table::
   :header-rows: 1
   :widths: 60 13 13 14

   * - template
     - resources
     - updated
     - requests
{rows}"""


@dataclass(frozen=True, slots=True)
class PreparedTrial:
    """A template with its update, as files, and the values that it needs.

    Attributes:
        update: the changed template, beside the first.
    """

    name: str
    template: Path
    update: Path
    environments: Sequence[Path]
    parameters: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class TrialResult:
    """The steps of one trial; none where the command has refused its arguments.

    Attributes:
        problem: why it is no success; empty if it is one.
    """

    name: str
    steps: Sequence[Json]
    problem: str


def changed_template(template: Json) -> Json:
    """Return a template whose resources differ in what can be changed in place."""
    section = "resources" if "resources" in template else "Resources"
    type_key, properties_key = (
        ("type", "properties") if section == "resources" else ("Type", "Properties")
    )
    changed = {
        name: {**each, properties_key: _changed_properties(each, type_key, properties_key)}
        for name, each in (template.get(section) or {}).items()
    }
    added = {type_key: "OS::Heat::RandomString", properties_key: {"length": 8}}
    return {**template, section: {**changed, ADDED_NAME: added}}


def _changed_properties(resource: Json, type_key: str, properties_key: str) -> Json:
    properties = resource.get(properties_key) or {}
    change = _CHANGES.get(resource[type_key], {})
    known = {key: each for key, each in change.items() if key not in properties}
    return {**properties, **known}


def prepare_trials(checkout: Path, folder: Path, part: str = "") -> Iterator[PreparedTrial]:
    """Copy a clone to a folder, and yield its templates with their updates beside them."""
    copy = folder / checkout.name
    shutil.copytree(checkout, copy, symlinks=True, ignore=_UNCOPIED)
    agents = checkout.parent / "heat-agents"
    if agents.is_dir():
        shutil.copytree(agents, folder / agents.name, symlinks=True, ignore=_UNCOPIED)
    for path in PublicTemplates(copy).paths():
        name = str(path.relative_to(copy))
        if part not in name:
            continue
        template = yaml.load(path.read_text(), Loader=yaml.CSafeLoader)
        update = path.with_name(f"{path.stem}-tried{path.suffix}")
        update.write_text(json.dumps(changed_template(template), default=str))
        parameters, environments = sample_parameters(copy, path, template)
        yield PreparedTrial(name, path, update, environments, parameters)


def run_trial(trial: PreparedTrial) -> TrialResult:
    """Run the command on a template."""
    arguments = [str(trial.template), "--update", str(trial.update), "--format", "json"]
    for environment in trial.environments:
        arguments += ["-e", str(environment)]
    for name, value in trial.parameters.items():
        text = value if isinstance(value, str) else json.dumps(value, default=str)
        arguments += ["-P", f"{name}={text}"]
    for each in sample_objects():
        arguments += ["--have", each]
    output, errors = io.StringIO(), io.StringIO()
    try:
        with redirect_stdout(output), redirect_stderr(errors):
            try_command.main(arguments)
    except SystemExit:
        return TrialResult(trial.name, (), errors.getvalue().strip().rpartition("\n")[2])
    steps = json.loads(output.getvalue())["steps"]
    found = tuple(step["status"] for step in steps)
    failed = next((step for step in steps if step["failed"]), steps[-1])
    problem = "" if found == _STEPS else f"{failed['status']}: {failed['reason']}"
    return TrialResult(trial.name, steps, problem)


def page(results: Sequence[TrialResult]) -> str:
    """Return the documentation page with the templates that succeeded."""
    passed = [each for each in results if not each.problem]
    rows = "".join(
        f"   * - ``{each.name}``\n     - {len(each.steps[0]['resources'])}\n"
        f"     - {len(each.steps[1]['changes'].get('updated', ()))}\n"
        f"     - {sum(step['requests'] for step in each.steps)}\n"
        for each in passed
    )
    return _PAGE.format(total=len(results), passed=len(passed), rows=rows)


def main(argv: Sequence[str] | None = None) -> int:
    """Try all templates; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--only", default="", help="a part of the names of the templates to try")
    parser.add_argument("--rst", type=Path, help="the file to write the page to")
    options = parser.parse_args(argv)
    results = []
    with tempfile.TemporaryDirectory() as folder:
        for trial in prepare_trials(options.checkout.resolve(), Path(folder), options.only):
            results.append(run_trial(trial))
            print(f"{trial.name}: {results[-1].problem or 'created, updated and deleted'}")
    passed = sum(not each.problem for each in results)
    print(f"{len(results)} templates, {passed} created, updated and deleted")
    if options.rst:
        options.rst.write_text(page(results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
