"""Stacks between their template source and their desired resources, root and nested alike."""
