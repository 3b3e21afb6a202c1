"""Reads of stacks for clients: outputs, attributes, breakpoints."""
