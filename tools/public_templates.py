"""The templates of a clone of openstack/heat-templates, validated and created in this process.

    python -m tools.public_templates CHECKOUT [--rst FILE]

Each template is validated as its authors published it, with the files that it names, and
created in the emulated cloud with sample values for parameters that have no default.  Prints
a line per template and the totals; ``--rst FILE`` writes those that are not created, with
their reasons, as ``docs/reference/public-templates.rst`` has them.
"""

from __future__ import annotations

import argparse
import logging
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml
from heatclient.common import template_utils

from heat_convergence.cli.components.software_store import DatabaseSoftwareStore
from tests.end_to_end.public_templates import (
    ADMIN_TEMPLATES,
    DEMO_USER_TEMPLATES,
    REQUIRED_IMAGES,
)
from tests.functional.harness import LocalService
from tests.functional.openstack_types.emulated_service import ClockedEmulation, emulation_service

Json = Any
_SUFFIXES = (".yaml", ".template")
_VERSIONS = ("heat_template_version", "AWSTemplateFormatVersion", "HeatTemplateFormatVersion")
_ENVIRONMENT_OPTION = "-e"
_TYPED_SAMPLES: Mapping[str, Json] = {
    "number": 1,
    "boolean": False,
    "json": {},
    "comma_delimited_list": [],
    "commadelimitedlist": [],
}
# Sample values by a part of the parameter's name; the first that fits is used.
_NAMED_SAMPLES = (
    ("subnet", "private"),
    ("public_net", "public"),
    ("external", "public"),
    ("net", "private"),
    ("image", "cirros"),
    ("flavor", "m1.nano"),
    ("instance_type", "m1.nano"),
    ("instancetype", "m1.nano"),
    ("key", "heat_key"),
    ("sa_password", "Sample12!"),
    ("cidr", "10.66.0.0/24"),
    ("email", "admin@example.org"),
    ("url", "http://127.0.0.1/"),
    ("ip", "10.66.0.5"),
)
_SAMPLE_TEXT = "Sample12"
_HINT = re.compile(r"(; d| D)id you mean [^?]*\?")
_NETWORK_ERROR = re.compile(r"(?<=Failed to retrieve template from )(\S+): .*$")
_POSITION = re.compile(r" \((at [^()]*, )?line \d+, column \d+\)$")
_PAGE = """\
==========================
The public heat-templates
==========================

``python -m tools.public_templates CHECKOUT --rst docs/reference/public-templates.rst`` validates
all templates of a clone of ``openstack/heat-templates`` and creates them in the emulated cloud
(the services of ``heat_convergence.testing.openstack``, no guests, no Keystone for stack users),
with sample values for parameters that have no default. Of {total} templates {valid} are valid,
and {created} were created and deleted. The others:

* a resource type *could not be found*: this service does not have it;
* *Timed out*: the template waits for the signal of an agent in a guest;
* a name *could not be found*: the template expects an object that its users must have made;
* *the client*: a file that the template names is not there; some are in a clone of
  ``openstack/heat-agents`` beside the other.
* *Could not retrieve template*: the template names one on the internet;
* *Conflict* of a Swift container: a new container of the emulation is never empty;
* ``max_retries_down`` and a list as ``config`` are mistakes of two templates: Heat's types have no
  such property and take no list, either.

.. list-table::
   :header-rows: 1
   :widths: 40 10 50

   * - template
     - validation
     - reason
{rows}"""


# What the cloud of the samples has beside the emulation's own objects.
_FLAVORS = ("m1.small", "m1.medium", "m1.large")
_IMAGES = (
    *REQUIRED_IMAGES,
    "F19-x86_64-openshift-origin-broker",
    "Windows Server 2012 R2 Std Eval",
    "fedora-atomic",
    "fedora-software-config",
)
_SERVER_ID = "00000000-0000-4000-8000-000000000001"
_PLACEHOLDERS = {
    "{public_network}": "public",
    "{private_network}": "private",
    "{private_subnet}": "private",
    "{region}": "RegionOne",
    "{group}": "group",
    "{server}": _SERVER_ID,
    "{host}": "host",
}


class SampleCloud(ClockedEmulation):
    """The emulated cloud with a private network, a project, and a store of software configs.

    There is no Keystone that authenticates stack users: handles have no signed URLs.
    """

    users = None
    heat_base_url = None

    def __init__(self) -> None:
        super().__init__()
        add = self.emulation.add
        private = add("neutron.network", name="private", status="ACTIVE", subnets=[])
        add(
            "neutron.subnet",
            name="private",
            cidr="10.66.0.0/24",
            network_id=private["id"],
            gateway_ip="10.66.0.1",
            allocated=1,
        )
        for name in _FLAVORS:
            add("nova.flavor", name=name, ram=64)
        for name in _IMAGES:
            add("glance.image", name=name, status="active")
        add("nova.server", id=_SERVER_ID, name="others", status="ACTIVE")
        add("keystone.project", name="demo", domain_id="default")
        add("keystone.group", name="group", domain_id="default")
        add("keystone.region", id="RegionOne")

    def cloud_for(self, tree_id: str) -> Any:
        """Return the cloud with the store of the service's software configurations."""
        assert self.service is not None
        client: Any = super().cloud_for(tree_id)
        client.software = DatabaseSoftwareStore(self.service.database)
        client.users = self.users
        client.heat_base_url = self.heat_base_url
        return client


@dataclass(frozen=True, slots=True)
class TemplateResult:
    """The result of one template; an empty reason means that it was created and deleted."""

    name: str
    is_valid: bool
    reason: str


class PublicTemplates:
    """The templates of a clone, and the service that they are tried on."""

    def __init__(self, checkout: Path) -> None:
        self._checkout = checkout
        self._url = f"{checkout.as_uri()}/"

    def paths(self) -> Iterator[Path]:
        """Yield the files that are templates."""
        for path in sorted(self._checkout.rglob("*")):
            if path.suffix in _SUFFIXES and _version_key(path):
                yield path

    def run(self, path: Path) -> TemplateResult:
        """Validate a template, create it in a new emulated cloud, and delete it."""
        name = str(path.relative_to(self._checkout))
        try:
            body = self._request(path)
        except Exception as error:  # noqa: BLE001  # the client raises whatever the file causes
            reason = self._without_checkout(_first_line(str(error)))
            return TemplateResult(name, False, f"the client: {reason}")
        with tempfile.TemporaryDirectory() as folder:
            service = emulation_service(SampleCloud(), folder)
            try:
                result = self._tried(service, name, body)
            finally:
                service.close()
        return replace(result, reason=self._without_checkout(result.reason))

    def _without_checkout(self, text: str) -> str:
        """Return a text with addresses of files relative to the clone."""
        parent = f"{self._checkout.parent.as_uri()}/"
        return text.replace(self._url, "").replace(parent, "../")

    def _request(self, path: Path) -> Json:
        files, template = template_utils.get_template_contents(str(path))
        parameters, environments = sample_parameters(self._checkout, path, template)
        more, environment = template_utils.process_multiple_environments_and_files(
            [str(each) for each in environments]
        )
        environment["parameters"] = {**parameters, **(environment.get("parameters") or {})}
        texts = {
            key: text.decode() if isinstance(text, bytes) else text
            for key, text in {**files, **more}.items()
        }
        return {"template": template, "files": texts, "environment": environment}

    @staticmethod
    def _tried(service: LocalService, name: str, body: Json) -> TemplateResult:
        validated = service.send("POST", "/validate", body)
        if validated.status_int != 200:
            return TemplateResult(name, False, _message(validated))
        created = service.send("POST", "/stacks", {"stack_name": "s", **body})
        if created.status_int != 201:
            return TemplateResult(name, True, _message(created))
        path = f"/stacks/s/{created.json['stack']['id']}"
        stack = service.send("GET", path).json["stack"]
        reason = "" if stack["stack_status"] == "CREATE_COMPLETE" else stack["stack_status_reason"]
        service.send("DELETE", path)
        left = service.send("GET", path).json["stack"]
        if not reason and left["stack_status"] != "DELETE_COMPLETE":
            reason = f"{left['stack_status']}: {left['stack_status_reason']}"
        return TemplateResult(name, True, _first_line(reason))


def sample_parameters(
    checkout: Path, path: Path, template: Json, placeholders: Mapping[str, str] | None = None
) -> tuple[dict[str, Json], list[Path]]:
    """Return values of parameters that have no default, and the environments of a template.

    Args:
        checkout: the clone.
        path: the template.
        template: its content.
        placeholders: ids and names of a cloud's objects; by default those of the emulated one.
    """
    name = str(path.relative_to(checkout))
    known = dict({**DEMO_USER_TEMPLATES, **ADMIN_TEMPLATES}.get(name, {}))
    environments = _environments(path)
    if _ENVIRONMENT_OPTION in known:
        environments = [checkout / known.pop(_ENVIRONMENT_OPTION)]
    given = {key for each in environments for key in _given_parameters(each)}
    declared = template.get("parameters") or template.get("Parameters") or {}
    samples = {
        key: _filled(known[key], placeholders or _PLACEHOLDERS)
        if key in known
        else _sample(key, schema)
        for key, schema in declared.items()
        if key in known or ("default" not in schema and "Default" not in schema)
    }
    return {key: each for key, each in samples.items() if key not in given}, environments


def sample_objects() -> list[str]:
    """Return what the cloud of ``heat-convergence try`` must have for the samples."""
    return [
        "network=private",
        "key=heat_key",
        "project=demo",
        "group=group",
        "region=RegionOne",
        f"server={_SERVER_ID}",
        *(f"flavor={name}" for name in _FLAVORS),
        *(f"image={name}" for name in _IMAGES),
    ]


def _given_parameters(environment: Path) -> set[str]:
    """Return the names of parameters that an environment has values for."""
    content = yaml.load(environment.read_text(), Loader=yaml.CSafeLoader)
    sections = (content.get(key) or {} for key in ("parameters", "parameter_defaults"))
    return {name for section in sections for name in section}


def _filled(value: str, placeholders: Mapping[str, str]) -> str:
    for placeholder, replacement in placeholders.items():
        value = value.replace(placeholder, replacement)
    return value


def _version_key(path: Path) -> bool:
    try:
        content = yaml.load(path.read_text(), Loader=yaml.CSafeLoader)
    except (yaml.YAMLError, UnicodeDecodeError):
        return False
    return isinstance(content, dict) and any(key in content for key in _VERSIONS)


def _environments(path: Path) -> list[Path]:
    beside = path.with_name(f"{path.stem}_env.yaml")
    return [beside] if beside.exists() else []


def _sample(name: str, schema: Mapping[str, Json]) -> Json:
    allowed = schema.get("AllowedValues")
    for constraint in schema.get("constraints") or ():
        allowed = allowed or constraint.get("allowed_values")
    if allowed:
        return allowed[0]
    kind = str(schema.get("type") or schema.get("Type")).lower()
    if kind in _TYPED_SAMPLES:
        return _TYPED_SAMPLES[kind]
    found = (value for part, value in _NAMED_SAMPLES if part in name.lower())
    return next(found, _SAMPLE_TEXT)


def _message(response: Any) -> str:
    return _first_line(response.json["error"]["message"])


def _first_line(text: str) -> str:
    line = text.partition("\n")[0]
    return _POSITION.sub("", _HINT.sub("", _NETWORK_ERROR.sub(r"\1", line))).strip()[:300]


def page(results: Sequence[TemplateResult]) -> str:
    """Return the documentation page with the templates that were not created."""
    missing = [each for each in results if each.reason]
    valid = sum(each.is_valid for each in results)
    rows = "".join(
        f"   * - ``{each.name}``\n     - {'valid' if each.is_valid else 'refused'}\n"
        f"     - ``{each.reason}``\n"
        for each in missing
    )
    return _PAGE.format(
        total=len(results), valid=valid, created=len(results) - len(missing), rows=rows
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Try all templates; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--only", default="", help="a part of the names of the templates to try")
    parser.add_argument("--rst", type=Path, help="the file to write the page to")
    options = parser.parse_args(argv)
    templates = PublicTemplates(options.checkout.resolve())
    results = [templates.run(path) for path in templates.paths() if options.only in str(path)]
    for result in results:
        verdict = result.reason or "created and deleted"
        print(f"{result.name}: {'valid' if result.is_valid else 'INVALID'}: {verdict}")
    print(
        f"{len(results)} templates, {sum(each.is_valid for each in results)} valid,"
        f" {sum(not each.reason for each in results)} created and deleted"
    )
    if options.rst:
        options.rst.write_text(page(results))
    return 0


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    sys.exit(main())
