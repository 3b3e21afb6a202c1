"""Immutable directed graphs: leaves, order, cycles."""
