"""Tests of the cache of template files, and of the files that a template reaches."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Collection

import pytest

from heat_convergence.resources.nested import template_cache
from heat_convergence.resources.nested.template_cache import (
    TemplateCache,
    TemplateFiles,
    content_hash,
)


def _template(*types: str) -> str:
    resources = {f"r{at}": {"type": name} for at, name in enumerate(types)}
    return json.dumps({"heat_template_version": "2021-04-16", "resources": resources})


def test_reachable_files_are_read_one_level_at_a_time() -> None:
    leaves = [f"leaf{at}.yaml" for at in range(20)]
    texts = {
        "top.yaml": _template("left.yaml", "right.yaml"),
        "left.yaml": _template(*leaves[:10], "top.yaml"),
        "right.yaml": _template(*leaves[10:], "script.sh"),
        **{name: _template("OS::Heat::None") for name in leaves},
        "script.sh": "echo",
        "unused.yaml": _template("OS::Heat::None"),
    }
    by_hash = {content_hash(text): text for text in texts.values()}
    loads = []

    def load(keys: Collection[str]) -> dict[str, str]:
        loads.append(sorted(keys))
        return {key: by_hash[key] for key in keys}

    files = TemplateFiles(
        {name: content_hash(text) for name, text in texts.items()}, TemplateCache(), load
    )
    reached = files.reachable_files(frozenset({"top.yaml"}))
    assert reached == texts.keys() - {"unused.yaml"}
    assert len(loads) == 3, loads
    assert files.reachable_files(frozenset({"left.yaml"})) == reached
    assert len(loads) == 3


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
    assert len(cache.strings("0", load)) == 100 + 1


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


def test_files_that_names_reach_are_remembered_within_a_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(template_cache, "_MAX_REACHED", 100)
    files = TemplateFiles.from_texts(
        {f"{at}.txt": "text" for at in range(50)}, TemplateCache(max_bytes=1)
    )
    for first in range(40):
        names = frozenset(f"{at}.txt" for at in range(first, first + 10))
        assert files.reachable_files(names) == names
        assert sum(map(len, files._reached.values())) <= 100
