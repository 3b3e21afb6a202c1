"""Limits on the size and cost of reading and evaluating a template.

Read by the loader, the evaluator and the functions.  Built by the daemons from their
options and passed in by the caller that parses.  Must not read options itself.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class YaqlCall:
    """A YAQL expression with its data, and what its evaluation may take."""

    expression: str
    data: Any
    limit_iterators: int
    memory_quota_bytes: int
    max_steps: int
    max_seconds: float  # of processor time


@dataclass(frozen=True, slots=True)
class YaqlResult:
    """The value of an expression, or the reason why it has none."""

    value: Any
    error: str | None = None
    steps_left: int = 0
    seconds: float = 0.0  # of processor time taken


class YaqlRunner(Protocol):
    """Evaluates YAQL expressions where they can be stopped."""

    def run(self, call: YaqlCall) -> YaqlResult:
        """Return the value of the expression, or the reason why it has none."""


@dataclass(frozen=True, slots=True)
class TemplateLimits:
    """Limits for one template; sizes are in characters unless the name has another unit.

    Attributes:
        max_nodes: Maps, lists and scalars after aliases are expanded.
        max_expanded_size: Characters of the scalars after aliases are expanded.
        max_result_size: The output of all functions of one definition together, about one
            unit per character or list item.
        yaql_max_steps: Function calls of all YAQL expressions of a template together; a
            step takes about 25 microseconds.  Steps, unlike a clock, are reproducible.
        yaql_max_seconds: The processor time of all YAQL expressions of a template together, where
            ``yaql_runner`` enforces it.
        yaql_runner: Evaluates expressions in processes that can be killed.  None evaluates
            them in this process, where only steps are counted: for trusted templates.
        regex_first_timeout_s: The time a match may take without counting as slow.
        regex_timeout_s: The time a slow match may take.
        regex_max_slow_matches: The number of slow matches in one evaluation.
    """

    max_template_size: int = 524_288
    max_depth: int = 100
    max_nodes: int = 1_000_000
    max_expanded_size: int = 16_777_216
    max_result_size: int = 16_777_216
    max_diagnostics: int = 50
    yaql_limit_iterators: int = 200
    yaql_memory_quota_bytes: int = 10_000
    yaql_max_steps: int = 400_000
    yaql_max_expression_size: int = 65_536
    yaql_max_seconds: float = 2.0
    yaql_runner: YaqlRunner | None = field(default=None, compare=False)
    regex_first_timeout_s: float = 0.005
    regex_timeout_s: float = 0.5
    regex_max_slow_matches: int = 20


DEFAULT_LIMITS = TemplateLimits()
