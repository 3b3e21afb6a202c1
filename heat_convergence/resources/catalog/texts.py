"""Descriptions of the catalogue's types, properties and attributes.

Read from ``texts.yaml``: under ``types`` by type, under ``properties`` and
``attributes`` by name, or by ``type.path`` where one type needs words of its own.
"""

from __future__ import annotations

from importlib import resources

import yaml

from heat_convergence.resources.driver.schemas import PACKAGE, Texts


def _read() -> Texts:
    text = (resources.files(PACKAGE) / "texts.yaml").read_text(encoding="utf-8")
    words = yaml.load(text, Loader=yaml.CSafeLoader)
    return Texts(words["types"], words["properties"], words["attributes"])


TEXTS = _read()
