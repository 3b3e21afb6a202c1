"""Pure decisions: old rows and a new goal become the jobs of a traversal."""
