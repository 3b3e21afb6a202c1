"""YAQL expressions made by a grammar: cheap ones, expensive ones and damaged ones."""

from __future__ import annotations

from random import Random

_MAX_DEPTH = 4
_NUMBERS = ("0", "1", "2", "-1", "7", "3.5", "1000", "1000000000", "10000000000000000000000")
_TEXTS = ("''", "'a'", "'a,b'", "'é'", "'x' * 1000", "'(a+)+$'", "'%s'", "chr(55296)", "'1:2'")
_DATA = ("$", "$.data", "$.data.a", "$.data.b", "$.data.k.a", "$.absent", "$data", "$1")
_SOURCES = (
    "range({n})", "range(0, {n}, {n})", "[{e}, {e}]", "[]", "list({e}, {e})", "{{a => {e}}}",
    "dict(a => {e})", "sequence({n})", "{l}.cycle()", "generate({n}, true, $ + 1)",
    "generate({n}, $ < 50, $ * 2)", "repeat({e}, {n})", "generateMany({n}, $ < 9, [$ + 1, $ + 2])",
    "{t}.split(',')", "{l}.toSet()", "{l} + {l}", "$.data.values()", "$.data.keys()",
    "$.data.items()",
)  # fmt: skip
_STEPS = (
    ".len()", ".sum()", ".first()", ".last()", ".single()", ".select({v})", ".where({v})",
    ".orderBy({v})", ".groupBy({v}, {v})", ".aggregate($1 + $2)", ".aggregate($1 * $2, 2)",
    ".flatten()", ".distinct()", ".limit({n})", ".skip({n})", ".takeWhile({v})", ".toList()",
    ".zip({l})", ".join({l}, true, [$1, $2])", ".selectMany({l})", ".reverse()", ".max()",
    ".min()",
    ".any()", ".all({v})", ".slice({n})", ".splitAt({n})", ".accumulate($1 + $2)", ".indexOf({e})",
    ".memorize()", ".append({e})", ".delete({n})", ".insert({n}, {e})", ".toDict($, {v})",
    ".enumerate()", ".mergeWith({{a => {e}}})", ".concat({l})", ".contains({e})", ".isList()",
)  # fmt: skip
_SCALARS = (
    "{n}", "{t}", "{d}", "{e} + {e}", "{n} - {n}", "{n} * {n}", "{n} / {n}", "{n} mod {n}",
    "pow({n}, {n})", "shiftBitsLeft({n}, {n})", "int({t})", "float({t})", "str({e})", "len({t})",
    "{t}.toUpper()", "{t}.replace({t}, {t})", "{t}.substring({n}, {n})", "{t} * {n}", "{t}.len()",
    "{t}.matches({t})", "regex({t}).search({t})", "regex({t}).replace({t}, {t})", "{t}.trim()",
    "{t} =~ {t}", "{e} = {e}", "{n} < {n}", "{e} in {l}", "not {e}", "{e} and {e}", "{e} or {e}",
    "switch({e} => {e}, true => {e})", "let(x => {e}) -> $x", "coalesce({e}, {e})", "{d}.a.b",
    "null", "true", "format({t}, {e})", "{t}.format({e})", "characters(octdigits => true)",
    "hex({n})", "escapeRegex({t})", "random()", "now()", "datetime({n}, 1, 1)",
    "timespan(days => {n})",
    "def(f, $ + 1) -> f({n})", "lambda($ + {n})({n})", "({e})", "$.data.{k}({e})",
    "call(len, [{l}], {{}})",
    "__import__('os')", "$.__class__", "{e}?.a", "assert({e}, true)", "isString({e})",
    "bitwiseNot({n})",
)  # fmt: skip
_DAMAGE = "()[]{}$.,'\"=><+-*/ \\\x00\ud800é@#!"


def make_expression(random: Random) -> str:
    """Return an expression; one of twelve has damaged characters."""
    expression = _expand("{e}", random, 0)
    if random.random() < 1 / 12:
        at = random.randint(0, len(expression))
        piece = "".join(random.choice(_DAMAGE) for _ in range(random.randint(1, 3)))
        expression = expression[:at] + piece + expression[at + random.randint(0, 2) :]
    return expression


def make_data(random: Random) -> object:
    """Return the data of an expression."""
    return random.choice((
        None, {}, [1, 2, 3], {"a": [1, 2, 3], "b": "x,y", "k": {"a": None}}, "text", 5,
        {"a": list(range(150)), "b": 2**70, "k": {"a": ["é", 1.5, True]}}, [[1], [2, [3]]],
    ))  # fmt: skip


def _expand(pattern: str, random: Random, depth: int) -> str:
    """Return the text with every ``{letter}`` expanded."""
    parts = pattern.replace("{{", "\x01").replace("}}", "\x02").split("{")
    made = parts[0]
    for part in parts[1:]:
        letter, _, rest = part.partition("}")
        made += _node(letter, random, depth + 1) + rest
    return made.replace("\x01", "{").replace("\x02", "}")


def _node(letter: str, random: Random, depth: int) -> str:
    match letter:
        case "n":
            return random.choice(_NUMBERS)
        case "t":
            return random.choice(_TEXTS)
        case "d" | "k":
            return random.choice(_DATA if letter == "d" else ("a", "len", "absent", "select"))
        case "v":
            inner = _expand(random.choice(_SCALARS), random, depth) if depth < _MAX_DEPTH else "$"
            return random.choice(("$", "$ + 1", "true", "$ * $", "[$, $]", inner))
        case "l":
            return _list(random, depth)
        case _:
            return _value(random, depth)


def _list(random: Random, depth: int) -> str:
    if depth >= _MAX_DEPTH:
        return random.choice(("[1, 2]", "$.data", "range(5)", "$.data.a"))
    made = _expand(random.choice(_SOURCES), random, depth)
    for _ in range(random.choice((0, 1, 1, 2))):
        made += _expand(random.choice(_STEPS), random, depth)
    return made


def _value(random: Random, depth: int) -> str:
    if depth >= _MAX_DEPTH:
        return random.choice((*_NUMBERS[:5], *_TEXTS[:4], *_DATA[:3]))
    if random.random() < 0.45:
        return _list(random, depth)
    return _expand(random.choice(_SCALARS), random, depth)
