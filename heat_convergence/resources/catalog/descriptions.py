"""Descriptions of the catalog's types, properties and attributes, for users.

Read from ``descriptions.yaml``: under ``types`` by type, under ``properties`` and ``attributes``
by name, or by ``type.path`` where one type needs another text.
"""

from __future__ import annotations

from importlib import resources

import yaml

from heat_convergence.resources.driver.schema_loader import CATALOG_PACKAGE, Descriptions


def _read() -> Descriptions:
    text = (resources.files(CATALOG_PACKAGE) / "descriptions.yaml").read_text(encoding="utf-8")
    descriptions = yaml.load(text, Loader=yaml.CSafeLoader)
    return Descriptions(
        descriptions["types"], descriptions["properties"], descriptions["attributes"]
    )


DESCRIPTIONS = _read()
