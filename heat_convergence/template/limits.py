"""Limits on the size and cost of reading and evaluating a template.

Read by the loader, the evaluator and the functions.  Built by the daemons from their
options and passed in by the caller that parses.  Must not read options itself.
"""

from __future__ import annotations

from dataclasses import dataclass


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
    regex_first_timeout_s: float = 0.005
    regex_timeout_s: float = 0.5
    regex_max_slow_matches: int = 20


DEFAULT_LIMITS = TemplateLimits()
