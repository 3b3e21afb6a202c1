"""The steps of a traversal, each within one transaction."""
