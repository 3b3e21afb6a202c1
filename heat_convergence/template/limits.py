"""The bounds within which a template is read and evaluated.

Decides nothing itself: the loader, the evaluator and the functions ask it.  Made
by the daemons from their options, handed in by whoever parses.  Must not read
options: this package knows none.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TemplateLimits:
    """Sizes are characters unless the name says otherwise.

    ``max_nodes`` counts maps, lists and scalars after aliases are followed, and
    ``max_expanded_size`` the characters of their scalars.  ``max_result_size``
    bounds what the functions of one definition may produce together, at about
    one unit a character or list item.  YAQL is bounded by steps, not by a clock: a
    step is one function call and takes some 25 microseconds; ``yaql_max_steps``
    are for all expressions of a template together.  Regular expressions have their
    matcher's clock: so many matches of an evaluation may take longer than
    ``regex_first_timeout_s``, none longer than ``regex_timeout_s``.
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
