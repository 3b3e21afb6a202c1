"""The files of a goal: which of them a template reaches, and what reading them costs."""

from __future__ import annotations

import json

from heat_convergence.resources.nesting.parsed import Files, Parsed, hash_of


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
    by_hash = {hash_of(text): text for text in texts.values()}
    asked = []

    def load(keys):
        asked.append(sorted(keys))
        return {key: by_hash[key] for key in keys}

    files = Files({name: hash_of(text) for name, text in texts.items()}, Parsed(), load)
    reached = files.reached(frozenset({"top.yaml"}))
    assert reached == texts.keys() - {"unused.yaml"}
    assert len(asked) == 3, asked
    assert files.reached(frozenset({"left.yaml"})) == reached
    assert len(asked) == 3
