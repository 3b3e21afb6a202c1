"""The progress of traversals after observations: the parts of one transaction."""
