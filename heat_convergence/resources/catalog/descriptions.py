"""Descriptions of the catalogue's types, properties and attributes.

Read from ``texts.yaml``: under ``types`` by type, under ``property_texts`` and
``attributes`` by name, or by ``type.path`` where one type needs words of its own.
"""

from __future__ import annotations

from importlib import resources

import yaml

from heat_convergence.resources.driver.schema_loader import CATALOG_PACKAGE, Descriptions


def _read() -> Descriptions:
    text = (resources.files(CATALOG_PACKAGE) / "texts.yaml").read_text(encoding="utf-8")
    words = yaml.load(text, Loader=yaml.CSafeLoader)
    return Descriptions(words["types"], words["properties"], words["attributes"])


DESCRIPTIONS = _read()
