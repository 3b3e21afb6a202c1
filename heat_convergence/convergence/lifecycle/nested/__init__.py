"""The link between a nested stack and its parent."""
