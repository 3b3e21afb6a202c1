"""Documents to data: YAML's types, JSON, limits and positions."""

import json
from typing import Any

import pytest
import yaml
from yaml.cyaml import CParser  # type: ignore[attr-defined]  # the stubs hide it

from heat_convergence.common import strict_json
from heat_convergence.common.errors import HTTPBadRequest, RequestLimitExceeded
from heat_convergence.common.values import packed_map
from heat_convergence.common.values.packed_map import PackedMap
from heat_convergence.template.limits import TemplateLimits
from heat_convergence.template.parsing.document_loader import PACKED_SECTIONS, load_document


def test_scalars_have_the_types_that_clients_expect() -> None:
    text = """
    date: 2015-04-30
    octal: 0755
    yes: on
    float: 1.5
    none: ~
    text: "10"
    80: number key
    dup: 1
    dup: 2
    """
    assert load_document(text).data == {
        "date": "2015-04-30",
        "octal": 493,
        "true": True,
        "float": 1.5,
        "none": None,
        "text": "10",
        "80": "number key",
        "dup": 2,
    }


def test_anchors_and_merge_keys_are_expanded() -> None:
    text = "a: &x {b: 1, c: 2}\nd: {<<: *x, b: 3}\ne: {<<: [{b: 9}, *x]}\nf: *x\ng: <<"
    data = load_document(text).data
    assert data["d"] == {"b": 3, "c": 2}
    assert data["e"] == {"b": 9, "c": 2}
    assert data["f"] == {"b": 1, "c": 2}
    assert data["g"] == "<<"


def test_yaml_text_is_read_by_the_c_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []

    class Counted(yaml.CSafeLoader):
        def __init__(self, text: Any) -> None:
            made.append(text)
            super().__init__(text)

    monkeypatch.setattr(yaml, "CSafeLoader", Counted)
    for name in ("SafeLoader", "Loader", "FullLoader", "BaseLoader"):
        monkeypatch.setattr(yaml, name, None)  # The Python loaders are not used.
    assert issubclass(Counted, CParser)
    assert load_document("a: [1, &x {b: 2}, *x]").data == {"a": [1, {"b": 2}, {"b": 2}]}
    assert made == ["a: [1, &x {b: 2}, *x]"]


def test_json_text_and_flow_style_are_read() -> None:
    assert load_document('{"a": [1, "x"]}').data == {"a": [1, "x"]}
    assert load_document("{a: 1}").data == {"a": 1}
    assert load_document(b"a: \xc3\xa9").data == {"a": "é"}


@pytest.mark.parametrize(
    "text",
    [
        "a: [",
        "'",
        "a: b: c",
        "&a [*a]",
        "[*unknown]",
        "!!python/object:os.system x",
        "a: !!binary aGk=",
        "a: !!set {x}",
        "a: !custom x",
        "? [a]\n: b",
        "a: .inf",
        "a: !!int x",
        "--- a\n--- b\n",
        "{<<: 5}",
        "\x00",
        b"\xff",
    ],
)
def test_values_that_json_does_not_have_are_refused(text: Any) -> None:
    with pytest.raises(HTTPBadRequest):
        load_document(text)


def bomb(tag_or_source: Any) -> Any:
    if tag_or_source == "lists":
        lines = ["a0: &a0 [x,x,x,x,x,x,x,x,x]"]
        lines += [f"a{i}: &a{i} [{','.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 9)]
    elif tag_or_source == "merges":
        lines = ["a0: &a0 {x: 1}"]
        merge = "a{0}: &a{0} {{<<: [{1}]}}"
        lines += [merge.format(i, ",".join([f"*a{i - 1}"] * 9)) for i in range(1, 9)]
    elif tag_or_source == "strings":
        lines = ["a0: &a0 " + "x" * 100_000, "b: [" + ",".join(["*a0"] * 1000) + "]"]
    else:
        lines = ["a0: &a0 [x]"] + [f"a{i}: &a{i} [*a{i - 1}]" for i in range(1, 200)]
    return "\n".join(lines)


@pytest.mark.parametrize("tag_or_source", ["lists", "merges", "strings", "nesting"])
def test_alias_bombs_are_refused(tag_or_source: Any) -> None:
    with pytest.raises(RequestLimitExceeded):
        load_document(bomb(tag_or_source))


@pytest.mark.parametrize(
    "source", ["[" * 200_000, "- " * 200_000, '{"a":' * 50_000, "a: " + "x" * 600_000]
)
def test_deep_and_long_texts_are_refused(source: Any) -> None:
    with pytest.raises(RequestLimitExceeded):
        load_document(source)


@pytest.fixture
def _packed_early(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed_map, "PACKED_FROM", 10)
    monkeypatch.setattr(strict_json, "_LARGE", 0)


MANY = {f"r{number}": {"type": "T", "list": [number, {}]} for number in range(30)}
YAML = "".join(f"  r{number}: {{type: T, list: [{number}, {{}}]}}\n" for number in range(30))


@pytest.mark.usefixtures("_packed_early")
@pytest.mark.parametrize(
    ("text", "packed"),
    [
        (f"resources:\n{YAML}outputs: {{}}", True),
        (f"Resources:\n{YAML}outputs: {{}}", True),
        (json.dumps({"resources": MANY, "outputs": {}}), True),
        (f"outputs: {{}}\nresources:\n{YAML}  r0: 1\n  r0: {{type: T, list: [0, {{}}]}}", True),
        (f"resources: &all\n{YAML}outputs: {{}}", False),
        (f"others:\n{YAML}outputs: {{}}", False),
        (f"? {{resources: 1}}\n: 1\nresources:\n{YAML}", None),
    ],
)
def test_many_resources_are_packed(text: str, packed: bool | None) -> None:
    if packed is None:
        with pytest.raises(HTTPBadRequest, match="cannot be a key"):
            load_document(text, packed=PACKED_SECTIONS)
        return
    found = load_document(text, packed=PACKED_SECTIONS)
    assert found.data == load_document(text).data
    (section,) = (each for name, each in found.data.items() if name != "outputs")
    assert isinstance(section, PackedMap) is packed
    assert section == MANY


@pytest.mark.usefixtures("_packed_early")
def test_resources_merged_into_many_are_read() -> None:
    text = f"base: &base {{r0: 1, other: 2}}\nresources:\n  <<: *base\n{YAML}"
    found = load_document(text, packed=PACKED_SECTIONS).data["resources"]
    assert found == {"other": 2, **MANY}


@pytest.mark.usefixtures("_packed_early")
@pytest.mark.parametrize(
    ("limits", "message"),
    [
        (TemplateLimits(max_nodes=151), "more than 151 nodes"),
        (TemplateLimits(max_depth=4), "nested deeper than 4"),
    ],
)
def test_packed_resources_count_in_the_limits(limits: TemplateLimits, message: str) -> None:
    text = json.dumps({"resources": MANY})  # 152 nodes, 5 deep
    for source in (text, load_document(text, packed=PACKED_SECTIONS).data, yaml.dump(MANY)):
        if isinstance(source, str) and not source.startswith("{"):
            source = "resources:\n" + "".join(f"  {line}\n" for line in source.splitlines())
        with pytest.raises(RequestLimitExceeded, match=message):
            load_document(source, limits=limits, packed=PACKED_SECTIONS)
    enough = TemplateLimits(max_nodes=152, max_depth=5)
    assert load_document(text, limits=enough, packed=PACKED_SECTIONS).data["resources"] == MANY


def test_deep_and_large_maps_are_refused() -> None:
    deep: dict[str, Any] = {}
    for _ in range(200):
        deep = {"a": deep}
    with pytest.raises(RequestLimitExceeded, match="deeper"):
        load_document(deep)
    with pytest.raises(RequestLimitExceeded, match="nodes"):
        load_document({"a": list(range(50))}, limits=TemplateLimits(max_nodes=40))
    with pytest.raises(HTTPBadRequest, match="JSON"):
        load_document({"a": float("nan")})
    with pytest.raises(HTTPBadRequest, match="JSON"):
        load_document({"a": object()})
    other_keys: dict[Any, Any] = {1: (2, {None: 3})}
    assert load_document(other_keys).data == {"1": [2, {"null": 3}]}


TEXT = """\
a:
  b:
    - c: 1
    - [x, {d: 2}]
  'q r': {e: {f: 3}}
a2: &anchor {g: 4}
"""


@pytest.mark.parametrize(
    ("path", "position"),
    [
        (("a",), (1, 1)),
        (("a", "b"), (2, 3)),
        (("a", "b", 0), (3, 7)),
        (("a", "b", 0, "c"), (3, 7)),
        (("a", "b", 1, 1, "d"), (4, 12)),
        (("a", "q r", "e", "f"), (5, 15)),
        (("a", "q r", "absent"), (5, 3)),
        (("a2", "g"), (6, 14)),
        (("absent",), None),
    ],
)
def test_position_of_a_path_is_its_deepest_known_part(path: Any, position: Any) -> None:
    assert load_document(TEXT).find_position(path) == position


def test_documents_from_maps_have_no_positions() -> None:
    assert load_document({"a": 1}).find_position(("a",)) is None


def test_position_in_json_with_tabs_is_approximate() -> None:
    assert load_document('{\n\t"a": 1}').find_position(("a",)) in (None, (2, 2))
