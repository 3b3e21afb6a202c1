"""The template engine's processor time from text to definitions, by number of resources.

Run by hand: ``python -m benchmarks.profiles.template_engine [count ...]``.  Prints processor
seconds for loading, evaluating, dumping with fingerprints, and resolving, and each as a multiple
of the first row's per resource: near 1.0 means that the cost grows linearly.
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


STEPS = ("load", "evaluate", "dump", "resolve")


class StubResourceValues:
    """Fixed values in place of the engine's."""

    def reference_id(self, resource: str) -> str:
        """Return a reference id."""
        return f"id-{resource}"

    def attribute(self, resource: str, name: str | None, path: tuple[Any, ...]) -> list[str]:
        """Return an attribute."""
        return [resource]


def template_text(count: int) -> str:
    """Return a chain of resources, each of which reads the previous one."""
    first = "  r0: {type: OS::Heat::TestResource}\n"
    rest = (RESOURCE_TEMPLATE.format(this=n, before=n - 1) for n in range(1, count))
    return TEMPLATE_HEAD + first + "".join(rest)


def timed(action: Callable[[], Any]) -> tuple[float, Any]:
    """Return the processor seconds of an action and its result."""
    gc.collect()
    start = time.process_time()
    result = action()
    return time.process_time() - start, result


def measure(count: int) -> list[float]:
    """Return the processor seconds of each step."""
    text = template_text(count)
    load_s, template = timed(lambda: Template.parse(text, limits=UNBOUNDED_LIMITS))
    stack = StackContext("stack", "stack", "project")
    evaluate_s, evaluated = timed(lambda: evaluate_template(template, Environment(), {}, stack))
    definitions = evaluated.definitions.values()
    dump_s, _ = timed(lambda: [(d.dump(), definition_fingerprint(d)) for d in definitions])
    resolve_s, _ = timed(
        lambda: [resolve_value(d.properties, StubResourceValues()) for d in definitions]
    )
    return [load_s, evaluate_s, dump_s, resolve_s]


def main() -> None:
    """Measure the counts of resources and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("counts", nargs="*", type=int, default=[1_000, 10_000])
    counts = parser.parse_args().counts
    print(f"{'resources':>10}" + "".join(f"{name:>18}" for name in STEPS))
    measure(100)  # imports and caches
    base: list[float] = []
    for count in counts:
        seconds = measure(count)
        per_resource = [value / count for value in seconds]
        base = base or per_resource
        cells = (
            f"{value:9.3f} s (x{value_per_resource / first:.2f})"
            for value, value_per_resource, first in zip(seconds, per_resource, base, strict=True)
        )
        print(f"{count:>10}" + "".join(f"{cell:>18}" for cell in cells))


if __name__ == "__main__":
    main()
