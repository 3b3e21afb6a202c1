"""The installed resource types, which tests that change none of them load once."""

from __future__ import annotations

from heat_convergence.resources.registry import ResourceTypeRegistry

REGISTRY = ResourceTypeRegistry.load()
