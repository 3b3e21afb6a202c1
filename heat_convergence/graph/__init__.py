"""Immutable directed graphs: leaves, order and cycles."""
