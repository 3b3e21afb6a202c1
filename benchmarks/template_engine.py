"""How long a template of so many resources takes from text to definitions.

Run by hand: ``python benchmarks/template_engine.py [count ...]``.  Prints processor seconds for
loading, folding, dumping with fingerprints, and finishing, and each as a multiple
of the first row's per resource: near 1.0 means that cost follows size.
"""

from __future__ import annotations

import argparse
import gc
import time
from collections.abc import Callable
from typing import Any

from heat_convergence.template.environment.environment import Environment
from heat_convergence.template.evaluation.evaluation import (
    StackContext,
    evaluate_template,
    resolve_value,
)
from heat_convergence.template.evaluation.resource_definition import definition_fingerprint
from heat_convergence.template.limits import TemplateLimits
from heat_convergence.template.template import Template

UNBOUNDED_LIMITS = TemplateLimits(
    max_template_size=10**9, max_nodes=10**8, max_expanded_size=10**9
)
TEMPLATE_HEAD = """\
heat_template_version: 2021-04-16
parameters:
  prefix: {type: string, default: web}
  ports: {type: comma_delimited_list, default: "80,443,8080"}
  large: {type: boolean, default: true}
conditions:
  is_large: {get_param: large}
resources:
"""
RESOURCE_TEMPLATE = """\
  r{this}:
    type: OS::Heat::TestResource
    properties:
      name: {{list_join: ["-", [{{get_param: prefix}}, "{this}"]]}}
      before: {{get_attr: [r{before}, output, 0]}}
      size: {{if: [is_large, 10, 1]}}
      rules:
        repeat:
          for_each: {{"%port%": {{get_param: ports}}}}
          template: {{protocol: tcp, port: "%port%"}}
      text:
        str_replace:
          template: "host $name at $where"
          params: {{$name: {{get_param: prefix}}, $where: {{get_resource: r{before}}}}}
"""


class StubResourceValues:
    """What the engine would answer."""

    def reference_id(self, resource: str) -> str:
        return f"id-{resource}"

    def attribute(self, resource: str, name: str | None, path: tuple[Any, ...]) -> list[str]:
        return [resource]


def template_text(count: int) -> str:
    """A chain: each resource reads the one before it."""
    first = "  r0: {type: OS::Heat::TestResource}\n"
    rest = (RESOURCE_TEMPLATE.format(this=n, before=n - 1) for n in range(1, count))
    return TEMPLATE_HEAD + first + "".join(rest)


def timed(action: Callable[[], Any]) -> tuple[float, Any]:
    gc.collect()
    start = time.process_time()
    result = action()
    return time.process_time() - start, result


def measure(count: int) -> list[float]:
    """Seconds of each step."""
    text = template_text(count)
    load_s, template = timed(lambda: Template.parse(text, limits=UNBOUNDED_LIMITS))
    facts = StackContext("stack", "stack", "project")
    fold_s, found = timed(lambda: evaluate_template(template, Environment(), {}, facts))
    definitions = found.definitions.values()
    dump_s, _ = timed(lambda: [(d.dump(), definition_fingerprint(d)) for d in definitions])
    finish_s, _ = timed(
        lambda: [resolve_value(d.properties, StubResourceValues()) for d in definitions]
    )
    return [load_s, fold_s, dump_s, finish_s]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("counts", nargs="*", type=int, default=[1_000, 10_000])
    counts = parser.parse_args().counts
    print(f"{'resources':>10}" + "".join(f"{name:>18}" for name in ("load", "fold", "dump",
                                                                   "finish")))  # fmt: skip
    measure(100)  # imports and caches
    base: list[float] = []
    for count in counts:
        seconds = measure(count)
        each = [value / count for value in seconds]
        base = base or each
        cells = (
            f"{value:9.3f} s (x{mine / first:.2f})"
            for value, mine, first in zip(seconds, each, base, strict=True)
        )
        print(f"{count:>10}" + "".join(f"{cell:>18}" for cell in cells))


if __name__ == "__main__":
    main()
