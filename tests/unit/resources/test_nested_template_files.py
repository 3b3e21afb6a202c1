"""The files of a goal: which of them a template reaches, and what reading them costs."""

from __future__ import annotations

import json
import tracemalloc

from heat_convergence.resources.nested.template_cache import (
    TemplateCache,
    TemplateFiles,
    content_hash,
)


def _template(*types: str) -> str:
    resources = {f"r{at}": {"type": name} for at, name in enumerate(types)}
    return json.dumps({"heat_template_version": "2021-04-16", "resources": resources})


def test_what_templates_name_is_read_a_level_at_a_time() -> None:
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
    asked = []

    def load(keys):
        asked.append(sorted(keys))
        return {key: by_hash[key] for key in keys}

    files = TemplateFiles(
        {name: content_hash(text) for name, text in texts.items()}, TemplateCache(), load
    )
    reached = files.reachable_files(frozenset({"top.yaml"}))
    assert reached == texts.keys() - {"unused.yaml"}
    assert len(asked) == 3, asked
    assert files.reachable_files(frozenset({"left.yaml"})) == reached
    assert len(asked) == 3


def test_what_is_kept_is_bounded_in_bytes() -> None:
    texts = {str(at): _template(*[f"type{at}.{each}" for each in range(100)]) for at in range(50)}
    cost = len(texts["0"])
    parsed = TemplateCache(max_bytes=100 * cost)

    def load(keys):
        return {key: texts[key] for key in keys}

    for key in texts:
        parsed.text(key, load)
    assert (parsed.parse_count, parsed.size_bytes < 100 * cost) == (0, True)
    for key in texts:
        assert len(parsed.template(key, load).resource_names) == 100
        assert parsed.size_bytes <= 100 * cost
    assert parsed.parse_count == 50
    for key in ("48", "49", "48"):  # used last
        parsed.template(key, load)
    assert parsed.parse_count == 50
    parsed.template("0", load)
    assert parsed.parse_count == 51
    assert len(parsed.strings("0", load)) == 100 + 1


def test_one_that_is_larger_than_all_may_be_is_kept_while_it_is_used() -> None:
    text = _template("OS::Heat::None")
    parsed = TemplateCache(max_bytes=1)
    for _ in range(3):
        parsed.template("large", lambda _keys: {"large": text})
    assert parsed.parse_count == 1
    parsed.text("other", lambda _keys: {"other": "x"})
    parsed.template("large", lambda _keys: {"large": text})
    assert parsed.parse_count == 2


def test_the_bytes_told_are_about_those_taken() -> None:
    texts = {str(at): _template(*[f"type{at}.{each}" for each in range(500)]) for at in range(5)}
    parsed = TemplateCache()
    tracemalloc.start()
    for key in texts:
        parsed.template(key, lambda keys: {each: texts[each] for each in keys})
    taken, _peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert taken / 3 < parsed.size_bytes < taken * 3
