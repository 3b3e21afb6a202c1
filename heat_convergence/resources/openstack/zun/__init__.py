"""Zun's type with behavior of its own."""
