"""Tests of the cache of template files, and of the files that a template reaches."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Collection

import pytest

from heat_convergence.resources.nested.template_cache import (
    TemplateCache,
    TemplateFiles,
    content_hash,
)
from heat_convergence.resources.nested.template_references import TemplateReferences


def _template(*types: str) -> str:
    resources = {f"r{at}": {"type": name} for at, name in enumerate(types)}
    return json.dumps({"heat_template_version": "2021-04-16", "resources": resources})


def test_references_of_files_are_read_together() -> None:
    texts = {
        "top.yaml": _template("left.yaml", "right.yaml"),
        "left.yaml": _template("OS::Heat::None"),
        "broken.yaml": "a: [",
        "script.sh": "echo",
    }
    by_hash = {content_hash(text): text for text in texts.values()}
    loads = []

    def load(keys: Collection[str]) -> dict[str, str]:
        loads.append(sorted(keys))
        return {key: by_hash[key] for key in keys}

    files = TemplateFiles(
        {name: content_hash(text) for name, text in texts.items()}, TemplateCache(), load
    )
    found = files.references(list(texts))
    assert {"left.yaml", "right.yaml"} <= set(found["top.yaml"].strings)
    assert "OS::Heat::None" in found["left.yaml"].strings
    assert found["broken.yaml"] == found["script.sh"] == TemplateReferences()
    assert len(loads) == 1
    assert files.references(list(texts)) == found
    assert len(loads) == 1


def test_cache_is_bounded_in_bytes() -> None:
    texts = {str(at): _template(*[f"type{at}.{each}" for each in range(100)]) for at in range(50)}
    cost = len(texts["0"])
    cache = TemplateCache(max_bytes=100 * cost)

    def load(keys: Collection[str]) -> dict[str, str]:
        return {key: texts[key] for key in keys}

    for key in texts:
        cache.text(key, load)
    assert (cache.parse_count, cache.size_bytes < 100 * cost) == (0, True)
    for key in texts:
        assert len(cache.template(key, load).resource_names) == 100
        assert cache.size_bytes <= 100 * cost
    assert cache.parse_count == 50
    for key in ("48", "49", "48"):  # used last
        cache.template(key, load)
    assert cache.parse_count == 50
    cache.template("0", load)
    assert cache.parse_count == 51
    assert len(cache.references("0", load).strings) == 100 + 1


def test_entry_larger_than_the_limit_is_kept_while_used() -> None:
    text = _template("OS::Heat::None")
    cache = TemplateCache(max_bytes=1)
    for _ in range(3):
        cache.template("large", lambda _keys: {"large": text})
    assert cache.parse_count == 1
    cache.text("other", lambda _keys: {"other": "x"})
    cache.template("large", lambda _keys: {"large": text})
    assert cache.parse_count == 2


def _dense_template(at: int) -> str:
    return f"heat_template_version: 2018-08-31\noutputs: {{o: {{value: [{'{},' * 2_000}{at}]}}}}"


@pytest.mark.parametrize(
    "texts",
    [
        [_template(*[f"type{at}.{each}" for each in range(500)]) for at in range(2)],
        [_template(f"type{at}") for at in range(100)],
        [_dense_template(at) for at in range(2)],
    ],
    ids=["large", "small", "empty maps"],
)
def test_cache_size_estimates_allocated_memory(texts: list[str]) -> None:
    cache = TemplateCache()
    tracemalloc.start()
    for at, text in enumerate(texts):
        cache.template(str(at), lambda keys, text=text: dict.fromkeys(keys, text))
    taken, _peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert taken / 1.5 < cache.size_bytes < taken * 1.5


def test_many_small_templates_fill_the_cache() -> None:
    cache = TemplateCache(max_bytes=100_000)
    for at in range(1_000):
        text = f"heat_template_version: 2018-08-31\ndescription: d{at}\n"
        cache.template(str(at), lambda keys, text=text: dict.fromkeys(keys, text))
        assert cache.size_bytes <= 100_000
    assert len(cache._entries) < 100


def test_names_of_resources_are_kept_without_their_template() -> None:
    text = json.dumps(
        {
            "heat_template_version": "2018-08-31",
            "resources": {name: {"type": "OS::Heat::None"} for name in ("b", "a")},
        }
    )
    key, loads = content_hash(text), []

    def load(keys: Collection[str]) -> dict[str, str]:
        loads.append(keys)
        return dict.fromkeys(keys, text)

    cache = TemplateCache()
    assert [cache.resource_names(key, load) for _ in range(2)] == [("b", "a")] * 2
    assert (cache.parse_count, cache.size_bytes, len(loads)) == (1, 0, 1)
    other = TemplateCache()
    other.template(key, load)
    assert other.resource_names(key, load) == ("b", "a")
    assert (other.parse_count, len(loads)) == (1, 2)
