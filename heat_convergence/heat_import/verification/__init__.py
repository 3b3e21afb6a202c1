"""Comparison of the public views of imported stacks with those of Heat."""
