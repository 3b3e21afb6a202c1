"""The type of values that are stored as JSON."""

from __future__ import annotations

from typing import Any

Json = Any
